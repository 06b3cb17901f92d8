import type { Cluster } from './cluster';
import type { PrintJob } from './print-job';
import { readPrinter, type Printer } from './printer';

/** A printer in the list of printers (reference 3.5, query `printers`); of a group, its host printer. */
export interface PrinterEntry extends Printer {
  clusterId: string;
  clusterName: string | null;
  online: boolean | null;
  /** Whether the account may use it. */
  authorized: boolean | null;
  /** Whether a print that is sent now would start now. */
  idle: boolean;
  note: string | null;
  /** Words of the note that begin with #, without it; a comma or semicolon ends a word. */
  tags: string[];
  maintenanceDue: boolean | null;
  /** Printers of the group; 1 without a group. */
  printerCount: number | null;
  /** Print jobs that print or wait. */
  jobCount: number | null;
  current: PrintJob | null;
}

/** Returns the printer of a cluster. The list has no printer of an offline cluster, so its fields are null or empty. */
export function printerEntry(cluster: Cluster): PrinterEntry {
  const { clusterId, name: clusterName, online, authorized, note, maintenanceDue, printerCount, jobCount } = cluster;
  const printer = cluster.printers[0] ?? readPrinter({});
  return {
    ...printer,
    clusterId,
    clusterName,
    name: printer.name ?? clusterName,
    model: printer.model ?? cluster.model,
    online,
    authorized,
    idle: isIdle(cluster),
    note,
    tags: tagsOf(note),
    maintenanceDue,
    printerCount,
    jobCount,
    current: cluster.current,
  };
}

/**
 * Whether a print that is sent now would start now. A missing state of the printer or its connection counts as an
 * obstacle; the other fields are optional.
 */
function isIdle({ online, authorized, jobCount, current, printers: [printer] }: Cluster): boolean {
  return (
    online === true &&
    authorized !== false &&
    (jobCount ?? 0) === 0 &&
    current === null &&
    printer?.status === 'idle' &&
    printer.enabled !== false &&
    printer.maintenanceRequired !== true &&
    printer.errors.length === 0
  );
}

const tagsOf = (note: string | null): string[] => {
  const words = (note ?? '').split(/[\s,;]+/);
  return [...new Set(words.flatMap((word) => (word.length > 1 && word.startsWith('#') ? word.slice(1) : [])))];
};
