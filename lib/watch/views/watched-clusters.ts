import type { ClusterStatus } from '../../service/cluster';
import type { PrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import type { Poller } from '../polling/poller';
import { LIST, type PollResult } from '../polling/types';

interface WatchedCluster {
  readonly poller: Poller;
  /** Position in the list. */
  rank: number;
  /** Whether this runtime polls it. */
  isOurs: boolean;
}

/** Set of clusters that one node watches, and the state of those that this runtime polls. */
export class WatchedClusters {
  readonly members = new Map<string, WatchedCluster>();
  /** Number of members that this runtime polls. */
  ownCount = 0;
  readonly #offline = new Set<string>();
  /** Clusters whose last sent figures were older than an interval. */
  readonly #overdue = new Set<string>();
  /** Last failures of the clusters, and of the list, that can't be read. */
  readonly #failures = new Map<string, PrintingError>();
  /** Wall time of the first of these failures, ms. */
  #failingSince = 0;
  #lastSuccess: number | null = null;

  constructor(private readonly clock: Clock) {}

  get state() {
    const [error] = this.#failures.values();
    return {
      lastSuccess: this.#lastSuccess,
      trouble: error ? { error, since: this.#failingSince } : null,
      overdue: this.isOverdue,
      clusters: { total: this.ownCount, online: this.ownCount - this.#offline.size },
    };
  }

  get isOverdue(): boolean {
    return this.#overdue.size > 0;
  }

  get ownIds(): string[] {
    return [...this.members].filter(([, { isOurs }]) => isOurs).map(([clusterId]) => clusterId);
  }

  /** Records whether this runtime polls a member. Returns false for other clusters. */
  assign(clusterId: string, isOurs: boolean): boolean {
    const member = this.members.get(clusterId);
    if (!member) return false;
    if (member.isOurs !== isOurs) this.ownCount += isOurs ? 1 : -1;
    member.isOurs = isOurs;
    if (isOurs) return true;
    this.#offline.delete(clusterId);
    this.#overdue.delete(clusterId);
    this.#failures.delete(clusterId);
    return true;
  }

  recordResult({ clusterId, status, error }: PollResult): void {
    if (!this.members.get(clusterId)?.isOurs) return;
    if (status?.online === false) this.#offline.add(clusterId);
    else if (status) this.#offline.delete(clusterId);
    if (!error) this.#overdue.delete(clusterId);
    this.#recordOutcome(clusterId, error);
  }

  /** Records figures of before the deploy that were sent. */
  recordKnown({ clusterId, online, receivedAt, stale }: ClusterStatus): void {
    if (online === false) this.#offline.add(clusterId);
    if (stale) this.recordStale(clusterId);
    this.#lastSuccess = Math.max(this.#lastSuccess ?? 0, Date.parse(receivedAt) || 0) || null;
  }

  recordList(error: PrintingError | null): void {
    this.#recordOutcome(LIST, error);
  }

  /** Records that figures older than an interval were sent. */
  recordStale(clusterId: string): void {
    this.#overdue.add(clusterId);
  }

  #recordOutcome(clusterId: string, error: PrintingError | null): void {
    if (error && this.#failures.size === 0) this.#failingSince = this.clock.now();
    if (error) this.#failures.set(clusterId, error);
    else this.#failures.delete(clusterId);
    if (this.#failures.size === 0 && !this.isOverdue) this.#lastSuccess = this.clock.now();
  }
}
