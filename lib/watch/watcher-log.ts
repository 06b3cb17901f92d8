import type { WatcherReport } from './watch-types';
import { say, type Sentence } from '../words/say';

/** Where people who run the pack read. */
export interface Log {
  warn(sentence: Sentence): void;
  info(sentence: Sentence): void;
}

/** Says what the watching reports, the cluster by its first letters. */
export function logReport(log: Log, { kind, clusterId, error }: WatcherReport): void {
  const what = clusterId === null ? say`the list of printers` : say`printer ${clusterId.slice(0, 6)}…`;
  const reason = error?.sentence ?? say`The reason is not known.`;
  if (kind === 'outage') log.warn(say`Polling ${what} fails: ${reason}`);
  else if (kind === 'recovered') log.info(say`Polling ${what} works again.`);
  else log.warn(say`Watching ${what} met a fault: ${reason}`);
}
