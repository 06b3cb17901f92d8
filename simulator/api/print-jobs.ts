import { storedJobWriter } from './library';
import { readData } from '../http/bodies';
import { iso } from '../world/clock';
import { page } from '../wire/paging';
import { printerOf, printJobRecord, stateOf } from '../wire/print-job-record';
import { invalidValue, recordNotFound, requiredField } from '../http/refusals';
import { previewUrls } from './previews';
import type { Route } from '../http/server';
import { signedInRoutes, type ApiParts } from './signed-in';
import { reported } from '../world/connection';
import type { Cluster, PrintJob } from '../world/state';

const PATH = '/connect/v1/clusters/{cluster_id}';
const LONGEST_NOTE = 500;

/** Prints: calls 10 and 11, and the list of all print jobs (wire facts 7, 8 and 13.2). */
export function printJobRoutes(parts: ApiParts): Route[] {
  const { world } = parts;
  const signedIn = signedInRoutes(parts.tokens);
  const storedJob = storedJobWriter(parts);
  const previewUrl = previewUrls(parts);
  /** Returns a job that the cluster reported; throws recordNotFound. */
  const reportedJob = (cluster: Cluster, uuid: string): PrintJob => {
    const { queue, history } = reported(cluster, world.moment());
    const job = [...queue, ...history].find((other) => other.uuid === uuid);
    if (!job) throw recordNotFound('PrintJob');
    return job;
  };
  return [
    signedIn('print', 'POST', `${PATH}/print/{job_id}`, async (call, { userId, organizationId }) => {
      const { params } = call;
      const startNow = (await readData(call, 'PrintRequest', ['start_now']))?.start_now ?? true;
      if (typeof startNow !== 'boolean')
        throw invalidValue('PrintRequest', 'start_now', 'must be true or false', startNow);
      const cluster = world.cluster(params.cluster_id!, organizationId);
      const stored = world.storedJob(params.job_id!, organizationId);
      const { uuid, status } = world.print(cluster, stored, userId, startNow);
      return {
        data: {
          job_id: stored.jobId,
          job_instance_uuid: uuid,
          // The service accepts a job for another model, and shows the error later.
          status: status === 'error' ? 'queued' : status,
          generated_time: iso(parts.now()),
        },
      };
    }),
    signedIn('printJob', 'GET', `${PATH}/print_jobs/{cluster_job_id}`, ({ params }, { organizationId }) => {
      const cluster = world.cluster(params.cluster_id!, organizationId);
      const job = reportedJob(cluster, params.cluster_job_id!);
      const source = world.storedJobs(organizationId).find(({ jobId }) => jobId === job.jobId);
      const record = printJobRecord(cluster, job, world.moment(), previewUrl);
      return { data: source ? { ...record, source: storedJob(source) } : record };
    }),
    signedIn('printJobNote', 'POST', `${PATH}/print_jobs/{cluster_job_id}`, async (call, { organizationId }) => {
      const cluster = world.cluster(call.params.cluster_id!, organizationId);
      const job = reportedJob(cluster, call.params.cluster_job_id!);
      const note = (await readData(call, 'PrintJobNote', ['note']))?.note;
      if (note === undefined) throw requiredField('PrintJobNote', 'note');
      if (typeof note !== 'string' || note.length > LONGEST_NOTE)
        throw invalidValue('PrintJobNote', 'note', `must have at most ${LONGEST_NOTE} characters`, note);
      world.setJobNote(cluster.clusterId, note, job.uuid);
      return { data: printJobRecord(cluster, job, world.moment(), previewUrl) };
    }),
    signedIn('printJobs', 'GET', '/connect/v1/print_jobs', ({ query, request }, { userId, organizationId }) => {
      const wanted = printJobFilter(query, userId);
      const clusters = world
        .listed(organizationId)
        .filter(({ clusterId }) => wanted.cluster(clusterId))
        .map((cluster) => world.upToDate(cluster));
      const moment = world.moment();
      const found = clusters.flatMap((cluster) => {
        const { at, queue, history } = reported(cluster, moment);
        return [...queue, ...history]
          .filter((job) => job.visibleAt <= at && wanted.job(cluster, job))
          .map((job) => ({ cluster, job }));
      });
      return page(found, query, parts.apiUrl() + request.url!, ({ cluster, job }) =>
        printJobRecord(cluster, job, moment, previewUrl),
      );
    }),
  ];
}

/**
 * Filter of the list (wire facts 13.2); its `status` accepts states (15.26). Deleted jobs are only listed on request.
 */
function printJobFilter(
  query: URLSearchParams,
  userId: string,
): {
  cluster: (id: string) => boolean;
  job: (cluster: Cluster, job: PrintJob) => boolean;
} {
  const list = (name: string): string[] => query.getAll(name).flatMap((value) => value.split(','));
  const [clusterIds, states, sentFroms] = [list('cluster_ids'), list('status'), list('sent_from')];
  const search = query.get('search')?.toLowerCase() ?? '';
  const own = flag(query, 'private_only');
  const within = (values: string[], value: string): boolean => values.length === 0 || values.includes(value);
  return {
    cluster: (id) => within(clusterIds, id),
    job: (cluster, job) =>
      (states.length === 0 ? job.deletedAt === null : states.includes(stateOf(job))) &&
      within(sentFroms, job.sentFrom) &&
      (!own || job.owner?.userId === userId) &&
      [job.name, printerOf(cluster, job)?.name, job.owner?.name].some((text) => text?.toLowerCase().includes(search)),
  };
}

function flag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name) ?? 'false';
  if (text !== 'true' && text !== 'false') throw invalidValue('Filter', name, 'must be true or false', text);
  return text === 'true';
}
