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

/** An account as a form has it: what was typed, over what is deployed of it. */
export interface TypedAccount {
  id: string;
  typed: Record<string, unknown>;
  deployed: DeployedAccount | undefined;
  simulated: boolean;
}

/** Throws INVALID_INPUT for a body that is no object, and UnknownAccount where nothing is known of the account. */
export function typedAccount(RED: NodeAPI, id: string, body: unknown): TypedAccount {
  const typed = record(body ?? {});
  if (!typed) throw new PrintingError('INVALID_INPUT', phrase`The body must be an object of settings.`);
  const deployed = deployedAccount(RED, id);
  if (!deployed && Object.keys(typed).length === 0) throw new UnknownAccount();
  const stored = (deployed?.config as { service?: unknown } | undefined)?.service;
  return { id, typed, deployed, simulated: (typed.service ?? stored) === 'simulator' };
}

/** The settings of an account of the real service. Throws NOT_CONFIGURED. */
export const typedSettings = ({ typed, deployed }: TypedAccount): AccountSettings =>
  readSettings(connectionConfig(typed, deployed));

/**
 * Why the stored sign-in may not be used; null where it may. The tokens of a deployed account go to the deployed hosts
 * alone: a user who may begin sign-ins is not trusted to name others. Before the deploy, they go where they were granted for.
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

/** Has a form choose from what such an account has, with credentials of its own beside those of what runs. */
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

/** Every simulated account sees the same world. */
async function withSimulated<T>(runtime: Runtime, choose: (choices: Choices) => Promise<T>): Promise<T> {
  const { openSimulated } = require('../simulated-service') as typeof import('../simulated-service');
  const world = await openSimulated(runtime, FORMS);
  return withSettings(runtime, FORMS, world.settings, choose).finally(() => world.close());
}

/** As whom the forms of simulated accounts that do not run are signed in. */
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
