import { waitBefore } from '../../time/backoff';

/** No two polls of a cluster are closer (wire facts 1), but those that a user asks for; ms. */
export const SHORTEST = 10_000;
/** How far a turn may be moved, as a share of the interval. */
export const SLACK = 0.08;
const LONGEST_BACKOFF = 15 * 60_000;
/** Failing polls come back at different times. */
const JITTER = 0.1;
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** An interval in seconds as ms; too short ones are lengthened (reference 2.2). */
export const intervalOf = (seconds: number): number =>
  Math.max(SHORTEST, Number.isFinite(seconds) ? seconds * 1000 : 0);

/**
 * Where in its interval the `n`th cluster has its turn, 0 to 1. However many there are, these lie evenly, and one more
 * moves none of the others.
 */
export const phaseOf = (n: number): number => (n * GOLDEN) % 1;

/** The first time from `from` on (monotonic, ms) that a cluster of this phase has its turn. */
export function turnFrom(from: number, interval: number, phase: number): number {
  const turn = phase * interval + Math.ceil(from / interval - phase) * interval;
  return turn < from ? turn + interval : turn;
}

/**
 * The turn at `now` of what was polled at `last` and is watched anew, after a deploy; null where that was too long ago.
 * Those that are overdue come soon, spread over as long as they are late.
 */
export function turnAgain(last: number, now: number, interval: number, phase: number): number | null {
  const next = turnAfter(last, interval, phase);
  const late = now - next;
  if (late <= 0) return next;
  return late < interval ? turnFrom(now, Math.max(SLACK * interval, late), phase) : null;
}

/** Over how long first polls are spread that should be over `by`: an interval, or what is left of it after a long list. */
export const firstSpan = (now: number, by: number, interval: number): number =>
  by - now > interval / 2 ? Math.min(by - now, interval) : interval;

/**
 * The turn after a poll that began at `start`: an interval later, moved towards the cluster's phase by as much as the
 * interval bears. What was late, early or crowded is spread again so.
 */
export function turnAfter(start: number, interval: number, phase: number): number {
  const plain = start + interval;
  const wanted = turnFrom(plain - interval / 2, interval, phase);
  const most = SLACK * interval;
  return Math.max(start + SHORTEST, plain + Math.min(most, Math.max(-most, wanted - plain)));
}

/** The turn after the first poll of a cluster, which may have come with those of others: at its phase already. */
export function turnAfterFirst(start: number, interval: number, phase: number): number {
  return Math.min(turnFrom(start + SHORTEST, interval, phase), start + interval);
}

/** Whether a poll at `now` is the one of a turn at `turn`: it is due, or nearly so. */
export const isTurn = (now: number, turn: number, interval: number): boolean => turn - now <= SLACK * interval;

/** Whether a turn would have to wait for too long for a poll of its own, after one at `now`. */
export const isCloseBefore = (now: number, turn: number, interval: number): boolean =>
  now + SHORTEST - turn > SLACK * interval;

/** The wait after the `failures`th failed poll in a row, ms; at least what the service asked for. */
export function retryPoll(
  { interval, failures, retryAfter = 0 }: { interval: number; failures: number; retryAfter?: number | undefined },
  random: () => number,
): number {
  const backoff = { first: interval, longest: Math.max(interval, LONGEST_BACKOFF), jitter: JITTER };
  return Math.max(retryAfter, waitBefore(failures - 1, backoff, random));
}
