import type { Moment } from './moment';
import type { Cluster } from './state';

/** Disconnects a cluster; from now on, its status shows the last report. */
export function goOffline(cluster: Cluster, { at, now }: Pick<Moment, 'at' | 'now'>): void {
  const { queue, history } = cluster;
  cluster.lastReport = structuredClone({ at, now, queue, history });
  cluster.online = false;
}

/** Connects a cluster; the actions that waited for it arrive at once. */
export function goOnline(cluster: Cluster, at: number): void {
  Object.assign(cluster, { online: true, onlineSince: at, backAt: null, lastReport: null });
  for (const action of cluster.actions)
    if (action.waits && !action.ended) Object.assign(action, { waits: false, sentAt: at, endsAt: at });
}
