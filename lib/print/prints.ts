import type { Deadline } from '../time/deadline';
import type { Service } from '../account/service';
import { asPrintingError, PrintingError, withIds } from '../service/errors';
import type { PrintJob } from '../service/print-job';
import { flag, record } from '../service/wire';
import type { Clock } from '../time/clock';
import type { Source } from '../upload/source';
import type { Uploads, Uploaded } from '../upload/uploads';
import type { Watcher } from '../watch/watcher';
import type { Dispatcher } from './dispatcher';
import type { Ledger } from './ledger';

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
  /** The node or runtime closes: ends the wait for a print's end. */
  signal: AbortSignal;
  onProgress: (progress: Progress) => void;
  /** Called once per cluster (once in all where nothing is printed), as soon as its result stands. */
  onResult: (result: PrintResult, index: number) => void;
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

/** Output 2 of upload and print (reference 3.4); `rate` in bytes per second and `secondsLeft` are for the node's status. */
export interface Progress {
  stage: Stage;
  percent: number | null;
  bytesSent: number | null;
  bytesTotal: number | null;
  jobId: string | null;
  clusterJobId: string | null;
  clusterId: string | null;
  job: PrintJob | null;
  rate: number | null;
  secondsLeft: number | null;
}

const NOTHING: Progress = {
  stage: 'preparing',
  percent: null,
  bytesSent: null,
  bytesTotal: null,
  jobId: null,
  clusterJobId: null,
  clusterId: null,
  job: null,
  rate: null,
  secondsLeft: null,
};

/** Where one cluster stands after everything up to the dispatch. */
type Outcome = { result: PrintResult; error?: never } | { error: PrintingError; result?: never };

/** Stores a file and prints it: upload, exactly one dispatch per cluster, and the wait for the end. */
export class Prints {
  readonly #deps: PrintsDeps;
  readonly #running = new Set<Promise<unknown>>();

  constructor(deps: PrintsDeps) {
    this.#deps = deps;
  }

  /** Throws the first failure, after all that succeeded was told by `onResult`. */
  async run(request: PrintRequest): Promise<void> {
    const failures = new Map<number, PrintingError>();
    const outcomes = await this.#upToDispatch(request);
    const ends = outcomes.map(async (outcome, index) => {
      const clusterId = request.clusterIds[index] ?? null;
      try {
        if (outcome.error) throw outcome.error;
        request.onResult(await this.#finish(request, outcome.result), index);
      } catch (thrown) {
        const error = asPrintingError(thrown);
        failures.set(index, error);
        const result = outcome.result ?? { ...EMPTY, clusterId, jobId: error.ids.jobId ?? null };
        request.onResult({ ...result, clusterId, printed: false, error }, index);
      }
    });
    await Promise.all(ends);
    const [first] = [...failures].sort(([one], [other]) => one - other);
    if (first) throw first[1];
  }

  /** Resolves when no dispatch is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  async #upToDispatch(request: PrintRequest): Promise<Outcome[]> {
    return holdAll(
      request.printKey && request.print && !request.dryRun ? [...new Set(request.clusterIds)].sort() : [],
      () => this.#locked(request, request.deadline),
      (clusterId, inner) => this.#deps.ledger.holdKey(clusterId, request.printKey, inner, request.deadline),
    );
  }

  async #locked(request: PrintRequest, deadline: Deadline): Promise<Outcome[]> {
    const { clusterIds, print, dryRun } = request;
    if (!print) {
      const uploaded = await this.#upload(request, deadline);
      return [{ result: { ...EMPTY, ...uploaded, dryRun } }];
    }
    const earlier = await Promise.all(clusterIds.map((clusterId) => this.#earlier(request, clusterId, deadline)));
    const wanted = clusterIds.filter((_, index) => !earlier[index]);
    const unknown = new Map<string, PrintingError>();
    let uploaded: Uploaded | undefined;
    if (wanted.length) {
      uploaded = await this.#upload(request, deadline, async () => {
        await Promise.all(
          wanted.map((clusterId) =>
            this.#check(request, clusterId, deadline).catch((error: unknown) =>
              unknown.set(clusterId, withIds(asPrintingError(error), { clusterId })),
            ),
          ),
        );
        const first = wanted.length === unknown.size ? unknown.get(wanted[0] ?? '') : undefined;
        if (first) throw first;
      });
    }
    return Promise.all(
      clusterIds.map(async (clusterId, index): Promise<Outcome> => {
        const known = earlier[index];
        if (known) return { result: known };
        const error = unknown.get(clusterId);
        if (error) return { error };
        if (dryRun) return { result: { ...EMPTY, ...uploaded, clusterId, dryRun } };
        return this.#dispatch(request, clusterId, uploaded as Uploaded, deadline);
      }),
    );
  }

  /** The first result of this print key, if there is one. */
  async #earlier(request: PrintRequest, clusterId: string, deadline: Deadline): Promise<PrintResult | undefined> {
    const { printKey, dryRun } = request;
    if (!printKey) return undefined;
    const entry = await this.#deps.ledger.find(clusterId, printKey);
    if (!entry) return undefined;
    const look = { clusterId, printKey, entry, deadline };
    const done = entry.done ?? (dryRun ? null : await this.#deps.dispatcher.lookAgain(look));
    if (!done) return undefined;
    const note = record(entry.note) ?? {};
    return { ...EMPTY, ...(note as Partial<PrintResult>), ...done, clusterId, printed: true, duplicate: true, dryRun };
  }

  /** Whether the cluster can be printed on as far as reading tells; before a long upload, or instead of a print. */
  async #check({ dryRun }: PrintRequest, clusterId: string, deadline: Deadline): Promise<void> {
    const ids = { cluster_id: clusterId };
    const { data } = await this.#deps.service.call('clusterStatus', { ids, what: 'the cluster', deadline });
    if (dryRun && flag(record(data)?.is_online) === false)
      throw new PrintingError('NOT_ACCEPTED', 'The cluster is offline: switch the printer on or choose another.', {
        ids: { clusterId },
      });
  }

  async #upload(request: PrintRequest, deadline: Deadline, beforeSending?: () => Promise<void>): Promise<Uploaded> {
    const { compress, reuseUpload, dryRun, jobName } = request;
    request.onProgress(NOTHING);
    return this.#deps.uploads.send(await request.source(), {
      ...(jobName ? { jobName } : {}),
      compress,
      reuse: reuseUpload,
      dryRun,
      deadline,
      ...(beforeSending ? { beforeSending } : {}),
      onStage: (stage, progress) => request.onProgress({ ...NOTHING, stage, ...progress }),
    });
  }

  async #dispatch(request: PrintRequest, clusterId: string, uploaded: Uploaded, deadline: Deadline): Promise<Outcome> {
    const { printKey, startNow } = request;
    const jobId = uploaded.jobId ?? '';
    request.onProgress({ ...NOTHING, stage: 'dispatching', jobId, clusterId });
    // What is kept with a print key holds no signed addresses.
    const note = { ...uploaded, raw: null };
    const work = this.#deps.dispatcher.dispatch({ clusterId, jobId, startNow, printKey, note, deadline });
    try {
      const { raw = null, ...done } = await this.#track(work);
      request.onProgress({ ...NOTHING, stage: 'dispatched', jobId, clusterId, clusterJobId: done.clusterJobId });
      return { result: { ...EMPTY, ...uploaded, ...done, clusterId, printed: true, raw } };
    } catch (thrown) {
      return { error: withIds(asPrintingError(thrown), { clusterId, jobId }) };
    }
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }

  /** The result as it is wanted: at once, or when the print has ended well. */
  async #finish(request: PrintRequest, result: PrintResult): Promise<PrintResult> {
    const { clusterId, clusterJobId, jobId } = result;
    if (request.waitFor !== 'finished' || !result.printed || result.dryRun || !clusterId) return result;
    const ids = { clusterId, jobId: jobId ?? undefined, clusterJobId: clusterJobId ?? undefined };
    if (!clusterJobId)
      throw new PrintingError(
        'PRINT_OUTCOME_UNKNOWN',
        'The print was taken but can’t be seen on the cluster: look there for the job.',
        { ids },
      );
    const at = { jobId, clusterJobId, clusterId };
    const { outcome, job } = await this.#deps.watcher.follow(clusterId, clusterJobId, {
      signal: request.signal,
      onProgress: (job) =>
        request.onProgress({
          ...NOTHING,
          ...at,
          stage: 'printing',
          percent: job.progress,
          job,
          secondsLeft: job.timeRemaining,
        }),
    });
    if (outcome === 'finished') {
      request.onProgress({ ...NOTHING, ...at, stage: 'finished', percent: 100, job });
      return { ...result, status: 'finished', job };
    }
    const sentence = {
      failed: 'The print failed: look at the printer.',
      aborted: 'The print was aborted.',
      ended:
        'The print left the printer, and neither its history nor the job’s record tells how it ended: look at the printer.',
    }[outcome];
    throw new PrintingError('PRINT_FAILED', sentence, { ids });
  }
}

interface PrintsDeps {
  service: Service;
  uploads: Uploads;
  ledger: Ledger;
  dispatcher: Dispatcher;
  watcher: Watcher;
  clock: Clock;
}

const EMPTY: PrintResult = {
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
};

/** Holds all `names`, in their order, while `work` runs. */
function holdAll<T>(
  names: string[],
  work: () => Promise<T>,
  hold: (name: string, inner: () => Promise<T>) => Promise<T>,
): Promise<T> {
  const [first, ...rest] = names;
  return first === undefined ? work() : hold(first, () => holdAll(rest, work, hold));
}
