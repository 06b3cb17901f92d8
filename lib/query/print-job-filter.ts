import { FILTER } from '../rules/limits';
import { PrintingError } from '../service/errors';
import { record, text, type Json } from '../service/json-readers';
import { phrase, type Sentence } from '../words/sentence';

/** Filter of print jobs (wire facts 13.2); an empty list or text matches all. */
export interface PrintJobFilter {
  /** Coarse states as the service names them (wire facts 12.3); the service calls this filter `status` (trap 26). */
  status: string[];
  sentFrom: string[];
  clusterIds: string[];
  /** Text in the name of the job, the printer or the owner. */
  search: string;
  /** Only the user's own jobs. */
  privateOnly: boolean;
}

const NAMES = ['status', 'sentFrom', 'clusterIds', 'search', 'privateOnly'];

/** Reads a user's filter: an object or its JSON; undefined for no filter. Throws INVALID_INPUT with the cause. */
export function readPrintJobFilter(given: unknown): PrintJobFilter {
  const filter = given === undefined ? {} : record(typeof given === 'string' ? parse(given) : given);
  if (!filter || Buffer.isBuffer(filter)) throw refusal(phrase`must be an object such as {"status":"in_progress"}`);
  const unknown = Object.keys(filter).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw refusal(phrase`has no "${unknown}", but ${NAMES.join(', ')}`);
  const { search = '', privateOnly = false } = filter;
  if (typeof search !== 'string') throw refusal(phrase`needs a string as its search`);
  checkLength([search], 'search');
  if (typeof privateOnly !== 'boolean') throw refusal(phrase`needs true or false as its privateOnly`);
  return {
    status: texts(filter, 'status'),
    sentFrom: texts(filter, 'sentFrom'),
    clusterIds: texts(filter, 'clusterIds'),
    search: search.trim(),
    privateOnly,
  };
}

/** Reads one text, or a list of texts. */
function texts(filter: Json, name: string): string[] {
  const given = filter[name] ?? [];
  const all: unknown[] = Array.isArray(given) ? given : [given];
  if (all.length > FILTER.values) throw refusal(phrase`has more than ${FILTER.values} values in its ${name}`);
  checkLength(all, name);
  const found = all.map(text);
  if (found.includes(null)) throw refusal(phrase`needs a string, or an array of strings, as its ${name}`);
  return [...new Set(found as string[])];
}

function checkLength(values: readonly unknown[], name: string): void {
  if (values.some((value) => typeof value === 'string' && value.length > FILTER.value))
    throw refusal(phrase`has a value of more than ${FILTER.value} characters in its ${name}`);
}

/**
 * The queries that together return all jobs of a filter: one for each status. The service's syntax for lists is
 * unknown, so the other two criteria are sent only if they have a single value; `fits` applies the rest.
 */
export function filterQueries({
  status,
  sentFrom,
  clusterIds,
  search,
  privateOnly,
}: PrintJobFilter): Record<string, string>[] {
  const only = (name: string, [first, ...more]: string[]) => (first && more.length === 0 ? { [name]: first } : {});
  const query = {
    ...only('sent_from', sentFrom),
    ...only('cluster_ids', clusterIds),
    ...(search && { search }),
    ...(privateOnly && { private_only: 'true' }),
  };
  return status.length > 0 ? status.map((word) => ({ ...query, status: word })) : [query];
}

/** Whether a job's record matches; missing fields match. */
export function fits({ status, sentFrom, clusterIds }: PrintJobFilter, wire: Json): boolean {
  const within = (wanted: string[], value: string | null) =>
    wanted.length === 0 || value === null || wanted.includes(value);
  return (
    within(status, text(wire.state)) &&
    within(sentFrom, text(wire.sent_from)) &&
    within(clusterIds, text(wire.cluster_id))
  );
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

const refusal = (rule: Sentence) => new PrintingError('INVALID_INPUT', phrase`The filter of the print jobs ${rule}.`);
