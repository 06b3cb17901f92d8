import type { AccountSettings } from './account/settings';
import type { Leftovers } from './files/leftovers';
import type { Http } from './http/http';
import type { AccountMetrics } from './metrics/account-metrics';
import type { RefreshesUnderWay } from './sign-in/refresh';
import type { StateStore } from './state/store';
import type { Clock } from './time/clock';
import type { WatchMemory } from './watch/checkpoints/memory';
import type { Log } from './watch/views/outages';

/** Everything that a client is assembled from. */
export interface ClientOptions {
  /** Names the account in the state store. It stays the same across restarts and changes of settings. */
  accountId: string;
  settings: AccountSettings;
  store: StateStore;
  clock: Clock;
  /** Log for events that no message can carry: an outage that begins or ends, state that can't be saved. */
  log: Log;
  /** The service is the pack's own simulator. */
  simulated?: boolean;
  /** Memory of the watcher from one deploy to the next. */
  memory?: WatchMemory | undefined;
  /** Refreshes of sign-ins under way in this process, whichever instance of the account began them. */
  refreshesUnderWay?: RefreshesUnderWay;
  http?: Http;
  /** How long `close` waits for irreversible work, ms. Default: almost the time that Node-RED gives a node. */
  grace?: number;
  /** Notes of unfinished files. */
  leftovers?: Leftovers;
  /** Counts for Prometheus. */
  metrics?: AccountMetrics | undefined;
  /** Name of this runtime among those that share an account's work. Default: the host name. */
  runtimeName?: string;
}
