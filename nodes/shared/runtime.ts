import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import type { NodeAPI } from 'node-red';
import { Leftovers } from '../../lib/files/leftovers';
import { Http } from '../../lib/http/http';
import { Authorization } from '../../lib/sign-in/authorization';
import { Renewals } from '../../lib/sign-in/renewals';
import { TokenEndpoint } from '../../lib/sign-in/token-endpoint';
import type { StateStore } from '../../lib/state/store';
import { Sweeper } from '../../lib/state/sweeper';
import { systemClock, type Clock } from '../../lib/time/clock';
import type { WatchMemory } from '../../lib/watch/checkpoints/watch-memory';
import type { Log } from '../../lib/watch/views/watcher-log';
import type { AccountNode } from './account-link';
import type { SimulatedWorld } from './simulated-world';
import type { Sentence } from '../../lib/words/sentence';
import { told } from './language';
import { savedState } from './saved-state';

/** What all accounts of one Node-RED share. It outlives deploys, so that its locks hold across them. */
export interface Runtime {
  clock: Clock;
  /** By which other Node-REDs on the same database know this one. */
  name: string;
  /** Node-RED's user directory. */
  userDir: string;
  store: StateStore;
  /** Of simulated accounts: the world that they live in is this Node-RED's own. */
  ownStore: StateStore;
  /** Files that are being written, so that a crash leaves none of them for good. */
  leftovers: Leftovers;
  upkeep: Sweeper;
  /** Warns, once, of a state folder that can't be written, or that is not kept although a real account needs it. */
  checkState: (isReal: boolean) => void;
  /** What the watching of each account remembers from one deploy to the next. */
  watching: Map<string, WatchMemory>;
  /** The renewals of sign-ins that are under way, whichever instance of an account began them. */
  renewals: Renewals;
  /** How long a node's close may last, ms. */
  closeTimeout: number;
  /** For sign-ins, which may come before any account is deployed. */
  http: Http;
  endpoint: TokenEndpoint;
  authorization: Authorization;
  /** The account nodes that run. */
  accounts: Set<AccountNode>;
  /** The world of the simulated ones, from the first of them on. */
  simulated?: SimulatedWorld;
}

/** By user directory: every node set is handed an API object of its own, the directory is what they have in common. */
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

/** Its host, with the port where that is not the usual one: several may run on one host. */
function nameOf(RED: NodeAPI): string {
  const { uiPort } = RED.settings as { uiPort?: unknown };
  return Number(uiPort ?? 1880) === 1880 ? hostname() : `${hostname()}:${String(uiPort)}`;
}

/** The folder is that of reference 6. */
function make(RED: NodeAPI, userDir: string): Runtime {
  const folder = join(userDir, 'remote-printing');
  const clock = systemClock;
  const warn = (sentence: Sentence) => RED.log.warn(`[remote-printing] ${told(RED, sentence)}`);
  const log: Log = {
    warn,
    info: (sentence) => RED.log.info(`[remote-printing] ${told(RED, sentence)}`),
  };
  const state = savedState(RED, { folder, clock, log });
  const { store, signIns, own: ownStore } = state;
  const leftovers = new Leftovers(join(folder, 'unfinished'), clock);
  const sweep = async () => {
    await Promise.all([state.sweep(), leftovers.sweep()]);
  };
  const upkeep = new Sweeper({ clock, sweep, ended: () => state.close(), warn });
  const warned = new Set<string>();
  const checkState = (isReal: boolean) => {
    void state.trouble(isReal).then((trouble) => {
      if (!trouble || warned.has(String(trouble))) return;
      warned.add(String(trouble));
      warn(trouble);
    });
  };
  // Unfinished files of a crash are removed at once: their notes name the processes that wrote them, not a time.
  void leftovers.sweep();
  const http = new Http();
  const endpoint = new TokenEndpoint(http, clock);
  const renewals = new Renewals();
  const { nodeCloseTimeout } = RED.settings as { nodeCloseTimeout?: unknown };
  return {
    clock,
    name: nameOf(RED),
    userDir,
    store,
    ownStore,
    leftovers,
    upkeep,
    checkState,
    watching: new Map(),
    renewals,
    // Node-RED's own default.
    closeTimeout: Number(nodeCloseTimeout) || 15_000,
    http,
    endpoint,
    authorization: new Authorization({ store, signIns, clock, endpoint, renewals }),
    accounts: new Set(),
  };
}
