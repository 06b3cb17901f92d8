import type { ApiClient } from '../../account/api-client';
import type { Checkpoint } from '../../events/checkpoint';
import type { EventDraft } from '../../events/print-event';
import type { ClusterStatus } from '../../service/cluster-status';
import type { PrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import type { CheckpointStore } from '../checkpoints/checkpoint-store';
import type { ClusterList, ListedCluster } from './cluster-list';
import type { Scheduler } from './scheduler';
import type { Ownership } from '../checkpoints/ownership';
import type { PollResult } from '../watch-types';
import type { ScopeMemory, WatchMemory } from '../checkpoints/watch-memory';

/** What the polls of one account share. */
export interface AccountContext {
  readonly service: ApiClient;
  readonly clock: Clock;
  readonly list: ClusterList;
  readonly scheduler: Scheduler;
  readonly checkpoints: CheckpointStore;
  readonly memory: WatchMemory;
  /** What of the polls is this runtime's. */
  readonly tenure: Ownership;
  /** Aborts when the watching ends; late answers are then dropped. */
  readonly signal: AbortSignal;
  readonly random: () => number;
  /** What is known under the scope of now. Rejects while it is not known which that is. */
  scoped(): Promise<ScopeMemory>;
  /** Whether a first poll may be made at once: a few may, many are spread. */
  admit(): boolean;
  /** A poll of a cluster, or of the list (`LIST`), that began at `start` (monotonic, ms) is over. */
  polled(clusterId: string, error: PrintingError | null, start: number): void;
  /** The polls of a cluster go on in another runtime, or come from there. */
  handedOver(clusterId: string): void;
  /** Something of our own failed: reports it to the log. */
  fault(clusterId: string | null, thrown: unknown): void;
  observed(clusterId: string, status: ClusterStatus): void;
  /** Other runtimes wait for what a poll brought: `checkpoint` is where it led, whether somebody heard of it or not. */
  told(clusterId: string, checkpoint: Checkpoint | null, status: ClusterStatus): void;
  /** A cluster was found under a new id: its subscribers get the event and are moved. Resolves with a result of the new one. */
  rebound(clusterId: string, to: ListedCluster): Promise<PollResult>;
  /** What is at another id, for who asks: it is not for this runtime to tell that a cluster was found there. */
  elsewhere(clusterId: string): Promise<PollResult>;
  /** The same, where that was delivered before. */
  moved(clusterId: string, to: string): Promise<PollResult>;
  /** A poller has nobody left. */
  idle(clusterId: string): void;
}

/** Somebody who wants to know of a cluster. */
export interface Subscriber {
  /** What the other runtimes are told of it; null: nothing. */
  readonly wants: 'all' | 'cluster' | 'wait' | null;
  /** ms. */
  readonly interval: number;
  readonly paused: boolean;
  /** Events are for it: what was handed to it counts as delivered. */
  readonly hears: boolean;
  /** Passes on the same events to the same user: where that one takes part, this one stays silent. */
  readonly beside?: unknown;
  /** Of progress, percent: what it wants to hear of. */
  readonly milestones: readonly number[];
  /** After every poll; `due` says whether it is this subscriber's turn, and the result then its own. */
  serve(result: PollResult, due: boolean): void;
  /**
   * A message goes out with each turn. A poll that somebody else asked for shortly before it, which leaves no time for
   * another, does not move the turn: `serve` shows its result, and `pass` hands it over in the turn.
   */
  readonly keepsTurn?: boolean;
  pass?(result: PollResult): void;
  /** True when any of it was an event to this subscriber. */
  deliver(drafts: readonly EventDraft[]): boolean;
  /** The regular polls of a cluster are this runtime's from now on, or no more. */
  assigned?(clusterId: string, isOurs: boolean): void;
}
