import type { PrintJob } from '../../service/print-job';
import { SHORTEST, SLACK } from './poll-timing';

/** Polls beyond the regular ones for one printing. */
const MOST_EXTRA = 6;
/** Of those, at most so many before the predicted end. */
const MOST_BEFORE = 2;
/** An end shows this long after its predicted time at the earliest: the service counts whole seconds, ms. */
const MARGIN = 1_500;
/** How far predictions are trusted before any was seen to come true, as a share of the print's time; and at best. */
const DOUBT = 0.05;
const LEAST_DOUBT = 0.005;
const MOST_DOUBT = 0.15;
/** An end that was foretold well makes the next one more credible by this factor. */
const TRUST = 0.7;
/** Printings remembered for what was spent on them. */
const REMEMBERED = 16;

interface Prediction {
  jobId: string;
  /** When the print should end, monotonic ms. */
  end: number;
  /** Its whole time, ms. */
  total: number;
  /** How far it moved between two polls, ms. */
  moved: number;
}

/** When the prints of one cluster should end, how sure that is, and when to poll for it beyond the regular turns. */
export class Predictions {
  /** Earliest first. */
  #open: Prediction[] = [];
  /** Polls made for a print beyond the regular ones; most clusters need none most of the time. */
  #spent: Map<string, number> | null = null;
  #doubt = DOUBT;
  #lastSeen = -Infinity;

  /** Takes what a poll brought at `now` (monotonic, ms). */
  note(jobs: readonly PrintJob[], now: number): void {
    const before = this.#open;
    const open: Prediction[] = [];
    for (const job of jobs) {
      const prediction = predict(job, now);
      if (prediction) open.push(prediction);
    }
    this.#open = open.sort((one, other) => one.end - other.end);
    for (const prediction of before) {
      const still = open.find(({ jobId }) => jobId === prediction.jobId);
      if (still) still.moved = Math.max(Math.abs(still.end - prediction.end), prediction.moved / 2);
      else if (!jobs.some(({ clusterJobId }) => clusterJobId === prediction.jobId)) this.#noteEnd(prediction, now);
    }
    this.#lastSeen = now;
  }

  /** When to poll for the next end, given that the last poll began at `last`; Infinity where no poll helps. */
  next(last: number): number {
    const soonest = last + SHORTEST;
    let next = Infinity;
    for (const prediction of this.#open) next = Math.min(next, this.#nextFor(prediction, soonest));
    return next;
  }

  /** A poll beyond the regular ones was made at `now`. */
  spend(now: number): void {
    // It was made for the end that is nearest.
    const [nearest] = this.#open
      .filter(({ jobId }) => this.#spentOn(jobId) < MOST_EXTRA)
      .sort((one, other) => Math.abs(one.end - now) - Math.abs(other.end - now));
    if (!nearest) return;
    const spent = (this.#spent ??= new Map());
    spent.set(nearest.jobId, this.#spentOn(nearest.jobId) + 1);
    if (spent.size > REMEMBERED) spent.delete([...spent.keys()][0] ?? '');
  }

  #nextFor({ jobId, end, total, moved }: Prediction, soonest: number): number {
    if (this.#spentOn(jobId) >= MOST_EXTRA) return Infinity;
    const shows = end + MARGIN;
    const doubt = Math.max(this.#doubt * total, moved);
    // Those before the end stand so far from it that they don't keep it waiting.
    const before = Math.min(MOST_BEFORE, Math.floor((doubt + MARGIN) / SHORTEST));
    for (let steps = before; steps > 0; steps--) {
      const time = shows - steps * SHORTEST;
      if (time >= soonest) return time;
    }
    return Math.max(shows, soonest);
  }

  #spentOn(jobId: string): number {
    return this.#spent?.get(jobId) ?? 0;
  }

  /** The print ended between the last poll and this one. */
  #noteEnd({ jobId, end, total }: Prediction, now: number): void {
    this.#spent?.delete(jobId);
    const error = Math.max(0, this.#lastSeen - end, end - now);
    // Far from its end a print is stopped by somebody, which says nothing about predictions.
    if (total <= 0 || error > MOST_DOUBT * total) return;
    this.#doubt = Math.max(LEAST_DOUBT, error / total, this.#doubt * TRUST);
  }
}

/**
 * When to poll next, with a regular turn at `turn` and a poll for an end wanted at `extra`: two that are too close
 * become one, or the turn comes early enough for both.
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
