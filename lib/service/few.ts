import { STATUS_LIST } from '../rules/limits';
import { PrintingError } from './errors';
import { records, type Json } from './wire';
import { say, type Sentence } from '../words/say';

/**
 * The records of a list that belongs to one cluster. Throws SERVICE_ERROR for more than any cluster has: a list without
 * those beyond the limit would say that they are gone.
 */
export function few(value: unknown, what: Sentence): Json[] {
  const found = records(value);
  if (found.length <= STATUS_LIST) return found;
  throw new PrintingError(
    'SERVICE_ERROR',
    say`The service answered ${what} with something unexpected: try again later.`,
    { outcome: 'unknown' },
  );
}
