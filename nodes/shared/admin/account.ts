import type { Request } from 'express';
import type { NodeAPI } from 'node-red';
import type { Client } from '../../../lib/client';
import type { Check } from '../../../lib/connection/check';
import { testConnection } from '../../../lib/connection/connection-test';
import { version } from '../../../lib/on-demand';
import type { Choices } from '../../../lib/query/choices';
import { hostOf } from '../../../lib/rules/addresses';
import { asPrintingError, PrintingError } from '../../../lib/service/errors';
import { text } from '../../../lib/service/json-readers';
import type { SignInInfo } from '../../../lib/sign-in/credentials';
import { grantAt, grantKey, type Grants, holderOf, newestGrant, whyEnded } from '../../../lib/sign-in/grant';
import { isoTime } from '../../../lib/time/clock';
import { phrase } from '../../../lib/words/sentence';
import { type Runtime, runtimeOf } from '../runtime';
import {
  deployedAccount,
  type DeployedAccount,
  formCredentials,
  knownAccount,
  typedAccount,
  type TypedAccount,
  typedSettings,
  UnknownAccount,
  wantedBy,
  whyWithheld,
  withTypedChoices,
} from './accounts';
import { handle, idOf } from './handle';

type AccountState = SignInInfo & { simulated: boolean; simulatorUrl: string | null };

const SIGNED_OUT: AccountState = {
  state: 'signed-out',
  user: null,
  organizationId: null,
  expiresAt: null,
  simulated: false,
  simulatorUrl: null,
  error: null,
};

/** The dialog's fields that select a sign-in; missing if not typed. */
interface TypedService {
  service?: string;
  signIn?: string;
  authUrl?: string;
}

/**
 * Returns the state for the dialog: of the deployed account, or of a sign-in before the deploy at the typed account
 * host.
 */
export async function stateOf(RED: NodeAPI, id: string, typed: TypedService = {}): Promise<AccountState> {
  const deployed = deployedAccount(RED, id);
  // An unreadable store counts as one without sign-ins.
  const signIns = await runtimeOf(RED)
    .authorization.known(id, wantedBy(RED))
    .catch(() => ({ underWay: false, failure: null }));
  const isKnown = signIns.underWay || signIns.failure !== null || deployed !== undefined;
  const isRunning = deployed && isAsDeployed(deployed, typed);
  // Only sign-ins at a real service are stored.
  const authUrl = typed.service === 'simulator' || typed.signIn === 'token' ? '' : typed.authUrl;
  const state = await (isRunning ? runningState(deployed) : storedState(RED, { id, isKnown, authUrl }));
  // The sign-in's own failure is newer than the state of the tokens.
  return signIns.failure === null ? state : { ...state, error: signIns.failure };
}

/** Whether the typed service and kind of sign-in are the deployed ones. */
function isAsDeployed({ written, config }: DeployedAccount, { service, signIn, authUrl }: TypedService): boolean {
  const deployed = { service: 'remote', signIn: 'oauth', ...written } as Required<TypedService>;
  if (service !== undefined && service !== deployed.service) return false;
  if (deployed.service === 'simulator') return true;
  if (signIn !== undefined && signIn !== deployed.signIn) return false;
  return authUrl === undefined || authUrl === written.authUrl || hostOf(authUrl) === hostOf(config.authUrl);
}

async function runningState({ running: [node] }: DeployedAccount): Promise<AccountState> {
  if (!node)
    return { ...SIGNED_OUT, error: phrase`The account is not running: it is disabled, or its subflow is not used.` };
  try {
    const client = await node.client();
    await client.credentials.ready();
    return { ...client.credentials.info(), simulated: client.simulated, simulatorUrl: node.simulatorUrl() };
  } catch (thrown) {
    return { ...SIGNED_OUT, error: asPrintingError(thrown).sentence };
  }
}

/**
 * @param of `isKnown`: whether the account is deployed or a sign-in for it has begun. `authUrl`: the typed host;
 * undefined matches any
 */
async function storedState(
  RED: NodeAPI,
  { id, isKnown, authUrl }: { id: string; isKnown: boolean; authUrl: string | undefined },
): Promise<AccountState> {
  const grants = await runtimeOf(RED).store.get<Grants>(grantKey(id));
  const grant = authUrl === undefined ? newestGrant(grants) : grantAt(grants, hostOf(authUrl));
  if (!grant && (isKnown || newestGrant(grants))) return SIGNED_OUT;
  if (!grant) throw new UnknownAccount();
  const { user, organizationId } = holderOf(grant);
  const state = grant.ended ? 'sign-in-needed' : 'signed-in';
  const expiresAt = isoTime(grant.expiresAt);
  return { ...SIGNED_OUT, state, user, organizationId, expiresAt, error: whyEnded(grant) };
}

/** The endpoints for the state and the contents of an account (reference 5). */
export function accountEndpoints(RED: NodeAPI) {
  const client = async (request: Request): Promise<Client> => {
    const [node] = knownAccount(RED, idOf(request)).running;
    if (node) return node.client();
    const sentence = phrase`The account is not running: enable it, or use its subflow, and deploy.`;
    throw new PrintingError('NOT_CONFIGURED', sentence);
  };

  /** Uses the running account for a GET, and the settings in the body for a POST. */
  const choices = async <T>(request: Request, choose: (choices: Choices) => Promise<T>): Promise<T> => {
    if (request.method === 'POST') return withTypedChoices(RED, typedAccount(RED, idOf(request), request.body), choose);
    return choose((await client(request)).choices);
  };

  return {
    state: handle((request) => {
      const typed = ({ service, signIn, authUrl }: Request['query']) => ({ service, signIn, authUrl });
      const words = Object.entries(typed(request.query)).filter(([, value]) => typeof value === 'string');
      return stateOf(RED, idOf(request), Object.fromEntries(words));
    }),

    clusters: handle(async (request) => {
      const clusters = await choices(request, (all) => all.clusters());
      return clusters.map(({ clusterId, name, model, online, printers }) => ({
        clusterId,
        name,
        model,
        online,
        printers: printers.map(({ printerId, name }) => ({ printerId, name })),
      }));
    }),

    workspaces: handle((request) => choices(request, (all) => all.workspaces())),

    jobs: handle(async (request) => {
      const jobs = await choices(request, (all) => all.jobs(text(request.query.cluster) ?? undefined));
      return jobs.map(({ clusterJobId, jobId, clusterId, name, state, printerName, createdAt }) => ({
        clusterJobId,
        jobId,
        clusterId,
        name,
        state,
        printerName,
        createdAt,
      }));
    }),

    'stored-jobs': handle((request) => choices(request, (all) => all.storedJobs(text(request.query.search) ?? ''))),

    diagnostics: handle(async (request) => {
      const asked = await client(request);
      return {
        versions: {
          pack: version,
          node: process.version,
          nodeRed: (RED.settings as { version?: string }).version ?? null,
        },
        simulated: asked.simulated,
        ...(await asked.diagnostics()),
      };
    }),

    replicas: handle(async (request) => {
      const asked = await client(request);
      return { replicas: await asked.replicas(), refreshes: asked.credentials.counters().refreshesInAll ?? 0 };
    }),
  };
}

/** The endpoint that tests the connection of an account, deployed or not (reference 5). */
export const connectionEndpoint = (RED: NodeAPI) =>
  handle(async (request) => {
    const account = typedAccount(RED, idOf(request), request.body);
    const test = account.simulated ? testSimulator(account.deployed) : testTyped(runtimeOf(RED), account);
    return { checks: await test };
  });

async function testSimulator(deployed: DeployedAccount | undefined): Promise<Check[]> {
  const client = await deployed?.running[0]?.client();
  if (client?.simulated) return client.testConnection();
  throw new PrintingError(
    'NOT_CONFIGURED',
    phrase`The simulator starts with the deploy: deploy the account, then test it.`,
  );
}

async function testTyped(runtime: Runtime, account: TypedAccount): Promise<Check[]> {
  const { http, clock } = runtime;
  const settings = typedSettings(account);
  const withheld = await whyWithheld(runtime, account, settings);
  const credentials = formCredentials(runtime, account.id, settings);
  try {
    return await testConnection({ settings, credentials, http, clock, withheld });
  } finally {
    void credentials.close();
  }
}
