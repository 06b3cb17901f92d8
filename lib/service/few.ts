import { STATUS_LIST } from '../rules/limits';
import { PrintingError } from './errors';
import { records, type Json } from './json-readers';
import { phrase, type Sentence } from '../words/sentence';

/**
 * Returns the records of a cluster's list. Throws SERVICE_ERROR if there are too many for any cluster: a truncated list
 * would make the others look removed.
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
