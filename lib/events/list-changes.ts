import { type Checkpoint, VERSION } from './checkpoint';
import { isCount, isText, listOf, membersOf, oneOf, orMissing, orNull, type Shape, shapeOf } from '../service/shapes';
import { EventBuilder, makeEvent, type PrintEvent } from './print-event';

/** Removed clusters that are remembered: one of them may be connected again, under a new id. */
const REMOVED_KEPT = 100;

/** The clusters of an account as last listed: plain JSON (reference 6). */
export interface ListCheckpoint {
  version: 2;
  count: number;
  known: KnownCluster[];
  /** Latest last; absent in checkpoints of before they were remembered. */
  removed?: KnownCluster[];
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

const isKnownClusters = listOf(
  shapeOf({ clusterId: isText, ...membersOf(orNull(isText), 'hostGuid', 'name'), missing: orMissing(oneOf(true)) }),
);
export const isListCheckpoint: Shape = shapeOf({
  ...{ version: oneOf(VERSION), count: isCount, known: isKnownClusters, removed: orMissing(isKnownClusters) },
});

/** Returns a stored checkpoint, or null for a value of another version or shape. */
export const readListCheckpoint = (stored: unknown): ListCheckpoint | null =>
  isListCheckpoint(stored) ? (stored as ListCheckpoint) : null;

/** A cluster as listed. */
type Listed = ListedIdentity & { online: boolean | null };

/**
 * Compares a complete cluster list with the one before it (reference 3.3); the first list makes no events. A cluster
 * counts as removed when two lists in a row lack it: a single odd answer is no proof. A machine whose former id is missing,
 * removed or offline has moved to its new one; `reboundEvent` makes the event.
 */
export function advanceList<T extends Listed>(
  before: ListCheckpoint | null,
  clusters: readonly T[],
  { at, late = false }: { at: string; late?: boolean },
): { checkpoint: ListCheckpoint; events: PrintEvent[]; rebounds: Rebound<T>[] } {
  let count = before?.count ?? 0;
  const events: PrintEvent[] = [];
  const rebounds: Rebound<T>[] = [];
  const absent: KnownCluster[] = [];
  const removed: KnownCluster[] = [];
  /** Former ids of machines, and ids to which none has moved, that are still listed. */
  const left = new Set<string>();

  if (before) {
    const known = new Map(before.known.map((cluster) => [cluster.clusterId, cluster]));
    const listed = new Map(clusters.map((cluster) => [cluster.clusterId, cluster]));
    const missing = new Map([...known].filter(([clusterId]) => !listed.has(clusterId)));
    const wasRemoved = new Map((before.removed ?? []).map((cluster) => [cluster.clusterId, cluster]));
    const gone = [...wasRemoved.values(), ...missing.values()];
    const goneByHost = new Map(gone.map(({ hostGuid, clusterId }) => [hostGuid, clusterId]));
    const listedByHost = new Map(
      clusters.filter(({ clusterId }) => known.has(clusterId)).map((cluster) => [cluster.hostGuid, cluster]),
    );
    const edge = (type: 'cluster.added' | 'cluster.removed', { clusterId, name }: KnownCluster) => {
      const builder = new EventBuilder({ clusterId, clusterName: name, at, late, count, since: at });
      builder.edge(type, '', {});
      count = builder.count;
      events.push(...builder.drafts.map(({ event }) => event));
    };
    const fresh = clusters.filter(({ clusterId }) => !known.has(clusterId));
    const added = fresh.filter((cluster) => {
      const { clusterId, hostGuid, online } = cluster;
      if (hostGuid === null) return true;
      const other = listedByHost.get(hostGuid);
      const previous = other?.clusterId ?? goneByHost.get(hostGuid);
      if (previous === undefined || previous === clusterId) return true;
      // Its machine is under the other id, or will be again: a single list without that one is no proof.
      const isThere = other !== undefined || missing.get(previous)?.missing === undefined;
      if (online === false && isThere && !wasRemoved.has(previous)) return !left.add(clusterId);
      // Two clusters that are online are two machines.
      if (other && other.online !== false) return true;
      listedByHost.set(hostGuid, cluster);
      missing.delete(previous);
      if (other) left.add(previous);
      rebounds.push({ previous, cluster });
      return false;
    });
    for (const cluster of missing.values()) {
      if (!cluster.missing) absent.push({ ...cluster, missing: true });
      else {
        edge('cluster.removed', cluster);
        removed.push(identityOf(cluster));
      }
    }
    added.forEach((cluster) => edge('cluster.added', cluster));
    const present = new Set([...listed.keys(), ...rebounds.map(({ previous }) => previous)]);
    removed.unshift(...[...wasRemoved.values()].filter(({ clusterId }) => !present.has(clusterId)));
  }
  const known = [...clusters.filter(({ clusterId }) => !left.has(clusterId)).map(identityOf), ...absent];
  return { checkpoint: { version: 2, count, known, removed: removed.slice(-REMOVED_KEPT) }, events, rebounds };
}

const identityOf = ({ clusterId, hostGuid, name }: ListedIdentity): KnownCluster => ({ clusterId, hostGuid, name });

/** The same checkpoint without the new ids of clusters that were listed under another one before. */
export function withoutRebounds(
  checkpoint: ListCheckpoint,
  before: ListCheckpoint | null,
  rebounds: readonly Rebound<ListedIdentity>[],
): ListCheckpoint {
  const moved = new Map(rebounds.map(({ previous, cluster }) => [previous, cluster.clusterId]));
  // Nobody may poll the former id of a cluster that was removed.
  const old = before?.known.filter(({ clusterId }) => moved.has(clusterId)) ?? [];
  const next = new Set(old.map(({ clusterId }) => moved.get(clusterId)));
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
