import type { ListCheckpoint } from '../../events/list-changes';
import type { Scope } from '../../state/scope';
import type { ListedCluster } from '../polling/cluster-list';
import { ClusterMemory } from './cluster-memory';
import { OutageMemory } from './outage-memory';
import { phaseOf, SHORTEST } from '../polling/poll-timing';

/** What is known of the list between two readings. */
export class ListMemory {
  loaded = false;
  checkpoint: ListCheckpoint | null = null;
  late = false;
  /** Nobody heard of the list for a while until the checkpoint was read. */
  wasAlone = true;
  /** As in `ClusterMemory`. */
  marks: readonly string[] = [];
  /** What is told to other runtimes. */
  clusters: readonly ListedCluster[] = [];

  /** False where they know all that there is to tell. What changes all the time is not. */
  showTo(clusters: readonly ListedCluster[]): boolean {
    const before = new Map(this.clusters.map((cluster) => [cluster.clusterId, cluster]));
    const shown = clusters.map((cluster) => ({
      ...cluster,
      online: null,
      host: cluster.host ?? before.get(cluster.clusterId)?.host ?? null,
    }));
    if (JSON.stringify(shown) === JSON.stringify(this.clusters)) return false;
    this.clusters = shown;
    return true;
  }
}

/** All that belongs to one scope: other state is never mixed with it. */
export class ScopeMemory {
  readonly clusters = new Map<string, ClusterMemory>();
  readonly list = new ListMemory();

  constructor(readonly scope: Scope) {}

  of(clusterId: string): ClusterMemory {
    let memory = this.clusters.get(clusterId);
    if (!memory) this.clusters.set(clusterId, (memory = new ClusterMemory()));
    return memory;
  }
}

/**
 * What an account's watching remembers from one deploy to the next: when each cluster was polled, so that a deploy moves
 * no turn, and the checkpoints, so that it reads no files.
 */
export class WatchMemory {
  readonly #scopes = new Map<string, ScopeMemory>();
  readonly #phases = new Map<string, number>();
  #counted = 0;
  /** When the last poll was of those that are on their way out. */
  readonly #leaving = new Map<string, number | undefined>();
  /** When the last poll of a cluster began, monotonic ms; of one that waits for its first, an interval before that is due. */
  readonly polledAt = new Map<string, number>();
  readonly #outages = new Map<string, OutageMemory>();
  /** Keys of the watches that there were, with what they watched. */
  readonly watches = new Map<string, string | null>();

  scope(scope: Scope): ScopeMemory {
    const name = JSON.stringify(scope);
    let memory = this.#scopes.get(name);
    if (!memory) this.#scopes.set(name, (memory = new ScopeMemory(scope)));
    return memory;
  }

  /** Outages of the service at these hosts. */
  outages(service: string): OutageMemory {
    let memory = this.#outages.get(service);
    if (!memory) this.#outages.set(service, (memory = new OutageMemory()));
    return memory;
  }

  /** Where in its interval a cluster has its turn, 0 to 1. */
  phaseOf(clusterId: string): number {
    let phase = this.#phases.get(clusterId);
    if (phase === undefined) this.#phases.set(clusterId, (phase = phaseOf(this.#counted++)));
    return phase;
  }

  /** Nobody wants to know of it any more, and nothing was ever read of it. When it was polled is kept for a moment. */
  forget(clusterId: string, now: number): void {
    for (const { clusters } of this.#scopes.values()) clusters.delete(clusterId);
    this.#leaving.delete(clusterId);
    this.#leaving.set(clusterId, this.polledAt.get(clusterId));
    for (const [id, polledAt] of this.#leaving) {
      if (polledAt !== undefined && now - polledAt < SHORTEST) break;
      this.#leaving.delete(id);
      if (this.polledAt.get(id) !== polledAt) continue;
      this.polledAt.delete(id);
      this.#phases.delete(id);
    }
  }
}
