import type { PrintJob } from '../service/print-job';
import { underDeadline } from '../time/deadline';
import type { AccountContext, Rider } from './account-context';
import type { ClusterPoll } from './cluster-poll';
import { judge } from './job-ends';
import { readOwnRecord } from './own-record';
import type { EndType } from './events';
import type { Followed, FollowOptions, PollOutcome } from './watch-types';

/** A job that no list shows so long after the start is asked for by itself, ms. New jobs take a while to be listed. */
const PATIENCE = 120_000;

interface Target extends FollowOptions {
  poll: ClusterPoll;
  clusterJobId: string;
  /** ms. */
  interval: number;
  closed: () => void;
}

/** Rides on a cluster's polls until one job has ended. */
export class Follow implements Rider {
  readonly paused = false;
  readonly interval: number;
  readonly ended: Promise<Followed>;

  readonly #since: number;
  #poll: ClusterPoll;
  #over = false;
  #asking = false;
  #resolve!: (followed: Followed) => void;
  #reject!: (reason: Error) => void;

  constructor(
    private readonly target: Target,
    private readonly account: AccountContext,
  ) {
    this.interval = target.interval;
    this.#poll = target.poll;
    this.#since = account.clock.monotonic();
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const { signal } = target;
    if (signal?.aborted) {
      this.#abort();
    } else {
      signal?.addEventListener('abort', this.#abort, { once: true });
      void this.#begin();
    }
  }

  /** An end that was told long ago takes no poll to know. */
  async #begin(): Promise<void> {
    await this.#poll.load();
    if (!this.#look() && !this.#over) this.#poll.chain.add(this);
  }

  /** Gives up, for `reason`. */
  cancel(reason: Error): void {
    if (this.#leave()) this.#reject(reason);
  }

  serve({ results: [result] }: PollOutcome): void {
    if (this.#look() || !result) return;
    const { clusterJobId } = this.target;
    const job = result.error ? undefined : result.status?.jobs.find((entry) => entry.clusterJobId === clusterJobId);
    if (job) return this.#progress(job);
    // Once listed, the position decides what became of it.
    if (this.#poll.position?.jobs.some(({ id }) => id === clusterJobId)) return;
    if (result.error && result.error.code !== 'NOT_FOUND') return;
    if (this.account.clock.monotonic() - this.#since >= PATIENCE) void this.#ask();
  }

  tell(): boolean {
    return false;
  }

  moveTo(poll: ClusterPoll): void {
    this.#poll = poll;
    poll.chain.add(this);
  }

  readonly #abort = () => this.cancel(this.target.signal?.reason as Error);

  /** Whether the end is known. */
  #look(): boolean {
    const end = this.#poll.position?.ended.find(({ id }) => id === this.target.clusterJobId);
    if (end) this.#end(end.type, end.job);
    return end !== undefined;
  }

  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    try {
      const { service, signal, clock } = this.account;
      const answer = await underDeadline(clock, { ms: 60_000, parent: signal }, (deadline) =>
        readOwnRecord(service, this.#poll.clusterId, this.target.clusterJobId, deadline),
      );
      const verdict = judge({ active: undefined, past: undefined, known: undefined, absenceCounts: true }, answer);
      if (typeof verdict !== 'string') this.#end(verdict.type, verdict.job);
      else if (typeof answer === 'object') this.#progress(answer.job);
    } catch {
      // The watching ended; `cancel` has said so.
    } finally {
      this.#asking = false;
    }
  }

  #progress(job: PrintJob): void {
    if (this.#over) return;
    try {
      this.target.onProgress?.(job);
    } catch (thrown) {
      this.account.fault(this.#poll.clusterId, thrown);
    }
  }

  #end(type: EndType, job: PrintJob | null): void {
    if (this.#leave()) this.#resolve({ outcome: OUTCOMES[type], job });
  }

  /** False when it was left already. */
  #leave(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.target.signal?.removeEventListener('abort', this.#abort);
    this.#poll.chain.remove(this);
    this.target.closed();
    return true;
  }
}

const OUTCOMES: Record<EndType, Followed['outcome']> = {
  'job.finished': 'finished',
  'job.failed': 'failed',
  'job.aborted': 'aborted',
  'job.ended': 'ended',
};
