import type { ClusterStatus } from '../../lib/service/cluster-status';
import type { Round, WatchState } from '../../lib/watch/watch-types';
import { printingLook } from './printing-look';
import { clockTime, failureLook, type Look } from './status';

/** What a cluster status node shows after a poll: stale beats all, then the one cluster, or how many are online. */
export function statusLook(state: WatchState | undefined, round: Round | null, all: boolean): Look {
  if (state?.paused) return { fill: 'grey', shape: 'ring', key: 'paused-polling' };
  const error = state?.trouble?.error ?? round?.error;
  if (error) {
    const since = state?.lastSuccess;
    return since
      ? { fill: 'red', shape: 'ring', key: 'stale', values: { since: clockTime(since) } }
      : failureLook(error);
  }
  if (!round) return { fill: 'grey', shape: 'ring', key: 'polling' };
  const clusters = round.results.flatMap(({ status }) => status ?? []);
  if (!all && clusters[0]) return clusterLook(clusters[0]);
  const online = clusters.filter((cluster) => cluster.online !== false).length;
  const values = { online: String(online), total: String(clusters.length) };
  return { fill: online ? 'green' : 'grey', shape: online ? 'dot' : 'ring', key: 'clusters', values };
}

function clusterLook({ online, current, jobs }: ClusterStatus): Look {
  if (online === false) return { fill: 'grey', shape: 'ring', key: 'offline' };
  if (current) return printingLook(current);
  const waiting = jobs.some(({ state }) => state === 'attention' || state === 'approval');
  return waiting ? { fill: 'yellow', shape: 'ring', key: 'attention' } : { fill: 'green', shape: 'dot', key: 'idle' };
}
