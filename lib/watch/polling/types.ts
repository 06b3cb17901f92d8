import type { ApiClient } from '../../account/api-client';
import type { Checkpoint } from '../../events/checkpoint';
import type { Thresholds } from '../../events/edges';
import type { JobAnswer } from '../../events/job-edges';
import type { Rebound } from '../../events/list-changes';
import type { EventDraft } from '../../events/print-event';
import type { ClusterStatus } from '../../service/cluster';
import { asPrintingError, type PrintingError } from '../../service/errors';
import { single } from '../../service/json-readers';
import { readPrintJob } from '../../service/print-job';
import type { Clock } from '../../time/clock';
import type { Deadline } from '../../time/deadline';
import { phrase } from '../../words/sentence';
import type { CheckpointStore, Ownership } from '../checkpoints/checkpoint-store';
import type { ListedCluster, ScopeMemory } from '../checkpoints/memory';
import type { ClusterList } from './cluster-list';
import type { PollPlan } from './scheduler';
import type { FailedPoll } from './timing';

/** Resources that the pollers of one account share. */
export interface PollingAccount {
  readonly service: ApiClient;
  readonly clock: Clock;
  /** Aborts when the watcher closes; later answers are dropped. */
  readonly signal: AbortSignal;
  readonly list: ClusterList;
  readonly plan: PollPlan;
  readonly checkpoints: CheckpointStore;
  /** Assignment of polls to this runtime. */
  readonly ownership: Ownership;
  /** Shares what a poll has shown with the runtimes that wait for it; `start`: of the poll, monotonic ms. */
  share(under: ScopeMemory, clusterId: string, shown: Shown, start: number): void;
  /** State of the present scope. Rejects while the scope is unknown. */
  scoped(): Promise<ScopeMemory>;
}

/** What a poll has shown of a cluster. */
export interface Shown {
  checkpoint: Checkpoint | null;
  status: ClusterStatus;
}

/** What another runtime has shared of a cluster that it polls. */
export interface SharedStatus extends Shown {
  /** Names the contents, apart from figures; null: shared by an older version. */
  mark: string | null;
  /** Time since the start of the poll, ms. */
  age: number;
}

/** Reports from the pollers to the watcher. */
export interface PollReports {
  /** A poll of a cluster, or of the list (`LIST`), that began at `start` (monotonic, ms) has ended. */
  polled(clusterId: string, start: number, failure: FailedPoll | null): void;
  /** The polls of a cluster moved to another runtime, or to this one. */
  ownerChanged(clusterId: string): void;
  /** A status was read, here or by another runtime; `requestedAt`: monotonic, ms. */
  observed(clusterId: string, status: ClusterStatus, requestedAt: number): void;
  /** Changes were derived from an observation of a cluster that belongs to this runtime. */
  derived(clusterId: string, drafts: readonly EventDraft[]): void;
  /** An internal fault occurred. */
  fault(clusterId: string | null, thrown: unknown): void;
  /** A poller has no subscriber left. */
  unused(clusterId: string): void;
}

/** Moves of clusters to new ids. Each resolves with a result of the new id. */
export interface PollMoves {
  /** Whether the last list lacked a cluster for the first time: the next one decides whether it was removed. */
  isInDoubt(clusterId: string): boolean;
  /** Moves a cluster that has a new id, and delivers the event, unless another runtime does. */
  rebind(rebound: Rebound<ListedCluster>): Promise<PollResult>;
  /** The same for a new id that was found in the list. */
  rebindListed(rebound: Rebound<ListedCluster>): Promise<void>;
  /** Moves the subscribers of a cluster that has moved before. */
  redirect(clusterId: string, to: string): Promise<PollResult>;
}

export { LIST } from '../checkpoints/checkpoint-store';

/** Result of one poll of one cluster. */
export interface PollResult {
  clusterId: string;
  /** Last known figures with `stale: true` where the poll failed; null where none were ever read. */
  status: ClusterStatus | null;
  /** `data` of the status answer; null where `status` holds earlier figures. */
  raw: unknown;
  error: PrintingError | null;
}

/** Receiver of the events of one cluster. Events that it was given count as delivered. */
export interface EventReceiver {
  /** Thresholds at which steps become its events. */
  readonly thresholds: Thresholds;
  /** Subscriber with the same recipient of events: it receives the events while both are subscribed. */
  readonly beside?: unknown;
  /** Returns true where the subscriber received any event. */
  deliver(drafts: readonly EventDraft[]): boolean;
}

/** Subscriber to the polls of one cluster. */
export interface Subscriber {
  /** Interest announced to other runtimes; null: none. */
  readonly wants: 'all' | 'cluster' | 'wait' | null;
  /** Polling interval, ms. */
  readonly interval: number;
  readonly paused: boolean;
  /** Null: it receives no events. */
  readonly events: EventReceiver | null;
  /** Called after every poll. `due`: it is the subscriber's turn, and the result is its own copy. */
  onPoll(result: PollResult, due: boolean): void;
  /**
   * Whether the subscriber keeps its turn when another one requests a poll shortly before it. `onPoll` then shows the
   * result at once, and `onTurn` receives it again at the turn, since no time is left for another poll.
   */
  readonly keepsTurn?: boolean;
  onTurn?(result: PollResult): void;
  /** Called after this runtime gained or lost the regular polls of a cluster. */
  assigned?(clusterId: string, isOurs: boolean): void;
}

export type EventSubscriber = Subscriber & { readonly events: EventReceiver };

/** Error codes that a retry would not change. */
const FINAL = ['NOT_FOUND', 'FORBIDDEN', 'INVALID_INPUT'];

/** Reads a job's record (interface, endpoint 11). Rejects only where a parent signal aborts. */
export async function readJobRecord(
  service: ApiClient,
  clusterId: string,
  clusterJobId: string,
  deadline: Deadline,
): Promise<JobAnswer> {
  try {
    const ids = { cluster_id: clusterId, cluster_job_id: clusterJobId };
    const { data } = await service.call('printJob', { ids, what: phrase`the print job`, deadline });
    const wire = single(data);
    if (!wire) return 'unanswered';
    // The requested id overrides the answer's: an event belongs to the print that was watched.
    return { ...readPrintJob(wire, clusterId), clusterJobId };
  } catch (thrown) {
    return FINAL.includes(asPrintingError(thrown).code) ? 'gone' : 'unanswered';
  }
}
