/**
 * Ranks: texts whose order, code unit by code unit, is the order of items. Between two ranks there is always room for
 * another. A rank has an integer, whose first letter gives the number of digits that follow, and digits behind it as a fraction
 * that does not end in 0. A rank at either end is as long as the number of items needs; one between two neighbours
 * grows by at most a digit for five further ones at the same place.
 */

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE = DIGITS.length;
const HIGHEST = 'z';
/** Digits of an id that distinguish ranks of the same moment. */
const UNIQUE = 8;
/** Integers begin with `a` (1 digit) to `z` (26); those below them with `Z` (1 digit) down to `A` (26). */
const FIRST = 'a0';

/** A rank between two neighbours, or at an end where one of them is null. `before` must be below `after`. */
export function rankBetween(before: string | null, after: string | null): string {
  if (before === null) return after === null ? FIRST : rankBefore(after);
  if (after === null) return rankAfter(before);
  const integer = integerOf(before);
  const next = step(integer, 1);
  if (integer !== integerOf(after) && next < after) return next;
  const end = integer === integerOf(after) ? after.slice(integer.length) : null;
  return integer + middle(before.slice(integer.length), end);
}

/** Rising ranks between two neighbours, or at an end where one of them is null; all are short, however many they are. */
export function ranksBetween(before: string | null, after: string | null, count: number): string[] {
  if (count === 0) return [];
  const middle = rankBetween(before, after);
  const below = count >> 1;
  return [...ranksBetween(before, middle, below), middle, ...ranksBetween(middle, after, count - 1 - below)];
}

/**
 * A rank above another: for an item that comes last. Runtimes that add items at the same moment know the same `before`:
 * an item's id as `unique` keeps their ranks apart.
 */
export function rankAfter(before: string | null, unique = ''): string {
  const integer = before === null ? FIRST : step(integerOf(before), 1);
  return (
    integer +
    unique
      .replace(/[^0-9A-Za-z]/g, '')
      .slice(0, UNIQUE)
      .replace(/0+$/, '')
  );
}

/** A rank below another: for an item that comes first. */
export const rankBefore = (after: string | null): string => (after === null ? FIRST : step(integerOf(after), -1));

/** Whether a text is a rank that has neighbours. */
export const isRank = (value: unknown): value is string =>
  typeof value === 'string' &&
  /^[B-Za-y][0-9A-Za-z]*$/.test(value) &&
  value.length >= lengthOf(value.charCodeAt(0)) &&
  !value.slice(lengthOf(value.charCodeAt(0))).endsWith('0');

const valueOf = (digit: string | undefined): number => (digit === undefined ? 0 : DIGITS.indexOf(digit));

const integerOf = (rank: string): string => rank.slice(0, lengthOf(rank.charCodeAt(0)));

/** Length of an integer, with its first letter. */
const lengthOf = (head: number): number => (head >= 97 ? head - 97 : 90 - head) + 2;

/** The integer above (1) or below (-1) another. No queue reaches the last one, which has 26 digits. */
function step(integer: string, by: 1 | -1): string {
  const fresh = by === 1 ? '0' : HIGHEST;
  const kept = integer.slice(1).replace(by === 1 ? /z*$/ : /0*$/, '');
  const carried = integer.length - 1 - kept.length;
  if (kept !== '')
    return integer.charAt(0) + kept.slice(0, -1) + DIGITS.charAt(valueOf(kept.at(-1)) + by) + fresh.repeat(carried);
  const head = integer.charCodeAt(0) + by;
  // Between `Z` and `a` stand other signs.
  const next = head === 91 ? 97 : head === 96 ? 90 : head;
  if (next > 122 || next < 65) throw new RangeError('The rank has no neighbour.');
  return String.fromCharCode(next) + fresh.repeat(lengthOf(next) - 1);
}

/** A fraction between two; `end` null is 1. */
function middle(start: string, end: string | null): string {
  let shared = 0;
  while (end !== null && shared < end.length && (start[shared] ?? '0') === end[shared]) shared++;
  const common = end?.slice(0, shared) ?? '';
  const low = valueOf(start[shared]);
  const high = end === null ? BASE : valueOf(end[shared]);
  if (high - low > 1) return common + DIGITS.charAt((low + high) >> 1);
  // Neighbouring digits: with more digits the end's own digit lies between, else the start's tail grows.
  if (end !== null && end.length > shared + 1) return common + DIGITS.charAt(high);
  return common + DIGITS.charAt(low) + middle(start.slice(shared + 1), null);
}
