import type { NodeAPI } from 'node-red';
import { credentialsOf } from '../../../lib/account/credentials';
import { readSettings, type AccountSettings } from '../../../lib/account/settings';
import { AuthenticatedApiClient } from '../../../lib/account/authenticated-api-client';
import { Choices } from '../../../lib/query/choices';
import { PrintingError } from '../../../lib/service/errors';
import { record } from '../../../lib/service/json-readers';
import { grantFor, grantKey, type Grants } from '../../../lib/sign-in/grant';
import { runtimeOf, type Runtime } from '../runtime';
import { deployedAccount, UnknownAccount, type DeployedAccount } from './accounts';
import { connectionConfig, hostOf } from './typed-settings';
import { phrase, type Sentence } from '../../../lib/words/sentence';

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
  if (!grant) return null;
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
    return await withSettings(runtime, FORMS, world.settings, choose);
  } finally {
    await world.close();
  }
}

/** Account id that signs in the forms of simulated accounts that aren't running. */
const FORMS = 'forms';

async function withSettings<T>(
  { store, clock, http }: Runtime,
  accountId: string,
  settings: AccountSettings,
  choose: (choices: Choices) => Promise<T>,
): Promise<T> {
  const credentials = credentialsOf(settings, { accountId, store, clock, http, warn: () => undefined });
  const service = new AuthenticatedApiClient({ settings, http, clock, credentials });
  const { overrides } = settings.paths;
  const closing = new AbortController();
  try {
    return await choose(new Choices({ service, clock, overrides, closing: closing.signal }));
  } finally {
    closing.abort();
    await credentials.close();
  }
}
