import { PATH_PARAMETERS, type Overridable, type PathParameter } from '../rules/path-overrides';
import { asPrintingError } from '../service/errors';
import { target, type PathSettings } from '../service/paths';
import { list, record, text } from '../service/json-readers';
import type { Deadline } from '../time/deadline';
import type { Ask, Asked } from './ask';
import type { Check } from './check';
import { callInUse } from './compare';
import { phrase, type Sentence } from '../words/sentence';

/** The calls of `paths` that only read (reference 7). The user is asked for apart. */
export const READING = ['printJobs', 'maintenance', 'actionStatus', 'getReport'] as const satisfies Overridable[];
type Reading = (typeof READING)[number];

export interface ProbeContext {
  ask: Ask;
  paths: PathSettings;
  bearer: string;
  /** One of the account's clusters; null where it has none. */
  clusterId: string | null;
}

const PATIENCE = 10_000;
/** An id that nothing has. */
const NOBODY = '00000000-0000-0000-0000-000000000000';
/** Part of a path that no service has. */
const NOWHERE = 'no-such-call';

/**
 * Whether the service knows the path of a call. Of what can't be asked for without an id, one is asked for that nothing
 * has: where the service's "not found" differs from the one of a path that surely isn't there, the path is there.
 */
export async function checkPath(name: Reading, context: ProbeContext, deadline: Deadline): Promise<Check> {
  const { ask, paths, bearer, clusterId } = context;
  const call = callInUse(name, paths.overrides);
  const check = (ok: boolean | null, detail: Sentence): Check => ({ name: `path.${name}`, ok, detail });
  if (!call.startsWith('GET ')) return check(null, phrase`${call} is not tried: it may change something.`);
  const ids: Partial<Record<PathParameter, string>> = Object.fromEntries(PATH_PARAMETERS.map((id) => [id, NOBODY]));
  if (clusterId !== null) ids.cluster_id = clusterId;
  const limit = deadline.within(PATIENCE, { cure: phrase`try again` });
  try {
    const { host, path } = target(name, ids, paths);
    const query = name === 'printJobs' ? '?limit=1' : '';
    const answer = await ask({ host, path: path + query, bearer }, limit);
    const plain = statusSays(answer, call);
    if (plain) return check(...plain);
    const nowhere = target(name, ids, { ...paths, overrides: { ...paths.overrides, [name]: misspelt(call) } });
    const missing = await ask({ host, path: nowhere.path, bearer }, limit);
    if (encodeMessage(answer) !== encodeMessage(missing))
      return check(true, phrase`${call} is very likely right: the service answers a wrong path differently.`);
    if (!call.includes('{')) return check(false, unknown(call));
    return check(null, phrase`${call}: not clear, as the service answers every wrong path and ID alike.`);
  } catch (thrown) {
    return check(false, phrase`${call}: ${asPrintingError(thrown).sentence}`);
  } finally {
    limit.end();
  }
}

/** What the status alone tells of a path; null where it depends on what the service says of others. */
export function statusSays({ status, body }: Asked, call: string): [ok: boolean | null, detail: Sentence] | null {
  if (status >= 200 && status <= 299)
    return record(body) || Array.isArray(body)
      ? [true, phrase`${call} answers.`]
      : [false, phrase`${call} gives an unexpected answer.`];
  if (status === 401 || status === 403)
    return [false, phrase`${call} was refused: check the permissions of the user and the scopes.`];
  if (status === 405) return [false, phrase`${call}: the service expects another method there.`];
  if (status === 429) return [null, phrase`${call}: not clear now, as the service asks for a pause.`];
  if (status >= 500) return [false, phrase`${call} failed with status ${status}: try again later.`];
  if (status < 400 || !isRefusal(body)) return [false, unknown(call)];
  return null;
}

const unknown = (call: string): Sentence => phrase`${call}: the service does not know this path.`;

const errorsOf = (body: unknown): unknown[] => list(record(body)?.errors);
/** In the service's own words (wire facts 1.1): no page of something else on the way. */
const isRefusal = (body: unknown): boolean => errorsOf(body).length > 0;

/** A refusal without what is of this one request. */
function encodeMessage({ status, body }: Asked): string {
  const error = record(errorsOf(body)[0]);
  const meta = record(error?.meta);
  const about = ['error_type', 'record_name', 'model_name', 'field_name'].map((field) => text(meta?.[field]));
  return JSON.stringify([status, text(error?.code), text(error?.title), ...about]);
}

/** The same call with its last word replaced. */
function misspelt(call: string): string {
  const parts = call.split('/');
  const last = parts.findLastIndex((part, index) => index > 0 && part !== '' && !part.startsWith('{'));
  return parts.map((part, index) => (index === last ? NOWHERE : part)).join('/');
}
