import type { SignInWatch } from '../sign-in/sign-in-state';
import type { CurrentScope, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Peers } from '../watch/replication/peers';
import type { Watcher } from '../watch/watcher';
import type { Sentence } from '../words/sentence';
import { awaitEnd } from './awaited-end';
import { LateResults, type Waiter } from './late-results';
import { Ledger } from './ledger';
import type { PendingWait, PendingWaits } from './pending-waits';
import type { Awaited, PrintResult, Progress } from './print-request';

/** A node's waits for the ends of prints. `result.error` is set if the print did not finish well. */
export type LatePrints = LateResults<Awaited, PrintResult>;

/** The node that waits for prints. */
export interface PrintWaiter extends Waiter<Awaited, PrintResult> {
  /** Reports the progress of resumed waits. */
  onProgress: (progress: Progress) => void;
  /** A poll failed: the last progress of an awaited print is stale. */
  onStale?: ((clusterJobId: string) => void) | undefined;
}

interface LatePrintsDeps {
  pendingWaits: PendingWaits<PendingWait<Awaited>>;
  watcher: Watcher;
  runtimes: Peers;
  store: StateStore;
  scope: CurrentScope;
  signIn: SignInWatch;
  clock: Clock;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

export const latePrints = (deps: LatePrintsDeps, waiter: PrintWaiter): LatePrints =>
  new LateResults(
    { ...deps, awaitEnd: (scope, print) => awaitEnd(deps, new Ledger(deps.store, scope), waiter, print) },
    waiter,
  );
