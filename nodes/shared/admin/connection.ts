import type { NodeAPI } from 'node-red';
import { credentialsOf } from '../../../lib/account/credentials';
import { readSettings, type AccountSettings } from '../../../lib/account/settings';
import type { Check } from '../../../lib/connection/check';
import { testConnection } from '../../../lib/connection/connection-test';
import { PrintingError } from '../../../lib/service/errors';
import { record } from '../../../lib/service/wire';
import { grantFor, grantKey, type Grants } from '../../../lib/sign-in/grant';
import { runtimeOf, type Runtime } from '../runtime';
import { deployedAccount, UnknownAccount, type DeployedAccount } from './accounts';
import { handle, idOf } from './handle';
import { connectionConfig, hostOf } from './typed-settings';

/** The endpoint that says what of an account works, also before it is deployed (reference 5). */
export const connectionEndpoint = (RED: NodeAPI) =>
  handle(async (request) => {
    const id = idOf(request);
    const typed = record(request.body ?? {});
    if (!typed) throw new PrintingError('INVALID_INPUT', 'The body must be an object of settings.');
    const deployed = deployedAccount(RED, id);
    if (!deployed && Object.keys(typed).length === 0) throw new UnknownAccount();
    const deployedService = (deployed?.config as { service?: unknown } | undefined)?.service;
    if ((typed.service ?? deployedService) === 'simulator') return { checks: await testSimulator(deployed) };
    const settings = readSettings(connectionConfig(typed, deployed));
    return { checks: await testTyped(runtimeOf(RED), id, settings, deployed) };
  });

async function testSimulator(deployed: DeployedAccount | undefined): Promise<Check[]> {
  const client = await deployed?.running[0]?.client();
  if (client?.simulated) return client.testConnection();
  throw new PrintingError('NOT_CONFIGURED', 'The simulator starts with the deploy: deploy the account, then test it.');
}

/** With credentials of its own, beside those of what runs: the store's locks see to it that both may renew. */
async function testTyped(
  { http, clock, store }: Runtime,
  accountId: string,
  settings: AccountSettings,
  deployed: DeployedAccount | undefined,
): Promise<Check[]> {
  const { signIn, apiUrl } = settings;
  let withheld = '';
  if (!('apiToken' in signIn)) {
    // Whoever types hosts is not trusted with tokens that were granted for others.
    const grant = grantFor(await store.get<Grants>(grantKey(accountId)), signIn);
    const known = [hostOf(deployed?.config.apiUrl), grant?.apiUrl ?? ''];
    if (grant && !known.includes(apiUrl))
      withheld = 'The stored sign-in goes to the API host alone that it was made for: sign in again for another host.';
  }
  const credentials = credentialsOf(settings, { accountId, store, clock, http, warn: () => undefined });
  try {
    return await testConnection({ settings, credentials, http, clock, withheld });
  } finally {
    await credentials.close();
  }
}
