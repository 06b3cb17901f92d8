import { nextClosing, nextOpening, parseHours, type Hours, type Zone } from '../rules/hours';
import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

export { isWithin, nextClosing, nextOpening } from '../rules/hours';
export type { Hours, HoursRange } from '../rules/hours';

/** Hours without ranges: always. */
export const ALWAYS: Hours = { text: '', ranges: [] };

/** Reads weekly hours. Throws NOT_CONFIGURED with the setting's name and the wrong part of a malformed text. */
export function readHours(text: string, name = 'hours'): Hours {
  const read = parseHours(text);
  if ('hours' in read) return read.hours;
  throw new PrintingError(
    'NOT_CONFIGURED',
    phrase`The print queue's ${name} can't contain "${read.wrong}": write it like Mon-Fri 22:00-06:00, Sat 09:00-12:00.`,
  );
}

/** The time at which `ms` of staffed time have passed since `from`, ms since 1970; Infinity: never. */
export function afterHours(hours: Hours, from: number, ms: number, zone?: Zone): number {
  let left = ms;
  for (let at = nextOpening(hours, from, zone); at < Infinity;) {
    const end = nextClosing(hours, at, zone);
    if (end - at >= left) return at + left;
    left -= end - at;
    at = nextOpening(hours, end, zone);
  }
  return Infinity;
}
