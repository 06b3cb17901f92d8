import { PATH_PARAMETERS, type Overridable, type PathParameter } from '../rules/paths';
import { asPrintingError } from '../service/errors';
import { target, type PathSettings } from '../service/paths';
import { list, record, text } from '../service/json-readers';
import type { Deadline } from '../time/deadline';
import type { Ask, Asked } from './ask';
import type { Check } from './check';
import { callInUse } from './compare';
import { phrase, type Sentence } from '../words/sentence';

/** The overridable calls that only read (reference 7), except the user's, which has its own check. */
export const READING = ['printJobs', 'maintenance', 'actionStatus', 'getReport'] as const satisfies Overridable[];
type Reading = (typeof READING)[number];

export interface ProbeContext {
  ask: Ask;
  paths: PathSettings;
  bearer: string;
  /** One of the account's clusters; null if it has none. */
  clusterId: string | null;
}

const PATIENCE = 10_000;
/** An id that doesn't exist. */
const NO_ID = '00000000-0000-0000-0000-000000000000';
/** A path part that no service has. */
const NOWHERE = 'no-such-call';

/**
 * Checks whether the service knows the path of a call. A call that needs an id gets one that doesn't exist: if the
 * service's "not found" then differs from its answer to a wrong path, the path is right.
 */
export async function checkPath(name: Reading, context: ProbeContext, deadline: Deadline): Promise<Check> {
  const { ask, paths, bearer, clusterId } = context;
  const call = callInUse(name, paths.overrides);
  const check = (ok: boolean | null, detail: Sentence): Check => ({ name: `path.${name}`, ok, detail });
  if (!call.startsWith('GET ')) return check(null, phrase`${call} is not tried: it may change something.`);
  const ids: Partial<Record<PathParameter, string>> = Object.fromEntries(PATH_PARAMETERS.map((id) => [id, NO_ID]));
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

/** The result for a path by the status alone; null if it depends on other answers. */
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
/** Whether the body is a refusal of the service (wire facts 1.1), rather than a page of a proxy. */
const isRefusal = (body: unknown): boolean => errorsOf(body).length > 0;

/** Reduces a refusal to the parts that don't depend on this one request. */
function encodeMessage({ status, body }: Asked): string {
  const error = record(errorsOf(body)[0]);
  const meta = record(error?.meta);
  const about = ['error_type', 'record_name', 'model_name', 'field_name'].map((field) => text(meta?.[field]));
  return JSON.stringify([status, text(error?.code), text(error?.title), ...about]);
}

/** Replaces the last word of a call. */
function misspelt(call: string): string {
  const parts = call.split('/');
  const last = parts.findLastIndex((part, index) => index > 0 && part !== '' && !part.startsWith('{'));
  return parts.map((part, index) => (index === last ? NOWHERE : part)).join('/');
}
