import type { Moment } from './moment';
import type { Cluster, EndedPrint, LastReport } from './state';

/** Returns what the service knows of a cluster's jobs: the present, or the last report of an offline one. */
export function reported(
  { queue, history, log, lastReport }: Cluster,
  { at, now }: Moment,
): LastReport & { log: EndedPrint[] } {
  return { at, now, queue, history, log, ...lastReport };
}

/** Disconnects a cluster; from now on, the service knows its last report alone (wire facts 15.15). */
export function goOffline(cluster: Cluster, moment: Moment): void {
  const { log, ...jobs } = reported(cluster, moment);
  // The log is only ever replaced as a whole, and may be long.
  cluster.lastReport = { ...structuredClone(jobs), log };
  cluster.online = false;
}

/** Connects a cluster; the actions that waited for it arrive at once. */
export function goOnline(cluster: Cluster, at: number): void {
  Object.assign(cluster, { online: true, onlineSince: at, backAt: null, lastReport: null });
  for (const action of cluster.actions)
    if (action.waits && !action.ended) Object.assign(action, { waits: false, sentAt: at, endsAt: at });
}
