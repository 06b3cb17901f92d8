import { currentUser, readCurrentUser, type CurrentUser } from '../account/current-user';
import type { ApiClient } from '../account/api-client';
import { type ListedJob, listStoredJobs } from '../library/stored-jobs';
import { FORM_JOBS, PAGE } from '../rules/limits';
import { type Cluster, readClusterStatus, statusRecord } from '../service/cluster';
import type { PathOverrides } from '../service/paths';
import { pagesOf } from '../account/pages';
import { readPrintJob, type PrintJob } from '../service/print-job';
import { isoTime, type Clock } from '../time/clock';
import { Turns } from '../time/concurrency';
import { underDeadline, type Deadline } from '../time/deadline';
import { readClusters } from '../watch/polling/cluster-list';
import { phrase } from '../words/sentence';

/** Timeout of an editor dialog, ms. */
const TIMEOUT = 60_000;

/** Entries for the editor's dialogs (reference 5). Throws the errors of the service's calls. */
export class Choices {
  constructor(
    private readonly deps: { service: ApiClient; clock: Clock; overrides: PathOverrides; closing: AbortSignal },
  ) {}

  async clusters(): Promise<Cluster[]> {
    return this.#withTimeout((deadline) => readClusters(this.deps.service, deadline));
  }

  async workspaces(): Promise<CurrentUser['organizations']> {
    const { service, overrides } = this.deps;
    const { data } = await this.#withTimeout((deadline) => readCurrentUser(service, overrides, deadline));
    return currentUser(data).organizations;
  }

  storedJobs(search: string): Promise<ListedJob[]> {
    return this.#withTimeout((deadline) => listStoredJobs(this.deps.service, search, deadline));
  }

  /**
   * Returns a printer's queue and history; without a printer, the jobs of all printers that the service lists, the newest
   * FORM_JOBS of them.
   */
  async jobs(clusterId: string | undefined): Promise<PrintJob[]> {
    const { service, clock } = this.deps;
    if (clusterId === undefined) {
      const listed = await this.#withTimeout((deadline) => readJobs(service, deadline));
      return listed.sort(newestFirst).slice(0, FORM_JOBS);
    }
    const request = { ids: { cluster_id: clusterId }, what: phrase`the printer` };
    const { data } = await this.#withTimeout((deadline) => service.call('clusterStatus', { ...request, deadline }));
    const { jobs, history } = readClusterStatus(statusRecord(data) ?? {}, {
      clusterId,
      receivedAt: isoTime(clock.now()),
      identity: null,
    });
    return [...jobs, ...history];
  }

  #withTimeout<T>(work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const { clock, closing: parent } = this.deps;
    return underDeadline(clock, { ms: TIMEOUT, parent, cure: phrase`try again` }, work);
  }
}

async function readJobs(service: ApiClient, deadline: Deadline): Promise<PrintJob[]> {
  const turns = new Turns(deadline.clock);
  const found: PrintJob[] = [];
  const options = { query: { limit: String(PAGE) }, what: phrase`the print jobs`, deadline };
  for await (const page of pagesOf(service, 'printJobs', options))
    for (const wire of page) {
      await turns.next();
      found.push(readPrintJob(wire));
    }
  return found;
}

/** Orders by the time of the print job; those without one come last. */
const newestFirst = ({ createdAt: a }: PrintJob, { createdAt: b }: PrintJob): number =>
  a === b ? 0 : (a ?? '') < (b ?? '') ? 1 : -1;
