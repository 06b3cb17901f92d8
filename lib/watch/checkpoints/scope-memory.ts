import type { ListCheckpoint } from '../../events/list-changes';
import type { ClusterIdentity } from '../../service/cluster';
import type { Scope } from '../../state/store';
import { ClusterMemory } from './cluster-memory';

/** Stored fields of a listed cluster. */
export interface ListedCluster extends ClusterIdentity {
  clusterId: string;
  online: boolean | null;
  /** Only printer that the list names; null while the cluster is offline. */
  host: { printerId: string | null; name: string | null } | null;
}

/** State of the cluster list between two reads. */
export class ListMemory {
  loaded = false;
  /** As in `ClusterMemory`. */
  invalidations = 0;
  checkpoint: ListCheckpoint | null = null;
  late = false;
  /** As in `ClusterMemory`. */
  wasUnwatched = true;
  /** As in `ClusterMemory`. */
  marks: readonly string[] = [];
  /** Clusters as published to other runtimes. */
  clusters: readonly ListedCluster[] = [];

  /** As in `ClusterMemory`. */
  invalidate(): void {
    this.loaded = false;
    this.invalidations++;
  }

  /** Updates the clusters to publish, without volatile fields. Returns false where they have not changed. */
  updatePublished(clusters: readonly ListedCluster[]): boolean {
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

/** State of one scope. Scopes never share state. */
export class ScopeMemory {
  readonly clusters = new Map<string, ClusterMemory>();
  readonly list = new ListMemory();

  constructor(readonly scope: Scope) {}

  /** Call on a return to this scope: another runtime may have written to it, even about a cluster that this one holds. */
  invalidate(): void {
    this.list.invalidate();
    for (const memory of this.clusters.values()) memory.invalidate();
  }

  of(clusterId: string): ClusterMemory {
    let memory = this.clusters.get(clusterId);
    if (!memory) this.clusters.set(clusterId, (memory = new ClusterMemory()));
    return memory;
  }
}
