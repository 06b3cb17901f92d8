import type { ApiClient } from '../../account/api-client';
import type { Rebound } from '../../events/list-changes';
import type { EventDraft } from '../../events/print-event';
import type { ClusterStatus } from '../../service/cluster';
import type { Clock } from '../../time/clock';
import type { CheckpointStore } from '../checkpoints/checkpoint-store';
import type { Ownership } from '../checkpoints/ownership';
import type { ListedCluster, ScopeMemory } from '../checkpoints/scope-memory';
import type { ClusterList } from './cluster-list';
import type { FailedPoll } from './failed-polls';
import type { PollPlan } from './poll-plan';
import type { PollResult } from './poll-result';

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
  /** State of the present scope. Rejects while the scope is unknown. */
  scoped(): Promise<ScopeMemory>;
}

/** Reports from the pollers to the watcher. */
export interface PollReports {
  /** A poll of a cluster, or of the list (`LIST`), that began at `start` (monotonic, ms) has ended. */
  polled(clusterId: string, start: number, failure: FailedPoll | null): void;
  /** The polls of a cluster moved to another runtime, or to this one. */
  ownerChanged(clusterId: string): void;
  /** A status was read, here or by another runtime. */
  observed(clusterId: string, status: ClusterStatus): void;
  /** Changes were derived from an observation of a cluster that belongs to this runtime. */
  derived(clusterId: string, drafts: readonly EventDraft[]): void;
  /** An internal fault occurred. */
  fault(clusterId: string | null, thrown: unknown): void;
  /** A poller has no subscriber left. */
  unused(clusterId: string): void;
  readonly moves: PollMoves;
}

/** Moves of clusters to new ids. Each resolves with a result of the new id. */
export interface PollMoves {
  /** Moves a cluster that has a new id, and delivers the event. */
  rebind(rebound: Rebound<ListedCluster>): Promise<PollResult>;
  /** Moves the subscribers of a cluster that has moved before. */
  redirect(clusterId: string, to: string): Promise<PollResult>;
  /** Polls the new id of a cluster of another runtime, which reports the move. */
  askNow(clusterId: string): Promise<PollResult>;
}
