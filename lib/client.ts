import { hostname } from 'node:os';
import { credentialsOf } from './account/credentials';
import type { ApiClient } from './account/api-client';
import { isOnThisMachine, settingsSummary, type AccountSettings } from './account/settings';
import { AuthenticatedApiClient } from './account/authenticated-api-client';
import type { ClientOptions } from './client-options';
import type { Check } from './connection/check';
import type { JobControl } from './control/job-control';
import type { Leftovers } from './files/leftovers';
import { Http } from './http/http';
import type { Library } from './library/library';
import type { Snapshots } from './picture/snapshots';
import type { Dispatcher } from './print/dispatcher';
import { JobListReader } from './print/job-list-reader';
import { UnresolvedPrints } from './print/unresolved-prints';
import type { Prints } from './print/prints';
import type { Choices } from './query/choices';
import type { Queries } from './query/queries';
import type { PrintQueue } from './queue/print-queue';
import type { QueueOptions } from './queue/run/options';
import type { Queues } from './queue/queues';
import type { Reports } from './report/reports';
import type { Requests } from './request/requests';
import { asPrintingError } from './service/errors';
import type { Credentials } from './sign-in/credentials';
import type { AccountMetrics } from './metrics/account-metrics';
import { Renewals } from './sign-in/refresh';
import type { CurrentScope, Scope, StateStore } from './state/store';
import type { Clock } from './time/clock';
import { closed } from './time/deadline';
import { settledWithin } from './time/concurrency';
import type { Uploads } from './upload/uploads';
import type { Waits } from './waits';
import type { Replica } from './watch/replication/peers';
import { Watcher } from './watch/watcher';
import { logReport } from './watch/views/watch';
import { phrase, type Sentence } from './words/sentence';

export type { ClientOptions } from './client-options';

/**
 * Default grace period of `close`, ms. Node-RED gives a node 15 s to close; the rest is for the steps after the
 * account's own close.
 */
const GRACE = 14_000;

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
  readonly #store: StateStore;
  /** Resources shared with other instances and runtimes: the plain store, the names of work and runtime. */
  readonly #shared: { shared: StateStore; topic: readonly string[]; runtimeName: string };
  readonly #leftovers: Leftovers | undefined;
  readonly #calls: AuthenticatedApiClient;
  readonly scope: CurrentScope;
  readonly #warn: (sentence: Sentence) => void;
  readonly #jobListReader: JobListReader;
  readonly #unresolvedPrints: UnresolvedPrints;
  readonly #metrics: AccountMetrics | undefined;
  readonly #endMetrics: (() => void) | undefined;
  readonly #closing = new AbortController();
  // Created, and their modules loaded, on first use by a node.
  #requests: Requests | undefined;
  #uploads: Uploads | undefined;
  #dispatcher: Dispatcher | undefined;
  #prints: Prints | undefined;
  #waits: Waits | undefined;
  #snapshots: Snapshots | undefined;
  #jobControl: JobControl | undefined;
  #reports: Reports | undefined;
  #library: Library | undefined;
  #queries: Queries | undefined;
  #choices: Choices | undefined;
  #queues: Queues | undefined;

  constructor(options: ClientOptions) {
    const {
      accountId,
      settings,
      metrics,
      clock,
      log,
      simulated = false,
      memory,
      http = new Http(undefined, { isLocal: isOnThisMachine(settings) }),
      renewals = new Renewals(),
    } = options;
    const store = metrics?.timed(options.store) ?? options.store;
    this.simulated = simulated;
    this.clock = clock;
    this.#settings = settings;
    this.#http = http;
    this.#store = store;
    this.#grace = options.grace ?? GRACE;
    this.#leftovers = options.leftovers;
    const warn = (this.#warn = (sentence: Sentence) => log.warn(sentence));
    const refreshEnded = metrics && ((isSaved: boolean) => metrics.refreshEnded(isSaved));
    this.credentials = credentialsOf(settings, { accountId, store, clock, http, renewals, warn, refreshEnded });
    this.credentials.ready().catch((error: unknown) => {
      log.warn(phrase`The sign-in could not be read: ${asPrintingError(error).sentence}`);
    });
    this.#calls = new AuthenticatedApiClient({ settings, http, clock, credentials: this.credentials, meter: metrics });
    this.service = this.#calls;
    const { service } = this;
    const host = simulated ? 'simulated' : settings.apiUrl;
    const name = options.runtimeName ?? hostname();
    this.#shared = { shared: options.store, topic: [accountId, host], runtimeName: name };
    const scope = async (): Promise<Scope> => {
      await this.credentials.ready();
      const workspace = this.credentials.info().organizationId ?? settings.organizationId;
      return [accountId, host, workspace];
    };
    this.scope = scope;
    this.watcher = new Watcher({
      service,
      store,
      clock,
      signIn: this.credentials,
      scope,
      memory,
      meter: metrics,
      report: (event) => logReport(log, event),
      // Each runtime has its own simulated world, so the runtimes don't share its watching.
      ...(simulated ? { followInterval: 10 } : { sharing: { topic: ['watching', accountId, host], name } }),
    });
    this.#jobListReader = new JobListReader(service);
    this.#unresolvedPrints = new UnresolvedPrints({
      ...{ store, scope, clock, warn },
      watcher: this.watcher,
      signIn: this.credentials,
      jobListReader: this.#jobListReader,
      dispatcher: () => this.#dispatches(),
    });
    this.#metrics = metrics;
    this.#endMetrics = metrics?.attach({
      signInState: () => this.credentials.state,
      polled: () => this.watcher.polled(),
      unresolved: () => this.#unresolvedPrints.count,
      leaseAge: () => this.watcher.membership?.leaseAge ?? null,
    });
    if (metrics) this.watcher.onObservation((clusterId, status) => metrics.observed(clusterId, status));
  }

  get requests(): Requests {
    const { Requests } = require('./request/requests') as typeof import('./request/requests');
    return (this.#requests ??= new Requests(this.#calls, this.#settings));
  }

  get prints(): Prints {
    if (this.#prints) return this.#prints;
    const { ClusterPrint } = require('./print/cluster-print') as typeof import('./print/cluster-print');
    const { Prints } = require('./print/prints') as typeof import('./print/prints');
    const { service, watcher } = this;
    const parts = { ...this.#parts, warn: this.#warn, uploads: this.#uploader() };
    const shared = { service, dispatcher: this.#dispatches(), unresolvedPrints: this.#unresolvedPrints };
    const clusterPrint = new ClusterPrint({ ...shared, onUnknown: () => this.#metrics?.dispatchUnknown() });
    return (this.#prints = new Prints({ ...parts, clusterPrint, watcher }));
  }

  /** Opens a print queue. Its node closes it; the account closes those that are left. */
  queue(options: QueueOptions): PrintQueue {
    const { Queues } = require('./queue/queues') as typeof import('./queue/queues');
    this.#queues ??= new Queues({
      ...{ ...this.#parts, watcher: this.watcher, signIn: this.credentials, jobControl: this.jobControl },
      ...{ dispatcher: this.#dispatches(), jobListReader: this.#jobListReader, uploads: this.#uploader() },
      ...{ ...this.#shared, meter: this.#metrics?.queues },
    });
    return this.#queues.open(options);
  }

  /** The waits of nodes for the ends of prints and of items. */
  get waits(): Waits {
    const { Waits } = require('./waits') as typeof import('./waits');
    const { clock, scope, watcher, credentials: signIn } = this;
    return (this.#waits ??= new Waits({ store: this.#store, clock, scope, watcher, signIn, warn: this.#warn }));
  }

  get snapshots(): Snapshots {
    const { Snapshots } = require('./picture/snapshots') as typeof import('./picture/snapshots');
    return (this.#snapshots ??= new Snapshots({ ...this.#parts, clusterList: this.watcher.clusterList }));
  }

  get jobControl(): JobControl {
    const { JobControl } = require('./control/job-control') as typeof import('./control/job-control');
    return (this.#jobControl ??= new JobControl({ service: this.service }));
  }

  get reports(): Reports {
    const { Reports } = require('./report/reports') as typeof import('./report/reports');
    return (this.#reports ??= new Reports({ ...this.#parts, leftovers: this.#leftovers }));
  }

  get library(): Library {
    const { Library } = require('./library/library') as typeof import('./library/library');
    const origin = this.#settings.origin || undefined;
    return (this.#library ??= new Library({ ...this.#parts, leftovers: this.#leftovers, origin }));
  }

  get queries(): Queries {
    const { Queries } = require('./query/queries') as typeof import('./query/queries');
    const { overrides } = this.#settings.paths;
    return (this.#queries ??= new Queries({ ...this.#parts, clusterList: this.watcher.clusterList, overrides }));
  }

  get choices(): Choices {
    const { Choices } = require('./query/choices') as typeof import('./query/choices');
    const { overrides } = this.#settings.paths;
    return (this.#choices ??= new Choices({ ...this.#parts, overrides, closing: this.#closing.signal }));
  }

  /** Tests the parts of the account and returns a result for each. Never throws. */
  testConnection(): Promise<Check[]> {
    const { testConnection } = require('./connection/connection-test') as typeof import('./connection/connection-test');
    return testConnection({ ...this.#parts, settings: this.#settings, credentials: this.credentials });
  }

  get #parts() {
    const { service, clock } = this;
    return { service, http: this.#http, store: this.#store, clock, scope: this.scope };
  }

  #uploader(): Uploads {
    const { Uploads } = require('./upload/uploads') as typeof import('./upload/uploads');
    const { origin } = this.#settings;
    return (this.#uploads ??= new Uploads({ ...this.#parts, ...(origin && { origin }) }));
  }

  /** Returns the dispatcher for prints and for outcomes that an earlier runtime left open. */
  #dispatches(): Dispatcher {
    const { Dispatcher } = require('./print/dispatcher') as typeof import('./print/dispatcher');
    return (this.#dispatcher ??= new Dispatcher({
      service: this.service,
      jobListReader: this.#jobListReader,
      clock: this.clock,
      warn: this.#warn,
    }));
  }

  /**
   * Returns the runtimes that share the account's work, with their shares; null if the state isn't shared. Rejects
   * while the database can't be read.
   */
  async replicas(): Promise<Replica[] | null> {
    const { membership } = this.watcher;
    if (!membership) return null;
    const { replicasOf } = require('./watch/replication/peers') as typeof import('./watch/replication/peers');
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
    const settled = Promise.all([
      this.#queues?.close(),
      this.watcher.close(),
      this.credentials.close(),
      this.#dispatcher?.settled(),
      this.#waits?.close(),
      this.#reports?.settled(),
      this.#uploads?.settled(),
    ]);
    await settledWithin(this.clock, this.#grace, settled);
    await this.#http.close();
  }
}
