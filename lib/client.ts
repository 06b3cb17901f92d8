import type { Service } from './account/service';
import type { AccountSettings } from './account/settings';
import { settingsSummary } from './account/settings-summary';
import { SignedInService } from './account/signed-in-service';
import { JobControl } from './control/job-control';
import { Http } from './http/http';
import { Library } from './library/library';
import { Snapshots } from './picture/snapshots';
import { ClusterPrint } from './print/cluster-print';
import { Dispatcher } from './print/dispatcher';
import { Listings } from './print/listings';
import { OpenOutcomes } from './print/open-outcomes';
import { Prints } from './print/prints';
import { Choices } from './query/choices';
import { Queries } from './query/queries';
import { Reports } from './report/reports';
import { Requests } from './request/requests';
import { asPrintingError } from './service/errors';
import type { Credentials } from './sign-in/credentials';
import { StaticToken } from './sign-in/static-token';
import { TokenEndpoint } from './sign-in/token-endpoint';
import { Tokens } from './sign-in/tokens';
import type { Scope } from './state/scope';
import type { StateStore } from './state/store';
import { sleep, type Clock } from './time/clock';
import { closed } from './time/deadline';
import { Uploads } from './upload/uploads';
import type { WatchMemory } from './watch/watch-memory';
import { Watcher } from './watch/watcher';
import { logReport, type Log } from './watch/watcher-log';

export interface ClientOptions {
  /** Names the account in the state store; stays the same over restarts and changes of settings. */
  accountId: string;
  settings: AccountSettings;
  store: StateStore;
  clock: Clock;
  /** For what people must know but no message can carry: an outage that begins or ends, state that can't be saved. */
  log: Log;
  /** The service is the pack's own simulator. */
  simulated?: boolean;
  /** What the watching remembers from one deploy to the next. */
  memory?: WatchMemory | undefined;
  http?: Http;
}

/** How long closing waits for what may not be broken off: a token refresh, a print's dispatch. */
const GRACE = 10_000;

/** Everything that flows and the editor can ask of one account. The layers below are put together here and nowhere else. */
export class Client {
  readonly simulated: boolean;
  readonly clock: Clock;
  readonly service: Service;
  readonly credentials: Credentials;
  readonly watcher: Watcher;
  readonly prints: Prints;
  readonly snapshots: Snapshots;
  readonly jobControl: JobControl;
  readonly reports: Reports;
  readonly requests: Requests;
  readonly library: Library;
  readonly queries: Queries;
  readonly choices: Choices;
  readonly #settings: AccountSettings;
  readonly #http: Http;
  readonly #uploads: Uploads;
  readonly #calls: SignedInService;
  readonly #dispatcher: Dispatcher;
  readonly #openOutcomes: OpenOutcomes;
  readonly #closing = new AbortController();

  constructor({ accountId, settings, store, clock, log, simulated = false, memory, http = new Http() }: ClientOptions) {
    this.simulated = simulated;
    this.clock = clock;
    this.#settings = settings;
    this.#http = http;
    const { signIn } = settings;
    this.credentials =
      'apiToken' in signIn
        ? new StaticToken(signIn.apiToken)
        : new Tokens({
            accountId,
            settings: signIn,
            store,
            clock,
            endpoint: new TokenEndpoint(http, clock),
            warn: (sentence) => log.warn(sentence),
          });
    this.credentials.ready().catch((error: unknown) => {
      log.warn(`The sign-in could not be read: ${asPrintingError(error).message}`);
    });
    this.#calls = new SignedInService({ settings, http, clock, credentials: this.credentials });
    this.service = this.#calls;
    this.requests = new Requests(this.#calls, settings);
    const { service } = this;
    const scope = async (): Promise<Scope> => {
      await this.credentials.ready();
      const workspace = this.credentials.info().organizationId ?? settings.organizationId;
      return [accountId, simulated ? 'simulated' : settings.apiUrl, workspace];
    };
    const warn = (sentence: string) => log.warn(sentence);
    const origin = settings.origin || undefined;
    const uploads = new Uploads({ service, http, store, clock, scope, ...(origin ? { origin } : {}) });
    this.#uploads = uploads;
    this.watcher = new Watcher({
      service,
      store,
      clock,
      signIn: this.credentials,
      scope,
      memory,
      report: (event) => logReport(log, event),
      ...(simulated ? { followInterval: 10 } : {}),
    });
    const { watcher, credentials } = this;
    const listings = new Listings(service);
    this.#dispatcher = new Dispatcher({ service, listings, clock, warn });
    const dispatcher = this.#dispatcher;
    this.#openOutcomes = new OpenOutcomes({
      watcher,
      signIn: credentials,
      store,
      scope,
      clock,
      listings,
      dispatcher,
      warn,
    });
    const clusterPrint = new ClusterPrint({ service, dispatcher, openOutcomes: this.#openOutcomes });
    this.prints = new Prints({ uploads, clusterPrint, watcher, store, scope, warn });
    const { clusterList } = watcher;
    this.snapshots = new Snapshots({ service, http, clock, clusterList });
    this.jobControl = new JobControl({ service });
    this.reports = new Reports({ service, http, store, clock, scope });
    this.library = new Library({ service, http, clock, origin });
    const { overrides } = settings.paths;
    this.queries = new Queries({ service, clock, clusterList, overrides });
    this.choices = new Choices({ service, clock, overrides, closing: this.#closing.signal });
  }

  /** Figures for a problem report; no secrets, ids shortened. */
  diagnostics() {
    return {
      settings: settingsSummary(this.#settings),
      state: this.credentials.state,
      counters: { ...this.#calls.counters(), ...this.credentials.counters() },
    };
  }

  /** Ends everything. What may not be broken off (a refresh, a dispatch, a write) is waited for, up to ten seconds. */
  async close(): Promise<void> {
    this.#closing.abort(closed());
    this.#openOutcomes.close();
    const over = new AbortController();
    const settled = Promise.all([
      this.watcher.close(),
      this.credentials.close(),
      this.#dispatcher.settled(),
      this.reports.settled(),
      this.#uploads.settled(),
    ]);
    // What fails here was told where it belongs.
    await Promise.race([settled, sleep(this.clock, GRACE, over.signal)]).catch(() => undefined);
    over.abort();
    await this.#http.close();
  }
}
