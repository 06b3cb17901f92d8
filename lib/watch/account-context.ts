import type { Service } from '../account/service';
import type { Cluster } from '../service/cluster';
import type { ClusterStatus } from '../service/cluster-status';
import type { PrintingError } from '../service/errors';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { ClusterList } from './cluster-list';
import type { ClusterPoll } from './cluster-poll';
import type { Happening, PrintEvent } from './events';
import type { PollChain, Subscriber } from './poll-chain';
import type { PollOutcome } from './watch-types';

/** What the polls of one account share. */
export interface AccountContext {
  readonly service: Service;
  readonly store: StateStore;
  readonly clock: Clock;
  readonly accountId: string;
  readonly list: ClusterList;
  /** Aborts when the watching ends; late answers are then dropped. */
  readonly signal: AbortSignal;
  readonly random: () => number;
  readonly usable: () => boolean;
  outage(clusterId: string | null, error: PrintingError | null): void;
  /** Tells the log of something of our own that failed. */
  fault(clusterId: string | null, thrown: unknown): void;
  pollOf(clusterId: string): ClusterPoll;
  /** Hands over what happened on a cluster; true when anybody was told anything. */
  happened(poll: ClusterPoll, happenings: readonly Happening[]): boolean;
  observed(clusterId: string, status: ClusterStatus): void;
  /** A watched cluster was found under a new id: those who watch all clusters are told if they don't know. */
  rebound(previous: string, cluster: Cluster, event: PrintEvent): void;
}

/** Somebody who rides on the polls of a cluster, or of all. */
export interface Rider extends Subscriber<PollOutcome> {
  /** True when something of it was told. */
  tell(happenings: readonly Happening[]): boolean;
  /** The cluster goes on under another id. */
  moveTo(poll: ClusterPoll): void;
}

export type RiderChain = PollChain<PollOutcome, Rider>;

/** How long a position that nobody touches is kept, ms. */
export const KEEP_POSITION = 365 * 24 * 3600_000;
