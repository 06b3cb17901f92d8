import type { PrintJob } from '../../service/print-job';
import { SHORTEST, SLACK } from './poll-timing';

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
