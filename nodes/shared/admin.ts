import type { Node, NodeAPI } from 'node-red';
import type { Request, Response } from 'express';
import { readRedirect, readSignIn, type AccountConfig } from '../../lib/account/settings';
import type { Client } from '../../lib/client';
import { asPrintingError, PrintingError } from '../../lib/service/errors';
import { record, text } from '../../lib/service/wire';
import { grantKey, holderOf, newestGrant, type Grants } from '../../lib/sign-in/grant';
import { clientOf } from './account-link';
import { callbackPage } from './callback-page';
import { runtimeOf } from './runtime';
import { version } from './version';

const ROOT = '/remote-printing';

/** What the editor may leave in place of a stored credential. */
const UNTOUCHED = '__PWRD__';

/** The endpoints of reference 5, under the editor's admin root. Registered once, whatever accounts there are. */
export function addAdminEndpoints(RED: NodeAPI): void {
  const runtime = () => runtimeOf(RED);
  const canRead = RED.auth.needsPermission('remote-printing.read');
  const canWrite = RED.auth.needsPermission('remote-printing.write');

  const handle = (work: (request: Request) => Promise<unknown>) => (request: Request, response: Response) => {
    response.set('Cache-Control', 'no-store');
    work(request).then(
      (answer) => response.json(answer),
      (thrown: unknown) => {
        const error = asPrintingError(thrown);
        response.status(error instanceof UnknownAccount ? 404 : 400).json({ error: error.message, code: error.code });
      },
    );
  };

  const account = async (request: Request): Promise<Client> => {
    const id = idOf(request);
    if (!configOf(RED, id)) throw new UnknownAccount();
    return clientOf(RED, id);
  };

  RED.httpAdmin.post(
    `${ROOT}/accounts/:id/sign-in`,
    canWrite,
    handle(async (request) => {
      const id = idOf(request);
      const typed = record(request.body) ?? {};
      const deployed = configOf(RED, id);
      if (!deployed && Object.keys(typed).length === 0) throw new UnknownAccount();
      const config = inEnvironment(RED, id, merge(deployed ?? {}, typed));
      const settings = readSignIn(config);
      const redirectUri = readRedirect(config.redirectUri);
      const organizationId = text(config.organizationId) ?? '';
      const authorizeUrl = runtime().authorization.begin({ accountId: id, settings, redirectUri, organizationId });
      return { authorizeUrl, redirectUri };
    }),
  );

  const finish = async (query: URLSearchParams, id?: string) => {
    const accountId = await runtime().authorization.complete(query, id);
    if (configOf(RED, accountId)) {
      // A deployed account takes the new sign-in over at once; one with unfinished settings will after its deploy.
      const client = await clientOf(RED, accountId).catch(() => undefined);
      await client?.credentials.reload();
    }
    RED.comms.publish(`remote-printing/accounts/${accountId}`, { state: 'signed-in' }, false);
  };

  // The browser comes back from the service without the editor's token: the one-time state is what lets it in.
  RED.httpAdmin.get(`${ROOT}/callback`, (request: Request, response: Response) => {
    response.set(callbackPage.headers);
    // Some browsers look with HEAD first (wire facts 3); that must not use the state up.
    if (request.method === 'HEAD') {
      response.status(200).end();
      return;
    }
    finish(new URL(request.originalUrl, 'http://localhost').searchParams).then(
      () => response.status(200).send(callbackPage.done()),
      (thrown: unknown) => response.status(400).send(callbackPage.failed(asPrintingError(thrown).message)),
    );
  });

  RED.httpAdmin.post(
    `${ROOT}/accounts/:id/sign-in/complete`,
    canWrite,
    handle(async (request) => {
      const pasted = text(record(request.body)?.url)?.trim() ?? '';
      if (!URL.canParse(pasted))
        throw new PrintingError('INVALID_INPUT', 'Paste the whole address that the browser was sent to.');
      await finish(new URL(pasted).searchParams, idOf(request));
      return stateOf(RED, idOf(request));
    }),
  );

  RED.httpAdmin.get(
    `${ROOT}/accounts/:id`,
    canRead,
    handle((request) => stateOf(RED, idOf(request))),
  );

  RED.httpAdmin.post(
    `${ROOT}/accounts/:id/sign-out`,
    canWrite,
    handle(async (request) => {
      const id = idOf(request);
      const state = await stateOf(RED, id);
      await runtime().store.delete(grantKey(id));
      if (configOf(RED, id)) {
        const client = await clientOf(RED, id).catch(() => undefined);
        await client?.credentials.signOut();
      }
      RED.comms.publish(`remote-printing/accounts/${id}`, { state: 'signed-out' }, false);
      return configOf(RED, id) ? stateOf(RED, id) : { ...state, state: 'signed-out', user: null, expiresAt: null };
    }),
  );

  RED.httpAdmin.get(
    `${ROOT}/accounts/:id/clusters`,
    canRead,
    handle(async (request) => {
      const clusters = await (await account(request)).clusters();
      return clusters.map(({ clusterId, name, model, online, printers }) => ({
        clusterId,
        name,
        model,
        online,
        printers: printers.map(({ printerId, name }) => ({ printerId, name })),
      }));
    }),
  );

  RED.httpAdmin.get(
    `${ROOT}/accounts/:id/workspaces`,
    canRead,
    handle(async (request) => (await (await account(request)).user()).organizations),
  );

  RED.httpAdmin.get(
    `${ROOT}/accounts/:id/diagnostics`,
    canRead,
    handle(async (request) => {
      const client = await account(request);
      return {
        versions: {
          pack: version,
          node: process.version,
          nodeRed: (RED.settings as { version?: string }).version ?? null,
        },
        simulated: client.simulated,
        ...client.diagnostics(),
      };
    }),
  );
}

class UnknownAccount extends PrintingError {
  constructor() {
    super('NOT_FOUND', 'There is no such account here: deploy it first.');
  }
}

const idOf = (request: Request): string => String(request.params.id);

/** The settings and credentials of a deployed account. */
function configOf(RED: NodeAPI, id: string): AccountConfig | undefined {
  let found: AccountConfig | undefined;
  RED.nodes.eachNode((node) => {
    if (node.id === id && node.type === 'remote-printing-account') found = node as AccountConfig;
  });
  const running = RED.nodes.getNode(id) as Node<AccountConfig> | null;
  return found && { ...found, ...running?.credentials };
}

/** What was typed in the dialog wins; a secret that was left untouched stays the stored one. */
function merge(deployed: AccountConfig, typed: Record<string, unknown>): AccountConfig {
  const changed = Object.entries(typed).filter(([, value]) => typeof value === 'string' && value !== UNTOUCHED);
  const config = { ...deployed, ...Object.fromEntries(changed) };
  return Object.fromEntries(Object.entries(config).map(([name, value]) => [name, fromEnvironment(value)]));
}

/** `${NAME}` as Node-RED itself reads it in the properties of a deployed node. */
function fromEnvironment(value: unknown): unknown {
  const name = typeof value === 'string' ? /^\$\{([^}]+)\}$/.exec(value)?.[1] : undefined;
  return name === undefined ? value : (process.env[name] ?? '');
}

/** Settings such as `${HOST}` as the runtime will read them: Node-RED does so for deployed nodes alone. */
function inEnvironment(RED: NodeAPI, id: string, config: AccountConfig): AccountConfig {
  const node = RED.nodes.getNode(id);
  const read = (value: unknown): unknown =>
    typeof value === 'string' && /^\$\{[^{}]+\}$/.test(value)
      ? RED.util.evaluateNodeProperty(value, 'env', node, {})
      : value;
  return Object.fromEntries(Object.entries(config).map(([name, value]) => [name, read(value)]));
}

/** The state that the dialog shows: of the deployed account, or of a sign-in that was made before its deploy. */
async function stateOf(RED: NodeAPI, id: string) {
  if (configOf(RED, id)) {
    try {
      const client = await clientOf(RED, id);
      await client.credentials.ready();
      return { ...client.credentials.info(), simulated: client.simulated };
    } catch (thrown) {
      return { ...SIGNED_OUT, error: asPrintingError(thrown).message };
    }
  }
  const grants = await runtimeOf(RED).store.get<Grants>(grantKey(id));
  const grant = newestGrant(grants);
  if (!grant) throw new UnknownAccount();
  const { user, organizationId } = holderOf(grant);
  const state = grant.ended ? 'sign-in-needed' : 'signed-in';
  const expiresAt = new Date(grant.expiresAt).toISOString();
  return { ...SIGNED_OUT, state, user, organizationId, expiresAt, error: grant.ended ?? null };
}

const SIGNED_OUT = {
  state: 'signed-out',
  user: null,
  organizationId: null,
  expiresAt: null,
  simulated: false,
  error: null,
} as const;
