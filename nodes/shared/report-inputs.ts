import { PrintingError } from '../../lib/service/errors';
import { isBlank, kindOf } from './inputs';
import { phrase } from '../../lib/words/sentence';

/**
 * Reads the clusters of a report: an array of ids, or a string of ids separated by commas. Returns null, for all
 * clusters, if none is named (reference 2.2). Throws INVALID_INPUT.
 */
export function readReportClusters(value: unknown): string[] | null {
  if (value === undefined) return null;
  const ids: unknown[] = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [value];
  const named = ids.map((id) => {
    if (typeof id !== 'string') {
      const sentence = phrase`The printers must be a string or an array of strings, but there is ${kindOf(id)}.`;
      throw new PrintingError('INVALID_INPUT', sentence);
    }
    return id.trim();
  });
  const wanted = [...new Set(named.filter((id) => !isBlank(id)))];
  if (wanted.length === 0)
    throw new PrintingError(
      'INVALID_INPUT',
      phrase`The list of printers is empty: choose at least one, or leave it out.`,
    );
  return wanted;
}
