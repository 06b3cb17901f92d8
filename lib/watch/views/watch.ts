import { eventsFor } from '../../events/edges';
import type { EventDraft, PrintEvent } from '../../events/print-event';
import type { ClusterStatus } from '../../service/cluster';
import type { PrintingError } from '../../service/errors';
import type { PrintJob } from '../../service/print-job';
import type { Clock } from '../../time/clock';
import { phrase, type Sentence } from '../../words/sentence';
import { PackedTexts } from '../checkpoints/memory';
import { intervalOf } from '../polling/timing';
import type { EventReceiver, PollResult } from '../polling/types';
import type { Standby } from '../replication/peers';

/** Log entry. `fault`: the store or a listener failed; watching continues. `clusterId` null: the list, or several. */
export interface WatcherReport {
  kind: 'outage' | 'recovered' | 'fault';
  clusterId: string | null;
  error?: PrintingError;
  /** Reports the end of the outage. */
  sentence?: Sentence;
}

/** Results delivered together: of one cluster, or a part of a group. The receiver may keep and change them. */
export interface Round {
  results: PollResult[];
  /** Where all clusters are watched: `start` results of the group precede these; the last part states the `count`. */
  group: { id: string; start: number; count: number | null } | null;
  /** First failure among the results. */
  error: PrintingError | null;
}

export interface WatchOptions {
  /** Identifies the watch across deploys: a known watch keeps its polling turn. */
  key?: string | undefined;
  /** Null: all clusters of the account. */
  clusterId: string | null;
  /** Seconds; at least 10. */
  interval: number;
  milestones: readonly number[];
  /** Share below which material is low, percent. Default 0: no events. */
  lowMaterial?: number | undefined;
  /** Time after which a plate that was not cleared is reported, minutes. Default 0: no events. */
  plateWait?: number | undefined;
  /** Omits a status without a change (reference 3.1, `send`). Default false. */
  onlyChanges?: boolean | undefined;
  /** Watch with the same `onEvents`: this watch omits the events of clusters that the other one watches as well. */
  beside?: Watch | undefined;
  /** Starts without regular polls. Default false. */
  paused?: boolean | undefined;
  /** Called at this watch's turn: for all clusters once per interval, in several parts if large. */
  onRound(round: Round): void;
  /** Called with new events, whichever watch caused the poll. Never empty. */
  onEvents(events: PrintEvent[]): void;
  /** Called after `state.standby` has changed. */
  onStandby?: (() => void) | undefined;
  /** One watch of each audience receives a notice. Default: the watch is an audience of its own. */
  audience?: string | undefined;
  /** Receives the notice of an outage, or of the end of the sign-in. */
  onTrouble(error: PrintingError): void;
}

export interface WatchState {
  paused: boolean;
  /** Null where this runtime polls. */
  standby: Standby | null;
  /** Wall time of the last poll that left no failure, ms. */
  lastSuccess: number | null;
  trouble: { error: PrintingError; since: number } | null;
  /** Whether the figures shown are older than an interval although no poll has failed yet. */
  overdue: boolean;
  /** Number of known clusters, and of those online. */
  clusters: { total: number; online: number };
}

export interface Watch {
  /** Whether it watches one cluster or all of them. */
  readonly wants: 'cluster' | 'all';
  readonly state: WatchState;
  readonly audience: string;
  readonly paused: boolean;
  /** Whether a message waits for a poll of this watch. */
  readonly isAsking: boolean;
  /** Delivers a notice. */
  notify(error: PrintingError): void;
  /** Reports a changed `standby`; called after the assignment of polls may have changed. */
  checkStandby(): void;
  /**
   * Polls at once, even while paused, and delivers every result. Resolves with the first failure, which `onTrouble`
   * does not report as well.
   */
  ask(deliver: (round: Round) => void): Promise<PrintingError | null>;
  /** Stops this watch's regular polls; events from the polls of other watches still arrive. */
  pause(): void;
  /** Polls at once, then resumes the regular polls. */
  resume(): void;
  close(): void;
}

export interface JobEndOptions {
  signal?: AbortSignal | undefined;
  /** Called after each poll that showed the job. `ahead`: number of jobs before it in the queue, if known. */
  onProgress?: ((job: PrintJob, ahead: number | null) => void) | undefined;
  /** Called after each failed poll: the last progress is stale. */
  onStale?: (() => void) | undefined;
}

/** End of an awaited print. `ended`: the outcome is unknown. */
export interface JobEnd {
  outcome: 'finished' | 'failed' | 'aborted' | 'ended';
  job: PrintJob | null;
  /** Cluster that the print ended on; a new id where the cluster moved to one. */
  clusterId?: string;
  /** The account's list lacks the cluster: the print may still be running. */
  isDisconnected?: true;
}

/** Log that operators read. */
export interface Log {
  warn(sentence: Sentence): void;
  info(sentence: Sentence): void;
}

/** Writes a watcher's report to the log. A cluster appears as the first characters of its id. */
export function logReport(log: Log, { kind, clusterId, error, sentence }: WatcherReport): void {
  const reason = error?.sentence ?? phrase`The reason is not known.`;
  if (kind === 'outage') return log.warn(reason);
  if (kind === 'recovered') return sentence && log.info(sentence);
  const what = clusterId === null ? phrase`the list of printers` : phrase`printer ${clusterId.slice(0, 6)}…`;
  log.warn(phrase`A fault occurred while watching ${what}: ${reason}`);
}

/** Failed polls that one watch shows. */
export class PollFailures {
  readonly #errors = new Map<string, PrintingError>();
  #since = 0;

  constructor(private readonly now: () => number) {}

  get state(): { error: PrintingError; since: number } | null {
    const [error] = this.#errors.values();
    return error ? { error, since: this.#since } : null;
  }

  /** Records the outcome of a poll. */
  record(clusterId: string, error: PrintingError | null): void {
    if (!error) return this.forget(clusterId);
    if (this.#errors.size === 0) this.#since = this.now();
    this.#errors.set(clusterId, error);
  }

  /** Removes a cluster that works again, or is gone. */
  forget(clusterId: string): void {
    this.#errors.delete(clusterId);
  }
}

/** Detects for one watch whether a status has changed since the last one sent (reference 3.1, `send`). */
export class ChangeFilter {
  readonly #sent = new Map<string, PackedTexts>();

  /** Returns whether the status has changed; records it as sent if so. */
  isChange(status: ClusterStatus): boolean {
    const before = this.#sent.get(status.clusterId);
    if (before && !changed(JSON.parse(before.stable), status)) return false;
    this.recordSent(status);
    return true;
  }

  /** Records a status that was sent in any case. */
  recordSent(status: ClusterStatus): void {
    const texts = this.#sent.get(status.clusterId) ?? new PackedTexts();
    texts.set(JSON.stringify(status), '');
    this.#sent.set(status.clusterId, texts);
  }
}

/** Properties that change all the time, so their change alone is no change (reference 3.1, `send`). */
const FLEETING = new Set(['timeElapsed', 'timeTotal', 'timeRemaining', 'temperature', 'generatedAt', 'receivedAt']);

/** Whether two plain values differ in more than times, temperatures and less than a whole percent of progress. */
export function changed(before: unknown, now: unknown): boolean {
  if (!isObject(before) || !isObject(now)) return !Object.is(before, now);
  if (Array.isArray(before) !== Array.isArray(now)) return true;
  if (Array.isArray(before) && before.length !== (now as unknown as unknown[]).length) return true;
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].some((key) => {
    if (FLEETING.has(key)) return false;
    const [a, b] = [before[key], now[key]];
    if (key === 'progress' && typeof a === 'number' && typeof b === 'number') return Math.abs(a - b) >= 1;
    return changed(a, b);
  });
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Services that the watcher provides to its watches. */
export interface WatchContext {
  clock: Clock;
  /** Runs a user's callback and isolates its failures. */
  guard: (callback: () => unknown) => void;
  closed: (watch: Watch) => void;
  /** Whether the account is signed in. */
  usable: () => boolean;
  /** Reports the end of a request; `clusterIds`: the failed clusters. */
  requestEnded: (watch: Watch, error: PrintingError | null, clusterIds: readonly string[]) => void;
  /** Combines the failure of several clusters in one sentence. */
  summary: (error: PrintingError, clusterIds: readonly string[]) => PrintingError;
  /** Reason for not polling a cluster; null where this runtime polls. */
  standbyOf: (clusterId: string | null) => Standby | null;
}

let audiences = 0;

/** One node's view of its clusters: the node's options, and deliveries to it. */
export abstract class NodeWatch {
  readonly events: EventReceiver;
  readonly interval: number;
  readonly audience: string;
  protected isPaused: boolean;
  protected isClosed = false;
  /** Number of requests in flight; their callers receive the results. */
  protected requests = 0;
  protected readonly changeFilter: ChangeFilter | null;
  #shownStandby = 'null';

  constructor(
    protected readonly options: WatchOptions,
    protected readonly context: WatchContext,
  ) {
    const { milestones, lowMaterial = 0, plateWait = 0, beside } = options;
    const thresholds = { milestones, lowMaterial, plateWait };
    const deliver = (drafts: readonly EventDraft[]) => !this.isClosed && this.deliverAll(eventsFor(drafts, thresholds));
    this.events = { thresholds, beside, deliver };
    this.interval = intervalOf(options.interval);
    this.audience = options.audience ?? `watch ${++audiences}`;
    this.isPaused = options.paused ?? false;
    this.changeFilter = options.onlyChanges ? new ChangeFilter() : null;
  }

  /** Reason why this runtime does not poll; null if it polls. */
  protected abstract get standby(): Standby | null;

  get paused(): boolean {
    return this.isPaused;
  }

  get isAsking(): boolean {
    return this.requests > 0;
  }

  notify(error: PrintingError): void {
    if (!this.isClosed) this.context.guard(() => this.options.onTrouble(error));
  }

  deliverAll(events: PrintEvent[]): boolean {
    if (events.length === 0 || this.isClosed) return false;
    this.context.guard(() => this.options.onEvents(events));
    return true;
  }

  checkStandby(): void {
    const shown = JSON.stringify(this.standby);
    if (shown === this.#shownStandby || this.isClosed) return;
    this.#shownStandby = shown;
    this.context.guard(() => this.options.onStandby?.());
  }
}
