import type { PrintingError } from '../../service/errors';
import { LIST, type PollResult } from '../polling/poll-result';
import type { Poller } from '../polling/poller';
import { PollFailures } from './poll-failures';
import type { WatchState } from './watch';

interface WatchedCluster {
  poller: Poller;
  rank: number;
  /** Whether this runtime polls it. */
  isOurs: boolean;
}

/** Clusters of a watch of all clusters, and the state that it shows. */
export class WatchedClusters {
  readonly members = new Map<string, WatchedCluster>();
  /** Number of members that this runtime polls. */
  ownCount = 0;
  readonly #offline = new Set<string>();
  /** Clusters whose last sent figures were older than an interval. */
  readonly #overdue = new Set<string>();
  readonly #failures: PollFailures;
  #lastSuccess: number | null = null;

  constructor(private readonly now: () => number) {
    this.#failures = new PollFailures(now);
  }

  get state(): Pick<WatchState, 'lastSuccess' | 'trouble' | 'overdue' | 'clusters'> {
    const total = this.ownCount;
    return {
      lastSuccess: this.#lastSuccess,
      trouble: this.#failures.state,
      overdue: this.#overdue.size > 0,
      clusters: { total, online: total - this.#offline.size },
    };
  }

  /** Members that this runtime polls. */
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
    this.#failures.forget(clusterId);
    return true;
  }

  /** Records that figures older than an interval were sent. */
  recordStale(clusterId: string): void {
    this.#overdue.add(clusterId);
  }

  recordResult({ clusterId, status, error }: PollResult): void {
    if (!this.members.get(clusterId)?.isOurs) return;
    if (status?.online === false) this.#offline.add(clusterId);
    else if (status) this.#offline.delete(clusterId);
    this.#failures.record(clusterId, error);
    if (!error) this.#overdue.delete(clusterId);
    this.#recordSuccess();
  }

  recordList(error: PrintingError | null): void {
    this.#failures.record(LIST, error);
    this.#recordSuccess();
  }

  #recordSuccess(): void {
    if (!this.#failures.state && this.#overdue.size === 0) this.#lastSuccess = this.now();
  }
}
