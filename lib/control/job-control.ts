import type { Deadline } from '../time/deadline';
import type { ApiClient } from '../account/api-client';
import { atLimit, dispatchAction, followAction, type Action, type ActionRequest } from '../action/action';
import { asPrintingError, PrintingError, printerOffline, withIds, type Ids } from '../service/errors';
import { isKnownStatus, readPrintJob, type PrintJob } from '../service/print-job';
import type { PrinterFilter } from '../service/printer-filter';
import { mapConcurrent } from '../time/concurrency';
import { jobUnderWay, printsUnderWay } from './prints-under-way';
import { flag, record, type Json } from '../service/json-readers';
import { ruleOf, type JobRule } from './job-rules';
import { phrase } from '../words/sentence';

interface JobActionRequest extends Acting {
  clusterId: string;
  /** Id of a printing, not of the stored file (wire facts, trap 12). Undefined: the one under way on the cluster. */
  clusterJobId: string | undefined;
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

/** Actions under way at a time on several prints. */
const CONCURRENT = 8;

/** Pauses, resumes, aborts … print jobs (wire facts 13.1). */
export class JobControl {
  constructor(private readonly service: ApiClient) {}

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
      const clusterJobId = request.clusterJobId ?? (await jobUnderWay(this.service, clusterId, deadline));
      ids.clusterJobId = clusterJobId;
      const wanted: ActionRequest = {
        endpoint: 'jobAction',
        ids: { cluster_id: clusterId, cluster_job_id: clusterJobId, action },
        data,
        what,
        deadline,
      };
      const rule = ruleOf(action);
      if (rule?.from) {
        const job = await this.#check(wanted, action, rule.from);
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
    const prints = await printsUnderWay(this.service, filter, action, deadline);
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
  ): Promise<PrintJob> {
    const call = { ids: { cluster_id, cluster_job_id }, what: phrase`the print job`, deadline };
    const { data } = await this.service.call('printJob', call);
    const wire = record(data) ?? record(Array.isArray(data) ? data[0] : null) ?? {};
    const job = readPrintJob(wire, cluster_id);
    if (flag(wire.is_online) === false) throw printerOffline();
    const { status } = job;
    if (status === null || !isKnownStatus(status) || from.includes(status)) return job;
    const sentence = phrase`The action "${action}" needs a job that is one of ${from.join(', ')}, but this one is ${status}: check the job.`;
    throw new PrintingError('NOT_ACCEPTED', sentence);
  }
}

function failedAction(action: string, error: PrintingError): CommonActionResult {
  const { ids } = error;
  const { actionId = null, clusterJobId = null } = ids;
  return { actionId, action, status: null, clusterJobId, ids, raw: null, error };
}

/** The error of a dispatch whose answer was lost, which must not simply be retried. */
function maybeDone(error: PrintingError, action: string): PrintingError {
  if (error.outcome !== 'unknown' || (error.code !== 'NETWORK' && error.code !== 'SERVICE_ERROR')) return error;
  const sentence = phrase`The answer to "${action.slice(0, 60)}" was lost: check the job before you send it again.`;
  const { statusCode, serviceCode, outcome } = error;
  return new PrintingError(error.code, sentence, { statusCode, serviceCode, outcome, cause: error });
}
