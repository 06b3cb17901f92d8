import { PrintingError } from '../service/errors';
import { FilterInput } from '../service/printer-filter';
import { text, type Json } from '../service/json-readers';
import { phrase, type Sentence } from '../words/sentence';

/** Filter of print jobs (wire facts 13.2); an empty list or text matches all. */
export interface PrintJobFilter {
  /** Coarse states as the service names them (wire facts 12.3); the service calls this filter `status` (trap 26). */
  status: string[];
  sentFrom: string[];
  clusterIds: string[];
  /** Text in the name of the job, the printer or the owner. */
  search: string;
  privateOnly: boolean;
}

const NAMES = ['status', 'sentFrom', 'clusterIds', 'search', 'privateOnly'];

/** Reads a user's filter: an object or its JSON; undefined for no filter. Throws INVALID_INPUT with the cause. */
export function readPrintJobFilter(given: unknown): PrintJobFilter {
  const example = phrase`must be an object such as {"status":"in_progress"}`;
  const input = FilterInput.open(given, NAMES, refusal, example);
  return {
    search: input.string('search', phrase`needs a string as its search`).trim(),
    privateOnly: input.flag('privateOnly', phrase`needs true or false as its privateOnly`) ?? false,
    status: input.texts('status'),
    sentFrom: input.texts('sentFrom'),
    clusterIds: input.texts('clusterIds'),
  };
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

/** Returns a function that tells whether a job's record matches; missing fields match. */
export function fitsOf({ status, sentFrom, clusterIds }: PrintJobFilter): (wire: Json) => boolean {
  const within = (values: string[]) => {
    const wanted = new Set(values);
    return (value: string | null) => wanted.size === 0 || value === null || wanted.has(value);
  };
  const [hasStatus, hasSource, hasCluster] = [within(status), within(sentFrom), within(clusterIds)];
  return (wire) => hasStatus(text(wire.state)) && hasSource(text(wire.sent_from)) && hasCluster(text(wire.cluster_id));
}

const refusal = (rule: Sentence) => new PrintingError('INVALID_INPUT', phrase`The filter of the print jobs ${rule}.`);
