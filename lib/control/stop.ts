import type { ApiClient } from '../account/api-client';
import { type PrinterEntry, readListedJobs, statusRecord } from '../service/cluster';
import { asPrintingError, printerOffline, type PrintingError } from '../service/errors';
import { isAborting, isOver, occupiesPrinter } from '../service/job-words';
import { flag } from '../service/json-readers';
import type { PrintJob } from '../service/print-job';
import { mapConcurrent, Semaphore } from '../time/concurrency';
import type { Deadline } from '../time/deadline';
import { readPrinters } from '../watch/polling/cluster-list';
import type { StatusReader } from '../watch/polling/status-reader';
import { type CommonActionResult, CONCURRENT, failedAction, type JobControl, namelessPrint } from './job-control';

/** Time until the next look at a printer whose lists may lack a job, or that refused an action, ms. */
const LOOK_AGAIN = 1_000;
/** Printers at a time: most of the time, they carry out what was sent. */
const AT_ONCE = 24;
/** Tries of each action: a printer that refuses may just be between two states. */
const TRIES = 2;

export interface StopRequest {
  /** Undefined: all printers of the account. */
  clusterId: string | undefined;
  /** Resolves when nothing sends further jobs. */
  quiet?: Promise<unknown> | undefined;
  /** Whether a job that was sent before may still appear on a printer. `listed`: those that its lists have shown. */
  mayShow?: ((clusterId: string, listed: ReadonlySet<string>) => boolean) | undefined;
  deadline: Deadline;
  onStage: (stage: 'sending' | 'sent') => void;
}

/**
 * Takes waiting jobs back and aborts prints, until no printer shows another one: a job that waited may begin meanwhile.
 * Printers that the account's list shows at work come first. Returns the last result of each job; a failed one has its
 * error. A job that has ended meanwhile counts as stopped. Throws the errors of the list of printers.
 */
export async function stopJobs(
  service: ApiClient,
  statusReader: StatusReader,
  jobControl: Pick<JobControl, 'run'>,
  request: StopRequest,
): Promise<CommonActionResult[]> {
  const { clusterId, quiet, mayShow, deadline, onStage } = request;
  onStage('sending');
  const ids = clusterId === undefined ? busyFirst(await readPrinters(service, deadline)) : [clusterId];
  const stops = ids.map((id): Stop => {
    const [tries, absent] = [new Map<string, number>(), new Set<string>()];
    return { clusterId: id, listed: new Set(), tries, results: new Map(), absent, unnamed: null };
  });
  const isAwaited = ({ clusterId: id, listed }: Stop) => !deadline.aborted && (mayShow?.(id, listed) ?? false);
  let isQuiet = quiet === undefined;
  const setQuiet = () => (isQuiet = true);
  void quiet?.then(setQuiet, setQuiet);
  // No printer waits for the jobs that are on their way to others.
  const slots = new Semaphore(AT_ONCE);
  /** Returns whether nothing was sent any more when it began. */
  const stopOne = (stop: Stop) =>
    slots.hold(async () => {
      const wasQuiet = isQuiet;
      await stopPrinter(statusReader, jobControl, request, stop);
      return wasQuiet;
    });
  const work = stops.map(async (stop) => {
    if (!(await stopOne(stop))) {
      // A job that was just being sent shows in the next look.
      await quiet;
      await stopOne(stop);
    }
    // However long the others take, another look follows.
    while (isAwaited(stop)) {
      await deadline.sleep(LOOK_AGAIN).catch(() => undefined);
      await stopOne(stop);
    }
  });
  await Promise.all(work);
  return stops.flatMap(({ results, unnamed }) => {
    const all = [...results.values()];
    // A failed result says more than the failure to look again.
    return unnamed && !all.some(({ error }) => error) ? [...all, unnamed] : all;
  });
}

/** The ids of the printers, first of those that the list shows at work, or says nothing of because they are offline. */
function busyFirst(printers: readonly PrinterEntry[]): string[] {
  const isFree = ({ current, jobCount, online }: PrinterEntry) => online === true && current === null && jobCount === 0;
  const busy = printers.filter((printer) => !isFree(printer));
  return [...busy, ...printers.filter(isFree)].map((printer) => printer.clusterId);
}

/** What has become of the stop of a printer so far. */
interface Stop {
  clusterId: string;
  /** Jobs that some look has shown. */
  listed: Set<string>;
  /** Number of tries, by action and job. */
  tries: Map<string, number>;
  results: Map<string, CommonActionResult>;
  /** Jobs with a failed result that the last look lacked. */
  absent: Set<string>;
  /** The failure of the last look, or that it showed a print without an id. */
  unnamed: CommonActionResult | null;
}

async function stopPrinter(
  statusReader: StatusReader,
  jobControl: Pick<JobControl, 'run'>,
  { deadline, onStage }: StopRequest,
  stop: Stop,
): Promise<void> {
  const { clusterId, listed, tries, results } = stop;
  for (;;) {
    let seen: Seen;
    try {
      seen = await look(statusReader, clusterId, deadline);
      stop.unnamed = seen.isUnnamed ? failure('stop', clusterId, null, namelessPrint()) : null;
    } catch (thrown) {
      stop.unnamed = failure('stop', clusterId, null, thrown);
      return;
    }
    for (const id of seen.listed) listed.add(id);
    const isInDoubt = settle(stop, seen);
    const triesOf = ([id, action]: readonly [string, string]) => tries.get(`${action} ${id}`) ?? 0;
    const next = [...seen.toStop].filter((job) => triesOf(job) < TRIES && !isDone(results.get(job[0]), job[1]));
    if (next.length === 0 && !isInDoubt) return;
    // A job that was not tried yet never waits.
    if (next.every((job) => triesOf(job) > 0)) await deadline.sleep(LOOK_AGAIN).catch(() => undefined);
    await mapConcurrent(CONCURRENT, next, async ([clusterJobId, action]) => {
      tries.set(`${action} ${clusterJobId}`, triesOf([clusterJobId, action]) + 1);
      const job = { clusterId, clusterJobId, action, data: {}, isAllowed: true, deadline, onStage };
      const isAway = action === 'abort' && !seen.isOnline;
      const run = isAway ? Promise.reject(printerOffline()) : jobControl.run(job);
      results.set(clusterJobId, await run.catch((thrown: unknown) => failure(action, clusterId, clusterJobId, thrown)));
    });
  }
}

/**
 * Counts a job whose action failed as stopped once its printer lists it as over, or lacks it in two looks in a row: the
 * lists of a single look may be incomplete. Returns whether another look is needed.
 */
function settle({ results, absent }: Stop, { listed, toStop }: Seen): boolean {
  let isInDoubt = false;
  for (const [id, result] of results) {
    if (!result.error) continue;
    if (toStop.has(id)) absent.delete(id);
    else if (listed.has(id) || absent.has(id)) results.set(id, { ...withoutError(result), status: 'success' });
    else {
      absent.add(id);
      isInDoubt = true;
    }
  }
  return isInDoubt;
}

/** Whether an action was carried out, although the printer may still list its job. */
const isDone = (result: CommonActionResult | undefined, action: string): boolean =>
  result !== undefined && !result.error && result.action === action;

/** What a printer shows: the action that stops each of its jobs. */
interface Seen {
  listed: ReadonlySet<string>;
  toStop: ReadonlyMap<string, 'abort' | 'remove'>;
  /** Whether a job to stop has no id. */
  isUnnamed: boolean;
  isOnline: boolean;
}

async function look(statusReader: StatusReader, clusterId: string, deadline: Deadline): Promise<Seen> {
  const status = statusRecord(await statusReader.read(clusterId, { deadline }));
  const seen = { listed: new Set<string>(), toStop: new Map<string, 'abort' | 'remove'>(), isUnnamed: false };
  for (const job of readListedJobs(status, clusterId)) {
    const action = actionOf(job);
    if (job.clusterJobId === null) seen.isUnnamed ||= action !== null;
    else {
      seen.listed.add(job.clusterJobId);
      if (action) seen.toStop.set(job.clusterJobId, action);
    }
  }
  return { ...seen, isOnline: flag(status?.is_online) !== false };
}

/** The action that stops a job; null if it has ended, or is about to. */
function actionOf(job: PrintJob): 'abort' | 'remove' | null {
  if (isOver(job) || isAborting(job) || job.state === 'finishing') return null;
  return occupiesPrinter(job) ? 'abort' : 'remove';
}

function failure(action: string, clusterId: string, id: string | null, thrown: unknown): CommonActionResult {
  const failed = failedAction(action, asPrintingError(thrown));
  return { ...failed, clusterJobId: id, ids: { clusterId, ...(id && { clusterJobId: id }), ...failed.ids } };
}

function withoutError({ error: _error, ...result }: CommonActionResult): CommonActionResult {
  return result;
}

/** The first failure of several results; undefined without any. */
export const firstFailure = (results: readonly CommonActionResult[]): PrintingError | undefined =>
  results.find(({ error }) => error)?.error;
