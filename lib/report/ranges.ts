import { PrintingError } from '../service/errors';

/** A piece of time from `from` up to, but not with, `to`; both milliseconds since 1970. */
export interface Range {
  from: number;
  to: number;
}

type Unit = 'hour' | 'day' | 'week' | 'month';

const NAMED: Record<string, { unit: Unit; ago: number }> = {
  today: { unit: 'day', ago: 0 },
  yesterday: { unit: 'day', ago: 1 },
  'this week': { unit: 'week', ago: 0 },
  'last week': { unit: 'week', ago: 1 },
  'this month': { unit: 'month', ago: 0 },
  'last month': { unit: 'month', ago: 1 },
};
const LAST = /^last (\d{1,6}) (hour|day|week|month)s?$/;
const DATE = /^([1-9]\d{3})-(\d\d)-(\d\d)$/;
/** A time without zone is one of the runtime's time zone. */
const DATE_TIME = /^([1-9]\d{3})-(\d\d)-(\d\d)[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/i;

export const LAST_7_DAYS = 'last 7 days';

/**
 * The range of a report (reference 3.5). Days, weeks (from Monday) and months are those of the runtime's time zone, whole,
 * so they may end after `now`; `last N …` ends now, and goes back by the calendar: the same time of day N days ago.
 * A range word as `from` sets both ends unless `to` is set; any other `from` without `to` reaches until now; blank are the
 * last 7 days. As an end, a range word or a date means its own end.
 * `from` and `to` are a range word, a date or time of ISO 8601, milliseconds since 1970, or a Date.
 * Throws INVALID_INPUT.
 */
export function readRange(from: unknown, to: unknown, now: number): Range {
  const start = rangeOf(from ?? LAST_7_DAYS, 'from', now);
  const end = to === undefined ? null : rangeOf(to, 'to', now).to;
  const range = { from: start.from, to: end ?? (start.relative ? start.to : now) };
  if (range.from >= range.to) {
    const order = `${new Date(range.from).toISOString()} is not before ${new Date(range.to).toISOString()}`;
    throw new PrintingError('INVALID_INPUT', `The report's range is empty: ${order}; check from and to.`);
  }
  return range;
}

/** What one of the two ends says, by itself: a moment is a range without length. */
function rangeOf(value: unknown, end: 'from' | 'to', now: number): Range & { relative: boolean } {
  const words = typeof value === 'string' ? value.trim().toLowerCase().replace(/\s+/g, ' ') : '';
  const relative = relativeRange(words, now);
  const range = relative ?? dayOf(words) ?? momentOf(value);
  if (range && isTime(range.from) && isTime(range.to)) return { ...range, relative: relative !== null };
  throw new PrintingError(
    'INVALID_INPUT',
    `The report's ${end} must be like "last 7 days", "this week", 2026-01-31 or 2026-01-31T12:00Z, or a number of milliseconds.`,
  );
}

function relativeRange(words: string, now: number): Range | null {
  const named = Object.hasOwn(NAMED, words) ? NAMED[words] : undefined;
  if (named) {
    const { unit, ago } = named;
    return { from: startOf(unit, now, -ago), to: startOf(unit, now, 1 - ago) };
  }
  const [, count = '', unit] = LAST.exec(words) ?? [];
  return unit ? { from: back(now, Number(count), unit as Unit), to: now } : null;
}

/** The start of the day, week or month that is `step` ones after that of `now`. */
function startOf(unit: Unit, now: number, step: number): number {
  const date = new Date(now);
  const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
  if (unit === 'month') return midnight(year, month + step, 1);
  if (unit === 'day') return midnight(year, month, day + step);
  const sinceMonday = (date.getDay() + 6) % 7;
  return midnight(year, month, day - sinceMonday + 7 * step);
}

/** Where a change of clocks skips midnight, the day starts with its first moment: so reads a local Date. */
const midnight = (year: number, month: number, day: number): number => new Date(year, month, day).getTime();

/** So many units before `now`; a month that has no such day gives its last. */
function back(now: number, count: number, unit: Unit): number {
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

function dayOf(words: string): Range | null {
  const [year, month, day] = calendarDate(DATE.exec(words));
  return year === undefined || month === undefined || day === undefined
    ? null
    : { from: midnight(year, month, day), to: midnight(year, month, day + 1) };
}

function momentOf(value: unknown): Range | null {
  const at = value instanceof Date ? value.getTime() : typeof value === 'number' ? value : timeOf(value);
  return at === null ? null : { from: at, to: at };
}

function timeOf(value: unknown): number | null {
  if (typeof value !== 'string') return null;
  const words = value.trim();
  if (calendarDate(DATE_TIME.exec(words)).length === 0) return null;
  return Date.parse(words.replace(' ', 'T').replace(/([+-]\d\d)(\d\d)$/, '$1:$2'));
}

/** Year, month from 0 and day of a match; nothing where there is no such day, which a Date would move to the next month. */
function calendarDate(match: RegExpExecArray | null): number[] {
  const [year = 0, month = 0, day = 0] = (match?.slice(1, 4) ?? []).map(Number);
  const inMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return month >= 1 && month <= 12 && day >= 1 && day <= inMonth ? [year, month - 1, day] : [];
}

/** From 1970 to 9999: what ISO 8601 writes with a year of four digits, and no NaN. */
const isTime = (ms: number): boolean => ms >= 0 && ms < 253_402_300_800_000;
