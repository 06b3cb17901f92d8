import type { ApiClient } from '../account/api-client';
import { type PrinterEntry, statusRecord } from '../service/cluster';
import { asPrintingError, PrintingError, withIds } from '../service/errors';
import { records } from '../service/json-readers';
import { isKnownStatus, isUnderWay, readPrintJobs, type PrintJob } from '../service/print-job';
import { readPrinter } from '../service/printer';
import { matches, type PrinterFilter } from '../service/printer-filter';
import type { Deadline } from '../time/deadline';
import { mapConcurrent } from '../time/concurrency';
import { readPrinters } from '../watch/polling/cluster-list';
import { phrase } from '../words/sentence';
import { ruleOf } from './job-rules';

/** A print to act on, or the failure to read those of a group of printers. */
type PrintUnderWay = { clusterId: string; clusterJobId: string } | { error: PrintingError };

/** Groups read at a time. */
const CONCURRENT = 8;

/**
 * Returns the prints under way of the account on which an action can be tried: on the printers that the filter matches,
 * and in a state that allows it. The list shows the print of a single printer; only groups need their status. Throws
 * INVALID_INPUT for an action on waiting jobs, and the errors of the list.
 */
export async function printsUnderWay(
  service: ApiClient,
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
  const printers = (await readPrinters(service, deadline)).filter((one) => isGroup(one) || matches(filter, one));
  const jobs = await mapConcurrent(CONCURRENT, printers, async (printer): Promise<PrintUnderWay[]> => {
    const { clusterId, current } = printer;
    try {
      const alone = current ? [current] : [];
      const listed = isGroup(printer) ? await jobsOfGroup(service, printer, filter, deadline) : alone;
      const ids = listed.filter((job) => allows(action, job)).flatMap(({ clusterJobId }) => clusterJobId ?? []);
      return ids.map((clusterJobId) => ({ clusterId, clusterJobId }));
    } catch (thrown) {
      return [{ error: withIds(asPrintingError(thrown), { clusterId }) }];
    }
  });
  return jobs.flat();
}

/** The jobs of a group on the members that the filter matches: the list has the host printer only. */
async function jobsOfGroup(
  service: ApiClient,
  group: PrinterEntry,
  filter: PrinterFilter,
  deadline: Deadline,
): Promise<PrintJob[]> {
  const { clusterId } = group;
  const ids = { cluster_id: clusterId };
  const { data } = await service.call('clusterStatus', { ids, what: phrase`the printer`, deadline });
  const status = statusRecord(data);
  const members = records(status?.printers).map(readPrinter);
  const unknown = readPrinter({});
  return readPrintJobs(status?.print_jobs, clusterId).filter((job) => {
    const member = members.find(({ printerId }) => printerId !== null && printerId === job.printerId) ?? unknown;
    return matches(filter, { ...group, ...member, idle: false });
  });
}

/** Whether a job prints or is about to, and its state allows the action; an unknown state leaves that to the service. */
function allows(action: string, job: PrintJob): boolean {
  // Of a job in a state that the pack does not know, only the elapsed time shows that it does not wait.
  const hasBegun = job.state === 'unknown' && (job.timeElapsed ?? 0) > 0;
  if (!isUnderWay(job) && job.state !== 'preparing' && !hasBegun) return false;
  const from = ruleOf(action)?.from;
  return !from || job.status === null || !isKnownStatus(job.status) || from.includes(job.status);
}

/**
 * Returns the id of the job that is printing on the cluster, for an action without a job (reference 2.2). Throws
 * NOT_ACCEPTED if there is none or more than one, and the errors of the service's call.
 */
export async function jobUnderWay(service: ApiClient, clusterId: string, deadline: Deadline): Promise<string> {
  const ids = { cluster_id: clusterId };
  const { data } = await service.call('clusterStatus', { ids, what: phrase`the printer`, deadline });
  const all = readPrintJobs(statusRecord(data)?.print_jobs, clusterId);
  const printing = all.filter(isUnderWay);
  const jobs = printing.length > 0 ? printing : all.filter(({ state }) => state === 'preparing');
  const [id, ...others] = jobs.flatMap(({ clusterJobId }) => clusterJobId ?? []);
  if (id === undefined)
    throw new PrintingError('NOT_ACCEPTED', phrase`Nothing is printing on this printer: choose a print job.`);
  if (others.length > 0) {
    const sentence = phrase`${jobs.length} prints are under way on this printer: choose a print job in the node or set msg.clusterJobId.`;
    throw new PrintingError('NOT_ACCEPTED', sentence);
  }
  return id;
}
