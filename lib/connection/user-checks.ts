import { currentUser, type CurrentUser } from '../account/current-user';
import type { AccountSettings } from '../account/settings';
import { TEXT } from '../rules/limits';
import { asPrintingError } from '../service/errors';
import { record, records, single } from '../service/json-readers';
import { ENDPOINTS, type PathSettings, target, type Target } from '../service/paths';
import type { Deadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';
import { type Ask, type Asked, type Check, notChecked } from './check';
import { callInUse, statusSays } from './paths-check';

const PATIENCE = 10_000;

/**
 * Checks the signed-in user, the workspace, and the user's path, which is uncertain (wire facts 11). A blank
 * `organizationId` stands for the workspace that the user chose when signing in; `tokenOrganizationId` is the token's.
 */
export async function checkUser(
  ask: Ask,
  { paths, organizationId }: Pick<AccountSettings, 'paths' | 'organizationId'>,
  tokenOrganizationId: string | null,
  deadline: Deadline,
): Promise<Check[]> {
  const call = callInUse('currentUser', paths.overrides);
  const workspace = (user: CurrentUser | null) =>
    checkWorkspace(tokenOrganizationId ?? user?.organizationId ?? null, organizationId, user);
  const path = (ok: boolean | null, detail: Sentence): Check => ({ name: 'path.currentUser', ok, detail });
  const unknown = (why: Sentence) => [notChecked('user', why), workspace(null)];
  if (!call.startsWith('GET '))
    return [
      ...unknown(phrase`its path is not one that only reads`),
      path(null, phrase`${call} is not tried: it may change something.`),
    ];
  const limit = deadline.within(PATIENCE, { cure: phrase`try again` });
  try {
    const { answer, used } = await readUser(ask, paths, call, limit);
    const [ok, detail] = statusSays(answer, used) ?? [false, phrase`${used}: the service does not know this path.`];
    const [wire] = records((answer.body as { data?: unknown } | null | undefined)?.data ?? answer.body);
    if (ok !== true || !wire) return [...unknown(phrase`the service did not say who is signed in`), path(ok, detail)];
    const user = currentUser(wire);
    const name = user.name ?? user.userId;
    const signedIn: Check = name
      ? { name: 'user', ok: true, detail: phrase`Signed in as ${name}.` }
      : { name: 'user', ok: null, detail: phrase`The service does not say who is signed in.` };
    return [signedIn, workspace(user), path(ok, detail)];
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
  ask: Ask,
  paths: PathSettings,
  call: string,
  limit: Deadline,
): Promise<{ answer: Asked; used: string }> {
  const at = async (name: 'currentUser' | 'currentUserOnApi') => {
    const { host, path } = target(name, {}, paths);
    return ask({ host, path }, limit);
  };
  const answer = await at('currentUser');
  if (answer.status !== 404 || paths.overrides.currentUser) return { answer, used: call };
  const other = await at('currentUserOnApi');
  return other.status === 404 ? { answer, used: call } : { answer: other, used: ENDPOINTS.currentUserOnApi.call };
}

function checkWorkspace(id: string | null, wanted: string, user: CurrentUser | null): Check {
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

/** Largest tolerable difference, ms; beyond it tokens and dates go wrong. */
const MOST = 60_000;

/** Compares this computer's clock with the `Date` of an answer, which the service wrote half a round trip ago. */
export function checkClock(answer: Asked | undefined): Check {
  const name = 'clock';
  if (!answer) return notChecked(name, phrase`no host was reached`);
  const { date, age } = answer.headers;
  const serviceTime = Date.parse((date ?? '').slice(0, TEXT.matched));
  if (Number.isNaN(serviceTime) || (age !== undefined && age !== '0'))
    return { name, ok: null, detail: phrase`The answer does not include the time at the service.` };
  // The header has no milliseconds, so it is half a second early on average.
  const off = (answer.sentAt + answer.arrivedAt) / 2 - (serviceTime + 500);
  const seconds = Math.round(Math.abs(off) / 1000);
  if (seconds <= 1) return { name, ok: true, detail: phrase`This computer's clock agrees with the service's.` };
  const detail =
    off > 0
      ? phrase`This computer's clock is ${lasting(seconds)} ahead of the service's.`
      : phrase`This computer's clock is ${lasting(seconds)} behind the service's.`;
  const ok = Math.abs(off) <= MOST;
  return { name, ok, detail: ok ? detail : phrase`${detail} Correct it.` };
}

function lasting(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

const HOSTS = {
  api: { name: 'apiHost', label: phrase`API host`, path: '/connect/v1' },
  auth: { name: 'accountHost', label: phrase`account host`, path: '/' },
} as const;

/** Checks whether a host answers, by the uptime call, which needs no token (wire facts 1). */
export async function checkHost(
  host: Target['host'],
  url: string,
  ask: Ask,
  deadline: Deadline,
): Promise<{ check: Check; answer?: Asked }> {
  const { name, label, path } = HOSTS[host];
  const where = new URL(url).host;
  const limit = deadline.within(PATIENCE, { cure: phrase`check the address and the network` });
  try {
    const answer = await ask({ host, path }, limit);
    const { status } = answer;
    if (status >= 500)
      return {
        check: { name, ok: false, detail: phrase`${where} fails with status ${status}: try again later.` },
        answer,
      };
    if (isUptime(answer.body)) return { check: { name, ok: true, detail: phrase`${where} answers.` }, answer };
    const detail = phrase`${where} answers with status ${status}, but not like the service: check that it is the ${label}.`;
    return { check: { name, ok: false, detail }, answer };
  } catch (thrown) {
    const error = asPrintingError(thrown);
    const reason = error.code === 'NETWORK' && error.cause instanceof Error ? error.cause.message : null;
    const detail = reason
      ? phrase`${where} was not reached (${reason}): check the address and the network.`
      : phrase`${where}: ${error.sentence}`;
    return { check: { name, ok: false, detail } };
  } finally {
    limit.end();
  }
}

/** Whether the body is an uptime answer, with the `data` envelope or, as older documents show it, without. */
function isUptime(body: unknown): boolean {
  const answer = single(record(body)?.data) ?? record(body);
  return answer?.ok === true;
}
