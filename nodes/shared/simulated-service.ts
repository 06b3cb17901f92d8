import { join } from 'node:path';
import { readSettings, type AccountSettings } from '../../lib/account/settings';
import { grantFor, grantKey, type Grants } from '../../lib/sign-in/grant';
import { PrintingError } from '../../lib/service/errors';
import { startSimulator } from '../../simulator';
import type { Runtime } from './runtime';

/** The pack's own simulated service, inside the runtime, for one account. */
export interface SimulatedService {
  settings: AccountSettings;
  close(): Promise<void>;
}

/** An hour's print lasts a minute: long enough to watch, short enough to wait for. */
const TIME_FACTOR = 60;
/** Never visited: the redirect to it is read, not followed. */
const REDIRECT = 'http://127.0.0.1/callback';

/** Starts it on loopback addresses and signs the account in, over the same OAuth steps as a person would. */
export async function openSimulated(runtime: Runtime, accountId: string): Promise<SimulatedService> {
  const dataDir = join(runtime.userDir, 'remote-printing-simulator', accountId.replace(/[^\w.-]/g, '_'));
  const simulator = await startSimulator({ dataDir, timeFactor: TIME_FACTOR, autoApprove: true });
  try {
    const { authUrl, apiUrl, client } = simulator;
    const settings = readSettings(
      { authUrl, apiUrl, clientId: client.id, clientSecret: client.secret },
      { simulated: true },
    );
    await signIn(runtime, accountId, settings);
    return { settings, close: () => simulator.close() };
  } catch (error) {
    await simulator.close();
    throw error;
  }
}

async function signIn(
  { authorization, http, store }: Runtime,
  accountId: string,
  settings: AccountSettings,
): Promise<void> {
  if ('apiToken' in settings.signIn) return;
  const grant = grantFor(await store.get<Grants>(grantKey(accountId)), settings.signIn);
  if (grant && !grant.ended) return;
  const url = authorization.begin({ accountId, settings: settings.signIn, redirectUri: REDIRECT, organizationId: '' });
  const { headers, body } = await http.send({ method: 'GET', url });
  await body.dump();
  const redirect = headers.location;
  if (!redirect) throw new PrintingError('SERVICE_ERROR', 'The simulator did not sign the account in.');
  await authorization.complete(new URL(redirect).searchParams, accountId);
}
