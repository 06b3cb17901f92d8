import { copyJob, judge } from '../../events/job-edges';
import type { EndType } from '../../events/print-event';
import type { PrintJob } from '../../service/print-job';
import { underDeadline } from '../../time/deadline';
import { guard } from '../../time/guard';
import type { Poller } from '../polling/poller';
import {
  type PollingAccount,
  type PollReports,
  type PollResult,
  readJobRecord,
  type Subscriber,
} from '../polling/types';

export interface JobEndOptions {
  signal?: AbortSignal | undefined;
  /** Called after each poll that showed the job. `ahead`: number of jobs before it in the queue, if known. */
  onProgress?: ((job: PrintJob, ahead: number | null) => void) | undefined;
  /** Called after each failed poll: the last progress is stale. */
  onStale?: (() => void) | undefined;
  /** Time, in polls that do not find the cluster, after which it counts as disconnected, ms. Default: two polls. */
  missingFor?: number | undefined;
}

/** End of an awaited print. `ended`: the outcome is unknown. */
export interface JobEnd {
  outcome: 'finished' | 'failed' | 'aborted' | 'ended';
  job: PrintJob | null;
  /** Cluster that the print ended on; a new id where the cluster moved to one. */
  clusterId?: string;
  /** The service does not know the cluster any more: the print may still be running. */
  isDisconnected?: true;
}

const OUTCOMES: Record<EndType, JobEnd['outcome']> = {
  'job.finished': 'finished',
  'job.failed': 'failed',
  'job.aborted': 'aborted',
  'job.ended': 'ended',
};

/** Time after which the record of an unlisted job is read, ms. New jobs take a while to be listed. */
const PATIENCE = 120_000;
/** Most time between two polls that counts as lived with both, ms: longer than any wait after a failed one. */
const LONGEST_GAP = 20 * 60_000;
/** Timeout for reading the record, ms. */
const LONGEST = 30_000;

interface JobEndContext {
  account: Pick<PollingAccount, 'service' | 'clock' | 'signal'>;
  /** Polling interval, ms. */
  interval: number;
  reports: Pick<PollReports, 'fault'>;
}

/**
 * Subscriber that waits for the end of one job. The polls determine the end of a job that they have shown. The record of
 * any other job is read after a while.
 */
export class JobEndWaiter implements Subscriber {
  readonly events = null;
  readonly wants = 'wait';
  readonly paused = false;
  readonly interval: number;
  /** Rejects with the reason of the signal, or of `cancel`. */
  readonly ended: Promise<JobEnd>;
  readonly #since: number;
  #isDone = false;
  #isReading = false;
  /** Whether the last read found no record of the job. */
  #wasMissing = false;
  /** When a read of the record first failed since the last one that did not, monotonic ms; null: it did not fail. */
  #unreadFrom: number | null = null;
  /** Time for which polls have not found the cluster, and the last of them, monotonic, ms. */
  #missing: { lived: number; at: number } | null = null;
  /** The job in the history of the last status. */
  #past: PrintJob | undefined;
  #resolve!: (end: JobEnd) => void;
  #reject!: (reason: Error) => void;

  constructor(
    private poller: Poller,
    private readonly clusterJobId: string,
    private readonly context: JobEndContext,
    private readonly options: JobEndOptions = {},
  ) {
    this.interval = context.interval;
    this.#since = context.account.clock.monotonic();
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const { signal } = options;
    if (signal?.aborted) {
      this.#abort();
      return;
    }
    signal?.addEventListener('abort', this.#abort, { once: true });
    this.#guarded(() => this.#begin());
  }

  async #begin(): Promise<void> {
    await this.poller.load();
    if (!this.#hasEnded() && !this.#isDone) this.poller.add(this);
  }

  onPoll({ status, error }: PollResult): void {
    if (this.#hasEnded()) return;
    if (error) return this.#pollFailed(error.code === 'NOT_FOUND');
    this.#missing = null;
    const { clusterJobId } = this;
    const jobs = status?.jobs ?? [];
    const ahead = jobs.findIndex((entry) => entry.clusterJobId === clusterJobId);
    // Without a checkpoint, the history alone shows an end that other polls missed.
    this.#past = status?.history.find((entry) => entry.clusterJobId === clusterJobId);
    if (jobs[ahead]) this.#reportProgress(jobs[ahead], ahead);
    else this.#readRecordInTime();
  }

  #pollFailed(isNotFound: boolean): void {
    if (!this.#isDone) this.#guarded(() => this.options.onStale?.());
    if (!isNotFound) return;
    const at = this.context.account.clock.monotonic();
    const { lived, at: last } = this.#missing ?? { lived: 0, at };
    this.#missing = { lived: lived + Math.min(at - last, LONGEST_GAP), at };
    const isLong = this.#missing.lived >= (this.options.missingFor ?? 0);
    if (isLong && this.poller.missingSince !== null) this.#end('job.ended', null, { isDisconnected: true });
    else this.#readRecordInTime();
  }

  #readRecordInTime(): void {
    const { clock } = this.context.account;
    if (this.poller.isOpen(this.clusterJobId) || clock.monotonic() - this.#since < PATIENCE) return;
    void this.#readRecord();
  }

  /** Reads the record of the job, which may show its end. Never rejects. */
  async #readRecord(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      const { service, signal, clock } = this.context.account;
      const found = await underDeadline(clock, { ms: LONGEST, parent: signal }, (deadline) =>
        readJobRecord(service, this.poller.clusterId, this.clusterJobId, deadline),
      );
      // Of a cluster that the service does not know, it knows no job either.
      const answer = found === 'gone' && this.#missing ? 'unanswered' : found;
      const { namingEnds } = this.poller;
      const now = clock.monotonic();
      this.#unreadFrom = answer === 'unanswered' && !this.#missing ? (this.#unreadFrom ?? now) : null;
      const unread = now - (this.#unreadFrom ?? now);
      const traces = { active: undefined, past: this.#past, known: undefined, absenceCounts: true, unread, namingEnds };
      const verdict = judge({ ...traces, missedBefore: this.#wasMissing }, answer);
      this.#wasMissing = answer === 'gone' || (this.#wasMissing && answer === 'unanswered');
      if (typeof verdict !== 'string') this.#end(verdict.type, verdict.job);
      else if (typeof answer === 'object') this.#reportProgress(answer, null);
    } catch {
      // The watcher has closed, and `cancel` has rejected.
    } finally {
      this.#isReading = false;
    }
  }

  #reportProgress(job: PrintJob, ahead: number | null): void {
    if (!this.#isDone) this.#guarded(() => this.options.onProgress?.(copyJob(job), ahead));
  }

  moveTo(poller: Poller): void {
    this.poller = poller;
    poller.add(this, { known: true });
  }

  #hasEnded(): boolean {
    const end = this.poller.endOf(this.clusterJobId);
    if (end) this.#end(end.type, end.job);
    return end !== null;
  }

  #end(type: EndType, job: PrintJob | null, more: Pick<JobEnd, 'isDisconnected'> = {}): void {
    const { clusterId } = this.poller;
    if (this.#unsubscribe()) this.#resolve({ outcome: OUTCOMES[type], job: job && copyJob(job), clusterId, ...more });
  }

  readonly #abort = () => this.cancel(this.options.signal?.reason as Error);

  cancel(reason: Error): void {
    if (this.#unsubscribe()) this.#reject(reason);
  }

  /** Unsubscribes. Returns false where the wait has ended before. */
  #unsubscribe(): boolean {
    if (this.#isDone) return false;
    this.#isDone = true;
    this.options.signal?.removeEventListener('abort', this.#abort);
    this.poller.remove(this);
    return true;
  }

  #guarded(work: () => unknown): void {
    guard(work, (error) => this.context.reports.fault(this.poller.clusterId, error))();
  }
}
