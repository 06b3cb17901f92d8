import { SHORTEST_INTERVAL } from '../../rules/text';
import type { PrintingError } from '../../service/errors';
import type { PrintJob } from '../../service/print-job';
import { waitBefore } from '../../time/retry';

/** Shortest time between two polls of a cluster, except those that a user requests, ms (wire facts 1). */
export const SHORTEST = 1000 * SHORTEST_INTERVAL;
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

/** Most extra polls per print. */
const MOST_EXTRA = 6;
/** Most extra polls before the predicted end. */
const MOST_BEFORE = 2;
/** Delay until an end shows after its predicted time, because the service counts whole seconds, ms. */
const SHOWS_AFTER = 1_500;
/** Uncertainty of a prediction as a share of the print's time: initial, least and largest value. */
const INITIAL_UNCERTAINTY = 0.05;
const LEAST_UNCERTAINTY = 0.005;
const MOST_UNCERTAINTY = 0.15;
/** Factor by which a correct prediction lowers the uncertainty. */
const CORRECT_FACTOR = 0.7;
/** Most prints whose extra polls are counted. */
const REMEMBERED = 16;

interface Prediction {
  jobId: string;
  /** Predicted end, monotonic ms. */
  end: number;
  /** Total print time, ms. */
  total: number;
  /** Shift of the predicted end between two polls, ms. */
  moved: number;
}

/** Predicted ends of the prints of one cluster, and the extra polls that catch them. */
export class Predictions {
  /** Earliest first. */
  #open: Prediction[] = [];
  /** Extra polls by print; null until the first one, since most clusters need none. */
  #extraPolls: Map<string, number> | null = null;
  #uncertainty = INITIAL_UNCERTAINTY;
  #lastSeen = -Infinity;

  /** Updates the predictions from a poll at `now` (monotonic, ms). */
  update(jobs: readonly PrintJob[], now: number): void {
    const before = this.#open;
    const open: Prediction[] = [];
    for (const job of jobs) {
      const prediction = predict(job, now);
      if (prediction) open.push(prediction);
    }
    this.#open = open.sort((one, other) => one.end - other.end);
    for (const prediction of before) {
      const updated = open.find(({ jobId }) => jobId === prediction.jobId);
      if (updated) updated.moved = Math.max(Math.abs(updated.end - prediction.end), prediction.moved / 2);
      else if (!jobs.some(({ clusterJobId }) => clusterJobId === prediction.jobId)) this.#recordEnd(prediction, now);
    }
    this.#lastSeen = now;
  }

  /** Time of the next extra poll after a poll at `last`; Infinity where none helps. */
  next(last: number): number {
    const soonest = last + SHORTEST;
    let next = Infinity;
    for (const prediction of this.#open) next = Math.min(next, this.#nextFor(prediction, soonest));
    return next;
  }

  /** Counts an extra poll at `now`. */
  countExtraPoll(now: number): void {
    // It counts for the nearest predicted end.
    const [nearest] = this.#open
      .filter(({ jobId }) => this.#extraPollsOf(jobId) < MOST_EXTRA)
      .sort((one, other) => Math.abs(one.end - now) - Math.abs(other.end - now));
    if (!nearest) return;
    const extraPolls = (this.#extraPolls ??= new Map());
    extraPolls.set(nearest.jobId, this.#extraPollsOf(nearest.jobId) + 1);
    if (extraPolls.size > REMEMBERED) extraPolls.delete([...extraPolls.keys()][0] ?? '');
  }

  #nextFor({ jobId, end, total, moved }: Prediction, soonest: number): number {
    if (this.#extraPollsOf(jobId) >= MOST_EXTRA) return Infinity;
    const visibleAt = end + SHOWS_AFTER;
    const uncertainty = Math.max(this.#uncertainty * total, moved);
    // Polls before the end keep enough distance not to delay the one after it.
    const before = Math.min(MOST_BEFORE, Math.floor((uncertainty + SHOWS_AFTER) / SHORTEST));
    for (let steps = before; steps > 0; steps--) {
      const time = visibleAt - steps * SHORTEST;
      if (time >= soonest) return time;
    }
    return Math.max(visibleAt, soonest);
  }

  #extraPollsOf(jobId: string): number {
    return this.#extraPolls?.get(jobId) ?? 0;
  }

  /** Adjusts the uncertainty after a print ended between the last poll and this one. */
  #recordEnd({ jobId, end, total }: Prediction, now: number): void {
    this.#extraPolls?.delete(jobId);
    const error = Math.max(0, this.#lastSeen - end, end - now);
    // A print that ends far from its prediction was stopped by a user, which proves nothing about predictions.
    if (total <= 0 || error > MOST_UNCERTAINTY * total) return;
    this.#uncertainty = Math.max(LEAST_UNCERTAINTY, error / total, this.#uncertainty * CORRECT_FACTOR);
  }
}

/**
 * Time of the next poll, given a regular turn at `turn` and an extra poll at `extra`. Two polls too close become
 * one, or the turn comes early enough for both.
 */
export function joinTurns(turn: number, extra: number, last: number, interval: number): number {
  if (extra < turn || extra - turn >= SHORTEST) return Math.min(turn, extra);
  if (extra - turn <= SLACK * interval && extra - last <= (1 + SLACK) * interval) return extra;
  return extra - SHORTEST >= last + SHORTEST ? extra - SHORTEST : turn;
}

function predict(job: PrintJob, now: number): Prediction | null {
  const { clusterJobId, state, timeRemaining, timeTotal, timeElapsed } = job;
  if (clusterJobId === null || (state !== 'printing' && state !== 'finishing')) return null;
  const byTimes = timeTotal !== null && timeTotal > 0 && timeElapsed !== null ? timeTotal - timeElapsed : null;
  const left = timeRemaining !== null && timeRemaining > 0 ? timeRemaining : byTimes;
  if (left === null) return null;
  const total = timeTotal ?? (timeElapsed ?? 0) + left;
  return { jobId: clusterJobId, end: now + Math.max(0, left) * 1000, total: total * 1000, moved: 0 };
}

/** A poll that failed. */
export interface FailedPoll {
  /** When it began, monotonic ms. */
  start: number;
  error: PrintingError;
  /** Whether it never left, because it got no token. */
  lacksToken: boolean;
}

/** Polls in a row that do not find a cluster, after which it is missing. A single odd list proves nothing. */
const NOT_FOUND = 2;

/** Failed polls in a row of one poller, and the time of the next try. */
export class FailedPolls {
  #count = 0;
  /** Polls that did not find the cluster, without one between them that did, and the start of the first, monotonic ms. */
  #notFound = { count: 0, since: 0 };
  /** Earliest time of the next try, monotonic ms. */
  retryAt = 0;

  constructor(private readonly random: () => number) {}

  /** Whether the last poll failed. */
  get isFailing(): boolean {
    return this.#count > 0;
  }

  /**
   * The service does not know the cluster: start of the first poll that did not find it, monotonic ms. Null: it does, or too
   * few polls have asked it. Other failures say nothing about that.
   */
  get missingSince(): number | null {
    return this.#notFound.count >= NOT_FOUND ? this.#notFound.since : null;
  }

  /** Records a failure. A late token doesn't lengthen the backoff. */
  record({ start, error, lacksToken }: FailedPoll, interval: number): void {
    if (!lacksToken || !this.isFailing) this.#count++;
    const { code, retryAfter } = error;
    if (code === 'NOT_FOUND') {
      const { count, since } = this.#notFound;
      this.#notFound = { count: count + 1, since: count === 0 ? start : since };
    }
    this.retryAt = start + retryPoll({ interval, failures: this.#count, retryAfter }, this.random);
  }

  recordSuccess(): void {
    this.#count = this.#notFound.count = 0;
  }

  reset(): void {
    this.recordSuccess();
    this.retryAt = 0;
  }
}
