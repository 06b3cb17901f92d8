import type { WatcherReport } from './watch-types';

/** Where people who run the pack read. */
export interface Log {
  warn(sentence: string): void;
  info(sentence: string): void;
}

/** Says what the watching reports, the cluster by its first letters. */
export function logReport(log: Log, { kind, clusterId, error }: WatcherReport): void {
  const what = clusterId === null ? 'the list of clusters' : `cluster ${clusterId.slice(0, 6)}…`;
  const reason = error?.message ?? 'The reason is not known.';
  if (kind === 'outage') log.warn(`Polling ${what} fails: ${reason}`);
  else if (kind === 'recovered') log.info(`Polling ${what} works again.`);
  else log.warn(`Watching ${what} met a fault: ${reason}`);
}
