import { currentUser, readCurrentUser, type CurrentUser } from '../account/current-user';
import type { ApiClient } from '../account/api-client';
import { type ListedJob, listStoredJobs } from '../library/stored-jobs';
import { type Cluster, readClusterStatus, statusRecord } from '../service/cluster';
import type { PathOverrides } from '../service/paths';
import { readPages } from '../account/pages';
import { readPrintJob, type PrintJob } from '../service/print-job';
import { isoTime, type Clock } from '../time/clock';
import { underDeadline, type Deadline } from '../time/deadline';
import { readAllPages } from '../watch/polling/cluster-list';
import { phrase } from '../words/sentence';

/** Timeout of an editor dialog, ms. */
const TIMEOUT = 60_000;

/** Entries for the editor's dialogs (reference 5). Throws the errors of the service's calls. */
export class Choices {
  constructor(
    private readonly deps: { service: ApiClient; clock: Clock; overrides: PathOverrides; closing: AbortSignal },
  ) {}

  async clusters(): Promise<Cluster[]> {
    const listed = await this.#withTimeout((deadline) => readAllPages(this.deps.service, deadline));
    return listed.map(({ cluster }) => cluster);
  }

  async workspaces(): Promise<CurrentUser['organizations']> {
    const { service, overrides } = this.deps;
    const { data } = await this.#withTimeout((deadline) => readCurrentUser(service, overrides, deadline));
    return currentUser(data).organizations;
  }

  storedJobs(search: string): Promise<ListedJob[]> {
    return this.#withTimeout((deadline) => listStoredJobs(this.deps.service, search, deadline));
  }

  /** Returns a printer's queue and history; without a printer, the jobs of all printers that the service lists. */
  async jobs(clusterId: string | undefined): Promise<PrintJob[]> {
    const { service, clock } = this.deps;
    if (clusterId === undefined) {
      const query = { what: phrase`the print jobs` };
      const listed = await this.#withTimeout((deadline) => readPages(service, 'printJobs', { ...query, deadline }));
      return listed.map((wire) => readPrintJob(wire));
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
