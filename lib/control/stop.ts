import type { ApiClient } from '../account/api-client';
import { readListedJobs, statusRecord } from '../service/cluster';
import { asPrintingError, printerOffline, type PrintingError } from '../service/errors';
import { isAborting, isOver, occupiesPrinter } from '../service/job-words';
import { flag } from '../service/json-readers';
import type { PrintJob } from '../service/print-job';
import { mapConcurrent, Semaphore } from '../time/concurrency';
import type { Deadline } from '../time/deadline';
import { readPrinters } from '../watch/polling/cluster-list';
import type { StatusReader } from '../watch/polling/status-reader';
import { type CommonActionResult, CONCURRENT, failedAction, type JobControl } from './job-control';

/** Time until the next look at a printer whose lists may lack a job, ms. */
const LOOK_AGAIN = 1_000;

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
 * Returns the last result of each job; a failed one has its error. Whatever has ended meanwhile counts as stopped. Throws
 * the errors of the list of printers.
 */
export async function stopJobs(
  service: ApiClient,
  statusReader: StatusReader,
  jobControl: Pick<JobControl, 'run'>,
  request: StopRequest,
): Promise<CommonActionResult[]> {
  const { clusterId, mayShow, deadline, onStage } = request;
  onStage('sending');
  const printers = clusterId === undefined ? await readPrinters(service, deadline) : [{ clusterId }];
  const stops = printers.map(({ clusterId: id }): Stop => {
    return { clusterId: id, listed: new Set(), tried: new Set(), results: new Map(), unseen: null };
  });
  const isAwaited = ({ clusterId: id, listed }: Stop) => !deadline.aborted && (mayShow?.(id, listed) ?? false);
  // No printer waits for the jobs that are on their way to others.
  const slots = new Semaphore(CONCURRENT);
  const stopOne = (stop: Stop) => slots.hold(() => stopPrinter(statusReader, jobControl, request, stop));
  const work = stops.map(async (stop) => {
    await stopOne(stop);
    // However long the others take, another look follows.
    while (isAwaited(stop)) {
      await deadline.sleep(LOOK_AGAIN).catch(() => undefined);
      await stopOne(stop);
    }
  });
  await Promise.all(work);
  return stops.flatMap(({ results, unseen }) => {
    const all = [...results.values()];
    // A failed result says more than the failure to look again.
    return unseen && !all.some(({ error }) => error) ? [...all, unseen] : all;
  });
}

/** What has become of the stop of a printer so far. */
interface Stop {
  clusterId: string;
  /** Jobs that some look has shown. */
  listed: Set<string>;
  tried: Set<string>;
  results: Map<string, CommonActionResult>;
  /** The failure of the last look. */
  unseen: CommonActionResult | null;
}

async function stopPrinter(
  statusReader: StatusReader,
  jobControl: Pick<JobControl, 'run'>,
  { quiet, deadline, onStage }: StopRequest,
  stop: Stop,
): Promise<void> {
  const { clusterId, listed, tried, results } = stop;
  for (let isQuiet = false; ;) {
    let seen: Seen;
    try {
      seen = await look(statusReader, clusterId, deadline);
      stop.unseen = null;
    } catch (thrown) {
      stop.unseen = failure('stop', clusterId, null, thrown);
      return;
    }
    for (const id of seen.listed) listed.add(id);
    for (const [id, result] of results)
      if (result.error && !seen.toStop.has(id)) results.set(id, { ...withoutError(result), status: 'success' });
    const next = [...seen.toStop].filter(([id, action]) => !tried.has(`${action} ${id}`));
    if (next.length === 0 && isQuiet) return;
    if (next.length === 0) {
      // A job that was just being sent shows in the next look.
      await quiet;
      isQuiet = true;
      continue;
    }
    await mapConcurrent(CONCURRENT, next, async ([clusterJobId, action]) => {
      tried.add(`${action} ${clusterJobId}`);
      const job = { clusterId, clusterJobId, action, data: {}, isAllowed: true, deadline, onStage };
      const isAway = action === 'abort' && !seen.isOnline;
      const run = isAway ? Promise.reject(printerOffline()) : jobControl.run(job);
      results.set(clusterJobId, await run.catch((thrown: unknown) => failure(action, clusterId, clusterJobId, thrown)));
    });
  }
}

/** What a printer shows: the action that stops each of its jobs. */
interface Seen {
  listed: readonly string[];
  toStop: ReadonlyMap<string, 'abort' | 'remove'>;
  isOnline: boolean;
}

async function look(statusReader: StatusReader, clusterId: string, deadline: Deadline): Promise<Seen> {
  const status = statusRecord(await statusReader.read(clusterId, { deadline }));
  const jobs = readListedJobs(status, clusterId);
  const toStop = jobs.flatMap((job) => {
    const action = actionOf(job);
    return action && job.clusterJobId !== null ? [[job.clusterJobId, action] as const] : [];
  });
  const listed = jobs.flatMap(({ clusterJobId }) => clusterJobId ?? []);
  return { listed, toStop: new Map(toStop), isOnline: flag(status?.is_online) !== false };
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
