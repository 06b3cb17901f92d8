import type { ApiClient } from '../../account/api-client';
import type { EventDraft } from '../../events/print-event';
import type { ClusterStatus } from '../../service/cluster-status';
import type { PrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import type { CheckpointStore } from '../checkpoints/checkpoint-store';
import type { Ownership } from '../checkpoints/ownership';
import type { ListedCluster, ScopeMemory } from '../checkpoints/scope-memory';
import type { ClusterList } from './cluster-list';
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
  /** A poll of a cluster, or of the list (`LIST`), has ended; it began at `start` (monotonic, ms). */
  polled(clusterId: string, error: PrintingError | null, start: number): void;
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
  /** A cluster has a new id: moves it, delivers the event and resolves with a result of the new id. */
  rebound(clusterId: string, to: ListedCluster): Promise<PollResult>;
  /** A cluster has moved before: moves its subscribers and resolves with a result of the new id. */
  redirected(clusterId: string, to: string): Promise<PollResult>;
  /** A cluster of another runtime has a new id: resolves with a result of that id. The owner reports the move. */
  foundElsewhere(clusterId: string): Promise<PollResult>;
}
