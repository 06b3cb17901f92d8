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
import type { PendingWaits } from './print/pending-waits';
import type { LateResults, Waiter } from './print/late-results';
import { JobListReader } from './print/job-list-reader';
import { UnresolvedPrints } from './print/unresolved-prints';
import type { Prints } from './print/prints';
import type { Choices } from './query/choices';
import type { Queries } from './query/queries';
import type { Reports } from './report/reports';
import type { Requests } from './request/requests';
import { asPrintingError } from './service/errors';
import type { Credentials } from './sign-in/credentials';
import type { AccountMetrics } from './metrics/account-metrics';
import { Renewals } from './sign-in/renewals';
import type { CurrentScope, Scope } from './state/scope';
import type { StateStore } from './state/store';
import type { Clock } from './time/clock';
import { closed } from './time/deadline';
import { settledWithin } from './time/settled-within';
import type { Uploads } from './upload/uploads';
import type { Replica } from './watch/replication/replicas';
import { Watcher } from './watch/watcher';
import { logReport } from './watch/views/watcher-log';
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
  readonly #leftovers: Leftovers | undefined;
  readonly #calls: AuthenticatedApiClient;
  readonly #scope: CurrentScope;
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
  #pendingWaits: PendingWaits | undefined;
  #snapshots: Snapshots | undefined;
  #jobControl: JobControl | undefined;
  #reports: Reports | undefined;
  #library: Library | undefined;
  #queries: Queries | undefined;
  #choices: Choices | undefined;

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
    const scope = async (): Promise<Scope> => {
      await this.credentials.ready();
      const workspace = this.credentials.info().organizationId ?? settings.organizationId;
      return [accountId, host, workspace];
    };
    this.#scope = scope;
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
      ...(simulated
        ? { followInterval: 10 }
        : { sharing: { topic: ['watching', accountId, host], name: options.runtimeName ?? hostname() } }),
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
    const { Uploads } = require('./upload/uploads') as typeof import('./upload/uploads');
    const { service, clock, watcher } = this;
    const parts = { service, http: this.#http, store: this.#store, clock, scope: this.#scope, warn: this.#warn };
    const { origin } = this.#settings;
    const uploads = (this.#uploads = new Uploads({ ...parts, ...(origin && { origin }) }));
    const unresolvedPrints = this.#unresolvedPrints;
    const onUnknown = () => this.#metrics?.dispatchUnknown();
    const clusterPrint = new ClusterPrint({ service, dispatcher: this.#dispatches(), unresolvedPrints, onUnknown });
    return (this.#prints = new Prints({ ...parts, uploads, clusterPrint, watcher }));
  }

  /** Returns the results of prints that end after their message, for one node. */
  lateResults(waiter: Waiter): LateResults {
    const { PendingWaits } = require('./print/pending-waits') as typeof import('./print/pending-waits');
    const { LateResults } = require('./print/late-results') as typeof import('./print/late-results');
    const { clock, watcher, credentials: signIn } = this;
    const { runtimes } = watcher;
    const pendingWaits = (this.#pendingWaits ??= new PendingWaits(this.#store, clock, runtimes));
    const shared = { store: this.#store, scope: this.#scope, clock, warn: this.#warn };
    return new LateResults({ ...shared, pendingWaits, watcher, runtimes, signIn }, waiter);
  }

  get snapshots(): Snapshots {
    const { Snapshots } = require('./picture/snapshots') as typeof import('./picture/snapshots');
    const { service, clock, watcher } = this;
    return (this.#snapshots ??= new Snapshots({ service, http: this.#http, clock, clusterList: watcher.clusterList }));
  }

  get jobControl(): JobControl {
    const { JobControl } = require('./control/job-control') as typeof import('./control/job-control');
    return (this.#jobControl ??= new JobControl({ service: this.service }));
  }

  get reports(): Reports {
    const { Reports } = require('./report/reports') as typeof import('./report/reports');
    const { service, clock } = this;
    return (this.#reports ??= new Reports({
      service,
      http: this.#http,
      store: this.#store,
      clock,
      scope: this.#scope,
      leftovers: this.#leftovers,
    }));
  }

  get library(): Library {
    const { Library } = require('./library/library') as typeof import('./library/library');
    const { service, clock } = this;
    return (this.#library ??= new Library({
      service,
      http: this.#http,
      clock,
      leftovers: this.#leftovers,
      origin: this.#settings.origin || undefined,
    }));
  }

  get queries(): Queries {
    const { Queries } = require('./query/queries') as typeof import('./query/queries');
    const { service, clock, watcher } = this;
    const { overrides } = this.#settings.paths;
    const parts = { service, http: this.#http, clock, clusterList: watcher.clusterList };
    return (this.#queries ??= new Queries({ ...parts, overrides }));
  }

  get choices(): Choices {
    const { Choices } = require('./query/choices') as typeof import('./query/choices');
    const { service, clock } = this;
    const { overrides } = this.#settings.paths;
    return (this.#choices ??= new Choices({ service, clock, overrides, closing: this.#closing.signal }));
  }

  /** Tests the parts of the account and returns a result for each. Never throws. */
  testConnection(): Promise<Check[]> {
    const { testConnection } = require('./connection/connection-test') as typeof import('./connection/connection-test');
    const { clock, credentials } = this;
    return testConnection({ settings: this.#settings, credentials, http: this.#http, clock });
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
    const { replicasOf } = require('./watch/replication/replicas') as typeof import('./watch/replication/replicas');
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
      this.watcher.close(),
      this.credentials.close(),
      this.#dispatcher?.settled(),
      this.#pendingWaits?.close(),
      this.#reports?.settled(),
      this.#uploads?.settled(),
    ]);
    await settledWithin(this.clock, this.#grace, settled);
    await this.#http.close();
  }
}
