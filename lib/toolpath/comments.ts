import { TEXT, TOOLPATH } from '../rules/limits';
import { amount, extentBetween, text } from '../service/json-readers';
import type { FileFacts } from './file-facts';

/** Readers of the comments of slicers. Text is that of a file's head or tail, and may contain anything. */

/** Position of the first line that begins with `start`, at or after `from`; -1 without one. */
export function lineAt(words: string, start: string, from = 0): number {
  if (words.startsWith(start, from)) return from;
  const at = words.indexOf(`\n${start}`, from);
  return at < 0 ? -1 : at + 1;
}

/** Position of the last line that begins with `start`; -1 without one. */
export function lastLineAt(words: string, start: string): number {
  const at = words.lastIndexOf(`\n${start}`);
  if (at >= 0) return at + 1;
  return words.startsWith(start) ? 0 : -1;
}

/**
 * Values by key of the comments in `words`, which have the form `;key<separator>value`. The first of several counts.
 * Skips lines that are too long, and stops after TOOLPATH.lines.
 */
export function fieldsOf(words: string, separator: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (let [at, lines] = [0, 0]; at < words.length && lines < TOOLPATH.lines; lines++) {
    const next = words.indexOf('\n', at);
    const end = next < 0 ? words.length : next;
    if (words.startsWith(';', at) && end - at <= TEXT.matched) {
      const comment = words.slice(at + 1, end);
      const split = comment.indexOf(separator);
      const key = split < 0 ? '' : comment.slice(0, split).trim();
      if (key !== '' && !fields.has(key)) fields.set(key, comment.slice(split + separator.length).trim());
    }
    at = end + 1;
  }
  return fields;
}

/** The text of a field; null if it is missing or blank. */
export const textIn = (fields: ReadonlyMap<string, string>, key: string): string | null => text(fields.get(key));

/** The amount in a field; null if it is missing or no amount. */
export const amountIn = (fields: ReadonlyMap<string, string>, key: string): number | null => amount(fields.get(key));

/** Extent of the print, by the keys of its corners; null unless all six are known. */
export const sizeIn = (
  fields: ReadonlyMap<string, string>,
  keyOf: (corner: 'MIN' | 'MAX', axis: string) => string,
): FileFacts['size'] =>
  extentBetween(
    (axis) => fields.get(keyOf('MIN', axis.toUpperCase())),
    (axis) => fields.get(keyOf('MAX', axis.toUpperCase())),
  );

const SECONDS = { d: 86_400, h: 3600, m: 60, s: 1 } as const;

/** Seconds of a duration such as `1d 2h 3m 4s`; null for anything else. */
export function secondsIn(duration: string | null | undefined): number | null {
  if (!duration || duration.length > 64 || !/^(\d+(\.\d+)?[dhms] ?)+$/.test(duration)) return null;
  let seconds = 0;
  for (const [, count, unit] of duration.matchAll(/([\d.]+)([dhms])/g))
    seconds += Number(count) * SECONDS[unit as keyof typeof SECONDS];
  return amount(seconds);
}
