import { waitBefore } from '../time/backoff';

/** No two regular polls are closer (wire facts 1), ms. */
export const SHORTEST = 10_000;
const LONGEST_BACKOFF = 15 * 60_000;
/** Only upwards, so that the interval is never undercut. */
const JITTER = 0.1;
/** A print is looked at this long after it should have ended, ms. */
const MARGIN = 5_000;
/** Predictions further away than this many intervals are too vague to plan by. */
const AHEAD = 10;

/** An interval in seconds as ms; too short ones are lengthened (reference 2.2). */
export const intervalOf = (seconds: number): number =>
  Math.max(SHORTEST, Number.isFinite(seconds) ? seconds * 1000 : 0);

/**
 * The wait before the next regular poll, ms. With the end of a print in sight (`endsIn`, ms) it is laid so that a poll
 * falls just after that end, without more polls than the plain interval would make: a wait is stretched, or shortened
 * and the time saved is owed (`debt`) to the wait that follows.
 */
export function nextPoll(
  { interval, endsIn, debt }: { interval: number; endsIn: number | null; debt: number },
  random: () => number,
): { delay: number; debt: number } {
  if (debt > 0) return { delay: interval + debt, debt: 0 };
  const target = endsIn !== null && endsIn > 0 ? endsIn + MARGIN : Infinity;
  if (target >= AHEAD * interval) return { delay: interval * (1 + JITTER * random()), debt: 0 };
  if (target >= interval) return { delay: target / Math.floor(target / interval), debt: 0 };
  const delay = Math.max(SHORTEST, target);
  return { delay, debt: interval - delay };
}

/** The wait after the `failures`th failed poll in a row, ms; at least what the service asked for. */
export function retryPoll(
  { interval, failures, retryAfter = 0 }: { interval: number; failures: number; retryAfter?: number | undefined },
  random: () => number,
): number {
  const backoff = { first: interval, longest: Math.max(interval, LONGEST_BACKOFF), jitter: JITTER };
  return Math.max(retryAfter, waitBefore(failures - 1, backoff, random));
}
