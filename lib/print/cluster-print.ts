import { asPrintingError, printerOffline, withIds } from '../service/errors';
import { statusRecord } from '../service/cluster';
import { flag, record } from '../service/json-readers';
import type { Deadline } from '../time/deadline';
import type { StatusReader } from '../watch/polling/status-reader';
import type { JobEnd } from '../watch/views/job-end-waiter';
import type { Uploaded } from '../upload/uploads';
import { type DispatchResult, type Dispatcher, outcomeUnknown } from './dispatcher';
import type { Ledger } from './ledger';
import type { KeyOf } from './open-keys';
import type { UnresolvedPrints } from './unresolved-prints';
import { printResult, progress, type PrintRequest, type PrintResult } from './print-request';
import type { SharedUpload } from './shared-upload';

interface ClusterPrintDeps {
  statusReader: StatusReader;
  dispatcher: Dispatcher;
  unresolvedPrints: UnresolvedPrints;
  /** Called when a print ends without a known outcome. */
  onUnknown: () => void;
}

/** State of one cluster's print after its dispatch. */
export interface ClusterPrintResult {
  result: PrintResult;
  /** End of the print, if it is known already. */
  ended?: JobEnd | undefined;
}

/** Prints a request on one cluster: checks its print key and the cluster, and dispatches exactly once. */
export class ClusterPrint {
  readonly #deps: ClusterPrintDeps;

  constructor(deps: ClusterPrintDeps) {
    this.#deps = deps;
  }

  async run(
    request: PrintRequest,
    clusterId: string,
    upload: SharedUpload,
    ledger: Ledger,
  ): Promise<ClusterPrintResult> {
    const { printKey, dryRun, deadline } = request;
    const work = async (held: Ledger, limit: Deadline): Promise<ClusterPrintResult> => {
      const earlier = printKey ? await this.#earlier({ clusterId, printKey }, request, held, limit) : undefined;
      if (earlier) return earlier;
      await limit.wait(upload.check());
      await this.#checkOnline(clusterId, limit);
      const uploaded = await limit.wait(upload.stored());
      if (dryRun) return { result: printResult({ ...uploaded, clusterId, dryRun }) };
      return { result: await this.#dispatch({ ...request, deadline: limit }, clusterId, uploaded, held) };
    };
    try {
      return await (printKey && !dryRun
        ? ledger.waitForKey({ clusterId, printKey }, work, deadline)
        : work(ledger, deadline));
    } catch (thrown) {
      const error = withIds(asPrintingError(thrown), { ...upload.ids, clusterId });
      if (error.code === 'PRINT_OUTCOME_UNKNOWN') {
        this.#deps.onUnknown();
        if (printKey) this.#deps.unresolvedPrints.add(ledger.scope, clusterId);
      }
      throw error;
    }
  }

  /** The first result of this print key, if there is one. */
  async #earlier(
    key: KeyOf,
    { dryRun, sendOnce }: PrintRequest,
    ledger: Ledger,
    deadline: Deadline,
  ): Promise<ClusterPrintResult | undefined> {
    const entry = await ledger.find(key);
    if (!entry) return undefined;
    const done =
      entry.done ?? (dryRun ? undefined : await this.#deps.dispatcher.searchAgain(ledger, key, entry, deadline));
    if (!done && sendOnce && !dryRun) throw outcomeUnknown(entry.attempt, { end: 'absent' });
    if (!done) return undefined;
    const result = resultOf(key.clusterId, { ...done, note: entry.note, duplicate: true });
    return { result: { ...result, dryRun }, ended: entry.ended };
  }

  /** Throws if the cluster is known to be offline. Runs before a long upload, and in place of a print in a dry run. */
  async #checkOnline(clusterId: string, deadline: Deadline): Promise<void> {
    const status = statusRecord(await this.#deps.statusReader.read(clusterId, { deadline }));
    if (flag(status?.is_online) === false) throw printerOffline();
  }

  async #dispatch(request: PrintRequest, clusterId: string, uploaded: Uploaded, ledger: Ledger): Promise<PrintResult> {
    const { printKey, startNow, deadline, onProgress } = request;
    const jobId = uploaded.jobId ?? '';
    onProgress(progress('dispatching', { jobId, clusterId }));
    // The state stored with a print key holds no signed URLs.
    const note = { ...uploaded, raw: null };
    const work = this.#deps.dispatcher.dispatch(ledger, { clusterId, jobId, startNow, printKey, note, deadline });
    const dispatched = await work.catch((thrown: unknown) => {
      throw withIds(asPrintingError(thrown), { jobId });
    });
    const { jobId: printedJobId, clusterJobId } = dispatched;
    if (clusterJobId === null && printKey) this.#deps.unresolvedPrints.add(ledger.scope, clusterId);
    onProgress(progress('dispatched', { clusterId, jobId: printedJobId, clusterJobId }));
    return resultOf(clusterId, dispatched);
  }
}

const resultOf = (clusterId: string, { note, ...done }: DispatchResult): PrintResult =>
  printResult({ ...(record(note) as Partial<PrintResult> | null), ...done, clusterId, printed: true });
