import type { Cluster } from '../service/cluster';
import type { PrintEvent } from './events';
import { newEpoch } from './position';
import { makeEvent, Teller } from './teller';

/** The clusters of an account as last listed: plain JSON (reference 6). */
export interface ListPosition {
  version: 1;
  epoch: string;
  count: number;
  known: KnownCluster[];
}

export interface KnownCluster {
  clusterId: string;
  hostGuid: string | null;
  name: string | null;
}

export interface Rebound {
  previous: string;
  cluster: Cluster;
}

export function readListPosition(stored: unknown): ListPosition | null {
  const position = stored as Partial<ListPosition> | null | undefined;
  return position?.version === 1 ? (position as ListPosition) : null;
}

/** What a complete cluster list brings after the one before it (reference 3.3); nothing at first sight. */
export function advanceList(
  before: ListPosition | null,
  clusters: readonly Cluster[],
  { at, late = false, random = Math.random }: { at: string; late?: boolean; random?: () => number },
): { position: ListPosition; events: PrintEvent[]; rebounds: Rebound[] } {
  const epoch = before?.epoch ?? newEpoch(random);
  let count = before?.count ?? 0;
  const events: PrintEvent[] = [];
  const rebounds: Rebound[] = [];

  if (before) {
    const listed = new Set(clusters.map(({ clusterId }) => clusterId));
    const known = new Set(before.known.map(({ clusterId }) => clusterId));
    const gone = new Map(before.known.filter(({ clusterId }) => !listed.has(clusterId)).map((c) => [c.clusterId, c]));
    const tell = (type: 'cluster.added' | 'cluster.removed', { clusterId, name }: KnownCluster) => {
      const teller = new Teller({ clusterId, clusterName: name, at, late, epoch, count });
      teller.edge(type, '', {});
      count = teller.count;
      events.push(...teller.happenings.map(({ event }) => event));
    };
    const fresh = clusters.filter(({ clusterId }) => !known.has(clusterId));
    const added = fresh.filter((cluster) => {
      const previous = sameHost([...gone.values()], cluster)?.clusterId;
      if (previous === undefined) return true;
      gone.delete(previous);
      rebounds.push({ previous, cluster });
      events.push(reboundEvent(previous, cluster, { at, late }));
      return false;
    });
    gone.forEach((cluster) => tell('cluster.removed', cluster));
    added.forEach((cluster) => tell('cluster.added', cluster));
  }
  const known = clusters.map(({ clusterId, hostGuid, name }) => ({ clusterId, hostGuid, name }));
  return { position: { version: 1, epoch, count, known }, events, rebounds };
}

/** The one with the same `host_guid`: the same machine, whatever its id now is (wire facts, trap 13). */
export const sameHost = <T extends { hostGuid: string | null }>(
  among: readonly T[],
  who: { hostGuid: string | null },
) => (who.hostGuid === null ? undefined : among.find(({ hostGuid }) => hostGuid === who.hostGuid));

/** The machine of `previous` under its new id. Ids are never given twice, so the pair names the event. */
export function reboundEvent(
  previous: string,
  cluster: Cluster,
  { at, late }: { at: string; late: boolean },
): PrintEvent {
  const { clusterId, name } = cluster;
  return makeEvent({ clusterId, clusterName: name, at, late }, 'cluster.rebound', previous, {
    previous,
    value: clusterId,
  });
}
