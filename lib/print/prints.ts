import type { ApiClient } from '../account/api-client';
import { asPrintingError, type PrintingError } from '../service/errors';
import { matches, noneMatches, type PrinterFilter } from '../service/printer-filter';
import type { CurrentScope, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { closed, type Deadline } from '../time/deadline';
import type { Uploads } from '../upload/uploads';
import { readPrinters } from '../watch/polling/cluster-list';
import type { Watcher } from '../watch/watcher';
import type { Sentence } from '../words/sentence';
import type { ClusterPrint, ClusterPrintResult } from './cluster-print';
import { awaitEnd } from './late-prints';
import { Ledger } from './ledger';
import { failedResult, type PrintRequest, printResult, type PrintResult, type Wait } from './print-request';
import { SharedUpload } from './shared-upload';

/**
 * Prints a request on an idle printer. A print key keeps its printer: the choice is written under the key's lock before
 * the dispatch, and as long as the chosen cluster has an entry of the key, a repeat goes there and has the first result.
 * Without an entry nothing was printed, so a repeat chooses again.
 */
export class ChosenPrint {
  constructor(
    private readonly clusterPrint: ClusterPrint,
    private readonly idlePrinters: IdlePrinters,
  ) {}

  /** Throws NOT_ACCEPTED if no printer suits, and the errors of `ClusterPrint.run`. */
  run(
    request: PrintRequest,
    filter: PrinterFilter,
    upload: SharedUpload,
    lasting: Ledger,
  ): Promise<ClusterPrintResult> {
    const { printKey, dryRun, deadline } = request;
    const ledger = lasting.within(deadline);
    const work = async (held: Ledger, limit: Deadline) => {
      const limited = { ...request, deadline: limit };
      const print = (clusterId: string) => this.clusterPrint.run(limited, clusterId, upload, held);
      const earlier = printKey ? await printed(held, printKey) : undefined;
      if (earlier !== undefined) return print(earlier);
      const clusterId = await this.idlePrinters.take(filter, limit);
      let isSent = false;
      try {
        if (printKey && !dryRun) await held.recordChoice(printKey, clusterId);
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
    return printKey && !dryRun ? ledger.holdChoice(printKey, work, deadline) : work(ledger, deadline);
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
export class IdlePrinters {
  /** Time until which a cluster counts as busy, whatever the list says, ms. */
  readonly #taken = new Map<string, number>();

  constructor(private readonly deps: { service: ApiClient; clock: Clock }) {}

  /**
   * Returns the first cluster of the list whose printer is idle and matches the filter; it counts as busy until
   * `release`. Throws NOT_ACCEPTED without one, and the errors of the list.
   */
  async take(filter: PrinterFilter, deadline: Deadline): Promise<string> {
    const wanted = { ...filter, idle: true };
    const listed = await readPrinters(this.deps.service, deadline);
    // No wait from here on, so that no two prints choose the same printer.
    const now = this.deps.clock.monotonic();
    for (const [clusterId, until] of this.#taken) if (until <= now) this.#taken.delete(clusterId);
    const printers = listed.map((one) => ({ ...one, idle: one.idle && !this.#taken.has(one.clusterId) }));
    const first = printers.find((printer) => matches(wanted, printer));
    if (!first) throw noneMatches(wanted, printers);
    this.#taken.set(first.clusterId, Infinity);
    return first.clusterId;
  }

  /** Releases a cluster: at once, or if a print was sent, when the list shows it. */
  release(clusterId: string, isSent: boolean): void {
    if (isSent) this.#taken.set(clusterId, this.deps.clock.monotonic() + LAG);
    else this.#taken.delete(clusterId);
  }
}

/** Stores a file and prints it: one upload, and for each cluster a dispatch, a wait for the end, and a result. */
export class Prints {
  readonly #deps: PrintsDeps;
  readonly #chosenPrint: ChosenPrint;

  constructor(deps: PrintsDeps) {
    this.#deps = deps;
    this.#chosenPrint = new ChosenPrint(deps.clusterPrint, new IdlePrinters(deps));
  }

  /** Returns the clusters whose printers a filter matches. Throws NOT_ACCEPTED without one, and the errors of the list. */
  async matching(filter: PrinterFilter, deadline: Deadline): Promise<string[]> {
    const printers = await readPrinters(this.#deps.service, deadline);
    const found = printers.filter((printer) => matches(filter, printer));
    if (found.length === 0) throw noneMatches(filter, printers);
    return found.map(({ clusterId }) => clusterId);
  }

  /** Throws the first failure, in the order of the clusters, after `onResult` has received every result. */
  async run(request: PrintRequest): Promise<void> {
    const failures = request.print ? await this.#print(request) : [await this.#store(request)];
    const first = failures.find((failure) => failure !== undefined);
    if (first) throw first;
  }

  async #store(request: PrintRequest): Promise<PrintingError | undefined> {
    const upload = new SharedUpload(this.#deps.uploads, request);
    return this.#report(request, 0, printResult(), async () => {
      const uploaded = await upload.stored();
      return printResult({ ...uploaded, dryRun: request.dryRun });
    });
  }

  async #print(request: PrintRequest): Promise<(PrintingError | undefined)[]> {
    const { clusterIds, chooseIdle } = request;
    const upload = new SharedUpload(this.#deps.uploads, request);
    // One print stays in one scope, even if a sign-in changes the current one.
    const ledger = request.deadline.wait(this.#deps.scope()).then((scope) => new Ledger(this.#deps.store, scope));
    const onCluster = async (clusterId: string) =>
      this.#deps.clusterPrint.run(request, clusterId, upload, await ledger);
    const onChosen = async (filter: PrinterFilter) => this.#chosenPrint.run(request, filter, upload, await ledger);
    const dispatches = chooseIdle ? [onChosen(chooseIdle)] : clusterIds.map(onCluster);
    const dispatched = Promise.allSettled(dispatches).then(() => upload.end());
    try {
      return await Promise.all(dispatches.map((dispatch, index) => this.#finish(request, index, dispatch, ledger)));
    } finally {
      await dispatched;
    }
  }

  /** Reports a cluster's result: at once, or when the print has finished well. */
  #finish(
    request: PrintRequest,
    index: number,
    dispatch: Promise<ClusterPrintResult>,
    ledger: Promise<Ledger>,
  ): Promise<PrintingError | undefined> {
    const { waitFor, clusterIds } = request;
    const clusterId = clusterIds[index] ?? null;
    const known = printResult({ clusterId });
    return this.#report(request, index, known, async () => {
      const dispatched = await dispatch;
      Object.assign(known, dispatched.result);
      if (waitFor !== 'finished' || !known.printed || known.dryRun) return known;
      return this.#awaitEnd(request, index, dispatched, await ledger);
    });
  }

  /** The result of a print that has ended, and its stored wait, which ends when the result is handed over. */
  async #awaitEnd(
    request: PrintRequest,
    index: number,
    dispatched: ClusterPrintResult,
    ledger: Ledger,
  ): Promise<DeliveredResult> {
    const { printKey, onWait } = request;
    const { result, ended } = dispatched;
    const isOpen = !ended && result.clusterJobId !== null;
    const wait = isOpen
      ? onWait?.(ledger.scope, { printKey, index, result: { ...result, raw: null, job: null } })
      : undefined;
    const known = await awaitEnd(this.#deps, ledger, request, { ...dispatched, printKey });
    if (!known && !wait) throw closed();
    return { result: known, wait };
  }

  /** Reports the result of `work`, or its failure with the `known` part of the result. */
  async #report(
    { onResult }: PrintRequest,
    index: number,
    known: PrintResult,
    work: () => Promise<PrintResult | DeliveredResult>,
  ): Promise<PrintingError | undefined> {
    const end = await work().catch((thrown: unknown) => failedResult(known, asPrintingError(thrown)));
    const { result, wait } = 'result' in end ? end : { result: end, wait: undefined };
    if (!result) {
      wait?.abandon();
      return undefined;
    }
    const deliver = () => onResult(result, index);
    if (!wait) deliver();
    // The store is read first and written later; by then a failure has been reported as well.
    else if (!(await wait.handOver(deliver))) return undefined;
    return result.error;
  }
}

interface DeliveredResult {
  /** Null: a stored wait was interrupted. */
  result: PrintResult | null;
  wait: Wait | undefined;
}

interface PrintsDeps {
  service: ApiClient;
  clock: Clock;
  uploads: Uploads;
  clusterPrint: ClusterPrint;
  watcher: Watcher;
  store: StateStore;
  scope: CurrentScope;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}
