import type { Hours } from './hours';
import type { Prices } from './prices';

/** Rules of a queue: the settings of its configuration node (print queue, 3.1). */
export interface QueueRules {
  /** Cluster ids that the queue may use; empty: all of the account. */
  printers: readonly string[];
  /** Tags by cluster id. */
  tags: ReadonlyMap<string, readonly string[]>;
  sort: 'priority' | 'shortest' | 'deadline' | 'staffed';
  choose: 'least-recently-used' | 'fewest-hours' | 'list';
  match: 'strict' | 'lenient';
  material: 'guid' | 'type-color' | 'type' | 'any';
  gate: 'printer' | 'confirm' | 'automatic';
  /** Further attempts for a copy whose print failed. */
  retries: number;
  /** Time for a dispatched print to begin, ms; 0: no limit. */
  startWithin: number;
  /** Minimum time between two starts, ms. */
  stagger: number;
  /** Maximum number of prints at a time; 0: no limit. */
  maxPrinting: number;
  /** When prints may start. */
  hours: Hours;
  /** When plates can be cleared. */
  staffed: Hours;
  /** Time from the end of a print to a clear plate in staffed hours, ms. */
  turnaround: number;
  /** Whether new items wait for their release. */
  approval: boolean;
  prices: Prices;
  /** Time for which ended items stay listed, ms. */
  keepFor: number;
}
