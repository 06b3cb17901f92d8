import type { NodeAPI } from 'node-red';
import { credentialsOf } from '../../../lib/account/credentials';
import type { Check } from '../../../lib/connection/check';
import { testConnection } from '../../../lib/connection/connection-test';
import { PrintingError } from '../../../lib/service/errors';
import { runtimeOf, type Runtime } from '../runtime';
import type { DeployedAccount } from './accounts';
import { handle, idOf } from './handle';
import { typedAccount, typedSettings, whyWithheld, type TypedAccount } from './typed-account';
import { phrase } from '../../../lib/words/sentence';

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

/** Tests with separate credentials; the store's locks coordinate their refreshes with those of the running account. */
async function testTyped(runtime: Runtime, account: TypedAccount): Promise<Check[]> {
  const { http, clock, store } = runtime;
  const settings = typedSettings(account);
  const withheld = await whyWithheld(runtime, account, settings);
  const credentials = credentialsOf(settings, { accountId: account.id, store, clock, http, warn: () => undefined });
  try {
    return await testConnection({ settings, credentials, http, clock, withheld });
  } finally {
    await credentials.close();
  }
}
