import type { ApiClient } from '../account/api-client';
import { asPrintingError, PrintingError } from '../service/errors';
import { describeReason, type PrintJob, storedJob } from '../service/print-job';
import { noneMatches, type PrinterFilter } from '../service/printer-filter';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { CurrentScope, Scope, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { allToTheirEnds, Turns } from '../time/concurrency';
import { closed, type Deadline } from '../time/deadline';
import type { Uploads } from '../upload/uploads';
import { readPrinters, sift } from '../watch/polling/cluster-list';
import type { JobEnd, JobEndOptions } from '../watch/views/job-end-waiter';
import type { Watcher } from '../watch/watcher';
import { phrase, type Sentence } from '../words/sentence';
import type { ClusterPrint, ClusterPrintResult } from './cluster-print';
import { Ledger } from './ledger';
import {
  type Awaited,
  failedResult,
  type PrintRequest,
  printResult,
  type PrintResult,
  progress,
} from './print-request';
import { SharedUpload } from './shared-upload';

interface PrintsDeps {
  service: ApiClient;
  clock: Clock;
  uploads: Uploads;
  clusterPrint: ClusterPrint;
  watcher: Watcher;
  store: StateStore;
  scope: CurrentScope;
  signIn: SignInWatch;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

/** Time after which a printer that the account lacks counts as disconnected, ms: less may be a fault of the service. */
const MISSING_FOR = 2 * 24 * 3600_000;

/** A print whose end is awaited. */
type DispatchedPrint = ClusterPrintResult & Pick<Awaited, 'printKey'>;

/** Receives the progress of an awaited print, until its signal cancels the wait. */
type EndWaiter = Pick<PrintRequest, 'signal' | 'onProgress' | 'onStale'>;

/** Stores a file and prints it: one upload, and for each cluster a dispatch, a wait for the end, and a result. */
export class Prints {
  readonly #deps: PrintsDeps;
  readonly #chosenPrint: ChosenPrint;
  /** Prints without a result so far, or with one but without their wait for the end. */
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(deps: PrintsDeps) {
    this.#deps = deps;
    this.#chosenPrint = new ChosenPrint(deps.clusterPrint, new IdlePrinters(deps));
  }

  /** Returns the clusters whose printers a filter matches. Throws NOT_ACCEPTED without one, and the errors of the list. */
  async matching(filter: PrinterFilter, deadline: Deadline): Promise<string[]> {
    const printers = await readPrinters(this.#deps.service, deadline);
    const { found, misfits } = await sift(filter, printers, deadline.clock);
    if (found.length === 0) throw noneMatches(misfits);
    return found.map(({ clusterId }) => clusterId);
  }

  /** Throws the first failure, in the order of the clusters, after `onResult` has received every result. */
  async run(request: PrintRequest): Promise<void> {
    const failures = request.print ? await this.#print(request) : [await this.#store(request)];
    const first = failures.find((failure) => failure !== undefined);
    if (first) throw first;
  }

  /** Resolves when each print under way has a result, and has begun its wait for the end. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  async #store(request: PrintRequest): Promise<PrintingError | undefined> {
    const { dryRun } = request;
    const stored = new SharedUpload(this.#deps.uploads, request).stored();
    const result = await stored.then(
      (uploaded) => printResult({ ...uploaded, dryRun }),
      (thrown: unknown) => failedResult(printResult(), asPrintingError(thrown)),
    );
    return report(request, result, 0);
  }

  async #print(request: PrintRequest): Promise<(PrintingError | undefined)[]> {
    const { clusterIds, chooseIdle, deadline } = request;
    const upload = new SharedUpload(this.#deps.uploads, request);
    // One print stays in one scope, even if a sign-in changes the current one.
    const ledger = deadline.wait(this.#deps.scope()).then((scope) => new Ledger(this.#deps.store, scope));
    const turns = new Turns(deadline.clock);
    const onCluster = async (clusterId: string) => {
      const held = (await ledger).within(deadline);
      await turns.next();
      return this.#deps.clusterPrint.run(request, clusterId, upload, held);
    };
    const onChosen = async (filter: PrinterFilter) =>
      this.#chosenPrint.run(request, filter, upload, (await ledger).within(deadline));
    const dispatches = chooseIdle ? [onChosen(chooseIdle)] : clusterIds.map(onCluster);
    const dispatched = Promise.allSettled(dispatches).then(() => upload.end());
    try {
      const finish = (dispatch: Promise<ClusterPrintResult>, index: number) =>
        this.#finish(request, index, dispatch, { ledger, turns });
      return await allToTheirEnds(dispatches.map(finish));
    } finally {
      await dispatched;
    }
  }

  /** Reports a cluster's result, at once or when the print has ended. Resolves with its error. */
  async #finish(
    request: PrintRequest,
    index: number,
    dispatch: Promise<ClusterPrintResult>,
    { ledger, turns }: { ledger: Promise<Ledger>; turns: Turns },
  ): Promise<PrintingError | undefined> {
    const { waitFor, clusterIds, printKey, onWait } = request;
    const failed = (thrown: unknown): ClusterPrintResult => {
      const known = printResult({ clusterId: clusterIds[index] ?? null });
      return { result: failedResult(known, asPrintingError(thrown)) };
    };
    const begin = async () => {
      const { result, ended } = await dispatch.catch(failed);
      // All may fail at the same moment.
      await turns.next();
      if (waitFor !== 'finished' || !result.printed || result.dryRun) return { result };
      const { scope } = await ledger;
      const isOpen = !ended && result.clusterJobId !== null;
      const awaited = { printKey, index, result: { ...result, raw: null, job: null } };
      return { result, ended, scope, wait: isOpen ? onWait?.(scope, awaited) : undefined };
    };
    const { result, ended, scope, wait } = await this.#track(begin());
    if (!scope) return report(request, result, index);
    const end = await this.awaitEnd(scope, { result, ended, printKey }, request);
    if (!wait) return report(request, end ?? failedResult(result, closed()), index);
    if (!end) {
      wait.abandon();
      return undefined;
    }
    // The store is read first and written later; by then a failure has been reported as well.
    const isOurs = await wait.handOver(() => request.onResult(end, index));
    return isOurs ? end.error : undefined;
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    return work.finally(() => this.#underWay.delete(work));
  }

  /**
   * Waits for the end of a dispatched print, and records it for repeats of its print key. Returns the print's result,
   * with PRINT_FAILED if the print did not finish well, and with PRINT_OUTCOME_UNKNOWN if its printing or its printer can't
   * be found. Null: the wait was cancelled, and the node's successor resumes it. Never rejects.
   */
  async awaitEnd(scope: Scope, print: DispatchedPrint, waiter: EndWaiter): Promise<PrintResult | null> {
    try {
      return await this.#follow(scope, print, waiter);
    } catch (thrown) {
      return failedResult(print.result, asPrintingError(thrown));
    }
  }

  async #follow(
    scope: Scope,
    { result, ended, printKey }: DispatchedPrint,
    { signal, onProgress, onStale }: EndWaiter,
  ): Promise<PrintResult | null> {
    const { watcher, store, warn } = this.#deps;
    const { clusterId, clusterJobId, jobId } = result;
    const ids = { clusterId: clusterId ?? undefined, jobId: jobId ?? undefined };
    if (clusterId === null || clusterJobId === null) {
      const sentence = phrase`The print was accepted, but can’t be seen on the printer: look for the job there.`;
      throw new PrintingError('PRINT_OUTCOME_UNKNOWN', sentence, { ids });
    }
    const at = { jobId, clusterJobId };
    const seen: JobEndOptions['onProgress'] = (job, ahead) => {
      // The cluster's id may have changed since the dispatch.
      const now = { ...at, clusterId: job.clusterId ?? clusterId };
      onProgress(progress('printing', { ...now, percent: job.progress, job, secondsLeft: job.timeRemaining, ahead }));
    };
    const options = { onProgress: seen, onStale: () => onStale?.(clusterJobId), missingFor: MISSING_FOR };
    const follow = (within: AbortSignal) => watcher.follow(clusterId, clusterJobId, { ...options, signal: within });
    const end = ended ?? (await this.#inScope(scope, signal, follow, options.onStale));
    // A disconnected print may still be running, so its end is unknown.
    if (end && !ended && !end.isDisconnected && printKey)
      await new Ledger(store, scope).end({ clusterId, printKey }, end).catch((thrown: unknown) => {
        warn(phrase`The end of a print could not be saved: ${asPrintingError(thrown).sentence}`);
      });
    if (!end || signal.aborted) return null;
    const { outcome, clusterId: endedOn = clusterId, isDisconnected } = end;
    // A print key may have stored the job of an earlier version.
    const job = end.job && storedJob(end.job);
    const failedIds = { ...ids, clusterJobId, clusterId: endedOn };
    if (isDisconnected) throw new PrintingError('PRINT_OUTCOME_UNKNOWN', DISCONNECTED, { ids: failedIds });
    if (outcome !== 'finished') throw new PrintingError('PRINT_FAILED', failureOf(outcome, job), { ids: failedIds });
    onProgress(progress('finished', { ...at, clusterId: endedOn, percent: 100, job }));
    return { ...result, clusterId: endedOn, status: 'finished', job };
  }

  /**
   * Follows a print while the account's scope is its own: another workspace shows neither the print nor its printer. In any
   * other scope it rests. Null: the signal has aborted, or the account was closed.
   */
  async #inScope(
    scope: Scope,
    signal: AbortSignal,
    follow: (signal: AbortSignal) => Promise<JobEnd>,
    onRest: () => void,
  ): Promise<JobEnd | null> {
    while (!signal.aborted) {
      if (!(await this.#isIn(scope))) onRest();
      await this.#scopeIs(true, scope, signal).reached;
      const left = this.#scopeIs(false, scope, signal);
      const stay = new AbortController();
      void left.reached.then(() => stay.abort(closed()));
      const end = await follow(stay.signal).catch(() => null);
      left.stop();
      if (end || !stay.signal.aborted) return end;
    }
    return null;
  }

  /** `reached` resolves once the account's scope is this one, or is not (`wanted` false), when the signal aborts, or at `stop`. */
  #scopeIs(wanted: boolean, scope: Scope, signal: AbortSignal): { reached: Promise<void>; stop: () => void } {
    let open: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => (open = resolve));
    const check = () => void this.#isIn(scope).then((isIn) => isIn === wanted && stop());
    const unsubscribe = this.#deps.signIn.onChange(check);
    const stop = () => {
      unsubscribe();
      signal.removeEventListener('abort', stop);
      open();
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    else check();
    return { reached, stop };
  }

  /** Whether the account's scope is this one; also while it can't be read, as nothing is polled then. */
  async #isIn(scope: Scope): Promise<boolean> {
    const current = await this.#deps.scope().catch(() => scope);
    return scope.every((word, at) => word === current[at]);
  }
}

const FAILURES = {
  failed: phrase`The print failed: check the printer.`,
  aborted: phrase`The print was aborted.`,
  ended: phrase`The print left the printer, and neither its history nor the job’s record tells how it ended: check the printer.`,
};

/** Says that a print did not end well, and why, if the service says it. */
function failureOf(outcome: keyof typeof FAILURES, job: PrintJob | null): Sentence {
  const reason = job && describeReason(job);
  return reason ? phrase`${FAILURES[outcome]} The service says: ${reason}` : FAILURES[outcome];
}

const DISCONNECTED = phrase`The printer is no longer connected to the account, so the end of the print can’t be seen: check the printer.`;

function report({ onResult }: PrintRequest, result: PrintResult, index: number): PrintingError | undefined {
  onResult(result, index);
  return result.error;
}

/**
 * Prints a request on an idle printer. A print key keeps its printer: the choice is written under the key's lock before
 * the dispatch, and as long as the chosen cluster has an entry of the key, a repeat goes there and has the first result.
 * Without an entry nothing was printed, so a repeat chooses again (ADR 25).
 */
class ChosenPrint {
  constructor(
    private readonly clusterPrint: ClusterPrint,
    private readonly idlePrinters: IdlePrinters,
  ) {}

  /** Throws NOT_ACCEPTED if no printer suits, and the errors of `ClusterPrint.run`. */
  run(request: PrintRequest, filter: PrinterFilter, upload: SharedUpload, ledger: Ledger): Promise<ClusterPrintResult> {
    const { printKey, dryRun, deadline } = request;
    const work = async (held: Ledger, limit: Deadline) => {
      const limited = { ...request, deadline: limit };
      const print = (clusterId: string) => this.clusterPrint.run(limited, clusterId, upload, held);
      const earlier = printKey ? await printed(held, printKey) : undefined;
      if (earlier !== undefined) return print(earlier);
      const clusterId = await this.idlePrinters.choose(filter, { isReserved: !dryRun, deadline: limit });
      if (dryRun) return print(clusterId);
      let isSent = false;
      try {
        if (printKey) await held.recordChoice(printKey, clusterId);
        const done = await print(clusterId);
        isSent = done.result.printed && !done.result.duplicate;
        return done;
      } catch (thrown) {
        isSent = asPrintingError(thrown).code === 'PRINT_OUTCOME_UNKNOWN';
        throw thrown;
      } finally {
        this.idlePrinters.release(clusterId, isSent);
      }
    };
    return printKey && !dryRun ? ledger.waitForChoice(printKey, work, deadline) : work(ledger, deadline);
  }
}

/** The cluster that has printed a key, or may have; undefined if nothing was printed. */
async function printed(ledger: Ledger, printKey: string): Promise<string | undefined> {
  const clusterId = await ledger.choice(printKey);
  return clusterId !== undefined && (await ledger.find({ clusterId, printKey })) ? clusterId : undefined;
}

/** Time for which the list may still show a printer as idle after a print was sent, ms (wire facts 7). */
const LAG = 30_000;

/** Chooses idle printers, each for one print at a time. */
class IdlePrinters {
  /** Time until which a cluster counts as busy, whatever the list says, ms. */
  readonly #busyUntil = new Map<string, number>();

  constructor(private readonly deps: { service: ApiClient; clock: Clock }) {}

  /**
   * Returns the first cluster of the list whose printer is idle and matches the filter; if reserved, it counts as busy
   * until `release`. Throws NOT_ACCEPTED without one, and the errors of the list.
   */
  async choose(filter: PrinterFilter, options: { isReserved: boolean; deadline: Deadline }): Promise<string> {
    const listed = await readPrinters(this.deps.service, options.deadline);
    const { found, misfits } = await sift({ ...filter, idle: null }, listed, this.deps.clock);
    // No wait from here on, so that no two prints choose the same printer.
    const now = this.deps.clock.monotonic();
    for (const [clusterId, until] of this.#busyUntil) if (until <= now) this.#busyUntil.delete(clusterId);
    const first = found.find(({ idle, clusterId }) => idle && !this.#busyUntil.has(clusterId));
    if (!first) throw noneMatches([...misfits, ...found.map(() => 'idle' as const)]);
    if (options.isReserved) this.#busyUntil.set(first.clusterId, Infinity);
    return first.clusterId;
  }

  /** Releases a cluster: at once, or if a print was sent, when the list shows it. */
  release(clusterId: string, isSent: boolean): void {
    if (isSent) this.#busyUntil.set(clusterId, this.deps.clock.monotonic() + LAG);
    else this.#busyUntil.delete(clusterId);
  }
}
