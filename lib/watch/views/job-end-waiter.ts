import { judge } from '../../events/job-ends';
import { copyOf } from '../../events/job-edges';
import type { EndType } from '../../events/print-event';
import type { PrintJob } from '../../service/print-job';
import { underDeadline } from '../../time/deadline';
import { guard } from '../../time/guard';
import type { AccountContext, Subscriber } from '../polling/account-context';
import { readJobRecord } from '../polling/job-record';
import type { Poller } from '../polling/poller';
import type { PollResult, JobEnd, JobEndOptions } from '../watch-types';

/** A job that no list shows so long after the start is asked for by itself, ms. New jobs take a while to be listed. */
const PATIENCE = 120_000;
const LONGEST = 30_000;
/** So many polls in a row that find the cluster neither by its id nor in the list end the wait: one odd list is no proof. */
const NOT_LISTED = 2;

interface Target extends JobEndOptions {
  poller: Poller;
  clusterJobId: string;
  /** ms. */
  interval: number;
  closed: () => void;
}

/** Looks at a cluster's polls until one job has ended. */
export class JobEndWaiter implements Subscriber {
  readonly hears = false;
  readonly wants = 'wait';
  readonly milestones = [];
  readonly paused = false;
  readonly interval: number;
  readonly ended: Promise<JobEnd>;

  readonly #since: number;
  #poller: Poller;
  #over = false;
  #asking = false;
  /** The job's record was not found when it was last asked for. */
  #missed = false;
  /** Polls in a row that did not find the cluster. */
  #notListed = 0;
  #resolve!: (followed: JobEnd) => void;
  #reject!: (reason: Error) => void;

  constructor(
    private readonly target: Target,
    private readonly account: AccountContext,
  ) {
    this.interval = target.interval;
    this.#poller = target.poller;
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
      guard(
        () => this.#begin(),
        (error) => account.fault(this.#poller.clusterId, error),
      )();
    }
  }

  /** An end that is known takes no poll. */
  async #begin(): Promise<void> {
    await this.#poller.load();
    if (!this.#hasEnded() && !this.#over) this.#poller.add(this);
  }

  /** Gives up, for `reason`. */
  cancel(reason: Error): void {
    if (this.#leave()) this.#reject(reason);
  }

  serve({ status, error }: PollResult): void {
    if (this.#hasEnded()) return;
    if (error) this.#stale();
    const { clusterJobId } = this.target;
    const jobs = error ? [] : (status?.jobs ?? []);
    const ahead = jobs.findIndex((entry) => entry.clusterJobId === clusterJobId);
    const job = jobs[ahead];
    if (job) {
      this.#notListed = 0;
      return this.#progress(job, ahead);
    }
    if (error?.code === 'NOT_FOUND') this.#notListed++;
    else if (!error) this.#notListed = 0;
    if (this.#notListed >= NOT_LISTED) return this.#end('job.ended', null, { isDisconnected: true });
    // Once listed, the polls decide what became of it.
    if (this.#poller.isOpen(clusterJobId)) return;
    if (error && error.code !== 'NOT_FOUND') return;
    if (this.account.clock.monotonic() - this.#since >= PATIENCE) void this.#ask();
  }

  deliver(): boolean {
    return false;
  }

  moveTo(poller: Poller): void {
    this.#poller = poller;
    poller.add(this, { known: true });
  }

  readonly #abort = () => this.cancel(this.target.signal?.reason as Error);

  #hasEnded(): boolean {
    const end = this.#poller.endOf(this.target.clusterJobId);
    if (end) this.#end(end.type, end.job);
    return end !== null;
  }

  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    try {
      const { service, signal, clock } = this.account;
      const { clusterJobId } = this.target;
      const answer = await underDeadline(clock, { ms: LONGEST, parent: signal }, (deadline) =>
        readJobRecord(service, this.#poller.clusterId, clusterJobId, deadline),
      );
      const nowhere = { active: undefined, past: undefined, known: undefined, absenceCounts: true };
      const verdict = judge({ ...nowhere, missedBefore: this.#missed }, answer);
      this.#missed = answer === 'gone' || (this.#missed && answer === 'unanswered');
      if (typeof verdict !== 'string') this.#end(verdict.type, verdict.job);
      else if (typeof answer === 'object') this.#progress(answer.job, null);
    } catch {
      // The watching ended; `cancel` has said so.
    } finally {
      this.#asking = false;
    }
  }

  #progress(job: PrintJob, ahead: number | null): void {
    if (this.#over) return;
    const { onProgress = () => undefined } = this.target;
    guard(onProgress, (error) => this.account.fault(this.#poller.clusterId, error))(copyOf(job), ahead);
  }

  #stale(): void {
    if (this.#over) return;
    const { onStale = () => undefined } = this.target;
    guard(onStale, (error) => this.account.fault(this.#poller.clusterId, error))();
  }

  #end(type: EndType, job: PrintJob | null, more: Pick<JobEnd, 'isDisconnected'> = {}): void {
    const { clusterId } = this.#poller;
    if (this.#leave()) this.#resolve({ outcome: OUTCOMES[type], job: job && copyOf(job), clusterId, ...more });
  }

  /** False when it was left already. */
  #leave(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.target.signal?.removeEventListener('abort', this.#abort);
    this.#poller.remove(this);
    this.target.closed();
    return true;
  }
}

const OUTCOMES: Record<EndType, JobEnd['outcome']> = {
  'job.finished': 'finished',
  'job.failed': 'failed',
  'job.aborted': 'aborted',
  'job.ended': 'ended',
};
