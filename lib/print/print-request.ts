import { type PrintingError, withIds } from '../service/errors';
import type { PrintJob } from '../service/print-job';
import type { PrinterFilter } from '../service/printer-filter';
import type { Scope } from '../state/store';
import type { Deadline } from '../time/deadline';
import type { Source } from '../upload/content';
import type { Wait } from './late-results';

/** Where a print's file comes from: it is uploaded first, or is stored at the service already. */
export type PrintSource = Source | { kind: 'stored'; jobId: string };

export interface PrintRequest {
  /** Opened on demand: a repeat of a print key needs no file. */
  source: () => Promise<PrintSource>;
  /** Clusters to print on; empty with `print: false` or `chooseIdle`. */
  clusterIds: string[];
  /** Prints on the first idle printer that this filter matches. */
  chooseIdle?: PrinterFilter | undefined;
  /** Blank: the file's own name. */
  jobName: string;
  /** Replaces the type of the file's extension. */
  mediaType?: string | undefined;
  /** Blank: every request prints. */
  printKey: string;
  /** Whether the print key makes one call at most, even if a whole search finds nothing of a call whose answer was lost. */
  sendOnce?: boolean;
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
