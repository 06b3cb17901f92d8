import type { ClusterIdentity } from './cluster';
import { few } from './few';
import { isUnderWay, readPrintJobs, type PrintJob } from './print-job';
import { readPrinter, type Printer } from './printer';
import { flag, record, time, type Json } from './json-readers';
import { phrase } from '../words/sentence';

/** Reference 3.1. */
export interface ClusterStatus extends ClusterIdentity {
  clusterId: string;
  online: boolean | null;
  /** Whether the figures are stale because the service could not be reached. */
  stale: boolean;
  generatedAt: string | null;
  receivedAt: string;
  printers: Printer[];
  /** Queued and running jobs. */
  jobs: PrintJob[];
  /** At most 10 entries. */
  history: PrintJob[];
  current: PrintJob | null;
}

export interface StatusContext {
  clusterId: string;
  receivedAt: string;
  /** Identity from the cluster list, if it has been read. */
  identity: ClusterIdentity | null;
}

const LONGEST_HISTORY = 10;
const PRINTER = phrase`the printer`;

/**
 * Returns a status answer's `data` as a record, or the first entry of an array (wire facts, trap 29). Null for anything
 * else.
 */
export const statusRecord = (data: unknown): Json | null =>
  record(data) ?? (Array.isArray(data) ? (record(data[0]) ?? {}) : null);

/** Reads a status record (wire facts 6); each part may be missing (trap 15). Throws the errors of `few`. */
export function readClusterStatus(wire: Json, { clusterId, receivedAt, identity }: StatusContext): ClusterStatus {
  const jobs = readPrintJobs(wire.print_jobs, clusterId);
  return {
    clusterId,
    name: identity?.name ?? null,
    hostGuid: identity?.hostGuid ?? null,
    model: identity?.model ?? null,
    online: flag(wire.is_online),
    authorized: identity?.authorized ?? null,
    capabilities: identity?.capabilities ? [...identity.capabilities] : null,
    note: identity?.note ?? null,
    maintenanceDue: identity?.maintenanceDue ?? null,
    stale: false,
    generatedAt: time(wire.generated_time),
    receivedAt,
    printers: few(wire.printers, PRINTER).map(readPrinter),
    jobs,
    history: readPrintJobs(wire.recently_completed, clusterId).slice(0, LONGEST_HISTORY),
    current: jobs.find(isUnderWay) ?? jobs.find(({ state }) => state === 'preparing') ?? null,
  };
}

/** Whether a job belongs to a printer of its cluster. A job without a printer belongs to the only one. */
export const isOnPrinter = ({ printerId }: PrintJob, printer: Printer, { printers }: ClusterStatus): boolean =>
  printerId === null ? printers.length === 1 : printerId === printer.printerId;
