import type { ClusterStatus } from '../service/cluster-status';
import type { JobState, PrintJob } from '../service/print-job';
import type { EndType } from './events';

/** A job that has not ended, as last seen. */
export interface KnownJob {
  id: string;
  /** Last state that is known; `unknown` only where there was no other yet. */
  state: JobState;
  /** Nothing was told of it yet, for want of a known state. */
  untold: boolean;
  /** Seen under way, so that `job.started` is not told again. */
  started: boolean;
  aborting: boolean;
  /** Highest ever seen, percent. */
  progress: number;
  /** Last known figures. */
  job: PrintJob;
}

/** An end, told or already there at first sight. */
export interface Outcome {
  id: string;
  type: EndType;
  at: string;
  /** Kept for the latest only. */
  job: PrintJob | null;
}

export interface PrinterPosition {
  id: string;
  status: string | null;
  /** Keys of the faults that were there when it was last seen. */
  faults: string[];
  /** Firmware versions told as available. */
  firmware: string[];
}

/** All that is known of a cluster between two observations: plain JSON (reference 6). */
export interface Position {
  version: 1;
  /** Sets the ids of repeatable events apart from those of a position that got lost. */
  epoch: string;
  /** Repeatable events told so far. */
  count: number;
  /** When the cluster was first seen. */
  since: string;
  /** Whether the lists were ever there on a reachable cluster. */
  jobsSeen: boolean;
  historySeen: boolean;
  online: boolean | null;
  /** The last answer was other than `online`; the same once more and it is told (trap 17). */
  onlineDoubted: boolean;
  hostPrinterId: string | null;
  printers: PrinterPosition[];
  jobs: KnownJob[];
  /** Oldest first. */
  ended: Outcome[];
  status: ClusterStatus;
}

/** A stored position, or null for what is none (any more). */
export function readPosition(stored: unknown): Position | null {
  const position = stored as Partial<Position> | null | undefined;
  return position?.version === 1 ? (position as Position) : null;
}

export const newEpoch = (random: () => number): string => Math.floor(random() * 2 ** 48).toString(36);
