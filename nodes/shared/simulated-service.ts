import { join } from 'node:path';
import { readSettings, type AccountSettings } from '../../lib/account/settings';
import { Authorization } from '../../lib/sign-in/authorization';
import { grantFor, grantKey, type Grants } from '../../lib/sign-in/grant';
import { PrintingError } from '../../lib/service/errors';
import { MemoryStore } from '../../lib/state/memory-store';
import type { Simulator } from '../../simulator';
import type { Runtime } from './runtime';
import { SimulatedWorld } from './simulated-world';
import { phrase } from '../../lib/words/sentence';

/** One account's use of the simulated world. */
export interface SimulatedService {
  settings: AccountSettings;
  /** Local address of the page to watch and disturb the printers on. */
  page: string;
  close(): Promise<void>;
}

/** Redirect address that is read but never visited. */
const REDIRECT = 'http://127.0.0.1/callback';

/** Enters the world and signs the account in through the same OAuth steps as a user. */
export async function openSimulated(runtime: Runtime, accountId: string): Promise<SimulatedService> {
  const world = (runtime.simulated ??= new SimulatedWorld(join(runtime.userDir, 'remote-printing-simulator')));
  try {
    const simulator = await world.enter();
    const { authUrl, apiUrl, controlUrl, client } = simulator;
    const settings = readSettings(
      { authUrl, apiUrl, clientId: client.id, clientSecret: client.secret },
      { simulated: true },
    );
    await signIn(runtime, accountId, { settings, simulator });
    return { settings, page: controlUrl, close: () => world.leave() };
  } catch (error) {
    await world.leave();
    throw error;
  }
}

async function signIn(
  { clock, endpoint, http, ownStore: store }: Runtime,
  accountId: string,
  { settings, simulator }: { settings: AccountSettings; simulator: Simulator },
): Promise<void> {
  if ('apiToken' in settings.signIn) return;
  const grant = grantFor(await store.get<Grants>(grantKey(accountId)), settings.signIn);
  // A recreated world doesn't know earlier sign-ins.
  if (grant?.refreshToken && simulator.tokens.refreshTokens.includes(grant.refreshToken)) return;
  const authorization = new Authorization({ store, signIns: new MemoryStore(), clock, endpoint });
  const beginning = { accountId, settings: settings.signIn, redirectUri: REDIRECT, organizationId: '' };
  const url = await authorization.begin(beginning);
  const { headers, body } = await http.send({ method: 'GET', url });
  await body.dump();
  const redirect = headers.location;
  if (!redirect) throw new PrintingError('SERVICE_ERROR', phrase`The simulator did not sign the account in.`);
  await authorization.complete(new URL(redirect).searchParams, { accountId });
}
