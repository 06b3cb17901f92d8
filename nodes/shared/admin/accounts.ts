import type { NodeAPI } from 'node-red';
import { AuthenticatedApiClient } from '../../../lib/account/authenticated-api-client';
import { credentialsOf } from '../../../lib/account/credentials';
import { type AccountConfig, type AccountSettings, readSettings } from '../../../lib/account/settings';
import { Choices } from '../../../lib/query/choices';
import { hostOf } from '../../../lib/rules/addresses';
import { TEXT } from '../../../lib/rules/limits';
import { trimmed, variableOf } from '../../../lib/rules/text';
import { PrintingError } from '../../../lib/service/errors';
import { record } from '../../../lib/service/json-readers';
import type { Credentials } from '../../../lib/sign-in/credentials';
import type { IsWanted } from '../../../lib/sign-in/authorization';
import { grantFor, grantKey, type Grants } from '../../../lib/sign-in/grant';
import { phrase, type Sentence } from '../../../lib/words/sentence';
import { type AccountNode, isAccount } from '../account-link';
import { type Runtime, runtimeOf } from '../runtime';

/** Error for a node that isn't in the flows; answered with 404. */
export class Unknown extends PrintingError {
  constructor(sentence: Sentence) {
    super('NOT_FOUND', sentence);
  }
}

/** Error for an account without flows entry and sign-in. */
export class UnknownAccount extends Unknown {
  constructor() {
    super(phrase`There is no such account: deploy it first.`);
  }
}

/** An account in the flows. */
export interface DeployedAccount {
  /** Settings as written in the flows, with those credentials that are names of environment variables. */
  written: AccountConfig;
  /** Settings as the runtime reads them, with credentials and expanded environment variables. */
  config: AccountConfig;
  /** Running instances: several for an account in a subflow, none for a disabled one. */
  running: AccountNode[];
}

/** Returns the account with this id in the flows; undefined if there is none, even if state is stored for it. */
export function deployedAccount(RED: NodeAPI, id: string): DeployedAccount | undefined {
  let written: AccountConfig | undefined;
  RED.nodes.eachNode((node) => {
    if (node.id === id && node.type === 'remote-printing-account') written = node as AccountConfig;
  });
  if (!written) return undefined;
  const running = [...runtimeOf(RED).accounts].filter((node) => node.accountId === id && isAccount(node));
  const stored = RED.nodes.getCredentials(id) as AccountConfig | undefined;
  const config = running[0]?.config() ?? { ...written, ...stored };
  // A secret that is typed anew may be sent to another host, even if it equals the stored one.
  const named = Object.entries(stored ?? {}).filter(([, value]) => variableOf(value) !== null);
  return { written: { ...written, ...Object.fromEntries(named) }, config, running };
}

/** Returns the account with this id in the flows; throws UnknownAccount if there is none. */
export function knownAccount(RED: NodeAPI, id: string): DeployedAccount {
  const account = deployedAccount(RED, id);
  if (!account) throw new UnknownAccount();
  return account;
}

/** Placeholder for a stored credential in the editor. */
const UNTOUCHED = '__PWRD__';

/**
 * Returns the settings for a sign-in: typed settings take precedence, and untouched secrets keep their stored values. A
 * user who types settings isn't trusted with values that the editor hides. So the stored secret goes only to the stored
 * host, and Node-RED expands environment variables in stored settings only. Throws NOT_CONFIGURED.
 */
export function signInConfig(typed: Record<string, unknown>, deployed: DeployedAccount | undefined): AccountConfig {
  const changed = changedSettings(typed, deployed);
  const config: AccountConfig = { ...deployed?.config, ...changed };
  const isStored = changed.clientSecret === undefined && config.clientSecret;
  if (isStored && hostOf(config.authUrl) !== hostOf(deployed?.config.authUrl))
    throw new PrintingError(
      'NOT_CONFIGURED',
      phrase`The stored client secret is only sent to the stored account host: enter it again for another host.`,
    );
  return config;
}

/** Returns the settings for a connection test by the same rules; a stored API token goes only to the stored hosts. */
export function connectionConfig(typed: Record<string, unknown>, deployed: DeployedAccount | undefined): AccountConfig {
  const changed = changedSettings(typed, deployed);
  const config: AccountConfig = { ...deployed?.config, ...changed };
  if (config.signIn !== 'token') return signInConfig(typed, deployed);
  const isStored = changed.apiToken === undefined && config.apiToken;
  const isElsewhere = (name: 'apiUrl' | 'authUrl') =>
    hostOf(config[name]) !== '' && hostOf(config[name]) !== hostOf(deployed?.config[name]);
  if (isStored && (isElsewhere('apiUrl') || isElsewhere('authUrl')))
    throw new PrintingError(
      'NOT_CONFIGURED',
      phrase`The stored API token is only sent to the stored hosts: enter it again for another host.`,
    );
  return config;
}

function changedSettings(typed: Record<string, unknown>, deployed: DeployedAccount | undefined): AccountConfig {
  const written: Record<string, unknown> = { ...deployed?.written };
  const changed = Object.entries(typed).filter(
    ([name, value]) => typeof value === 'string' && value !== UNTOUCHED && value !== written[name],
  ) as [string, string][];
  const long = changed.find(([, value]) => value.length > TEXT.setting);
  if (long)
    throw new PrintingError(
      'NOT_CONFIGURED',
      phrase`The setting ${long[0]} has more than ${TEXT.setting} characters: shorten it.`,
    );
  if (changed.some(([, value]) => /\$\{|^\$\(/.test(value)))
    throw new PrintingError(
      'NOT_CONFIGURED',
      phrase`Environment variables are only read for deployed settings: deploy the account first.`,
    );
  return Object.fromEntries(changed);
}

const identity = (authUrl: string, clientId: string): string => JSON.stringify([authUrl, clientId]);

/** Host and client that a deployed account signs in with, as one string; null without such an account. */
export function deployedIdentity(RED: NodeAPI, id: string): string | null {
  const config = deployedAccount(RED, id)?.config;
  return config ? identity(hostOf(config.authUrl), trimmed(config.clientId)) : null;
}

/**
 * Returns whether a sign-in is still wanted: no longer after its account was deleted in the flows of this Node-RED, or
 * after another host or client was deployed, whose tokens it would replace. Another Node-RED may have begun it.
 */
export const wantedBy =
  (RED: NodeAPI): IsWanted =>
  ({ accountId, deployed, settings: { authUrl, clientId } }) =>
    [deployed, identity(authUrl, clientId)].includes(deployedIdentity(RED, accountId));

/** An account with the typed settings of a form on top of the deployed ones. */
export interface TypedAccount {
  id: string;
  typed: Record<string, unknown>;
  deployed: DeployedAccount | undefined;
  simulated: boolean;
}

/** Reads a form's body. Throws INVALID_INPUT unless it is an object, and UnknownAccount for an unknown account. */
export function typedAccount(RED: NodeAPI, id: string, body: unknown): TypedAccount {
  const typed = record(body ?? {});
  if (!typed) throw new PrintingError('INVALID_INPUT', phrase`The body must be an object of settings.`);
  const deployed = deployedAccount(RED, id);
  if (!deployed && Object.keys(typed).length === 0) throw new UnknownAccount();
  const stored = (deployed?.config as { service?: unknown } | undefined)?.service;
  return { id, typed, deployed, simulated: (typed.service ?? stored) === 'simulator' };
}

/** Returns the settings of an account at the real service. Throws NOT_CONFIGURED. */
export const typedSettings = ({ typed, deployed }: TypedAccount): AccountSettings =>
  readSettings(connectionConfig(typed, deployed));

/**
 * Returns the reason to withhold the stored sign-in; null if it may be used. The tokens of a deployed account go only
 * to the deployed hosts, since a user with access to sign-ins isn't trusted to name others. Before the deploy, they go
 * only to the hosts that they were granted for.
 */
export async function whyWithheld(
  { store }: Runtime,
  { id, deployed }: TypedAccount,
  { signIn, apiUrl, authUrl }: AccountSettings,
): Promise<Sentence | null> {
  if ('apiToken' in signIn) return null;
  const grant = grantFor(await store.get<Grants>(grantKey(id)), signIn);
  if (!grant || grant.signedOut) return null;
  const { apiUrl: deployedApi, authUrl: deployedAuth } = deployed?.config ?? {};
  if (hostOf(deployedApi) === '')
    return grant.apiUrl === apiUrl
      ? null
      : phrase`The stored sign-in is only sent to the API host that it was made for: sign in again for another host.`;
  if (hostOf(deployedApi) === apiUrl && hostOf(deployedAuth) === authUrl) return null;
  return phrase`The stored sign-in is only sent to the deployed hosts: deploy the account to use other ones.`;
}

/**
 * Lets a form choose from the contents of a typed account, with credentials separate from those of the running account.
 */
export async function withTypedChoices<T>(
  RED: NodeAPI,
  account: TypedAccount,
  choose: (choices: Choices) => Promise<T>,
): Promise<T> {
  const runtime = runtimeOf(RED);
  if (account.simulated) return withSimulated(runtime, choose);
  const settings = typedSettings(account);
  const withheld = await whyWithheld(runtime, account, settings);
  if (withheld) throw new PrintingError('NOT_SIGNED_IN', withheld);
  return withSettings(runtime, account.id, settings, choose);
}

/** All simulated accounts share one world. */
async function withSimulated<T>(runtime: Runtime, choose: (choices: Choices) => Promise<T>): Promise<T> {
  const { openSimulated } = require('../simulated-service') as typeof import('../simulated-service');
  const world = await openSimulated(runtime, FORMS);
  try {
    return await withSettings({ ...runtime, store: runtime.ownStore }, FORMS, world.settings, choose);
  } finally {
    await world.close();
  }
}

/** Account id that signs in the forms of simulated accounts that aren't running. */
const FORMS = 'forms';

async function withSettings<T>(
  runtime: Runtime,
  accountId: string,
  settings: AccountSettings,
  choose: (choices: Choices) => Promise<T>,
): Promise<T> {
  const { clock, http } = runtime;
  const credentials = formCredentials(runtime, accountId, settings);
  const service = new AuthenticatedApiClient({ settings, http, clock, credentials });
  const { overrides } = settings.paths;
  const closing = new AbortController();
  try {
    return await choose(new Choices({ service, clock, overrides, signIn: credentials, closing: closing.signal }));
  } finally {
    closing.abort();
    // A renewal under way belongs to the process, and the form must not wait for it.
    void credentials.close();
  }
}

/**
 * Credentials of a form, separate from those of the running account. The store's locks order the renewals of both. A
 * sign-out cancels either, and a pause that the service asked for holds for both.
 */
export function formCredentials(runtime: Runtime, accountId: string, settings: AccountSettings): Credentials {
  const { store, clock, http, refreshesUnderWay } = runtime;
  return credentialsOf(settings, { accountId, store, clock, http, refreshesUnderWay, warn: () => undefined });
}
