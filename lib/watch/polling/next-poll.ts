import type { PrintJob } from '../../service/print-job';
import { FailedPolls, type FailedPoll } from './failed-polls';
import { SHORTEST, turnFrom } from './poll-timing';
import type { PollPlan } from './poll-plan';
import { joinTurns, Predictions } from './predictions';
import type { Subscriptions } from './subscriptions';

/** Intervals without an update from the owner after which a waiting runtime polls by itself. */
const SILENCE = 3;

/** Time of the next poll of one cluster, from turns, predicted ends, updates by other runtimes and backoff. */
export class NextPoll {
  readonly #failed: FailedPolls;
  /** Time of the last update from the owner, or of the start of waiting for one, monotonic ms. */
  #lastUpdateAt = -Infinity;
  #predictions: Predictions | null = null;

  constructor(
    private readonly clusterId: string,
    private readonly plan: PollPlan,
    private readonly subscriptions: Subscriptions,
  ) {
    this.#failed = new FailedPolls(plan.random);
  }

  /** Whether the last poll failed. */
  get isFailing(): boolean {
    return this.#failed.isFailing;
  }

  /** Next poll of a cluster that this runtime owns, monotonic ms; Infinity: none. */
  get asOwner(): number {
    const { interval, nextTurn } = this.subscriptions;
    if (nextTurn === null) return Infinity;
    const last = this.plan.lastPollOf(this.clusterId);
    if (this.isFailing) return this.#retry(last);
    return Math.max(last + SHORTEST, joinTurns(nextTurn, this.#predictions?.next(last) ?? Infinity, last, interval));
  }

  /** Next poll of a cluster whose owner stays silent, monotonic ms; Infinity: none. */
  get asWaiting(): number {
    const { interval, nextTurn } = this.subscriptions;
    if (nextTurn === null) return Infinity;
    const last = this.plan.lastPollOf(this.clusterId);
    if (this.isFailing) return this.#retry(last);
    return Math.max(this.#lastUpdateAt + SILENCE * interval, last + interval);
  }

  /** Records an update from the owner, or the start of waiting for one. */
  recordUpdate(now: number): void {
    this.#lastUpdateAt = now;
  }

  /** Updates the predicted ends. */
  predict(jobs: readonly PrintJob[], now: number): void {
    (this.#predictions ??= new Predictions()).update(jobs, now);
  }

  /** Counts an extra poll at `now`. */
  countExtraPoll(now: number): void {
    this.#predictions?.countExtraPoll(now);
  }

  recordSuccess(): void {
    this.#failed.recordSuccess();
  }

  /** Records a failure. A late token doesn't lengthen the backoff. */
  recordFailure(poll: FailedPoll): void {
    this.#failed.record(poll, this.subscriptions.interval);
  }

  /** Ends the backoff. */
  retryNow(): void {
    this.#failed.retryAt = 0;
  }

  /** Moves an overdue retry to the next turn. */
  spread(now: number): void {
    const { interval } = this.subscriptions;
    if (this.#failed.retryAt < now) this.#failed.retryAt = turnFrom(now, interval, this.subscriptions.phase);
  }

  /** Drops state that became stale while another runtime polled. */
  reset(): void {
    this.#predictions = null;
    this.#failed.reset();
  }

  #retry(last: number): number {
    return Math.max(this.#failed.retryAt, last + SHORTEST);
  }
}
