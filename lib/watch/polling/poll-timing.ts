import { waitBefore } from '../../time/retry';

/** Shortest time between two polls of a cluster, except those that a user requests, ms (wire facts 1). */
export const SHORTEST = 10_000;
/** Longest shift of a turn, as a share of the interval. */
export const SLACK = 0.08;
/** Longest backoff after failed polls, ms. */
const LONGEST_BACKOFF = 15 * 60_000;
/** Random share of a backoff, so that failed clusters are not retried all at once. */
const JITTER = 0.1;

/** Converts an interval from seconds to ms; short ones are lengthened (reference 2.2). */
export const intervalOf = (seconds: number): number =>
  Math.max(SHORTEST, Number.isFinite(seconds) ? seconds * 1000 : 0);

/** First turn at or after `from` (monotonic, ms) for a phase. */
export function turnFrom(from: number, interval: number, phase: number): number {
  const turn = phase * interval + Math.ceil(from / interval - phase) * interval;
  return turn < from ? turn + interval : turn;
}

/**
 * Next turn of a cluster that was polled at `last` and is watched again at `now`, after a deploy; null if `last` is
 * too long ago. Overdue turns come soon, spread over the time by which they are late.
 */
export function turnAgain(last: number, now: number, interval: number, phase: number): number | null {
  const next = turnAfter(last, interval, phase);
  const late = now - next;
  if (late <= 0) return next;
  return late < interval ? turnFrom(now, Math.max(SLACK * interval, late), phase) : null;
}

/** Span over which first polls due `by` are spread, ms: an interval, or the rest of it after a slow read of the list. */
export const firstSpan = (now: number, by: number, interval: number): number =>
  by - now > interval / 2 ? Math.min(by - now, interval) : interval;

/**
 * Turn after a poll that began at `start`: an interval later, shifted towards the cluster's phase within the allowed
 * slack. So late, early or crowded polls spread out again.
 */
export function turnAfter(start: number, interval: number, phase: number): number {
  const plain = start + interval;
  const wanted = turnFrom(plain - interval / 2, interval, phase);
  const most = SLACK * interval;
  return Math.max(start + SHORTEST, plain + Math.min(most, Math.max(-most, wanted - plain)));
}

/** Turn after a cluster's first poll: at its phase at once, because first polls may have been crowded. */
export function turnAfterFirst(start: number, interval: number, phase: number): number {
  return Math.min(turnFrom(start + SHORTEST, interval, phase), start + interval);
}

/** Whether a poll at `now` counts for a turn at `turn`: it is due, or nearly so. */
export const isTurn = (now: number, turn: number, interval: number): boolean => turn - now <= SLACK * interval;

/**
 * Whether a poll at `now` would delay the own poll of the next turn for too long. The bound counts as too long (1 ms for
 * rounding): a turn that is delayed by the slack, and moves back by the slack, would never join the other one.
 */
export const isCloseBefore = (now: number, turn: number, interval: number): boolean =>
  now + SHORTEST - turn > SLACK * interval - 1;

/** Backoff after the `failures`th failed poll in a row, ms; at least the service's Retry-After. */
export function retryPoll(
  { interval, failures, retryAfter = 0 }: { interval: number; failures: number; retryAfter?: number | undefined },
  random: () => number,
): number {
  const backoff = { first: interval, longest: Math.max(interval, LONGEST_BACKOFF), jitter: JITTER };
  return Math.max(retryAfter, waitBefore(failures - 1, backoff, random));
}
