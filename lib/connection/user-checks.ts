import { currentUser, type CurrentUser } from '../account/current-user';
import { asPrintingError } from '../service/errors';
import { ENDPOINTS, target, type PathSettings } from '../service/paths';
import { records } from '../service/json-readers';
import type { Deadline } from '../time/deadline';
import type { Ask, Asked } from './ask';
import { notChecked, type Check } from './check';
import { callInUse } from './compare';
import { statusSays } from './paths-check';
import { phrase, type Sentence } from '../words/sentence';

interface UserContext {
  ask: Ask;
  paths: PathSettings;
  bearer: string;
  /** Blank for the workspace that the user chose when signing in. */
  organizationId: string;
  /** Id of the token's workspace. */
  tokenOrganizationId: string | null;
}

const PATIENCE = 10_000;

/** Checks the signed-in user, the workspace, and the user's path, which is uncertain (wire facts 11). */
export async function checkUser(context: UserContext, deadline: Deadline): Promise<Check[]> {
  const call = callInUse('currentUser', context.paths.overrides);
  const path = (ok: boolean | null, detail: Sentence): Check => ({ name: 'path.currentUser', ok, detail });
  const unknown = (why: Sentence) => [notChecked('user', why), workspace(context, null)];
  if (!call.startsWith('GET '))
    return [
      ...unknown(phrase`its path is not one that only reads`),
      path(null, phrase`${call} is not tried: it may change something.`),
    ];
  const limit = deadline.within(PATIENCE, { cure: phrase`try again` });
  try {
    const { answer, used } = await readUser(context, call, limit);
    const [ok, detail] = statusSays(answer, used) ?? [false, phrase`${used}: the service does not know this path.`];
    const [wire] = records((answer.body as { data?: unknown } | null | undefined)?.data ?? answer.body);
    if (ok !== true || !wire) return [...unknown(phrase`the service did not say who is signed in`), path(ok, detail)];
    const user = currentUser(wire);
    const name = user.name ?? user.userId;
    const signedIn: Check = name
      ? { name: 'user', ok: true, detail: phrase`Signed in as ${name}.` }
      : { name: 'user', ok: null, detail: phrase`The service does not say who is signed in.` };
    return [signedIn, workspace(context, user), path(ok, detail)];
  } catch (thrown) {
    return [
      ...unknown(phrase`the service was not asked`),
      path(false, phrase`${call}: ${asPrintingError(thrown).sentence}`),
    ];
  } finally {
    limit.end();
  }
}

/** Reads the user at the path in use; if that is the table's and unknown, at the other path too. */
async function readUser(
  { ask, paths, bearer }: UserContext,
  call: string,
  limit: Deadline,
): Promise<{ answer: Asked; used: string }> {
  const at = async (name: 'currentUser' | 'currentUserOnApi') => {
    const { host, path } = target(name, {}, paths);
    return ask({ host, path, bearer }, limit);
  };
  const answer = await at('currentUser');
  if (answer.status !== 404 || paths.overrides.currentUser) return { answer, used: call };
  const other = await at('currentUserOnApi');
  return other.status === 404 ? { answer, used: call } : { answer: other, used: ENDPOINTS.currentUserOnApi.call };
}

function workspace({ organizationId: wanted, tokenOrganizationId }: UserContext, user: CurrentUser | null): Check {
  const id = tokenOrganizationId ?? user?.organizationId ?? null;
  const name = 'workspace';
  if (id === null)
    return { name, ok: null, detail: phrase`The service does not say which workspace the sign-in is for.` };
  const known = user?.organizations.find((organization) => organization.id === id)?.name ?? shortened(id);
  if (wanted && wanted !== id)
    return {
      name,
      ok: false,
      detail: phrase`Signed in to ${known}, which is not the workspace in the settings: sign in again.`,
    };
  return { name, ok: true, detail: phrase`Signed in to ${known}.` };
}

/** Ids of the service are treated as secrets (wire facts 1). */
const shortened = (id: string): string => (id.length > 8 ? `${id.slice(0, 6)}…` : id);
