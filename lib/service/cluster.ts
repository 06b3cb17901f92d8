import { CAPABILITIES } from '../rules/limits';
import { phrase } from '../words/sentence';
import { checkFew, few, unexpectedAnswer } from './errors';
import { amount, flag, type Json, line, list, number, record, single, text, time } from './json-readers';
import { isUnderWay, occupiesPrinter } from './job-words';
import { guidOf } from './material';
import { isStoredJob, type PrintJob, readOptionalPrintJob, readPrintJobs, storedJob } from './print-job';
import { isStoredPrinter, type Printer, readPrinter, refusalOf } from './printer';
import { isFlag, isText, listOf, membersOf, orMissing, orNull, type Shape, shapeOf } from './shapes';

/** Identity of a cluster, which only the list contains. */
export interface ClusterIdentity {
  name: string | null;
  hostGuid: string | null;
  model: string | null;
  /** Whether the account may use it: the record's `status`, which is not a printer state (wire facts, trap 18). */
  authorized: boolean | null;
  /** Abilities of the printer, in the service's words (wire facts 12.6); null if unknown. */
  capabilities: readonly string[] | null;
  note: string | null;
  /** Whether at least one maintenance task is due. */
  maintenanceDue: boolean | null;
  /** The service's word for user interfaces, as the account's list last had it (wire facts 5). */
  displayStatus: string | null;
}

/** An entry of the cluster list (reference 3.5, query `clusters`). */
export interface Cluster extends ClusterIdentity {
  clusterId: string;
  online: boolean | null;
  printerCount: number | null;
  /** Print jobs that print or wait. */
  jobCount: number | null;
  /** Only the host printer, as the list has no others; empty while the cluster is offline. */
  printers: Printer[];
  current: PrintJob | null;
}

/** Reads a cluster record (wire facts 5); null without an id. */
export function readCluster(wire: Json): Cluster | null {
  const clusterId = text(wire.cluster_id);
  if (clusterId === null) return null;
  const host = record(wire.host_printer);
  return {
    clusterId,
    name: text(wire.friendly_name) ?? text(wire.host_name),
    // Two machines without one are not the same machine.
    hostGuid: guidOf(wire.host_guid),
    model: text(wire.printer_type) ?? text(host?.machine_variant),
    online: flag(wire.is_online),
    authorized: wire.status === 'active' ? true : wire.status === 'inactive' ? false : null,
    capabilities: readCapabilities(wire.capabilities),
    note: text(record(wire.note)?.note) ?? text(wire.note),
    maintenanceDue: flag(wire.maintenance_due),
    displayStatus: line(wire.display_status),
    printerCount: number(wire.printer_count),
    jobCount: amount(wire.host_print_job_count),
    printers: host ? [readPrinter(host)] : [],
    current: readOptionalPrintJob(wire.host_current_print_job, clusterId),
  };
}

const readCapabilities = (wire: unknown): string[] | null =>
  Array.isArray(wire) ? wire.slice(0, CAPABILITIES).filter((entry): entry is string => text(entry) !== null) : null;

/** Reference 3.1. */
export interface ClusterStatus extends ClusterIdentity {
  clusterId: string;
  online: boolean | null;
  /** Whether the figures are stale: the service could not be reached, or its answer lacks the jobs of a cluster that is not offline. */
  stale: boolean;
  generatedAt: string | null;
  receivedAt: string;
  printers: Printer[];
  /** Queued and running jobs. */
  jobs: PrintJob[];
  /** At most 10 entries. */
  history: PrintJob[];
  /** Whether the answer had a history, which older firmware lacks (wire facts 6). */
  hasHistory: boolean;
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
export const statusRecord = (data: unknown): Json | null => single(data) ?? (Array.isArray(data) ? {} : null);

/**
 * Whether a status record lacks the jobs of a cluster that is not offline. An empty list shows that there are none; a missing or
 * unreadable one shows nothing.
 */
export const lacksJobs = ({ is_online: online, print_jobs: jobs }: Json): boolean =>
  online !== false && !isReadableList(jobs);

/** Whether a status record has a history. A missing or unreadable one proves nothing. */
export const hasHistory = ({ recently_completed: history }: Json): boolean => isReadableList(history);

const isReadableList = (jobs: unknown): boolean =>
  Array.isArray(jobs) ? jobs.every((entry) => record(entry)) : record(jobs) !== null;

/** Reads the jobs of a status record. Throws SERVICE_ERROR if it lacks those of a cluster that is not offline. */
export function readListedJobs(wire: Json | null, clusterId: string): PrintJob[] {
  if (wire && lacksJobs(wire)) throw unexpectedAnswer(PRINTER);
  return readPrintJobs(wire?.print_jobs, clusterId);
}

/** Reads a status record (wire facts 6); each part may be missing (trap 15). Throws the errors of `few`. */
export function readClusterStatus(wire: Json, { clusterId, receivedAt, identity }: StatusContext): ClusterStatus {
  const jobs = readPrintJobs(wire.print_jobs, clusterId);
  const printers = few(wire.printers, PRINTER).map(readPrinter);
  // Of all printers together: each fault that is new becomes an event.
  checkFew(
    printers.reduce((sum, { faults }) => sum + faults.length, 0),
    PRINTER,
  );
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
    displayStatus: identity?.displayStatus ?? null,
    stale: lacksJobs(wire),
    generatedAt: time(wire.generated_time),
    receivedAt,
    printers,
    jobs,
    history: readPrintJobs(wire.recently_completed, clusterId).slice(0, LONGEST_HISTORY),
    hasHistory: hasHistory(wire),
    current:
      jobs.find(isUnderWay) ?? jobs.find(occupiesPrinter) ?? jobs.find(({ state }) => state === 'preparing') ?? null,
  };
}

/** Whether a job belongs to a printer of its cluster. A job without a printer belongs to the only one. */
export const isOnPrinter = ({ printerId }: PrintJob, printer: Printer, { printers }: ClusterStatus): boolean =>
  printerId === null ? printers.length === 1 : printerId === printer.printerId;

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
    refusalOf(printer) === null
  );
}

const tagsOf = (note: string | null): string[] => {
  const words = (note ?? '').split(/[\s,;]+/);
  return [...new Set(words.flatMap((word) => (word.length > 1 && word.startsWith('#') ? word.slice(1) : [])))];
};

/** A stored status. Earlier versions did not store all of its fields. */
type StoredStatus = Omit<ClusterStatus, 'displayStatus' | 'hasHistory'> &
  Partial<Pick<ClusterStatus, 'displayStatus' | 'hasHistory'>>;

const isStoredStatus: Shape = shapeOf({
  ...membersOf(isText, 'clusterId', 'receivedAt'),
  ...membersOf(orMissing(orNull(isText)), 'name', 'hostGuid', 'model', 'note', 'displayStatus', 'generatedAt'),
  ...membersOf(orMissing(orNull(isFlag)), 'authorized', 'maintenanceDue', 'online', 'stale', 'hasHistory'),
  capabilities: orMissing(orNull(listOf(isText))),
  printers: listOf(isStoredPrinter),
  ...membersOf(listOf(isStoredJob), 'jobs', 'history'),
  current: orMissing(orNull(isStoredJob)),
});

/** Returns a stored status, with its current job among its jobs again; null for a value of another shape. */
export function storedStatus(stored: unknown): ClusterStatus | null {
  if (!isStoredStatus(stored)) return null;
  const status = stored as StoredStatus;
  const current = status.current?.clusterJobId ?? null;
  const [jobs, history] = [status.jobs, status.history].map((listed) => (list(listed) as PrintJob[]).map(storedJob));
  return {
    ...status,
    displayStatus: status.displayStatus ?? null,
    hasHistory: status.hasHistory ?? (history ?? []).length > 0,
    jobs: jobs ?? [],
    history: history ?? [],
    current: jobs?.find(({ clusterJobId }) => clusterJobId !== null && clusterJobId === current) ?? null,
  };
}
