import {
  PATH_PARAMETERS,
  readPathOverrides,
  type Overridable,
  type PathOverrides,
  type PathParameter,
} from '../rules/paths';
import { ENDPOINTS, type Method, type PathSettings, type Target } from '../service/paths';
import { isParameter, segmentsOf, type DescribedCall } from './openapi';

/** Result of looking a call up in a description: the same call, another one, or none. */
export type Comparison = { kind: 'same' } | { kind: 'other'; call: string } | { kind: 'none' };

/** The call in use, from the table or the account's `paths`. */
export const callInUse = (name: Overridable, overrides: PathOverrides): string =>
  overrides[name] ?? ENDPOINTS[name].call;

/** A parsed call, with `{storage}` filled in. */
interface OwnCall extends DescribedCall {
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
 * Looks a call up in the service's description of itself. If it is missing but exactly one similar call exists (as many
 * parameters, mostly the same words, a method of the same kind), returns that one as an override.
 */
export function compare(
  name: Overridable,
  { overrides, storagePath }: PathSettings,
  described: DescribedCall[],
): Comparison {
  const used = readCall(callInUse(name, overrides), storagePath);
  if (described.some((call) => call.method === used.method && sameShape(call, used))) return { kind: 'same' };
  const others = Object.entries(ENDPOINTS).filter(([other]) => other !== name);
  const taken = others.map(([, { call }]) => readCall(call, storagePath));
  // Compares with the table's call, as an override may differ widely from the service's naming.
  const wanted = readCall(ENDPOINTS[name].call, storagePath);
  const found = described
    .filter((call) => fits(call.method, wanted.method))
    .filter((call) => !taken.some((other) => other.method === call.method && sameShape(other, call)))
    .map((call) => ({ call: written(call, wanted.parameters, storagePath), likeness: likeness(call, wanted) }))
    .filter(({ call, likeness }) => likeness >= 0.5 && call !== null && isUsable(name, call))
    .sort((a, b) => b.likeness - a.likeness);
  const [best, next] = found;
  if (!best?.call || best.likeness === next?.likeness) return { kind: 'none' };
  return { kind: 'other', call: best.call };
}

/**
 * Whether a method can replace another: reads stay reads, deletions stay deletions; PUT and POST are interchangeable.
 */
const fits = (method: Method, wanted: Method): boolean =>
  method === wanted || (/^PU|^PO/.test(method) && /^PU|^PO/.test(wanted));

const inner = (part: string): string => part.slice(1, -1);

const sameShape = (a: DescribedCall, b: DescribedCall): boolean =>
  a.host === b.host &&
  a.parts.length === b.parts.length &&
  a.parts.every((part, index) => {
    const other = b.parts[index] ?? '';
    return part === other || (isParameter(part) && isParameter(other));
  });

/** The share of words that two paths have in common; 0 if the last word of `call` is not in the other path. */
function likeness(call: DescribedCall, wanted: DescribedCall): number {
  const [ours, theirs] = [literals(wanted), literals(call)];
  const last = theirs.at(-1);
  const known = new Set([...ours.flatMap(words), ...ours.map(joined)]);
  if (last === undefined || ![...words(last), joined(last)].some((word) => known.has(word))) return 0;
  return Math.max(shared(ours.flatMap(words), theirs.flatMap(words)), shared(ours.map(joined), theirs.map(joined)));
}

/** The words of a path, without the prefix of its API, such as `/connect/v1`. */
const literals = ({ host, parts }: DescribedCall): string[] =>
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

function shared(a: string[], b: string[]): number {
  const all = new Set([...a, ...b]);
  return [...all].filter((word) => a.includes(word) && b.includes(word)).length / Math.max(1, all.size);
}

/** A described call as an override; null if its parameters can't be ours. */
function written(call: DescribedCall, ours: PathParameter[], storagePath: string): string | null {
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
