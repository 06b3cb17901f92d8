import type { ClusterStatus } from '../../lib/service/cluster';
import type { Standby } from '../../lib/watch/replication/peers';
import type { Round } from '../../lib/watch/views/rounds';
import type { WatchState } from '../../lib/watch/views/watch';
import { printingText } from './printing-text';
import { failureText, staleText, type StatusText } from './status';

/**
 * Text of a cluster status node after a poll: stale figures first, else the state of the cluster or the number online.
 */
export function clusterStatusText(state: WatchState | undefined, round: Round | null, all: boolean): StatusText {
  if (state?.paused) return { fill: 'grey', shape: 'ring', key: 'paused-polling' };
  if (state?.standby) return standbyText(state.standby);
  const error = state?.trouble?.error ?? round?.error;
  const since = state?.lastSuccess;
  if (since && (error ?? state.overdue)) return staleText(since);
  if (error) return failureText(error);
  if (!round) return { fill: 'grey', shape: 'ring', key: 'polling' };
  if (all && state) return clustersText(state.clusters);
  const clusters = round.results.flatMap(({ status }) => status ?? []);
  const one = round.shown ?? clusters[0];
  if (!all && one) return oneClusterText(one);
  const online = clusters.filter((cluster) => cluster.online !== false).length;
  return clustersText(state?.clusters ?? { online, total: clusters.length });
}

/** Longest shown name of another runtime, characters. */
const LONGEST_NAME = 15;

function standbyText(standby: Standby): StatusText {
  if (standby.why === 'store') return { fill: 'yellow', shape: 'ring', key: 'waiting-for-database' };
  const { by } = standby;
  if (!by) return { fill: 'grey', shape: 'dot', key: 'polled-elsewhere' };
  // Keeps the end of the name, where replicas differ.
  const name = by.length > LONGEST_NAME ? `…${by.slice(1 - LONGEST_NAME)}` : by;
  return { fill: 'grey', shape: 'dot', key: 'polled-by', values: { name } };
}

function clustersText({ online, total }: { online: number; total: number }): StatusText {
  const values = { online: String(online), total: String(total) };
  return { fill: online ? 'green' : 'grey', shape: online ? 'dot' : 'ring', key: 'clusters', values };
}

function oneClusterText({ online, current, jobs }: ClusterStatus): StatusText {
  if (online === false) return { fill: 'grey', shape: 'ring', key: 'offline' };
  if (current) return printingText(current);
  const waiting = jobs.some(({ state }) => state === 'attention' || state === 'approval');
  return waiting ? { fill: 'yellow', shape: 'ring', key: 'attention' } : { fill: 'green', shape: 'dot', key: 'idle' };
}
