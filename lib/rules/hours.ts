import { TEXT } from './limits';

/** Weekly hours in the runtime's time zone (print queue, 8); no ranges: always. */
export interface Hours {
  /** As the user wrote it. */
  text: string;
  ranges: readonly HoursRange[];
}

interface HoursRange {
  /** Days on which it begins, 0 is Monday. */
  days: readonly number[];
  /** Minutes from midnight, wall time; `to` at or before `from` ends on the next day. */
  from: number;
  to: number;
}

/** Offset of the wall time from UTC at a time, minutes: the time zone. Tests inject others. */
export type Zone = (ms: number) => number;

const NAMES = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6];
const DAYS = /^([a-z]{2,9})(?:-([a-z]{2,9}))?$/;
const TIMES = /^(\d{1,2})(?::(\d\d))?-(\d{1,2})(?::(\d\d))?$/;

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const WEEK = 7 * DAY;
/** The first Monday after 1970 began, in milliseconds of wall time. */
const MONDAY = 4 * DAY;

/**
 * Parses hours such as `Mon-Fri 22:00-06:00, Sat 09:00-12:00`; blank: always. Times belong to the days before them, and
 * to every day if there are none; days without times at the end are whole days. Returns the first wrong part, which is
 * the user's text, where it is malformed.
 */
export function parseHours(text: string): { hours: Hours } | { wrong: string } {
  if (text.length > TEXT.matched) return { wrong: text };
  const plain = text
    .toLowerCase()
    .replace(/[–—]/g, '-')
    .replace(/\s*-\s*/g, '-');
  const parts = plain.split(/[\s,;]+/).filter((part) => part !== '');
  const ranges: HoursRange[] = [];
  let days: number[] = [];
  let isTimed = true;
  for (const part of parts) {
    const more = daysOf(part);
    const times = more === null ? timesOf(part) : null;
    if (more !== null) days = isTimed ? more : [...days, ...more];
    else if (times) ranges.push({ days: days.length > 0 ? days : EVERY_DAY, ...times });
    else return { wrong: part };
    isTimed = times !== null;
  }
  if (!isTimed) ranges.push({ days, from: 0, to: 24 * 60 });
  return ranges.length === 0 && text.trim() !== '' ? { wrong: text.trim() } : { hours: { text, ranges } };
}

/** Whether a time is within the hours; the wall time counts, so an hour that clocks repeat counts twice. */
export function isWithin(hours: Hours, now: number, zone: Zone = localZone): boolean {
  if (hours.ranges.length === 0) return true;
  const at = wallTime(now, zone);
  return spansOf(hours).some(({ from, to }) => (at >= from && at < to) || at + WEEK < to);
}

/** The first time from `now` on that is within the hours, ms since 1970; Infinity: there is none. */
export const nextOpening = (hours: Hours, now: number, zone: Zone = localZone): number =>
  isWithin(hours, now, zone) ? now : nextChange(hours, now, zone);

/** The first time from `now` on that is not within the hours, ms since 1970; Infinity: they never end. */
export const nextClosing = (hours: Hours, now: number, zone: Zone = localZone): number =>
  isWithin(hours, now, zone) ? nextChange(hours, now, zone) : now;

/** The first time after `from` at which the hours begin or end, by the clock or by a change of the clocks; Infinity: never. */
function nextChange(hours: Hours, from: number, zone: Zone): number {
  const edges = spansOf(hours).flatMap((span) => [span.from % WEEK, span.to % WEEK]);
  const was = isWithin(hours, from, zone);
  // Two weeks contain each edge, even one that a change of the clocks skips once.
  for (let at = from; at < from + 2 * WEEK + DAY;) {
    const wall = wallTime(at, zone);
    // No clock changes twice within a day.
    const step = Math.min(DAY, ...edges.map((edge) => (edge - wall + WEEK) % WEEK || WEEK));
    const offset = zone(at + step);
    // Past the last date there is no wall time.
    if (Number.isNaN(offset)) return Infinity;
    at = offset === zone(at) ? at + step : clockChange(at, at + step, zone);
    if (isWithin(hours, at, zone) !== was) return at;
  }
  return Infinity;
}

/** The first time after `from`, and at most `to`, with another offset than `from`. */
function clockChange(from: number, to: number, zone: Zone): number {
  const before = zone(from);
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (zone(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** Wall time since the last Monday began, ms. */
function wallTime(now: number, zone: Zone): number {
  const since = (now + zone(now) * MINUTE - MONDAY) % WEEK;
  return since < 0 ? since + WEEK : since;
}

/** The ranges of each day, ms from the beginning of the week; some end in the next week. */
const spansOf = ({ ranges }: Hours): { from: number; to: number }[] =>
  ranges.flatMap(({ days, from, to }) =>
    days.map((day) => {
      const start = day * DAY + from * MINUTE;
      return { from: start, to: day * DAY + (to > from ? to : to + 24 * 60) * MINUTE };
    }),
  );

/** Reads `mon` or `sat-mon`, which may wrap; null for anything else. */
function daysOf(part: string): number[] | null {
  const [, first = '', last = first] = DAYS.exec(part) ?? [];
  const [from, to] = [first, last].map((word) => NAMES.findIndex((name) => word !== '' && name.startsWith(word)));
  if (from === undefined || to === undefined || from < 0 || to < 0) return null;
  return EVERY_DAY.slice(0, ((to - from + 7) % 7) + 1).map((step) => (from + step) % 7);
}

/** Reads `22:00-06:00` or `22-6`; null for anything else. */
function timesOf(part: string): { from: number; to: number } | null {
  const match = TIMES.exec(part);
  if (!match) return null;
  const [hour = 0, minute = 0, toHour = 0, toMinute = 0] = match.slice(1).map((digits) => Number(digits || 0));
  const [from, to] = [hour * 60 + minute, toHour * 60 + toMinute];
  return minute < 60 && toMinute < 60 && from <= 24 * 60 && to <= 24 * 60 ? { from, to } : null;
}

/** The runtime's time zone. */
const localZone: Zone = (ms) => -new Date(ms).getTimezoneOffset();
