import { LONGEST_PRINT, TEXT } from '../rules/limits';
import { shown } from '../words/shown';

/** Readers of answers in which any field may be missing, null, or of an unexpected type. */

export type Json = Record<string, unknown>;

export const record = (value: unknown): Json | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;

/** Returns a record, or the first entry of an array in its place (wire facts, trap 29); null for any other value. */
export const single = (value: unknown): Json | null => record(Array.isArray(value) ? value[0] : value);

/** Returns an array unchanged; a single object in its place is a list of one (wire facts, trap 29). */
export function list(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return record(value) ? [value] : [];
}

export function records(value: unknown): Json[] {
  const found: Json[] = [];
  for (const entry of list(value)) {
    const one = record(entry);
    if (one) found.push(one);
  }
  return found;
}

/**
 * Returns a non-blank string, else null; one that is too long for any field counts as missing. Unpaired surrogates become
 * U+FFFD: UTF-8 can't encode them, and `JSON.stringify` needs 20 times as long for them as for other characters.
 */
export const text = (value: unknown): string | null =>
  typeof value === 'string' && value.length <= TEXT.field && (startsVisibly(value) || value.trim() !== '')
    ? value.toWellFormed()
    : null;

/** Fast path for nearly all texts: whether the first character is a visible one of ASCII. */
const startsVisibly = (value: string): boolean => {
  const code = value.charCodeAt(0);
  return code > 0x20 && code < 0x7f;
};

/** Returns a text for people as one line of limited length; null for any other value. */
export function line(value: unknown): string | null {
  const found = text(value);
  return found === null ? null : shown(found).trim() || null;
}

/** Returns a number, also from a string; null for anything else, and for one so large that a sum may become infinite. */
export function number(value: unknown): number | null {
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? value : null;
  return typeof value === 'string' && value.trim() !== '' ? number(Number(value)) : null;
}

/** Returns a number that is not negative; null for any other value, such as the service's -1 for unknown. */
export function amount(value: unknown): number | null {
  const found = number(value);
  return found !== null && found >= 0 ? found : null;
}

/** Returns a duration of a print, s; null for any other value, and for one that is longer than any print. */
export function duration(value: unknown): number | null {
  const found = amount(value);
  return found !== null && found <= LONGEST_PRINT ? found : null;
}

/** Returns an estimated duration, s; null for any other value, such as the 0 that a slicer writes before it knows it. */
export function estimate(value: unknown): number | null {
  const found = duration(value);
  return found === 0 ? null : found;
}

export const flag = (value: unknown): boolean | null => (typeof value === 'boolean' ? value : null);

/** Fast path for the format of nearly all times; excludes the last days of months, which may not exist. */
const ISO = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** Beginning of every time; `Date.parse` finds one in other words, too. */
const DATED = /^\d{4}-\d\d-\d\d/;
/** Length of a time with a four-digit year, and the earliest one: a blank time of the service is one of year 0 or 1. */
const LENGTH = 24;
const EARLIEST = '1970';

/**
 * Returns a time of the service as ISO 8601 UTC; one without a zone is UTC (wire facts 1). Null for an invalid time, and
 * for one that is not between 1970 and 9999: other years don't sort as texts.
 */
export function time(value: unknown): string | null {
  const given = text(value);
  if (given && ISO.test(given)) return given;
  if (!given || !DATED.test(given)) return null;
  const zoned = /(Z|[+-]\d\d:?\d\d)$/i.test(given) ? given : `${given.replace(' ', 'T')}Z`;
  const parsed = Date.parse(zoned);
  const found = Number.isNaN(parsed) ? '' : new Date(parsed).toISOString();
  return found.length === LENGTH && found >= EARLIEST ? found : null;
}

/** Extent of a print, mm. */
export interface Extent {
  x: number;
  y: number;
  z: number;
}

const AXES = ['x', 'y', 'z'] as const;

/** Extent between two corners, to the micrometre; null unless all six numbers are known. */
export function extentBetween(
  min: (axis: keyof Extent) => unknown,
  max: (axis: keyof Extent) => unknown,
): Extent | null {
  const extent = { x: 0, y: 0, z: 0 };
  for (const axis of AXES) {
    const [low, high] = [number(min(axis)), number(max(axis))];
    const length = low === null || high === null ? null : amount(high - low);
    if (length === null) return null;
    extent[axis] = Math.round(length * 1000) / 1000;
  }
  return extent;
}
