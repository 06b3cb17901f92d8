import type { WatcherReport } from './watch';
import { phrase, type Sentence } from '../../words/sentence';

/** Log that operators read. */
export interface Log {
  warn(sentence: Sentence): void;
  info(sentence: Sentence): void;
}

/** Writes a watcher's report to the log. A cluster appears as the first characters of its id. */
export function logReport(log: Log, { kind, clusterId, error, sentence }: WatcherReport): void {
  const reason = error?.sentence ?? phrase`The reason is not known.`;
  if (kind === 'outage') return log.warn(reason);
  if (kind === 'recovered') return sentence && log.info(sentence);
  const what = clusterId === null ? phrase`the list of printers` : phrase`printer ${clusterId.slice(0, 6)}…`;
  log.warn(phrase`A fault occurred while watching ${what}: ${reason}`);
}
