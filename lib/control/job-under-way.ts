import type { ApiClient } from '../account/api-client';
import { statusRecord } from '../service/cluster';
import { PrintingError } from '../service/errors';
import { isUnderWay, readPrintJobs } from '../service/print-job';
import type { Deadline } from '../time/deadline';
import { phrase } from '../words/sentence';

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
