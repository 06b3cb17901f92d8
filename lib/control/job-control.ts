import type { ApiClient } from '../account/api-client';
import { type Action, type ActionRequest, atLimit, dispatchAction, followAction } from '../action/action';
import { type PrinterEntry, readListedJobs, statusRecord } from '../service/cluster';
import { asPrintingError, type Ids, printerOffline, PrintingError, withIds } from '../service/errors';
import { flag, type Json, records, single } from '../service/json-readers';
import { isKnownStatus, isUnderWay } from '../service/job-words';
import { type PrintJob, readPrintJob } from '../service/print-job';
import { readPrinter } from '../service/printer';
import { matches, type PrinterFilter } from '../service/printer-filter';
import { mapConcurrent } from '../time/concurrency';
import type { Deadline } from '../time/deadline';
import { readPrinters, sift } from '../watch/polling/cluster-list';
import type { StatusReader } from '../watch/polling/status-reader';
import { phrase } from '../words/sentence';
import { type JobRule, ruleOf } from './job-rules';

interface JobActionRequest extends Acting {
  clusterId: string;
  /** Id of a printing, not of the stored file (wire facts, trap 12). Undefined: the one under way on the cluster. */
  clusterJobId: string | undefined;
  /** Whether to ask the service although the printer is offline: the job may wait at the service. */
  mayBeOffline?: boolean;
  /** The state of the job was seen to allow the action, so that it need not be read. */
  isAllowed?: boolean;
}

/** An action on every print under way. */
interface CommonActionRequest extends Acting {
  filter: PrinterFilter;
  /** Receives each print's result as soon as it is known; `index` counts the prints in the order of the printers. */
  onResult: (result: CommonActionResult, index: number, count: number) => void;
}

/** Result of one of several prints; `error` says why the printer has not carried out the action. */
export type CommonActionResult = Omit<JobActionResult, 'clusterJobId'> & {
  clusterJobId: string | null;
  error?: PrintingError;
};

interface Acting {
  /** An action of wire facts 13.1, or any other name. */
  action: string;
  data: Json;
  deadline: Deadline;
  /** `sent`: the service has accepted the action, and the printer now carries it out. */
  onStage: (stage: 'sending' | 'sent') => void;
}

/** An action that the printer has carried out (reference 3.5). */
interface JobActionResult {
  actionId: string | null;
  action: string;
  status: string | null;
  clusterJobId: string;
  ids: Ids;
  /** The action's `data`, unchanged. */
  raw: unknown;
}

/** Actions, and reads of groups, at a time. */
export const CONCURRENT = 8;

/** Pauses, resumes, aborts … print jobs (wire facts 13.1). */
export class JobControl {
  constructor(
    private readonly service: ApiClient,
    private readonly statusReader: StatusReader,
  ) {}

  /**
   * Resolves when the printer has carried out the action. Throws NOT_ACCEPTED if the job's state doesn't allow it or no
   * job is under way, NOT_FOUND, ACTION_FAILED, TIMEOUT, and the errors of the service's calls; with the ids known by
   * then. Sends an action once, as a repeat after a lost answer could execute it twice.
   */
  async run(request: JobActionRequest): Promise<JobActionResult> {
    const { clusterId, action, data, deadline, onStage } = request;
    const ids: Ids = { clusterId };
    const what = phrase`the action "${action.slice(0, 60)}"`;
    let status: string | null = null;
    try {
      onStage('sending');
      const clusterJobId = request.clusterJobId ?? (await jobUnderWay(this.statusReader, clusterId, deadline));
      ids.clusterJobId = clusterJobId;
      const wanted: ActionRequest = {
        endpoint: 'jobAction',
        ids: { cluster_id: clusterId, cluster_job_id: clusterJobId, action },
        data,
        what,
        deadline,
      };
      const rule = ruleOf(action);
      if (rule?.from && !request.isAllowed) {
        const job = await this.#check(wanted, action, rule.from, request.mayBeOffline);
        if (job.jobId) ids.jobId = job.jobId;
        if (job.printerId) ids.printerId = job.printerId;
      }
      const dispatched = await dispatchAction(this.service, wanted).catch((error: unknown) => {
        throw maybeDone(asPrintingError(error), action);
      });
      if (dispatched.actionId) ids.actionId = dispatched.actionId;
      onStage('sent');
      const done: Action = await followAction(this.service, wanted, dispatched, (state) => {
        status = state.status;
      });
      return { actionId: done.actionId, action, status: done.status, clusterJobId, ids, raw: done.raw };
    } catch (thrown) {
      throw withIds(atLimit(asPrintingError(thrown), status, what), ids);
    }
  }

  /**
   * Acts on every print under way of the printers that the filter matches, and returns their number. Throws the first
   * failure, in the order of the printers, after `onResult` has received every result; INVALID_INPUT for an action on
   * waiting jobs, and the errors of the list of printers.
   */
  async runAll({ filter, onResult, ...acting }: CommonActionRequest): Promise<number> {
    const { action, deadline, onStage } = acting;
    onStage('sending');
    const prints = await printsUnderWay(this.service, this.statusReader, filter, action, deadline);
    const failures = await mapConcurrent(CONCURRENT, [...prints.entries()], async ([index, print]) => {
      const run = 'error' in print ? Promise.reject(print.error) : this.run({ ...acting, ...print });
      const result = await run.catch((thrown: unknown) => failedAction(action, asPrintingError(thrown)));
      onResult(result, index, prints.length);
      return 'error' in result ? result.error : undefined;
    });
    const first = failures.find((failure) => failure !== undefined);
    if (first) throw first;
    return prints.length;
  }

  /**
   * Reads the job's record (interface, endpoint 11) and checks its state. The service decides about an unknown state.
   */
  async #check(
    { ids: { cluster_id, cluster_job_id = '' }, deadline }: ActionRequest,
    action: string,
    from: NonNullable<JobRule['from']>,
    mayBeOffline = false,
  ): Promise<PrintJob> {
    const call = { ids: { cluster_id, cluster_job_id }, what: phrase`the print job`, deadline };
    const { data } = await this.service.call('printJob', call);
    const wire = single(data) ?? {};
    const job = readPrintJob(wire, cluster_id);
    if (!mayBeOffline && flag(wire.is_online) === false) throw printerOffline();
    const { status } = job;
    if (status === null || !isKnownStatus(status) || from.includes(status)) return job;
    const sentence = phrase`The action "${action}" needs a job that is one of ${from.join(', ')}, but this one is ${status}: check the job.`;
    throw new PrintingError('NOT_ACCEPTED', sentence);
  }
}

export function failedAction(action: string, error: PrintingError): CommonActionResult {
  const { ids } = error;
  const { actionId = null, clusterJobId = null } = ids;
  return { actionId, action, status: null, clusterJobId, ids, raw: null, error };
}

/** The error of a print that no action can name. */
export const namelessPrint = (): PrintingError =>
  new PrintingError('SERVICE_ERROR', phrase`The service gives this print no id: control it at the printer itself.`);

/** The error of a dispatch whose answer was lost, which must not simply be retried. */
function maybeDone(error: PrintingError, action: string): PrintingError {
  if (error.outcome !== 'unknown') return error;
  const sentence = phrase`The answer to "${action.slice(0, 60)}" was lost: check the job before you send it again.`;
  const { statusCode, serviceCode, outcome } = error;
  return new PrintingError(error.code, sentence, { statusCode, serviceCode, outcome, cause: error });
}

/** A print to act on, or why it or those of a group of printers can't be named. */
type PrintUnderWay = { clusterId: string; clusterJobId: string } | { error: PrintingError };

/**
 * Returns the prints under way of the account on which an action can be tried: on the printers that the filter matches,
 * and in a state that allows it. The list shows the print of a single printer; only groups need their status. Throws
 * INVALID_INPUT for an action on waiting jobs, and the errors of the list.
 */
export async function printsUnderWay(
  service: ApiClient,
  statusReader: StatusReader,
  filter: PrinterFilter,
  action: string,
  deadline: Deadline,
): Promise<PrintUnderWay[]> {
  if (ruleOf(action)?.waiting)
    throw new PrintingError(
      'INVALID_INPUT',
      phrase`The action "${action}" is for waiting jobs: choose a print job instead of msg.all or msg.filter.`,
    );
  const isGroup = ({ printerCount }: PrinterEntry) => (printerCount ?? 1) > 1;
  const listed = await readPrinters(service, deadline);
  const { found } = await sift(filter, listed, deadline.clock);
  const suitable = new Set(found);
  const printers = listed.filter((one) => isGroup(one) || suitable.has(one));
  const jobs = await mapConcurrent(CONCURRENT, printers, async (printer): Promise<PrintUnderWay[]> => {
    const { clusterId, current } = printer;
    try {
      const alone = current ? [current] : [];
      const listed = isGroup(printer) ? await jobsOfGroup(statusReader, printer, filter, deadline) : alone;
      return listed
        .filter((job) => allows(action, job))
        .map(({ clusterJobId }) =>
          clusterJobId === null ? { error: withIds(namelessPrint(), { clusterId }) } : { clusterId, clusterJobId },
        );
    } catch (thrown) {
      return [{ error: withIds(asPrintingError(thrown), { clusterId }) }];
    }
  });
  return jobs.flat();
}

/** The jobs of a group on the members that the filter matches: the list has the host printer only. */
async function jobsOfGroup(
  statusReader: StatusReader,
  group: PrinterEntry,
  filter: PrinterFilter,
  deadline: Deadline,
): Promise<PrintJob[]> {
  const { clusterId } = group;
  const status = statusRecord(await statusReader.read(clusterId, { deadline }));
  const members = records(status?.printers).map(readPrinter);
  const unknown = readPrinter({});
  return readListedJobs(status, clusterId).filter((job) => {
    const member = members.find(({ printerId }) => printerId !== null && printerId === job.printerId) ?? unknown;
    return matches(filter, { ...group, ...member, idle: false });
  });
}

/** Whether a job prints or is about to, and its state allows the action; an unknown state leaves that to the service. */
function allows(action: string, job: PrintJob): boolean {
  if (!isUnderWay(job) && job.state !== 'preparing') return false;
  const from = ruleOf(action)?.from;
  return !from || job.status === null || !isKnownStatus(job.status) || from.includes(job.status);
}

/**
 * Returns the id of the job that is printing on the cluster, for an action without a job (reference 2.2). Throws
 * NOT_ACCEPTED if there is none or more than one, SERVICE_ERROR if it has no id, and the errors of `StatusReader.read`.
 */
export async function jobUnderWay(statusReader: StatusReader, clusterId: string, deadline: Deadline): Promise<string> {
  const status = statusRecord(await statusReader.read(clusterId, { deadline }));
  const all = readListedJobs(status, clusterId);
  const printing = all.filter(isUnderWay);
  const jobs = printing.length > 0 ? printing : all.filter(({ state }) => state === 'preparing');
  const [job, ...others] = jobs;
  if (job === undefined)
    throw new PrintingError('NOT_ACCEPTED', phrase`Nothing is printing on this printer: choose a print job.`);
  if (others.length > 0) {
    const sentence = phrase`${jobs.length} prints are under way on this printer: choose a print job in the node or set msg.clusterJobId.`;
    throw new PrintingError('NOT_ACCEPTED', sentence);
  }
  if (job.clusterJobId === null) throw namelessPrint();
  return job.clusterJobId;
}
