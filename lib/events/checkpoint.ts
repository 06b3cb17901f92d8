import type { JobState, PrintJob } from '../service/print-job';
import type { EndType } from './print-event';

/** A job that has not ended, as last seen. */
export interface KnownJob {
  id: string;
  /** Last state that is known; `unknown` only where there was no other yet. */
  state: JobState;
  /** No event was made of it yet, for want of a known state. */
  silent: boolean;
  /** Seen under way, so that `job.started` does not come again. */
  started: boolean;
  aborting: boolean;
  /** Highest ever seen, percent. */
  progress: number;
  /** When it was first missing from the lists of a reachable cluster; null while it is listed. */
  missingSince: string | null;
  /** How often each recurring edge was an event, by type and observed facts; absent where there was none. */
  edges?: Record<string, number>;
  /** Last known figures. */
  job: PrintJob;
}

/** An end that became an event, or was there already at first sight. */
export interface Ended {
  id: string;
  type: EndType;
  at: string;
  /** Kept for the latest only. */
  job: PrintJob | null;
}

export interface PrinterCheckpoint {
  id: string;
  status: string | null;
  /** Keys of the faults that were there when it was last seen. */
  faults: string[];
  /** Firmware versions that became an event. */
  firmware: string[];
}

/** All that the next observation of a cluster is compared with: plain JSON (reference 6). */
export interface Checkpoint {
  version: 2;
  /** Events named by the time of their observation, so far; sets those of one moment apart. */
  count: number;
  /** When the cluster was first seen. */
  since: string;
  /** Whether the lists were ever there on a reachable cluster. */
  jobsSeen: boolean;
  historySeen: boolean;
  name: string | null;
  hostGuid: string | null;
  online: boolean | null;
  /** The last answer was other than `online`; the same once more and it is an event (wire facts, trap 17). */
  onlineDoubted: boolean;
  hostPrinterId: string | null;
  hostPrinterName: string | null;
  printers: PrinterCheckpoint[];
  jobs: KnownJob[];
  /** Oldest first. */
  ended: Ended[];
}

/** A stored checkpoint, or null for what is none (any more). */
export function readCheckpoint(stored: unknown): Checkpoint | null {
  const checkpoint = stored as Partial<Checkpoint> | null | undefined;
  return checkpoint?.version === 2 ? (checkpoint as Checkpoint) : null;
}
