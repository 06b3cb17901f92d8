import { isObject, readData } from './bodies';
import { iso } from './clock';
import { page } from './paging';
import { clusterRecord, printJobRecord, stateOf, statusRecord, storedJobRecord } from './records';
import { invalidValue, recordNotFound, requiredField } from './refusals';
import type { Answer, Call, Route } from './server';
import type { SignedUrls } from './signed-urls';
import type { StoredJob, User } from './state';
import type { Caller, Tokens } from './tokens';
import { checkUpload, UPLOAD_FIELDS } from './upload-rules';
import { uptimeRoute } from './uptime';
import { modelOf } from './models';
import type { World } from './world';

export interface ApiParts {
  world: World;
  tokens: Tokens;
  urls: SignedUrls;
  users: User[];
  apiUrl: () => string;
  storageUrl: () => string;
  now: () => number;
}

type Handler = (call: Call, caller: Caller) => unknown;

/** The API host: storage (calls 3 and 4) and printers (calls 8 to 11). Every call but uptime needs a bearer token. */
export function apiRoutes(parts: ApiParts): Route[] {
  const { world, tokens, urls, users } = parts;

  const signedIn = (endpoint: string, method: string, path: string, handle: Handler): Route => ({
    endpoint,
    method,
    path,
    async handle(call) {
      const caller = tokens.caller(call.request.headers.authorization);
      return { status: 200, json: await handle(call, caller) } satisfies Answer;
    },
  });

  const storedJob = (job: StoredJob): Record<string, unknown> => {
    const uploaded = world.isUploaded(job);
    const record = storedJobRecord(job, uploaded, users.find(({ userId }) => userId === job.userId)?.username);
    const purpose = uploaded ? 'download' : 'upload';
    return { ...record, [`${purpose}_url`]: parts.storageUrl() + urls.sign(purpose, job.key) };
  };

  const paged = (call: Call, entries: unknown[]): unknown =>
    page(entries, call.query, parts.apiUrl() + (call.request.url ?? ''));

  return [
    uptimeRoute('/slicer/v1', parts.now),
    uptimeRoute('/connect/v1', parts.now),

    signedIn('registerUpload', 'PUT', '/slicer/v1/jobs/upload', async ({ request }, caller) => {
      const data = await readData(request, 'UploadRequest', UPLOAD_FIELDS);
      if (!data) throw requiredField('UploadRequest', 'data');
      const wanted = checkUpload(data);
      // There are no library projects and files of that kind here, so none can be found.
      if (data.library_project_id !== undefined) throw recordNotFound('LibraryProject');
      if (data.source_file_id !== undefined) throw recordNotFound('File');
      const { userId, organizationId } = caller;
      return { data: storedJob(world.register({ ...wanted, userId, organizationId })) };
    }),
    signedIn('getJob', 'GET', '/slicer/v1/jobs/{job_id}', ({ params }, caller) => ({
      data: storedJob(world.storedJob(params.job_id!, caller.organizationId)),
    })),
    signedIn('jobs', 'GET', '/slicer/v1/jobs', (call, caller) =>
      paged(call, world.storedJobs(caller.organizationId).reverse().map(storedJob)),
    ),

    signedIn('clusters', 'GET', '/connect/v1/clusters', (call, caller) => {
      const status = call.query.get('status');
      const variant = call.query.get('machine_variant');
      const clusters = world
        .clusters(caller.organizationId)
        .filter((cluster) => status === null || cluster.authorized === (status === 'active'))
        .filter((cluster) => variant === null || modelOf(cluster).display === variant);
      const moment = world.moment();
      return paged(
        call,
        clusters.map((cluster) => clusterRecord(cluster, moment)),
      );
    }),
    signedIn('cluster', 'GET', '/connect/v1/clusters/{cluster_id}', ({ params }, caller) => ({
      data: clusterRecord(world.cluster(params.cluster_id!, caller.organizationId), world.moment()),
    })),
    signedIn('clusterStatus', 'GET', '/connect/v1/clusters/{cluster_id}/status', ({ params }, caller) => ({
      data: statusRecord(world.cluster(params.cluster_id!, caller.organizationId), world.moment()),
    })),

    signedIn(
      'print',
      'POST',
      '/connect/v1/clusters/{cluster_id}/print/{job_id}',
      async ({ request, params }, caller) => {
        const startNow = (await readData(request, 'PrintRequest', ['start_now']))?.start_now ?? true;
        if (typeof startNow !== 'boolean')
          throw invalidValue('PrintRequest', 'start_now', 'must be true or false', startNow);
        const cluster = world.cluster(params.cluster_id!, caller.organizationId);
        const stored = world.storedJob(params.job_id!, caller.organizationId);
        const job = world.print(cluster, stored, caller.userId, startNow);
        return {
          data: {
            job_id: stored.jobId,
            job_instance_uuid: job.uuid,
            status: job.status,
            generated_time: iso(parts.now()),
          },
        };
      },
    ),
    signedIn(
      'printJob',
      'GET',
      '/connect/v1/clusters/{cluster_id}/print_jobs/{cluster_job_id}',
      ({ params }, caller) => {
        const cluster = world.cluster(params.cluster_id!, caller.organizationId);
        const job = world.printJob(params.cluster_job_id!, cluster.clusterId);
        const source = world.storedJobs(caller.organizationId).find(({ jobId }) => jobId === job.jobId);
        const record = printJobRecord(cluster, job, world.moment());
        return { data: source ? { ...record, source: storedJob(source) } : record };
      },
    ),
    signedIn('printJobs', 'GET', '/connect/v1/print_jobs', (call, caller) => {
      const wanted = printJobFilter(call.query);
      const moment = world.moment();
      const records = world.clusters(caller.organizationId).flatMap((cluster) =>
        [...cluster.queue, ...cluster.history]
          .filter((job) => job.visibleAt <= moment.at && wanted.job(stateOf(job), job.sentFrom))
          .filter(() => wanted.cluster(cluster.clusterId))
          .map((job) => printJobRecord(cluster, job, moment)),
      );
      return paged(call, records.filter(wanted.record));
    }),
  ];
}

/** Wire facts 13.2; the filter called `status` takes states (15.26). */
function printJobFilter(query: URLSearchParams): {
  cluster: (id: string) => boolean;
  job: (state: string, sentFrom: string) => boolean;
  record: (record: unknown) => boolean;
} {
  const list = (name: string): string[] => query.getAll(name).flatMap((value) => value.split(','));
  const [clusterIds, states, sentFroms] = [list('cluster_ids'), list('status'), list('sent_from')];
  const search = query.get('search')?.toLowerCase() ?? '';
  const within = (values: string[], value: string): boolean => values.length === 0 || values.includes(value);
  return {
    cluster: (id) => within(clusterIds, id),
    job: (state, sentFrom) => within(states, state) && within(sentFroms, sentFrom),
    record: (record) =>
      isObject(record) &&
      [record.name, record.printer_name, record.owner].some((text) =>
        (typeof text === 'string' ? text : '').toLowerCase().includes(search),
      ),
  };
}
