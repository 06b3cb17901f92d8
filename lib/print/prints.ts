import { asPrintingError, withIds, type PrintingError } from '../service/errors';
import type { CurrentScope } from '../state/scope';
import type { StateStore } from '../state/store';
import type { Uploads } from '../upload/uploads';
import type { Watcher } from '../watch/watcher';
import { awaitEnd } from './awaited-end';
import type { ClusterPrint, ClusterResult } from './cluster-print';
import { Ledger } from './ledger';
import { printResult, type PrintRequest, type PrintResult } from './print-request';
import { SharedUpload } from './shared-upload';

export * from './print-request';

/** Stores a file and prints it: one upload, and for each cluster a dispatch, a wait for the end, and a result. */
export class Prints {
  readonly #deps: PrintsDeps;

  constructor(deps: PrintsDeps) {
    this.#deps = deps;
  }

  /** Throws the first failure, in the order of the clusters, after every result was told by `onResult`. */
  async run(request: PrintRequest): Promise<void> {
    const failures = request.print ? await this.#print(request) : [await this.#store(request)];
    const first = failures.find((failure) => failure !== undefined);
    if (first) throw first;
  }

  async #store(request: PrintRequest): Promise<PrintingError | undefined> {
    const upload = new SharedUpload(this.#deps.uploads, request);
    return this.#tell(request, 0, printResult(), async () => {
      const uploaded = await upload.stored();
      return printResult({ ...uploaded, dryRun: request.dryRun });
    });
  }

  async #print(request: PrintRequest): Promise<(PrintingError | undefined)[]> {
    const { clusterIds } = request;
    const upload = new SharedUpload(this.#deps.uploads, request);
    // What belongs to one print stays in one scope, though a sign-in may change it meanwhile.
    const ledger = request.deadline.wait(this.#deps.scope()).then((scope) => new Ledger(this.#deps.store, scope));
    const dispatches = clusterIds.map(async (clusterId) =>
      this.#deps.clusterPrint.run(request, clusterId, upload, await ledger),
    );
    const dispatched = Promise.allSettled(dispatches).then(() => upload.end());
    try {
      return await Promise.all(dispatches.map((dispatch, index) => this.#finish(request, index, dispatch, ledger)));
    } finally {
      await dispatched;
    }
  }

  /** A cluster's result as it is wanted: at once, or when the print has ended well. */
  #finish(
    request: PrintRequest,
    index: number,
    dispatch: Promise<ClusterResult>,
    ledger: Promise<Ledger>,
  ): Promise<PrintingError | undefined> {
    const { printKey, waitFor, clusterIds } = request;
    const clusterId = clusterIds[index] ?? '';
    const known = printResult({ clusterId });
    return this.#tell(request, index, known, async () => {
      const dispatched = await dispatch;
      Object.assign(known, dispatched.result);
      if (waitFor !== 'finished' || !known.printed || known.dryRun) return known;
      return awaitEnd(this.#deps.watcher, request, dispatched, async (ended) => {
        if (!printKey) return;
        const key = { clusterId, printKey };
        await (
          await ledger
        )
          .end(key, ended)
          .catch((error: unknown) => this.#deps.warn(`The end of a print could not be saved: ${messageOf(error)}`));
      });
    });
  }

  /** Tells the result of `work`, or its failure with as much of the result as is `known`. */
  async #tell(
    { onResult }: PrintRequest,
    index: number,
    known: PrintResult,
    work: () => Promise<PrintResult>,
  ): Promise<PrintingError | undefined> {
    const end = await work().then(
      (result) => ({ result, error: undefined }),
      (thrown: unknown) => {
        const error = withIds(asPrintingError(thrown), { clusterId: known.clusterId ?? undefined });
        return { result: { ...known, jobId: known.jobId ?? error.ids.jobId ?? null, printed: false, error }, error };
      },
    );
    onResult(end.result, index);
    return end.error;
  }
}

interface PrintsDeps {
  uploads: Uploads;
  clusterPrint: ClusterPrint;
  watcher: Watcher;
  store: StateStore;
  scope: CurrentScope;
  /** For the log. */
  warn: (sentence: string) => void;
}

const messageOf = (error: unknown): string => asPrintingError(error).message;
