import type { NodeAPI } from 'node-red';
import { asPrintingError } from '../../../lib/service/errors';
import type { SignInInfo } from '../../../lib/sign-in/credentials';
import { grantAt, grantKey, holderOf, newestGrant, whyEnded, type Grants } from '../../../lib/sign-in/grant';
import { showable } from '../../../lib/sign-in/lifetime';
import { isoTime } from '../../../lib/time/clock';
import { phrase } from '../../../lib/words/sentence';
import { runtimeOf } from '../runtime';
import { deployedAccount, UnknownAccount, type DeployedAccount } from './accounts';
import { hostOf } from './typed-settings';
import { wantedBy } from './wanted';

export type AccountState = SignInInfo & { simulated: boolean; simulatorUrl: string | null };

const SIGNED_OUT: AccountState = {
  state: 'signed-out',
  user: null,
  organizationId: null,
  expiresAt: null,
  simulated: false,
  simulatorUrl: null,
  error: null,
};

/** The fields of a dialog that select the sign-in; each is missing where nothing is typed. */
export interface TypedService {
  service?: string;
  signIn?: string;
  authUrl?: string;
}

/**
 * The state that the dialog shows: of the deployed account, or of a sign-in that was begun before the deploy, at the
 * account host that is typed.
 */
export async function stateOf(RED: NodeAPI, id: string, typed: TypedService = {}): Promise<AccountState> {
  const deployed = deployedAccount(RED, id);
  // Where it can't be read now, nothing is known.
  const signIns = await runtimeOf(RED)
    .authorization.known(id, wantedBy(RED))
    .catch(() => ({ underWay: false, failure: null }));
  const isKnown = signIns.underWay || signIns.failure !== null || deployed !== undefined;
  const isRunning = deployed && isAsDeployed(deployed, typed);
  // Only a sign-in at a real service is stored.
  const authUrl = typed.service === 'simulator' || typed.signIn === 'token' ? '' : typed.authUrl;
  const state = await (isRunning ? runningState(deployed) : storedState(RED, { id, isKnown, authUrl }));
  // Fresher than what the tokens know.
  return signIns.failure === null ? state : { ...state, error: signIns.failure };
}

/** Whether what is typed is the service, and the way to sign in to it, that runs. */
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

/** @param of `isKnown`: the account is deployed, or a sign-in to it has begun. `authUrl`: as typed; missing: any */
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
  const expiresAt = isoTime(showable(grant.expiresAt));
  return { ...SIGNED_OUT, state, user, organizationId, expiresAt, error: whyEnded(grant) };
}
