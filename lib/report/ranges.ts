import { readRangeEnd, type RangeUnit } from '../rules/ranges';
import { PrintingError } from '../service/errors';
import { isTime } from '../time/clock';
import { phrase } from '../words/sentence';

/** A period from `from` up to but excluding `to`; both milliseconds since 1970. */
export interface Range {
  from: number;
  to: number;
}

const LAST_7_DAYS = 'last 7 days';

/**
 * Reads the range of a report (reference 3.5). Days, weeks (from Monday) and months are whole ones in the runtime's
 * time zone, so they may end after `now`. `last N …` ends now and starts by the calendar: at the same time of day N
 * days ago. A range word as `from` sets both ends unless `to` is set; any other `from` without `to` reaches until now;
 * a blank range is the last 7 days. As `to`, a range word or a date means its own end. `from` and `to` are a range
 * word, a date or time of ISO 8601, milliseconds since 1970, or a Date. Throws INVALID_INPUT.
 */
export function readRange(from: unknown, to: unknown, now: number): Range {
  const start = rangeOf(from ?? LAST_7_DAYS, 'from', now);
  const end = to === undefined ? null : rangeOf(to, 'to', now).to;
  const range = { from: start.from, to: end ?? (start.relative ? start.to : now) };
  if (range.from >= range.to) {
    const order = phrase`${new Date(range.from).toISOString()} is not before ${new Date(range.to).toISOString()}`;
    throw new PrintingError('INVALID_INPUT', phrase`The report's range is empty: ${order}; check from and to.`);
  }
  return range;
}

interface End extends Range {
  /** Whether it is a range word, which sets both ends. */
  relative: boolean;
}

/** Reads one end by itself: a moment is a range without length. */
function rangeOf(value: unknown, end: 'from' | 'to', now: number): End {
  const range = typeof value === 'string' ? textRange(value, now) : momentOf(value);
  if (range && isTime(range.from) && isTime(range.to)) return range;
  throw new PrintingError(
    'INVALID_INPUT',
    phrase`The report's ${end} must look like "last 7 days", "this week", 2026-01-31 or 2026-01-31T12:00Z, or a number of milliseconds.`,
  );
}

function textRange(text: string, now: number): End | null {
  const end = readRangeEnd(text);
  switch (end?.kind) {
    case 'named':
      return { from: startOf(end.unit, now, -end.ago), to: startOf(end.unit, now, 1 - end.ago), relative: true };
    case 'last':
      return { from: back(now, end.count, end.unit), to: now, relative: true };
    case 'day':
      return {
        from: midnight(end.year, end.month, end.day),
        to: midnight(end.year, end.month, end.day + 1),
        relative: false,
      };
    case 'moment':
      return { from: end.at, to: end.at, relative: false };
    case undefined:
      return null;
  }
}

function momentOf(value: unknown): End | null {
  const at = value instanceof Date ? value.getTime() : value;
  return typeof at === 'number' ? { from: at, to: at, relative: false } : null;
}

/** The start of the day, week or month `step` units after that of `now`. */
function startOf(unit: RangeUnit, now: number, step: number): number {
  const date = new Date(now);
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
  if (unit === 'month') return midnight(year, month + step, 1);
  if (unit === 'day') return midnight(year, month, day + step);
  const sinceMonday = (date.getDay() + 6) % 7;
  return midnight(year, month, day - sinceMonday + 7 * step);
}

/** The start of a day. If a clock change skips midnight, the day starts at its first moment, as a local Date does. */
const midnight = (year: number, month: number, day: number): number => new Date(year, month, day).getTime();

/** The time `count` units before `now`; the last day of a month that is too short. */
function back(now: number, count: number, unit: RangeUnit): number {
  if (unit === 'hour') return now - count * 3_600_000;
  const date = new Date(now);
  if (unit === 'month') {
    const day = date.getDate();
    date.setDate(1);
    date.setMonth(date.getMonth() - count);
    date.setDate(Math.min(day, new Date(date.getFullYear(), date.getMonth() + 1, 0).getDate()));
  } else date.setDate(date.getDate() - count * (unit === 'week' ? 7 : 1));
  return date.getTime();
}
