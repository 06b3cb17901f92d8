import { TEXT } from './limits';

/** One end of a report's range as text (reference 3.5), before the current time turns it into a time. */
type RangeEnd =
  | { kind: 'named'; unit: RangeUnit; ago: number }
  | { kind: 'last'; unit: RangeUnit; count: number }
  | { kind: 'day'; year: number; month: number; day: number }
  | { kind: 'moment'; at: number };

export type RangeUnit = 'hour' | 'day' | 'week' | 'month';

const NAMED = new Map<string, { unit: RangeUnit; ago: number }>([
  ['today', { unit: 'day', ago: 0 }],
  ['yesterday', { unit: 'day', ago: 1 }],
  ['this week', { unit: 'week', ago: 0 }],
  ['last week', { unit: 'week', ago: 1 }],
  ['this month', { unit: 'month', ago: 0 }],
  ['last month', { unit: 'month', ago: 1 }],
]);

/** Fifty years: the service has no older data, and ISO 8601 keeps four-digit years. */
const MOST: Record<RangeUnit, number> = { hour: 438_000, day: 18_250, week: 2_600, month: 600 };

const LAST = /^last ([1-9]\d{0,5}) (hour|day|week|month)s?$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
/** A time without a zone is in the runtime's time zone. */
const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/i;

/** Suggestions of the editor's input field. */
export const OFFERED_RANGES = [
  ...NAMED.keys(),
  'last 24 hours',
  'last 7 days',
  'last 4 weeks',
  'last 12 months',
] as const;

/** Reads one end of a range; null for invalid text. */
export function readRangeEnd(text: string): RangeEnd | null {
  if (text.length > TEXT.matched) return null;
  const words = text.trim().toLowerCase().replace(/\s+/g, ' ');
  const named = NAMED.get(words);
  if (named) return { kind: 'named', ...named };
  return readLast(words) ?? readDay(words) ?? readMoment(text.trim());
}

function readLast(words: string): RangeEnd | null {
  const [, digits = '', unit] = LAST.exec(words) ?? [];
  const count = Number(digits);
  if (!unit || count > MOST[unit as RangeUnit]) return null;
  return { kind: 'last', unit: unit as RangeUnit, count };
}

function readDay(words: string): RangeEnd | null {
  const date = calendarDate(DATE.exec(words));
  return date && { kind: 'day', ...date };
}

function readMoment(words: string): RangeEnd | null {
  if (!calendarDate(DATE_TIME.exec(words))) return null;
  const at = Date.parse(words.replace(' ', 'T').replace(/([+-]\d\d)(\d\d)$/, '$1:$2'));
  return Number.isNaN(at) ? null : { kind: 'moment', at };
}

/**
 * Year, month from 0 and day of a match; null for a nonexistent day, which a Date would move to the next month. Accepts
 * only years after 1970 that have four digits in every time zone.
 */
function calendarDate(match: RegExpExecArray | null): { year: number; month: number; day: number } | null {
  const [year = 0, month = 0, day = 0] = (match?.slice(1, 4) ?? []).map(Number);
  const inMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const good = year > 1970 && year < 9999 && month >= 1 && month <= 12 && day >= 1 && day <= inMonth;
  return good ? { year, month: month - 1, day } : null;
}
