import type { ClusterIdentity, ClusterStatus } from './cluster';
import { list, record } from './json-readers';
import type { PrintJob } from './print-job';
import type { Extruder, Printer } from './printer';

// Records of version 1.0.0-rc.1 lack the fields that are set here.

/** Completes a stored job. */
export const storedJob = (job: PrintJob): PrintJob =>
  Object.assign({ estimatedTime: null, materials: [], hasPreview: false, note: null }, job);

/** Completes the stored identity of a cluster. */
export const storedIdentity = <T extends ClusterIdentity>(cluster: T): T =>
  Object.assign({ capabilities: null, note: null, maintenanceDue: null }, cluster);

/** Returns stored figures, completed; null for anything but a record. */
export function storedStatus(stored: unknown): ClusterStatus | null {
  const status = record(stored) as ClusterStatus | null;
  if (!status) return null;
  const jobs = (list(status.jobs) as PrintJob[]).map(storedJob);
  const current = record(status.current)?.clusterJobId;
  return {
    ...storedIdentity(status),
    printers: (list(status.printers) as Printer[]).map(storedPrinter),
    jobs,
    history: (list(status.history) as PrintJob[]).map(storedJob),
    current: jobs.find(({ clusterJobId }) => clusterJobId !== null && clusterJobId === current) ?? null,
  };
}

function storedPrinter(printer: Printer): Printer {
  const extruders = (list(printer.extruders) as Extruder[]).map((extruder) =>
    Object.assign({ volumeLeft: null, volumeFull: null }, extruder),
  );
  return {
    ...Object.assign({ reservedBy: null, slots: [], chamber: null, airFilter: null, errors: [] }, printer),
    extruders,
  };
}
