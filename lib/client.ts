import { hostname } from 'node:os';
import { credentialsOf } from './account/credentials';
import type { ApiClient } from './account/api-client';
import { isOnThisMachine, settingsSummary, type AccountSettings } from './account/settings';
import { AuthenticatedApiClient } from './account/authenticated-api-client';
import type { ClientOptions } from './client-options';
import type { Check } from './connection/check';
import type { CommonActionResult, JobControl } from './control/job-control';
import type { StopRequest } from './control/stop';
import { Http } from './http/http';
import type { Library } from './library/library';
import type { Snapshots } from './picture/snapshots';
import type { Dispatcher } from './print/dispatcher';
import { onDemand } from './on-demand';
import { JobListReader } from './print/job-list-reader';
import type { LateResults, Waiter } from './print/late-results';
import type { PendingWaits } from './print/pending-waits';
import { UnresolvedPrints } from './print/unresolved-prints';
import type { Prints } from './print/prints';
import type { Choices } from './query/choices';
import type { Queries } from './query/queries';
import type { PrintQueue, Queues } from './queue/print-queue';
import type { QueueOptions } from './queue/run/context';
import type { Reports } from './report/reports';
import type { Requests } from './request/requests';
import { asPrintingError, PrintingError, upgraded } from './service/errors';
import { type Credentials, nobodySignedIn } from './sign-in/credentials';
import { RefreshesUnderWay } from './sign-in/refresh';
import type { CurrentScope, Scope } from './state/store';
import type { Clock } from './time/clock';
import { closed } from './time/deadline';
import { settledWithin } from './time/concurrency';
import type { Uploads } from './upload/uploads';
import { StatusReader } from './watch/polling/status-reader';
import type { Replica } from './watch/replication/peers';
import { Watcher } from './watch/watcher';
import { logReport } from './watch/views/outages';
import { phrase, type Sentence } from './words/sentence';

export type { ClientOptions } from './client-options';

/**
 * Default grace period of `close`, ms. Node-RED gives a node 15 s to close; the rest is for the steps after the
 * account's own close.
 */
const GRACE = 14_000;

/** A part of the pack that is loaded on its first use. */
const part = <T>(load: () => T): (() => T) =>
  onDemand(load, () => {
    throw upgraded();
  });

const modules = {
  requests: part(() => require('./request/requests') as typeof import('./request/requests')),
  uploads: part(() => require('./upload/uploads') as typeof import('./upload/uploads')),
  dispatcher: part(() => require('./print/dispatcher') as typeof import('./print/dispatcher')),
  clusterPrint: part(() => require('./print/cluster-print') as typeof import('./print/cluster-print')),
  prints: part(() => require('./print/prints') as typeof import('./print/prints')),
  pendingWaits: part(() => require('./print/pending-waits') as typeof import('./print/pending-waits')),
  printQueue: part(() => require('./queue/print-queue') as typeof import('./queue/print-queue')),
  snapshots: part(() => require('./picture/snapshots') as typeof import('./picture/snapshots')),
  jobControl: part(() => require('./control/job-control') as typeof import('./control/job-control')),
  reports: part(() => require('./report/reports') as typeof import('./report/reports')),
  library: part(() => require('./library/library') as typeof import('./library/library')),
  queries: part(() => require('./query/queries') as typeof import('./query/queries')),
  choices: part(() => require('./query/choices') as typeof import('./query/choices')),
  stop: part(() => require('./control/stop') as typeof import('./control/stop')),
  lateResults: part(() => require('./print/late-results') as typeof import('./print/late-results')),
  connectionTest: part(() => require('./connection/connection-test') as typeof import('./connection/connection-test')),
  peers: part(() => require('./watch/replication/peers') as typeof import('./watch/replication/peers')),
};

/** All operations of one account for flows and the editor. Only this class assembles the layers below. */
export class Client {
  readonly simulated: boolean;
  readonly clock: Clock;
  readonly service: ApiClient;
  readonly credentials: Credentials;
  readonly watcher: Watcher;
  readonly #settings: AccountSettings;
  readonly #http: Http;
  readonly #grace: number;
  readonly #calls: AuthenticatedApiClient;
  readonly scope: CurrentScope;
  readonly #warn: (sentence: Sentence) => void;
  readonly #statusReader: StatusReader;
  readonly #unresolvedPrints: UnresolvedPrints;
  readonly #endMetrics: (() => void) | undefined;
  readonly #closing = new AbortController();
  // Each part is made, and its modules are loaded, on its first use.
  declare readonly requests: Requests;
  declare readonly uploads: Uploads;
  declare readonly dispatcher: Dispatcher;
  declare readonly prints: Prints;
  declare readonly pendingWaits: PendingWaits;
  declare readonly queues: Queues;
  declare readonly snapshots: Snapshots;
  declare readonly jobControl: JobControl;
  declare readonly reports: Reports;
  declare readonly library: Library;
  declare readonly queries: Queries;
  declare readonly choices: Choices;
  readonly #made: Partial<Client>;

  constructor(options: ClientOptions) {
    const {
      accountId,
      settings,
      metrics,
      clock,
      log,
      simulated = false,
      memory,
      leftovers,
      runtimeName = hostname(),
      http = new Http(undefined, { isLocal: isOnThisMachine(settings) }),
      refreshesUnderWay = new RefreshesUnderWay(),
    } = options;
    const store = metrics?.timed(options.store) ?? options.store;
    this.simulated = simulated;
    this.clock = clock;
    this.#settings = settings;
    this.#http = http;
    this.#grace = options.grace ?? GRACE;
    const warn = (this.#warn = (sentence: Sentence) => log.warn(sentence));
    const refreshEnded = metrics && ((isSaved: boolean) => metrics.refreshEnded(isSaved));
    const credentials = credentialsOf(settings, {
      accountId,
      store,
      clock,
      http,
      refreshesUnderWay,
      warn,
      refreshEnded,
    });
    credentials.ready().catch((error: unknown) => {
      log.warn(phrase`The sign-in could not be read: ${asPrintingError(error).sentence}`);
    });
    this.credentials = credentials;
    const service = new AuthenticatedApiClient({ settings, http, clock, credentials, meter: metrics });
    this.service = service;
    this.#calls = service;
    const host = simulated ? 'simulated' : settings.apiUrl;
    const scope = async (): Promise<Scope> => {
      await credentials.ready();
      const { workspace } = credentials;
      // The owner of the state is unknown, so no record may count as missing.
      if (workspace === undefined && !settings.organizationId) throw nobodySignedIn();
      return [accountId, host, workspace ?? settings.organizationId];
    };
    this.scope = scope;
    const watcher = new Watcher({
      ...{ service, store, clock, signIn: credentials, scope, memory, meter: metrics },
      report: (event) => logReport(log, event),
      // Each runtime has its own simulated world, so the runtimes don't share its watching.
      ...(simulated
        ? { followInterval: 10 }
        : { sharing: { topic: ['watching', accountId, host], name: runtimeName } }),
    });
    this.watcher = watcher;
    const jobListReader = new JobListReader(service);
    const unresolvedPrints = new UnresolvedPrints({
      ...{ store, scope, clock, warn, watcher, signIn: credentials, jobListReader },
      dispatcher: () => this.dispatcher,
    });
    this.#unresolvedPrints = unresolvedPrints;
    this.#endMetrics = metrics?.attach({
      signInState: () => credentials.state,
      polled: () => watcher.polled(),
      unresolved: () => unresolvedPrints.count,
      leaseAge: () => watcher.membership?.leaseAge ?? null,
    });
    if (metrics) watcher.onObservation((clusterId, status) => metrics.observed(clusterId, status));

    const common = { service, http, store, clock, scope };
    const { clusterList } = watcher;
    const statusReader = (this.#statusReader = new StatusReader(service, clusterList));
    const { origin, paths } = settings;
    const { overrides } = paths;
    this.#made = lazily(this, {
      requests: () => {
        const { Requests } = modules.requests();
        return new Requests(service, settings);
      },
      uploads: () => {
        const { Uploads } = modules.uploads();
        return new Uploads({ ...common, ...(origin && { origin }) });
      },
      dispatcher: () => {
        const { Dispatcher } = modules.dispatcher();
        return new Dispatcher({ service, jobListReader, clock, warn });
      },
      prints: () => {
        const { ClusterPrint } = modules.clusterPrint();
        const { Prints } = modules.prints();
        const onUnknown = () => metrics?.dispatchUnknown();
        const { uploads, dispatcher } = this;
        const clusterPrint = new ClusterPrint({ statusReader, dispatcher, unresolvedPrints, onUnknown });
        return new Prints({ ...common, uploads, clusterPrint, watcher, signIn: credentials, warn });
      },
      pendingWaits: () => {
        const { PendingWaits } = modules.pendingWaits();
        return new PendingWaits(store, clock, watcher.runtimes, options.store);
      },
      queues: () => {
        const { Queues } = modules.printQueue();
        const { jobControl, dispatcher, uploads } = this;
        return new Queues({
          ...{ ...common, warn, shared: options.store, topic: [accountId, host], runtimeName, meter: metrics?.queues },
          ...{ watcher, signIn: credentials, jobControl, dispatcher, jobListReader, uploads },
        });
      },
      snapshots: () => {
        const { Snapshots } = modules.snapshots();
        return new Snapshots({ ...common, clusterList, statusReader });
      },
      jobControl: () => {
        const { JobControl } = modules.jobControl();
        return new JobControl(service, statusReader);
      },
      reports: () => {
        const { Reports } = modules.reports();
        return new Reports({ ...common, leftovers });
      },
      library: () => {
        const { Library } = modules.library();
        return new Library({ ...common, leftovers, origin: origin || undefined });
      },
      queries: () => {
        const { Queries } = modules.queries();
        return new Queries({ ...common, clusterList, statusReader, overrides });
      },
      choices: () => {
        const { Choices } = modules.choices();
        return new Choices({ ...common, overrides, signIn: credentials, closing: this.#closing.signal });
      },
    });
  }

  /** Opens a print queue. Its node closes it; the account closes those that are left. */
  queue(options: QueueOptions): PrintQueue {
    return this.queues.open(options);
  }

  /**
   * Pauses the account's queues, takes waiting jobs back and aborts prints: of one printer, or of all (reference 3.5).
   * `failure`: the first of the failures, after all was tried.
   */
  async stop(
    request: Omit<StopRequest, 'quiet'>,
  ): Promise<{ results: CommonActionResult[]; failure: PrintingError | undefined }> {
    const { firstFailure, stopJobs } = modules.stop();
    const { clusterId = null, deadline } = request;
    // A queue that can't be paused is no reason to let its prints go on.
    const paused = this.#made.queues?.pause(clusterId, deadline).catch(asPrintingError);
    const { dispatcher } = this.#made;
    const mayShow = dispatcher && ((...of: Parameters<Dispatcher['mayShow']>) => dispatcher.mayShow(...of));
    const limited = { ...request, quiet: paused, mayShow };
    const results = await stopJobs(this.service, this.#statusReader, this.jobControl, limited);
    const unpaused = await paused;
    return { results, failure: firstFailure(results) ?? (unpaused instanceof PrintingError ? unpaused : undefined) };
  }

  /** One node's waits for ends that come after their message (ADR 10). */
  lateResults<Awaited extends object, Result>(waiter: Waiter<Awaited, Result>): LateResults<Awaited, Result> {
    const { LateResults } = modules.lateResults();
    const { pendingWaits, clock, scope, watcher, credentials: signIn } = this;
    const { runtimes } = watcher;
    return new LateResults({ pendingWaits, clock, scope, runtimes, signIn, warn: this.#warn }, waiter);
  }

  /** Tests the parts of the account and returns a result for each. Never throws. */
  testConnection(): Promise<Check[]> {
    const { testConnection } = modules.connectionTest();
    const { clock, credentials } = this;
    return testConnection({ settings: this.#settings, http: this.#http, clock, credentials });
  }

  /**
   * Returns the runtimes that share the account's work, with their shares; null if the state isn't shared. Rejects
   * while the database can't be read.
   */
  async replicas(): Promise<Replica[] | null> {
    const { membership } = this.watcher;
    if (!membership) return null;
    const { replicasOf } = modules.peers();
    return replicasOf(membership);
  }

  /**
   * Whether another runtime uses the account. Call it after `close`, which ends this runtime's membership. True while
   * the database can't be read.
   */
  async isElsewhere(): Promise<boolean> {
    const holders = await this.watcher.membership?.holders().catch(() => null);
    return holders !== undefined && holders?.size !== 0;
  }

  /** Figures for a problem report, without secrets and with shortened ids. */
  async diagnostics() {
    return {
      settings: settingsSummary(this.#settings),
      state: this.credentials.state,
      counters: { ...this.#calls.counters(), ...this.credentials.counters() },
      replicas: await this.replicas().catch((thrown: unknown) => asPrintingError(thrown).code),
    };
  }

  /**
   * Closes everything. Waits for irreversible work (a refresh, a dispatch, a write) as long as the grace period allows.
   * After that the work continues on its own, because it belongs to the process (ADR 13).
   */
  async close(): Promise<void> {
    this.#closing.abort(closed());
    this.#endMetrics?.();
    this.#unresolvedPrints.close();
    const { queues, prints, dispatcher, pendingWaits, reports, uploads } = this.#made;
    // Each part comes to its own end, whatever becomes of the others.
    const settled = Promise.allSettled([
      queues?.close(),
      this.watcher.close(),
      this.credentials.close(),
      prints?.settled(),
      dispatcher?.settled(),
      reports?.settled(),
      uploads?.settled(),
    ]);
    // A print that the close let through begins its wait late.
    const saved = settled.then(() => pendingWaits?.close());
    await settledWithin(this.clock, this.#grace, saved);
    await this.#http.close();
  }
}

/** Gives `target` members that are each made on their first use, and returns those that were made. */
function lazily<Target extends object, Name extends keyof Target>(
  target: Target,
  makers: { [N in Name]: () => Target[N] },
): Partial<Pick<Target, Name>> {
  const made: Partial<Pick<Target, Name>> = {};
  for (const name of Object.keys(makers) as Name[])
    Object.defineProperty(target, name, { get: () => (made[name] ??= makers[name]()) });
  return made;
}
