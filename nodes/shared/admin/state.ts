import type { NodeAPI } from 'node-red';
import { asPrintingError } from '../../../lib/service/errors';
import type { SignInInfo } from '../../../lib/sign-in/credentials';
import { grantKey, holderOf, newestGrant, whyEnded, type Grants } from '../../../lib/sign-in/grant';
import { say } from '../../../lib/words/say';
import { runtimeOf } from '../runtime';
import { deployedAccount, UnknownAccount, type DeployedAccount } from './accounts';
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

/** The state that the dialog shows: of the deployed account, or of a sign-in that was begun before its deploy. */
export async function stateOf(RED: NodeAPI, id: string): Promise<AccountState> {
  const deployed = deployedAccount(RED, id);
  // Where it can't be read now, nothing is known.
  const signIns = await runtimeOf(RED)
    .authorization.known(id, wantedBy(RED))
    .catch(() => ({ underWay: false, failure: null }));
  const isKnown = signIns.underWay || signIns.failure !== null;
  const state = await (deployed ? runningState(deployed) : storedState(RED, id, isKnown));
  // Fresher than what the tokens know.
  return signIns.failure === null ? state : { ...state, error: signIns.failure };
}

async function runningState({ running: [node] }: DeployedAccount): Promise<AccountState> {
  if (!node)
    return { ...SIGNED_OUT, error: say`The account is not running: it is disabled, or its subflow is not used.` };
  try {
    const client = await node.client();
    await client.credentials.ready();
    return { ...client.credentials.info(), simulated: client.simulated, simulatorUrl: node.simulatorUrl() };
  } catch (thrown) {
    return { ...SIGNED_OUT, error: asPrintingError(thrown).sentence };
  }
}

/** @param isKnown somebody has begun to sign in */
async function storedState(RED: NodeAPI, id: string, isKnown: boolean): Promise<AccountState> {
  const grant = newestGrant(await runtimeOf(RED).store.get<Grants>(grantKey(id)));
  if (!grant && isKnown) return SIGNED_OUT;
  if (!grant) throw new UnknownAccount();
  const { user, organizationId } = holderOf(grant);
  const state = grant.ended ? 'sign-in-needed' : 'signed-in';
  const expiresAt = new Date(grant.expiresAt).toISOString();
  return { ...SIGNED_OUT, state, user, organizationId, expiresAt, error: whyEnded(grant) };
}
