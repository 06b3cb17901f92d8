import { STATUS_LIST } from '../rules/limits';
import { PrintingError } from './errors';
import { records, type Json } from './json-readers';
import { phrase, type Sentence } from '../words/sentence';

/**
 * The records of a list that belongs to one cluster. Throws SERVICE_ERROR for more than any cluster has: a list without
 * those beyond the limit would say that they are gone.
 */
export function few(value: unknown, what: Sentence): Json[] {
  const found = records(value);
  if (found.length <= STATUS_LIST) return found;
  throw new PrintingError(
    'SERVICE_ERROR',
    phrase`The service answered ${what} with something unexpected: try again later.`,
    { outcome: 'unknown' },
  );
}
