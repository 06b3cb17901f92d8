import { copyJob, judge } from '../../events/job-edges';
import type { EndType } from '../../events/print-event';
import type { PrintJob } from '../../service/print-job';
import { underDeadline } from '../../time/deadline';
import { guard } from '../../time/guard';
import {
  type PollingAccount,
  type PollReports,
  type PollResult,
  readJobRecord,
  type Subscriber,
} from '../polling/types';
import type { Poller } from '../polling/poller';
import type { JobEnd, JobEndOptions } from './watch';

/** Time after which the record of an unlisted job is read, ms. New jobs take a while to be listed. */
const PATIENCE = 120_000;
/** Timeout for reading the record, ms. */
const LONGEST = 30_000;
/** Polls in a row without the cluster in the list that end the wait. A single odd list proves nothing. */
const NOT_LISTED = 2;

interface Target extends JobEndOptions {
  poller: Poller;
  clusterJobId: string;
  /** Polling interval, ms. */
  interval: number;
  closed: () => void;
}

type JobEndAccount = Pick<PollingAccount, 'service' | 'clock' | 'signal'> & Pick<PollReports, 'fault'>;

/** Subscriber that waits for the end of one job. */
export class JobEndWaiter implements Subscriber {
  readonly events = null;
  readonly wants = 'wait';
  readonly paused = false;
  readonly interval: number;
  readonly ended: Promise<JobEnd>;

  readonly #since: number;
  #poller: Poller;
  #isDone = false;
  #isReading = false;
  /** Whether the last read found no record of the job. */
  #wasMissing = false;
  /** The job in the history of the last status. */
  #past: PrintJob | undefined;
  /** Polls in a row that did not find the cluster. */
  #notListed = 0;
  #resolve!: (end: JobEnd) => void;
  #reject!: (reason: Error) => void;

  constructor(
    private readonly target: Target,
    private readonly account: JobEndAccount,
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

  /** Subscribes, unless the end is known. */
  async #begin(): Promise<void> {
    await this.#poller.load();
    if (!this.#hasEnded() && !this.#isDone) this.#poller.add(this);
  }

  /** Rejects with `reason`. */
  cancel(reason: Error): void {
    if (this.#unsubscribe()) this.#reject(reason);
  }

  onPoll({ status, error }: PollResult): void {
    if (this.#hasEnded()) return;
    if (error) this.#reportStale();
    const { clusterJobId } = this.target;
    const jobs = error ? [] : (status?.jobs ?? []);
    const ahead = jobs.findIndex((entry) => entry.clusterJobId === clusterJobId);
    const job = jobs[ahead];
    // Without a checkpoint, the history alone shows an end that other polls missed.
    if (!error) this.#past = status?.history.find((entry) => entry.clusterJobId === clusterJobId);
    if (job) {
      this.#notListed = 0;
      return this.#reportProgress(job, ahead);
    }
    if (error?.code === 'NOT_FOUND') this.#notListed++;
    else if (!error) this.#notListed = 0;
    if (this.#notListed >= NOT_LISTED) return this.#end('job.ended', null, { isDisconnected: true });
    // The polls determine the end of a listed job.
    if (this.#poller.isOpen(clusterJobId)) return;
    if (error && error.code !== 'NOT_FOUND') return;
    if (this.account.clock.monotonic() - this.#since >= PATIENCE) void this.#readRecord();
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

  async #readRecord(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      const { service, signal, clock } = this.account;
      const { clusterJobId } = this.target;
      const answer = await underDeadline(clock, { ms: LONGEST, parent: signal }, (deadline) =>
        readJobRecord(service, this.#poller.clusterId, clusterJobId, deadline),
      );
      const traces = { active: undefined, past: this.#past, known: undefined, absenceCounts: true };
      const verdict = judge({ ...traces, missedBefore: this.#wasMissing }, answer);
      this.#wasMissing = answer === 'gone' || (this.#wasMissing && answer === 'unanswered');
      if (typeof verdict !== 'string') this.#end(verdict.type, verdict.job);
      else if (typeof answer === 'object') this.#reportProgress(answer.job, null);
    } catch {
      // The watcher has closed, and `cancel` has rejected.
    } finally {
      this.#isReading = false;
    }
  }

  #reportProgress(job: PrintJob, ahead: number | null): void {
    if (this.#isDone) return;
    const { onProgress = () => undefined } = this.target;
    guard(onProgress, (error) => this.account.fault(this.#poller.clusterId, error))(copyJob(job), ahead);
  }

  #reportStale(): void {
    if (this.#isDone) return;
    const { onStale = () => undefined } = this.target;
    guard(onStale, (error) => this.account.fault(this.#poller.clusterId, error))();
  }

  #end(type: EndType, job: PrintJob | null, more: Pick<JobEnd, 'isDisconnected'> = {}): void {
    const { clusterId } = this.#poller;
    if (this.#unsubscribe()) this.#resolve({ outcome: OUTCOMES[type], job: job && copyJob(job), clusterId, ...more });
  }

  /** Unsubscribes. Returns false where the wait has ended before. */
  #unsubscribe(): boolean {
    if (this.#isDone) return false;
    this.#isDone = true;
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
