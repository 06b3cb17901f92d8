import { withIds, type PrintingError } from '../service/errors';
import type { PrintJob } from '../service/print-job';
import type { Deadline } from '../time/deadline';
import type { Scope } from '../state/scope';
import type { Source } from '../upload/source';

export interface PrintRequest {
  /** Made when it is needed: a repeat of a print key needs no file any more. */
  source: () => Promise<Source>;
  /** Clusters to print on; none with `print: false`. */
  clusterIds: string[];
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
  /** For everything up to the dispatch. */
  deadline: Deadline;
  /** Ends the wait for the print's end, which has no limit of its own. */
  signal: AbortSignal;
  /** The wait for a print's end begins. Keeps it, so that it survives the node; without, it ends with the node. */
  onWait?: (scope: Scope, wait: Awaited) => Wait;
  onProgress: (progress: Progress) => void;
  /** A poll failed: the last progress of the awaited print is old. */
  onStale?: ((clusterJobId: string) => void) | undefined;
  /**
   * Called once per cluster (once in all where nothing is printed), as soon as its result stands; not for those whose
   * kept wait the node's close interrupts.
   */
  onResult: (result: PrintResult, index: number) => void;
}

/** A print whose end is awaited. */
export interface Awaited {
  /** Blank: none. */
  printKey: string;
  /** Of several clusters. */
  index: number;
  /** What is known of the print. */
  result: PrintResult;
}

/** A wait that is kept. */
export interface Wait {
  /** Its result is known, and goes out by `deliver`; false where that is for others to do. */
  over: (deliver: () => void) => Promise<boolean>;
  /** Its node closed: whoever comes after waits on. */
  left: () => void;
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
  /** The service's own `data`: its answer to the print, or the stored file's record; null where it isn't at hand. */
  raw: unknown;
  /** Why nothing was printed on this cluster. */
  error?: PrintingError;
}

export type Stage =
  'preparing' | 'registering' | 'uploading' | 'confirming' | 'dispatching' | 'dispatched' | 'printing' | 'finished';

/** Output 2 of upload and print (reference 3.4); what comes after `job` is for the node's status alone. */
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

/** A stage, with what is known of it. */
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

/** A result of which this much is known. */
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

/** What is known of a print that failed. */
export function failedResult(known: PrintResult, thrown: PrintingError): PrintResult {
  const error = withIds(thrown, { clusterId: known.clusterId ?? undefined });
  return { ...known, jobId: known.jobId ?? error.ids.jobId ?? null, printed: false, error };
}
