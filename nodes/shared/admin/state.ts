import type { NodeAPI } from 'node-red';
import { asPrintingError } from '../../../lib/service/errors';
import type { SignInInfo } from '../../../lib/sign-in/credentials';
import { grantAt, grantKey, holderOf, newestGrant, whyEnded, type Grants } from '../../../lib/sign-in/grant';
import { showable } from '../../../lib/sign-in/token-endpoint';
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

/** The dialog's fields that select a sign-in; missing if not typed. */
export interface TypedService {
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
  const expiresAt = isoTime(showable(grant.expiresAt));
  return { ...SIGNED_OUT, state, user, organizationId, expiresAt, error: whyEnded(grant) };
}
