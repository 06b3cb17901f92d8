import { asPrintingError, PrintingError } from '../service/errors';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { CurrentScope, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Peers } from '../watch/replication/peers';
import type { JobEndOptions } from '../watch/views/watch';
import type { Watcher } from '../watch/watcher';
import { phrase, type Sentence } from '../words/sentence';
import type { ClusterPrintResult } from './cluster-print';
import { LateResults, type Waiter } from './late-results';
import { Ledger } from './ledger';
import type { PendingWait, PendingWaits } from './pending-waits';
import {
  type Awaited,
  failedResult,
  type PrintRequest,
  type PrintResult,
  progress,
  type Progress,
} from './print-request';

const FAILURES = {
  failed: phrase`The print failed: check the printer.`,
  aborted: phrase`The print was aborted.`,
  ended: phrase`The print left the printer, and neither its history nor the job’s record tells how it ended: check the printer.`,
};
const DISCONNECTED = phrase`The printer is no longer connected to the account, so the end of the print can’t be seen: check the printer.`;

interface AwaitedEndDeps {
  watcher: Watcher;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

type EndWaiter = Pick<PrintRequest, 'signal' | 'onProgress' | 'onStale'>;
type DispatchedPrint = ClusterPrintResult & Pick<PrintRequest, 'printKey'>;

/**
 * Waits for the end of a dispatched print, and records it for repeats of its print key. Returns the print's result,
 * with PRINT_FAILED if the print did not finish well, and with PRINT_OUTCOME_UNKNOWN if its printing can't be
 * identified. Null: the wait was cancelled, and the node's successor resumes it. Never rejects.
 */
export const awaitEnd = (
  deps: AwaitedEndDeps,
  ledger: Ledger,
  waiter: EndWaiter,
  print: DispatchedPrint,
): Promise<PrintResult | null> =>
  follow(deps, ledger, waiter, print).catch((thrown: unknown) => failedResult(print.result, asPrintingError(thrown)));

async function follow(
  { watcher, warn }: AwaitedEndDeps,
  ledger: Ledger,
  { signal, onProgress, onStale }: EndWaiter,
  { result, ended, printKey }: DispatchedPrint,
): Promise<PrintResult | null> {
  const { clusterId, clusterJobId, jobId } = result;
  const ids = { clusterId: clusterId ?? undefined, jobId: jobId ?? undefined, clusterJobId: clusterJobId ?? undefined };
  if (clusterId === null || clusterJobId === null)
    throw new PrintingError(
      'PRINT_OUTCOME_UNKNOWN',
      phrase`The print was accepted, but can’t be seen on the printer: look for the job there.`,
      { ids },
    );
  const at = { jobId, clusterJobId };
  const seen: JobEndOptions['onProgress'] = (job, ahead) => {
    // The cluster's id may have changed since the dispatch.
    const now = { ...at, clusterId: job.clusterId ?? clusterId };
    onProgress(progress('printing', { ...now, percent: job.progress, job, secondsLeft: job.timeRemaining, ahead }));
  };
  const options = { signal, onProgress: seen, onStale: () => onStale?.(clusterJobId) };
  const end = ended ?? (await watcher.follow(clusterId, clusterJobId, options).catch(() => null));
  // A disconnected print may still be running, so its end is unknown.
  if (end && !ended && !end.isDisconnected && printKey)
    await ledger.end({ clusterId, printKey }, end).catch((thrown: unknown) => {
      warn(phrase`The end of a print could not be saved: ${asPrintingError(thrown).sentence}`);
    });
  if (!end || signal.aborted) return null;
  const { outcome, job, clusterId: endedOn = clusterId, isDisconnected } = end;
  if (outcome !== 'finished')
    throw new PrintingError('PRINT_FAILED', isDisconnected ? DISCONNECTED : FAILURES[outcome], {
      ids: { ...ids, clusterId: endedOn },
    });
  onProgress(progress('finished', { ...at, clusterId: endedOn, percent: 100, job }));
  return { ...result, clusterId: endedOn, status: 'finished', job };
}

/** A node's waits for the ends of prints. `result.error` is set if the print did not finish well. */
export type LatePrints = LateResults<Awaited, PrintResult>;

/** The node that waits for prints. */
export interface PrintWaiter extends Waiter<Awaited, PrintResult> {
  /** Reports the progress of resumed waits. */
  onProgress: (progress: Progress) => void;
  /** A poll failed: the last progress of an awaited print is stale. */
  onStale?: ((clusterJobId: string) => void) | undefined;
}

interface LatePrintsDeps {
  pendingWaits: PendingWaits<PendingWait<Awaited>>;
  watcher: Watcher;
  runtimes: Peers;
  store: StateStore;
  scope: CurrentScope;
  signIn: SignInWatch;
  clock: Clock;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

export const latePrints = (deps: LatePrintsDeps, waiter: PrintWaiter): LatePrints =>
  new LateResults(
    { ...deps, awaitEnd: (scope, print) => awaitEnd(deps, new Ledger(deps.store, scope), waiter, print) },
    waiter,
  );
