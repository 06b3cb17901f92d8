import type { ApiClient, Limits } from '../account/api-client';
import { currentUser, readCurrentUser } from '../account/current-user';
import { pagesOf, QuestionAccount, readPages } from '../account/pages';
import type { Http } from '../http/http';
import { READS, retry } from '../http/retry';
import { readFile } from '../library/library';
import { fetchImage, type Image } from '../picture/image';
import { PAGE, PICTURE } from '../rules/limits';
import { printerEntry, type PrinterEntry, readClusterStatus, statusRecord } from '../service/cluster';
import { asPrintingError, type Ids, PrintingError, revised, unexpectedAnswer, withIds } from '../service/errors';
import { type Json, record, records, text } from '../service/json-readers';
import type { PathOverrides } from '../service/paths';
import { type PrintJob, readPrintJob } from '../service/print-job';
import { readMaintenanceTask } from '../service/printer';
import { misfitOf, type PrinterFilter } from '../service/printer-filter';
import { storedIds, type StoredKind } from '../service/stored-file';
import { type Clock, isoTime } from '../time/clock';
import { Turns } from '../time/concurrency';
import type { Deadline } from '../time/deadline';
import { readStored } from '../upload/send';
import { type ClusterList, readAllPages } from '../watch/polling/cluster-list';
import type { StatusReader } from '../watch/polling/status-reader';
import { phrase, type Sentence } from '../words/sentence';
import { sumMaterials } from './materials';
import { filterQueries, fitsOf, type PrintJobFilter } from './print-job-filter';

/** Kinds of queries (reference 3.5), each with its parameters. */
export type Query =
  | { query: 'clusters' | 'current-user' }
  | { query: 'cluster-status' | 'maintenance'; clusterId: string }
  | { query: 'print-jobs'; filter: PrintJobFilter }
  | { query: 'print-job'; clusterId: string; clusterJobId: string }
  | { query: 'stored-job' | 'library-file'; id: string }
  | { query: 'printers' | 'materials'; printers: PrinterFilter }
  | { query: 'preview'; of: PreviewOf };

interface QueryAnswer {
  /** Normalised (reference 3). */
  payload: unknown;
  /** The service's own data of all pages, unchanged. */
  raw: unknown;
  ids: Ids;
  /** Media type of a payload that is a Buffer. */
  contentType?: string;
}

interface QueriesDeps {
  service: ApiClient;
  http: Http;
  clock: Clock;
  overrides: PathOverrides;
  clusterList: Pick<ClusterList, 'find'>;
  statusReader: StatusReader;
}

/** Runs single queries of the service. */
export class Queries {
  constructor(private readonly deps: QueriesDeps) {}

  /** Throws SERVICE_ERROR for an unexpected answer, and the errors of the service's calls. */
  async ask(query: Query, limits: Limits): Promise<QueryAnswer> {
    try {
      return await this.#answer(query, limits);
    } catch (error) {
      throw withIds(asPrintingError(error), idsOf(query));
    }
  }

  #answer(query: Query, limits: Limits): Promise<QueryAnswer> {
    switch (query.query) {
      case 'clusters':
        return this.#clusters(limits);
      case 'cluster-status':
        return this.#clusterStatus(query.clusterId, limits);
      case 'print-jobs':
        return this.#printJobs(query.filter, limits);
      case 'print-job':
        return this.#printJob(query.clusterId, query.clusterJobId, limits);
      case 'stored-job':
        return this.#stored('job', query.id, limits);
      case 'library-file':
        return this.#stored('file', query.id, limits);
      case 'current-user':
        return this.#currentUser(limits);
      case 'maintenance':
        return this.#maintenance(query.clusterId, limits);
      case 'printers':
        return this.#printers(query.printers, limits);
      case 'materials':
        return this.#materials(query.printers, limits);
      case 'preview':
        return this.#preview(query.of, limits);
    }
  }

  async #clusters({ deadline }: Limits): Promise<QueryAnswer> {
    const listed = await readAllPages(this.deps.service, deadline);
    return { payload: listed.map(({ cluster }) => cluster), raw: listed.map(({ raw }) => raw), ids: {} };
  }

  async #printers(filter: PrinterFilter, { deadline }: Limits): Promise<QueryAnswer & { payload: PrinterEntry[] }> {
    const listed = await readAllPages(this.deps.service, deadline);
    const payload: PrinterEntry[] = [];
    const found: Json[] = [];
    const turns = new Turns(deadline.clock);
    for (const { cluster, raw } of listed) {
      await turns.next();
      const printer = printerEntry(cluster);
      if (misfitOf(filter, printer) !== null) continue;
      payload.push(printer);
      found.push(raw);
    }
    return { payload, raw: found, ids: {} };
  }

  async #materials(filter: PrinterFilter, limits: Limits): Promise<QueryAnswer> {
    const { payload: printers, raw, ids } = await this.#printers(filter, limits);
    return { payload: await sumMaterials(printers, filter.materials, limits.deadline.clock), raw, ids };
  }

  async #preview(of: PreviewOf, { deadline }: Limits): Promise<QueryAnswer> {
    const { bytes, contentType, raw } = await readPreview(this.deps, of, deadline);
    return { payload: bytes, contentType, raw, ids: { ...of } };
  }

  async #clusterStatus(clusterId: string, limits: Limits): Promise<QueryAnswer> {
    const { clock, clusterList, statusReader } = this.deps;
    const answer = await statusReader.readOrListed(clusterId, limits);
    if ('listed' in answer) {
      const { listed } = answer;
      const receivedAt = isoTime(clock.now());
      const status = readClusterStatus({}, { clusterId, receivedAt, identity: listed });
      return { payload: { ...status, online: listed.online, stale: true }, raw: null, ids: { clusterId } };
    }
    const { data } = answer;
    const wire = statusRecord(data);
    if (!wire) throw unexpectedAnswer(phrase`the printer`);
    // The list only adds name and model; the answer is valid without them.
    const identity = await clusterList.find(clusterId, limits.deadline);
    const receivedAt = isoTime(clock.now());
    return { payload: readClusterStatus(wire, { clusterId, receivedAt, identity }), raw: data, ids: { clusterId } };
  }

  async #printJobs(filter: PrintJobFilter, limits: Limits): Promise<QueryAnswer> {
    const account = new QuestionAccount();
    const turns = new Turns(limits.deadline.clock);
    const fits = fitsOf(filter);
    const raw: Json[] = [];
    const jobs = new EachOnce();
    for (const wanted of filterQueries(filter)) {
      const options = { query: { limit: String(PAGE), ...wanted }, what: phrase`the print jobs`, ...limits };
      for await (const page of pagesOf(this.deps.service, 'printJobs', options, account))
        for (const entry of page) {
          await turns.next();
          raw.push(entry);
          if (fits(entry)) jobs.add(readPrintJob(entry));
        }
    }
    return { payload: jobs.all, raw, ids: {} };
  }

  async #printJob(clusterId: string, clusterJobId: string, limits: Limits): Promise<QueryAnswer> {
    const ids = { cluster_id: clusterId, cluster_job_id: clusterJobId };
    const { data } = await this.deps.service.call('printJob', { ids, what: phrase`the print job`, ...limits });
    const job = readPrintJob(recordIn(data, phrase`the print job`), clusterId);
    const payload = { ...job, clusterJobId: job.clusterJobId ?? clusterJobId };
    return { payload, raw: data, ids: { clusterId, clusterJobId, ...(job.jobId && { jobId: job.jobId }) } };
  }

  async #stored(kind: StoredKind, id: string, limits: Limits): Promise<QueryAnswer> {
    const ref = { kind, id };
    const { file, raw } = readFile(ref, await readStored(this.deps.service, ref, limits));
    return { payload: file, raw, ids: storedIds(ref) };
  }

  async #currentUser({ deadline }: Limits): Promise<QueryAnswer> {
    const { data } = await readCurrentUser(this.deps.service, this.deps.overrides, deadline);
    return { payload: currentUser(recordIn(data, phrase`the user`)), raw: data, ids: {} };
  }

  async #maintenance(clusterId: string, limits: Limits): Promise<QueryAnswer> {
    const ids = { cluster_id: clusterId };
    const raw = await readPages(this.deps.service, 'maintenance', {
      ids,
      what: phrase`the printer's maintenance`,
      ...limits,
    });
    return { payload: raw.map(readMaintenanceTask), raw, ids: { clusterId } };
  }
}

function idsOf(query: Query): Ids {
  if ('of' in query) return { ...query.of };
  if ('id' in query) return storedIds({ kind: query.query === 'stored-job' ? 'job' : 'file', id: query.id });
  const { clusterId, clusterJobId } = { clusterId: undefined, clusterJobId: undefined, ...query };
  return { clusterId, clusterJobId };
}

/** Print jobs without duplicates, as a job that moves while the pages are read may be on two of them. */
class EachOnce {
  readonly all: PrintJob[] = [];
  readonly #seen = new Set<string>();

  add(job: PrintJob): void {
    const { clusterJobId } = job;
    if (clusterJobId !== null && this.#seen.has(clusterJobId)) return;
    if (clusterJobId !== null) this.#seen.add(clusterJobId);
    this.all.push(job);
  }
}

/** The record in an answer. Throws SERVICE_ERROR for an empty one. */
function recordIn(data: unknown, what: Sentence): Json {
  const [wire = {}] = records(data);
  if (Object.keys(wire).length > 0) return wire;
  throw unexpectedAnswer(what);
}

/** A print, or the id of a stored job. */
export type PreviewOf = { clusterId: string; clusterJobId: string } | { jobId: string };

interface Preview extends Image {
  /** The record of the print or the stored job, unchanged. It holds the signed address. */
  raw: unknown;
}

/**
 * Reads the picture of a stored job or of a print (wire facts 4.1 and 8): its record, and the picture at the signed
 * address in it. Throws NOT_FOUND if there is no picture, TOO_LARGE, SERVICE_ERROR for other content, and the errors of
 * the service's calls.
 */
export async function readPreview(
  { service, http }: { service: ApiClient; http: Http },
  of: PreviewOf,
  deadline: Deadline,
): Promise<Preview> {
  const { address, raw } = await ('jobId' in of
    ? storedPreview(service, of.jobId, deadline)
    : printPreview(service, of, deadline));
  if (address === null) throw noPicture();
  const { signal } = deadline;
  const image = { signal, maxBytes: PICTURE, onPercent: () => undefined };
  try {
    return { ...(await retry(deadline, READS, () => fetchImage(http, address, image))), raw };
  } catch (thrown) {
    const error = asPrintingError(thrown);
    if (error.statusCode === 404) throw noPicture();
    if (error.code !== 'TOO_LARGE') throw error;
    const sentence = phrase`The picture has more than ${PICTURE / 2 ** 20} MB: upload the file with a smaller one.`;
    throw revised(error, { sentence });
  }
}

async function storedPreview(service: ApiClient, id: string, deadline: Deadline) {
  const ref = { kind: 'job', id } as const;
  const { raw } = readFile(ref, await readStored(service, ref, { deadline }));
  return { address: text(raw.preview_image_url), raw: raw as unknown };
}

async function printPreview(
  service: ApiClient,
  { clusterId, clusterJobId }: { clusterId: string; clusterJobId: string },
  deadline: Deadline,
) {
  const ids = { cluster_id: clusterId, cluster_job_id: clusterJobId };
  const { data } = await service.call('printJob', { ids, what: phrase`the print job`, deadline });
  const job = recordIn(data, phrase`the print job`);
  return { address: text(job.preview_url) ?? text(record(job.source)?.preview_image_url), raw: data };
}

const noPicture = (): PrintingError =>
  new PrintingError(
    'NOT_FOUND',
    phrase`The service has no picture of this print job: upload it as a UFP file, which contains one.`,
  );
