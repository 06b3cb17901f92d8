import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import type { NodeAPI } from 'node-red';
import { Leftovers } from '../../lib/files/leftovers';
import type { Bridge } from '../../lib/home-assistant/bridge';
import { Http } from '../../lib/http/http';
import type { AccountMetrics } from '../../lib/metrics/account-metrics';
import { Authorization } from '../../lib/sign-in/authorization';
import { RefreshesUnderWay } from '../../lib/sign-in/refresh';
import { TokenEndpoint } from '../../lib/sign-in/token-endpoint';
import type { StateStore } from '../../lib/state/store';
import { Sweeper } from '../../lib/state/file-store';
import { systemClock, type Clock } from '../../lib/time/clock';
import type { WatchMemory } from '../../lib/watch/checkpoints/memory';
import type { Log } from '../../lib/watch/views/outages';
import type { AccountNode, OpenAccount } from './account-link';
import type { QueueNode, SharedQueue } from './queue-link';
import { Shares } from './shares';
import type { SimulatedWorld } from './simulated-world';
import type { Sentence } from '../../lib/words/sentence';
import { translated } from './language';
import { savedState } from './saved-state';

/** Objects that all accounts of one Node-RED share. They outlive deploys, so that locks hold across them. */
export interface Runtime {
  clock: Clock;
  /** Name of this Node-RED for others on the same database. */
  name: string;
  /** Node-RED's user directory. */
  userDir: string;
  store: StateStore;
  /** Store of the simulated accounts, whose world belongs to this Node-RED alone. */
  ownStore: StateStore;
  /** Files that are being written; removes those of a crashed process. */
  leftovers: Leftovers;
  upkeep: Sweeper;
  /**
   * Warns once of a state folder that can't be written, and, of a real account, that it isn't durable or that nothing
   * encrypts the sign-in.
   */
  checkState: (isReal: boolean) => void;
  /** State of the polls per account, from one deploy to the next. */
  watching: Map<string, WatchMemory>;
  /** Counters per account, from the start of the process. */
  metrics: Map<string, AccountMetrics>;
  /** Token refreshes in flight, shared by all instances of an account. */
  refreshesUnderWay: RefreshesUnderWay;
  /** Longest duration of a node's close, ms. */
  closeTimeout: number;
  /** HTTP client for sign-ins, which can precede the deploy of an account. */
  http: Http;
  endpoint: TokenEndpoint;
  authorization: Authorization;
  /** Running account nodes. */
  accounts: Set<AccountNode>;
  /** Running queue nodes. */
  queues: Set<QueueNode>;
  /** Open bridges to Home Assistant. */
  bridges: Set<Bridge>;
  /** Open clients, by account and settings. */
  clients: Shares<Promise<OpenAccount>>;
  /** Open queues, by id. */
  openQueues: Shares<SharedQueue>;
  /** World of the simulated accounts, created with the first of them. */
  simulated?: SimulatedWorld;
}

/** Runtimes by user directory: each node set gets its own API object, but all share the directory. */
const runtimes = new Map<string, Runtime>();

export function runtimeOf(RED: NodeAPI): Runtime {
  const userDir = (RED.settings as { userDir?: string }).userDir ?? join(homedir(), '.node-red');
  let runtime = runtimes.get(userDir);
  if (!runtime) {
    runtime = make(RED, userDir);
    runtimes.set(userDir, runtime);
  }
  return runtime;
}

/** Name from the host, plus the port unless it is the default: several runtimes may share a host. */
function runtimeNameOf(RED: NodeAPI): string {
  const { uiPort } = RED.settings as { uiPort?: unknown };
  return Number(uiPort ?? 1880) === 1880 ? hostname() : `${hostname()}:${String(uiPort)}`;
}

/** Creates the runtime; reference 6 defines its folder. */
function make(RED: NodeAPI, userDir: string): Runtime {
  const folder = join(userDir, 'remote-printing');
  const clock = systemClock;
  const warn = (sentence: Sentence) => RED.log.warn(`[remote-printing] ${translated(RED, sentence)}`);
  const log: Log = {
    warn,
    info: (sentence) => RED.log.info(`[remote-printing] ${translated(RED, sentence)}`),
  };
  const state = savedState(RED, { folder, clock, log });
  const { store, signIns, own: ownStore } = state;
  const leftovers = new Leftovers(join(folder, 'unfinished'), clock);
  const sweep = async () => {
    await Promise.all([state.sweep(), leftovers.sweep()]);
  };
  const upkeep = new Sweeper({ clock, sweep, ended: (isInUse) => state.close(isInUse), warn });
  const warned = new Set<string>();
  const warnOnce = (trouble: Sentence | null) => {
    if (!trouble || warned.has(String(trouble))) return;
    warned.add(String(trouble));
    warn(trouble);
  };
  const checkState = (isReal: boolean) => {
    // Simulated accounts have no secrets.
    if (isReal) warnOnce(state.exposure());
    void state.trouble(isReal).then(warnOnce);
  };
  // Removes unfinished files of a crash immediately: their notes name the writing processes, not a time.
  void leftovers.sweep();
  const http = new Http();
  const endpoint = new TokenEndpoint(http, clock);
  const refreshesUnderWay = new RefreshesUnderWay();
  const { nodeCloseTimeout } = RED.settings as { nodeCloseTimeout?: unknown };
  return {
    clock,
    name: runtimeNameOf(RED),
    userDir,
    store,
    ownStore,
    leftovers,
    upkeep,
    checkState,
    watching: new Map(),
    metrics: new Map(),
    refreshesUnderWay,
    // Falls back to Node-RED's default.
    closeTimeout: Number(nodeCloseTimeout) || 15_000,
    http,
    endpoint,
    authorization: new Authorization({ store, signIns, clock, endpoint, refreshesUnderWay, warn }),
    accounts: new Set(),
    queues: new Set(),
    bridges: new Set(),
    clients: new Shares(),
    openQueues: new Shares(),
  };
}
