import { type PrintingError, withIds } from '../service/errors';
import type { PrintJob } from '../service/print-job';
import type { PrinterFilter } from '../service/printer-filter';
import type { Scope } from '../state/store';
import type { Deadline } from '../time/deadline';
import type { Source } from '../upload/content';

export interface PrintRequest {
  /** Opened on demand: a repeat of a print key needs no file. */
  source: () => Promise<Source>;
  /** Clusters to print on; empty with `print: false` or `chooseIdle`. */
  clusterIds: string[];
  /** Prints on the first idle printer that this filter matches. */
  chooseIdle?: PrinterFilter | undefined;
  /** Blank: the file's own name. */
  jobName: string;
  /** Blank: every request prints. */
  printKey: string;
  print: boolean;
  startNow: boolean;
  waitFor: 'dispatched' | 'finished';
  compress: boolean;
  reuseUpload: boolean;
  dryRun: boolean;
  /** Covers everything up to the dispatch. */
  deadline: Deadline;
  /** Ends the wait for the print's end, which has no timeout. */
  signal: AbortSignal;
  /** Stores the wait for a print's end, so that it survives the node; without it, the wait ends with the node. */
  onWait?: (scope: Scope, wait: Awaited) => Wait;
  onProgress: (progress: Progress) => void;
  /** A poll failed: the last progress of the awaited print is stale. */
  onStale?: ((clusterJobId: string) => void) | undefined;
  /**
   * Called once per cluster (once in all if nothing is printed), as soon as its result is known; not called for a
   * cluster whose stored wait the node's close interrupts.
   */
  onResult: (result: PrintResult, index: number) => void;
}

/** A print whose end is awaited. */
export interface Awaited {
  /** Blank: none. */
  printKey: string;
  /** Index among the request's clusters. */
  index: number;
  /** The known state of the print, without raw data of the service. */
  result: PrintResult;
}

/** A stored wait. */
export interface Wait {
  /** Hands the known result over by `deliver`; false if another waiter reports it. */
  handOver: (deliver: () => void) => Promise<boolean>;
  /** Leaves the wait to the node's successor, as the node has closed. */
  abandon: () => void;
}

/** Output 1 of upload and print (reference 3.4). */
export interface PrintResult {
  jobId: string | null;
  clusterJobId: string | null;
  clusterId: string | null;
  jobName: string | null;
  fileSize: number | null;
  contentType: string | null;
  status: string | null;
  printed: boolean;
  reusedUpload: boolean;
  duplicate: boolean;
  dryRun: boolean;
  job: PrintJob | null;
  /** The service's own `data`: its answer to the print, or the stored file's record; null if neither is available. */
  raw: unknown;
  /** Why nothing was printed on this cluster. */
  error?: PrintingError;
}

type Stage =
  | 'preparing'
  | 'registering'
  | 'uploading'
  | 'confirming'
  | 'dispatching'
  | 'dispatched'
  | 'printing'
  | 'finished';

/** Output 2 of upload and print (reference 3.4); the members after `job` are only for the node's status. */
export interface Progress {
  stage: Stage;
  percent: number | null;
  bytesSent: number | null;
  bytesTotal: number | null;
  jobId: string | null;
  clusterJobId: string | null;
  clusterId: string | null;
  job: PrintJob | null;
  /** Bytes per second. */
  rate: number | null;
  secondsLeft: number | null;
  /** Jobs before this one in the printer's queue. */
  ahead: number | null;
}

/** Completes the known members of a stage's progress. */
export const progress = (stage: Stage, known: Partial<Progress> = {}): Progress => ({
  percent: null,
  bytesSent: null,
  bytesTotal: null,
  jobId: null,
  clusterJobId: null,
  clusterId: null,
  job: null,
  rate: null,
  secondsLeft: null,
  ahead: null,
  ...known,
  stage,
});

/** Completes the known members of a result. */
export const printResult = (known: Partial<PrintResult> = {}): PrintResult => ({
  jobId: null,
  clusterJobId: null,
  clusterId: null,
  jobName: null,
  fileSize: null,
  contentType: null,
  status: null,
  printed: false,
  reusedUpload: false,
  duplicate: false,
  dryRun: false,
  job: null,
  raw: null,
  ...known,
});

/** The result of a failed print, with its known members. */
export function failedResult(known: PrintResult, thrown: PrintingError): PrintResult {
  const error = withIds(thrown, { clusterId: known.clusterId ?? undefined });
  const { jobId = null, clusterId = null } = error.ids;
  return { ...known, jobId: known.jobId ?? jobId, clusterId: known.clusterId ?? clusterId, printed: false, error };
}

/** Most bytes of JSON text stored per message (reference 3.4). */
const ROOM = 64 * 1024;
const DEEPEST = 100;

/** Properties that belong to a connection, or may hold credentials or signed URLs. */
const NEVER = new Set(['req', 'res', 'raw', 'headers', 'cookies', 'responseCookies']);
/** Properties that identify a message, stored before all others. */
const FIRST = ['_msgid', 'topic', 'jobId', 'clusterJobId', 'clusterId', 'printerId', 'printKey', 'parts'];

/**
 * The properties of a message that outlive the runtime: plain JSON throughout, smallest first, as many as fit. A
 * property that doesn't fit is omitted whole.
 */
export function plainProperties(msg: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const sized = Object.entries(msg).flatMap(([name, value]) => {
    const text = NEVER.has(name) || name.length > ROOM ? undefined : plainText(value);
    if (text === undefined) return [];
    const rank = FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length;
    return [{ name, text, rank, size: Buffer.byteLength(JSON.stringify(name)) + Buffer.byteLength(text) + 2 }];
  });
  sized.sort((one, other) => one.rank - other.rank || one.size - other.size);
  let left = ROOM;
  const kept = sized.filter(({ size }) => {
    if (size > left) return false;
    left -= size;
    return true;
  });
  // Built from entries, as `__proto__` is an ordinary name here.
  return Object.fromEntries(kept.map(({ name, text }): [string, unknown] => [name, JSON.parse(text)]));
}

/** The JSON text of a plain JSON value; undefined for any other value, and for one that is far too large. */
function plainText(value: unknown): string | undefined {
  try {
    return isPlain(value, { left: ROOM }, 0) ? JSON.stringify(value) : undefined;
  } catch {
    // A getter of a foreign object threw.
    return undefined;
  }
}

/** `room` is the number of characters left; each value needs at least one. */
function isPlain(value: unknown, room: { left: number }, depth: number): boolean {
  room.left -= typeof value === 'string' ? value.length : 1;
  if (room.left < 0 || depth > DEEPEST) return false;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return false;
  // A hole in an array is not JSON.
  if (Array.isArray(value)) return Array.from(value).every((entry) => isPlain(entry, room, depth + 1));
  // Compared by name: functions and tests run in realms of their own.
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  if (Object.prototype.toString.call(value) !== '[object Object]' || 'toJSON' in value) return false;
  return Object.values(value).every((entry) => entry === undefined || isPlain(entry, room, depth + 1));
}
