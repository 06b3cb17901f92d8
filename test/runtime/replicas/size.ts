import type { NewCluster } from '../../../simulator/index';

/** Virtual seconds per real second. */
export const TIME_FACTOR = 60;
/** Lifetime of an access token, s. */
export const TOKEN_LIFETIME = 10;
export const REPLICAS = 3;
export const PRINTERS = 13;
/** Kinds of printers that accept the files of the flow: all but the second brand. */
const KINDS: readonly NewCluster[] = [
  {},
  { model: 'simulated_maker_duo' },
  { printers: 2 },
  { model: 'simulated_maker_classic' },
];
/** The printer of an index: the kinds follow each other, again and again. */
export const kindOf = (at: number): NewCluster => ({ ...KINDS[at % KINDS.length], mismatch: 'ignored' });
/** Number of printers, the last ones, that never print: only watching nodes poll them. */
export const QUIET = 3;
/** Number of printers before them that print for queues only. */
export const QUEUED = 4;

/** A print queue of the flow. */
export interface Queue {
  id: string;
  gate: 'automatic' | 'confirm';
  retries: number;
  /** Indexes of its printers among those of all queues. */
  printers: readonly number[];
}

/** The first two share a printer. */
export const QUEUES: readonly Queue[] = [
  { id: 'left', gate: 'automatic', retries: 1, printers: [0, 1] },
  { id: 'right', gate: 'automatic', retries: 0, printers: [1, 2] },
  { id: 'plates', gate: 'confirm', retries: 0, printers: [3] },
];
