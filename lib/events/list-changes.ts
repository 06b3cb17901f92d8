import { type Checkpoint, VERSION } from './checkpoint';
import { EventBuilder, makeEvent, type PrintEvent } from './print-event';

/** The clusters of an account as last listed: plain JSON (reference 6). */
export interface ListCheckpoint {
  version: 2;
  count: number;
  known: KnownCluster[];
}

export interface KnownCluster {
  clusterId: string;
  hostGuid: string | null;
  name: string | null;
  /** Whether the last list lacked it. A second list without it proves the removal. */
  missing?: true;
}

/** A cluster's identity in a list. */
export type ListedIdentity = Pick<KnownCluster, 'clusterId' | 'hostGuid' | 'name'>;

export interface Rebound<T> {
  previous: string;
  cluster: T;
}

export function readListCheckpoint(stored: unknown): ListCheckpoint | null {
  const checkpoint = stored as Partial<ListCheckpoint> | null | undefined;
  return checkpoint?.version === VERSION ? (checkpoint as ListCheckpoint) : null;
}

/**
 * Compares a complete cluster list with the one before it (reference 3.3); the first list makes no events. A cluster
 * counts as removed when two lists in a row lack it: a single odd answer is no proof. `reboundEvent` makes the events
 * of clusters with a new id.
 */
export function advanceList<T extends ListedIdentity>(
  before: ListCheckpoint | null,
  clusters: readonly T[],
  { at, late = false }: { at: string; late?: boolean },
): { checkpoint: ListCheckpoint; events: PrintEvent[]; rebounds: Rebound<T>[] } {
  let count = before?.count ?? 0;
  const events: PrintEvent[] = [];
  const rebounds: Rebound<T>[] = [];
  const absent: KnownCluster[] = [];

  if (before) {
    const listed = new Set(clusters.map(({ clusterId }) => clusterId));
    const known = new Set(before.known.map(({ clusterId }) => clusterId));
    const missing = new Map(
      before.known.filter(({ clusterId }) => !listed.has(clusterId)).map((c) => [c.clusterId, c]),
    );
    const byHost = new Map([...missing.values()].map((cluster) => [cluster.hostGuid, cluster.clusterId]));
    const edge = (type: 'cluster.added' | 'cluster.removed', { clusterId, name }: KnownCluster) => {
      const builder = new EventBuilder({ clusterId, clusterName: name, at, late, count, since: at });
      builder.edge(type, '', {});
      count = builder.count;
      events.push(...builder.drafts.map(({ event }) => event));
    };
    const fresh = clusters.filter(({ clusterId }) => !known.has(clusterId));
    const added = fresh.filter((cluster) => {
      const previous = cluster.hostGuid === null ? undefined : byHost.get(cluster.hostGuid);
      if (previous === undefined || !missing.delete(previous)) return true;
      rebounds.push({ previous, cluster });
      return false;
    });
    for (const cluster of missing.values()) {
      if (cluster.missing) edge('cluster.removed', cluster);
      else absent.push({ ...cluster, missing: true });
    }
    added.forEach((cluster) => edge('cluster.added', cluster));
  }
  const known = clusters.map(({ clusterId, hostGuid, name }) => ({ clusterId, hostGuid, name }));
  return { checkpoint: { version: 2, count, known: [...known, ...absent] }, events, rebounds };
}

/** The same checkpoint without the rebound clusters' new ids. */
export function withoutRebounds(
  checkpoint: ListCheckpoint,
  before: ListCheckpoint | null,
  rebounds: readonly Rebound<ListedIdentity>[],
): ListCheckpoint {
  if (rebounds.length === 0) return checkpoint;
  const previous = new Set(rebounds.map((rebound) => rebound.previous));
  const next = new Set(rebounds.map(({ cluster }) => cluster.clusterId));
  const old = before?.known.filter(({ clusterId }) => previous.has(clusterId)) ?? [];
  return { ...checkpoint, known: [...checkpoint.known.filter(({ clusterId }) => !next.has(clusterId)), ...old] };
}

/** The entry with the same `host_guid`: the same machine, whatever its present id (wire facts, trap 13). */
export function sameHost<T extends { hostGuid: string | null }>(among: Iterable<T>, hostGuid: string | null) {
  if (hostGuid !== null) for (const one of among) if (one.hostGuid === hostGuid) return one;
  return undefined;
}

/**
 * The event of a machine's new id. The number of its moves is part of the event's id, as the machine may return to an old
 * id and leave it again; the time stands in where nothing is known of the machine. `known`: its state under the old id.
 */
export function reboundEvent(
  previous: string,
  cluster: ListedIdentity,
  { at, late, known }: { at: string; late: boolean; known: Pick<Checkpoint, 'since' | 'moves'> | null },
): PrintEvent {
  const { clusterId, name } = cluster;
  const moment = Date.parse(known?.since ?? at).toString(36);
  const subject = `${previous}/${moment}${known ? `-${(known.moves ?? 0) + 1}` : ''}`;
  return makeEvent({ clusterId, clusterName: name, at, late }, 'cluster.rebound', subject, {
    previous,
    value: clusterId,
  });
}
