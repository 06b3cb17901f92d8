import { currentUser, readCurrentUser, type CurrentUser } from '../account/current-user';
import type { ApiClient } from '../account/api-client';
import { type ListedJob, listStoredJobs } from '../library/stored-jobs';
import { FORM_JOBS, PAGE } from '../rules/limits';
import { type Cluster, type PrinterEntry, readClusterStatus, readListedJobs, statusRecord } from '../service/cluster';
import type { PathOverrides } from '../service/paths';
import { pagesOf } from '../account/pages';
import { readPrintJob, type PrintJob } from '../service/print-job';
import type { SignInWatch } from '../sign-in/sign-in-state';
import { isoTime, type Clock, sleep } from '../time/clock';
import { Turns } from '../time/concurrency';
import { underDeadline, type Deadline } from '../time/deadline';
import { readClusters, readPrinters } from '../watch/polling/cluster-list';
import { phrase } from '../words/sentence';

/** Timeout of an editor dialog, ms. */
const TIMEOUT = 60_000;

/** Least time for which an answer serves further dialogs, ms: many may open at once. */
const RECENT = 1_000;

/** Entries for the editor's dialogs (reference 5), and for assistants. Throws the errors of the service's calls. */
export class Choices {
  /** Answers by question, as long as they are recent: the list of a large farm has many megabytes. */
  readonly #recent = new Map<string, Promise<unknown>>();

  constructor(
    private readonly deps: {
      service: ApiClient;
      clock: Clock;
      overrides: PathOverrides;
      signIn: Pick<SignInWatch, 'onChange'>;
      closing: AbortSignal;
    },
  ) {
    // Another user must not see what the one before was shown.
    const end = deps.signIn.onChange(() => this.#recent.clear());
    deps.closing.addEventListener('abort', end, { once: true });
  }

  async clusters(): Promise<Cluster[]> {
    return this.#shared('clusters', (deadline) => readClusters(this.deps.service, deadline));
  }

  /** The same as entries of the query `printers`. */
  async printers(): Promise<PrinterEntry[]> {
    return this.#shared('printers', (deadline) => readPrinters(this.deps.service, deadline));
  }

  async workspaces(): Promise<CurrentUser['organizations']> {
    const { service, overrides } = this.deps;
    const { data } = await this.#shared('user', (deadline) => readCurrentUser(service, overrides, deadline));
    return currentUser(data).organizations;
  }

  storedJobs(search: string): Promise<ListedJob[]> {
    return this.#shared(`stored ${search}`, (deadline) => listStoredJobs(this.deps.service, search, deadline));
  }

  /**
   * Returns a printer's queue and history; without a printer, the jobs of all printers that the service lists, the newest
   * FORM_JOBS of them.
   */
  async jobs(clusterId: string | undefined): Promise<PrintJob[]> {
    const { service, clock } = this.deps;
    if (clusterId === undefined) {
      return this.#shared('jobs', (deadline) => readJobs(service, deadline));
    }
    const request = { ids: { cluster_id: clusterId }, what: phrase`the printer` };
    const { data } = await this.#shared(`status ${clusterId}`, (deadline) =>
      service.call('clusterStatus', { ...request, deadline }),
    );
    const wire = statusRecord(data) ?? {};
    const { history } = readClusterStatus(wire, { clusterId, receivedAt: isoTime(clock.now()), identity: null });
    return [...readListedJobs(wire, clusterId), ...history];
  }

  /** Requests an answer under the timeout, at most once a second for the same question, and once at a time. */
  #shared<T>(question: string, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const { clock, closing: parent } = this.deps;
    const recent = this.#recent.get(question) as Promise<T> | undefined;
    if (recent) return recent;
    const answer = underDeadline(clock, { ms: TIMEOUT, parent, cure: phrase`try again` }, work);
    this.#recent.set(question, answer);
    void Promise.allSettled([sleep(clock, RECENT, parent), answer]).then(() => {
      // Another user may have asked meanwhile.
      if (this.#recent.get(question) === answer) this.#recent.delete(question);
    });
    return answer;
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
  return found.sort(newestFirst).slice(0, FORM_JOBS);
}

/** Orders by the time of the print job; those without one come last. */
const newestFirst = ({ createdAt: a }: PrintJob, { createdAt: b }: PrintJob): number =>
  a === b ? 0 : (a ?? '') < (b ?? '') ? 1 : -1;
