import type { AccountSettings } from '../account/settings';
import { DESCRIPTION, TEXT } from '../rules/limits';
import {
  type Overridable,
  OVERRIDABLE,
  PATH_PARAMETERS,
  type PathOverrides,
  type PathParameter,
  readPathOverrides,
} from '../rules/paths';
import { asPrintingError } from '../service/errors';
import { list, record, records, text } from '../service/json-readers';
import { ENDPOINTS, type Method, type PathSettings, type Target, target } from '../service/paths';
import { Turns } from '../time/concurrency';
import type { Deadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';
import type { Ask, Asked, Check } from './check';

/** The overridable calls that only read (reference 7), except the user's, which has its own check. */
export const READING = [
  'storedJobs',
  'printJobs',
  'maintenance',
  'actionStatus',
  'getReport',
] as const satisfies Overridable[];
type Reading = (typeof READING)[number];

const PATIENCE = 10_000;
/** An id that doesn't exist. */
const NO_ID = '00000000-0000-0000-0000-000000000000';
/** A path part that no service has. */
const NOWHERE = 'no-such-call';

/**
 * Checks whether the service knows the path of a call. A call that needs an id gets one that doesn't exist: if the
 * service's "not found" then differs from its answer to a wrong path, the path is right. `clusterId`: one of the
 * account's clusters; null if it has none.
 */
export async function checkPath(
  name: Reading,
  ask: Ask,
  paths: PathSettings,
  clusterId: string | null,
  deadline: Deadline,
): Promise<Check> {
  const call = callInUse(name, paths.overrides);
  const check = (ok: boolean | null, detail: Sentence): Check => ({ name: `path.${name}`, ok, detail });
  if (!call.startsWith('GET ')) return check(null, phrase`${call} is not tried: it may change something.`);
  const ids: Partial<Record<PathParameter, string>> = Object.fromEntries(PATH_PARAMETERS.map((id) => [id, NO_ID]));
  if (clusterId !== null) ids.cluster_id = clusterId;
  const limit = deadline.within(PATIENCE, { cure: phrase`try again` });
  try {
    const { host, path } = target(name, ids, paths);
    const query = name === 'storedJobs' || name === 'printJobs' ? '?limit=1' : '';
    const answer = await ask({ host, path: path + query }, limit);
    const plain = statusSays(answer, call);
    if (plain) return check(...plain);
    const nowhere = target(name, ids, { ...paths, overrides: { ...paths.overrides, [name]: misspelt(call) } });
    const missing = await ask({ host, path: nowhere.path }, limit);
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

/** The call in use, from the table or the account's `paths`. */
export const callInUse = (name: Overridable, overrides: PathOverrides): string =>
  overrides[name] ?? ENDPOINTS[name].call;

/** The service's own description at one base path. */
interface Description {
  host: Target['host'];
  path: string;
  calls: DescribedCall[];
}

/**
 * Compares the uncertain paths with the service's own description (wire facts 1), if it has one: one line for each path
 * that the description covers, with a suggestion if it names another path.
 */
export async function checkDescriptions(
  ask: Ask,
  { paths, authUrl }: Pick<AccountSettings, 'paths' | 'authUrl'>,
  deadline: Deadline,
): Promise<Check[]> {
  const limit = deadline.within(PATIENCE);
  const read = await Promise.all([
    readDescription('api', '/connect/v1', ask, limit),
    readDescription('api', paths.storagePath, ask, limit),
    readDescription('api', '/report/v1', ask, limit),
    authUrl === '' ? null : readDescription('auth', '', ask, limit),
  ]).finally(() => limit.end());
  const descriptions = read.filter((one) => one !== null);
  const name = 'description';
  if (descriptions.length === 0)
    return [
      { name, ok: null, detail: phrase`The service does not describe itself here, so the paths were not compared.` },
    ];
  const bases = descriptions.map(({ path, calls }) => `${path || '/'} (${calls.length})`).join(', ');
  const whole: Check = { name, ok: true, detail: phrase`The service describes itself: ${bases}.` };
  const checks = [whole];
  const turns = new Turns(deadline.clock);
  for (const overridable of OVERRIDABLE) {
    await turns.next();
    checks.push(...checkDescribed(overridable, paths, descriptions));
  }
  return checks;
}

/** Null if there is no description, or if it can't be read. */
async function readDescription(
  host: Target['host'],
  path: string,
  ask: Ask,
  limit: Deadline,
): Promise<Description | null> {
  try {
    const { status, body } = await ask({ host, path: `${path}/spec?version=`, maxBytes: DESCRIPTION.bytes }, limit);
    const calls = status === 200 ? await describedCalls(body, host, path, new Turns(limit.clock)) : null;
    return calls && { host, path, calls };
  } catch {
    return null;
  }
}

/** Compares one path with the descriptions that cover it; none if no description does. */
function checkDescribed(name: Overridable, paths: PathSettings, descriptions: readonly Description[]): Check[] {
  const wanted = readCall(ENDPOINTS[name].call, paths.storagePath);
  const isCovered = ({ host, path }: Description) =>
    host === wanted.host && segmentsOf(path).every((part, at) => part === wanted.parts[at]);
  // The user's path is known for neither host.
  const calls = descriptions.filter((one) => name === 'currentUser' || isCovered(one)).flatMap((one) => one.calls);
  if (calls.length === 0) return [];
  const call = callInUse(name, paths.overrides);
  const found = compare(name, paths, calls);
  const check = (ok: boolean | null, detail: Sentence): Check => ({ name: `described.${name}`, ok, detail });
  if (found === null) return [check(null, phrase`${call} is not described, and nothing similar is.`)];
  if (found === call) return [check(true, phrase`${call} is described.`)];
  const other = check(false, phrase`${call} is not described, but ${found} is.`);
  return [{ ...other, suggestion: { name, value: found } }];
}

interface Call {
  method: Method;
  host: Target['host'];
  /** The parts of the whole path; a parameter as `{name}`. */
  parts: string[];
}

/** A call in a service's own description. */
interface DescribedCall extends Call {
  vocabulary: Vocabulary;
}

const METHODS = ['get', 'put', 'post', 'delete'] as const;
export const segmentsOf = (path: string): string[] => path.split('/').filter((part) => part !== '');
export const isParameter = (part: string): boolean => /^\{.*\}$/.test(part);

/**
 * The calls in an OpenAPI document (2 or 3) that was read at `base`; null for any other document. Ignores malformed
 * parts.
 */
export async function describedCalls(
  document: unknown,
  host: Target['host'],
  base: string,
  turns: Turns,
): Promise<DescribedCall[] | null> {
  const root = record(record(document)?.data) ?? record(document);
  const paths = record(root?.paths);
  if (!root || !paths) return null;
  const prefix = prefixOf(text(root.basePath) ?? text(records(root.servers)[0]?.url), segmentsOf(base));
  const calls: DescribedCall[] = [];
  const short = Object.entries(paths).filter(([path]) => path.length <= DESCRIPTION.path);
  for (const [path, item] of short.slice(0, DESCRIPTION.paths)) {
    await turns.next();
    const own = segmentsOf(path);
    const isWhole = prefix.length > 0 && prefix.every((part, index) => own[index] === part);
    const parts = isWhole ? own : [...prefix, ...own];
    const vocabulary = vocabularyOf({ host, parts });
    for (const method of METHODS)
      if (list(record(item)?.[method]).length > 0)
        calls.push({ method: method.toUpperCase() as Method, host, parts, vocabulary });
  }
  return calls;
}

/**
 * The document's declared base path if it fits the place of the document; otherwise that place, as the declared one
 * belongs to a proxy.
 */
function prefixOf(declared: string | null, base: string[]): string[] {
  const path =
    declared === null || declared.length > TEXT.matched ? '' : declared.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '');
  const parts = segmentsOf(path);
  return parts.length > 0 && parts[0] === base[0] ? parts : base;
}

/** A parsed call, with `{storage}` filled in. */
interface OwnCall extends Call {
  parameters: PathParameter[];
}

export function readCall(call: string, storagePath: string): OwnCall {
  const [method = '', pattern = ''] = call.split(' ');
  const host: Target['host'] = pattern.startsWith('{auth_url}') ? 'auth' : 'api';
  const parts = segmentsOf(pattern.replace('{auth_url}', '').replaceAll('{storage}', storagePath));
  const parameters = parts.filter(isParameter).map(inner) as PathParameter[];
  return { method: method as Method, host, parts, parameters };
}

/**
 * Looks a call up in the service's description of itself. Returns the call in use if it is described; otherwise the only
 * similar call (as many parameters, mostly the same words, a method of the same kind) as an override; null without one.
 */
export function compare(
  name: Overridable,
  { overrides, storagePath }: PathSettings,
  described: DescribedCall[],
): string | null {
  const inUse = callInUse(name, overrides);
  const used = readCall(inUse, storagePath);
  if (described.some((call) => call.method === used.method && sameShape(call, used))) return inUse;
  const others = Object.entries(ENDPOINTS).filter(([other]) => other !== name);
  const taken = others.map(([, { call }]) => readCall(call, storagePath));
  // Compares with the table's call, as an override may differ widely from the service's naming.
  const wanted = readCall(ENDPOINTS[name].call, storagePath);
  const vocabulary = vocabularyOf(wanted);
  const found = described
    .filter((call) => fits(call.method, wanted.method))
    .filter((call) => !taken.some((other) => other.method === call.method && sameShape(other, call)))
    .map((call) => ({
      call: written(call, wanted.parameters, storagePath),
      likeness: likeness(call.vocabulary, vocabulary),
    }))
    .filter(({ call, likeness }) => likeness >= 0.5 && call !== null && isUsable(name, call))
    .sort((a, b) => b.likeness - a.likeness);
  const [best, next] = found;
  return best && best.likeness !== next?.likeness ? best.call : null;
}

/**
 * Whether a method can replace another: reads stay reads, deletions stay deletions; PUT and POST are interchangeable.
 */
const fits = (method: Method, wanted: Method): boolean =>
  method === wanted || (/^PU|^PO/.test(method) && /^PU|^PO/.test(wanted));

const inner = (part: string): string => part.slice(1, -1);

const sameShape = (a: Call, b: Call): boolean =>
  a.host === b.host &&
  a.parts.length === b.parts.length &&
  a.parts.every((part, index) => {
    const other = b.parts[index] ?? '';
    return part === other || (isParameter(part) && isParameter(other));
  });

/** The words of a path, alone and joined within each part. */
interface Vocabulary {
  words: Set<string>;
  joined: Set<string>;
  /** Of the last part, in both forms. */
  last: string[];
}

function vocabularyOf(call: Pick<Call, 'host' | 'parts'>): Vocabulary {
  const parts = literals(call).map(words);
  const last = parts.at(-1);
  return {
    words: new Set(parts.flat()),
    joined: new Set(parts.map((part) => part.join(''))),
    last: last === undefined ? [] : [...last, last.join('')],
  };
}

/** The share of words that two paths have in common; 0 if the last word of `theirs` is not in the other path. */
function likeness(theirs: Vocabulary, ours: Vocabulary): number {
  if (!theirs.last.some((word) => ours.words.has(word) || ours.joined.has(word))) return 0;
  return Math.max(shared(ours.words, theirs.words), shared(ours.joined, theirs.joined));
}

/** The words of a path, without the prefix of its API, such as `/connect/v1`. */
const literals = ({ host, parts }: Pick<Call, 'host' | 'parts'>): string[] =>
  parts.slice(host === 'api' ? 2 : 0).filter((part) => !isParameter(part));

/** Splits a part into words: `printJobs`, `print_jobs` and `print-job` are equal. */
const words = (part: string): string[] =>
  part
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .map((word) => word.replace(/s$/, ''))
    .filter((word) => word !== '');
const joined = (part: string): string => words(part).join('');

function shared(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const both = [...a].filter((word) => b.has(word)).length;
  return both / Math.max(1, a.size + b.size - both);
}

/** A described call as an override; null if its parameters can't be ours. */
function written(call: Call, ours: PathParameter[], storagePath: string): string | null {
  const given = call.parts.filter(isParameter).map(inner);
  if (given.length !== ours.length) return null;
  const byName = given.map((name) => PATH_PARAMETERS.find((known) => joined(known) === joined(name)));
  if (byName.some((known) => known !== undefined && !ours.includes(known))) return null;
  const left = ours.filter((parameter) => !byName.includes(parameter));
  const names = byName.map((known) => known ?? left.shift());
  if (names.includes(undefined) || new Set(names).size !== names.length) return null;
  const path = `/${call.parts.map((part) => (isParameter(part) ? `{${names.shift() ?? ''}}` : part)).join('/')}`;
  const storage = `${storagePath}/`;
  if (call.host === 'auth') return `${call.method} {auth_url}${path}`;
  return `${call.method} ${path.startsWith(storage) ? `{storage}/${path.slice(storage.length)}` : path}`;
}

const isUsable = (name: Overridable, call: string): boolean => 'overrides' in readPathOverrides({ [name]: call });
