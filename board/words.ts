// The page's texts, in one language, and the formats of times and amounts.

let words: Readonly<Record<string, string>> = {};
let language = 'en-US';

/** Loads the texts of the document's language. */
export async function loadWords(version: string): Promise<void> {
  language = document.documentElement.lang || language;
  const answer = await fetch(`words.${language}.json?${version}`);
  words = (await answer.json()) as Record<string, string>;
}

/** Text of a key, with its holes such as `{printer}` filled. A missing text shows its key. */
export const t = (key: string, holes: Readonly<Record<string, string | number>> = {}): string =>
  (words[key] ?? key).replace(/\{(\w+)\}/g, (hole, name: string) => String(holes[name] ?? hole));

/** Whether a key has a text: a word of the service or the queue may be newer than the page. */
export const has = (key: string): boolean => words[key] !== undefined;

/** A word of the queue or of a printer, such as `waiting`. */
export const word = (kind: string, value: string): string =>
  has(`${kind}.${value}`) ? t(`${kind}.${value}`) : value.replaceAll('_', ' ');

/** Lead of the runtime's clock over the browser's, ms. */
let ahead = 0;
export const setClock = (now: number): void => {
  ahead = now - Date.now();
};
/** The runtime's time, ms, of one by the browser's clock. */
export const onRuntime = (at: number): number => at + ahead;
/** The runtime's time, ms. */
export const now = (): number => onRuntime(Date.now());

/** Distances within which a time of day, and within which a day of the week, is unmistakable, ms. */
const NEAR = { time: 20 * 3_600_000, weekday: 6 * 24 * 3_600_000 };

const TIME = { hour: '2-digit', minute: '2-digit' } as const;
const WEEKDAY = { ...TIME, weekday: 'short' } as const;
const DAY = { ...WEEKDAY, day: 'numeric', month: 'numeric' } as const;
const DATE = { dateStyle: 'short', timeStyle: 'short' } as const;

/** Making a format takes longer than all else on the page, so each is made once. */
const formats = new Map<Intl.DateTimeFormatOptions, Intl.DateTimeFormat>();

function formatted(at: Date, options: Intl.DateTimeFormatOptions): string {
  // A format throws for an invalid time.
  if (Number.isNaN(at.getTime())) return '–';
  const format = formats.get(options) ?? new Intl.DateTimeFormat(language, options);
  formats.set(options, format);
  return format.format(at);
}

/** A time of day, with the day if it is far. */
export function clock(at: string | number): string {
  const date = new Date(typeof at === 'number' ? at : Date.parse(at));
  const distance = Math.abs(date.getTime() - now());
  const isToday = date.toDateString() === new Date(now()).toDateString();
  if (isToday || distance < NEAR.time) return formatted(date, TIME);
  return formatted(date, distance > NEAR.weekday ? DAY : WEEKDAY);
}

export const dateAndTime = (at: string): string => formatted(new Date(at), DATE);

/** Seconds in the two largest units, such as `1 h 5 min`. */
export function duration(seconds: number): string {
  const minutes = Math.max(0, Math.round(seconds / 60));
  if (seconds < 90) return t('seconds', { n: Math.max(0, Math.round(seconds)) });
  if (minutes < 90) return t('minutes', { n: minutes });
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return t('hours', { h: hours, n: minutes % 60 });
  return t('days', { d: Math.floor(hours / 24), h: hours % 24 });
}

/** Age of a time, such as `3 min ago`. */
export const age = (at: string): string => t('ago', { time: duration((now() - Date.parse(at)) / 1000) });

export const amount = (value: number, digits = 0): string =>
  value.toLocaleString(language, { maximumFractionDigits: digits });

export const money = (value: number, currency: string | null): string =>
  currency && /^[A-Z]{3}$/.test(currency)
    ? value.toLocaleString(language, { style: 'currency', currency })
    : amount(value, 2);
