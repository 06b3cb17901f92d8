import { LateResults, type Waiter } from '../print/late-results';
import type { PendingWait, PendingWaits } from '../print/pending-waits';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { CurrentScope } from '../state/store';
import type { Clock } from '../time/clock';
import type { Peers } from '../watch/replication/peers';
import type { Sentence } from '../words/sentence';
import { itemEnd, type AwaitedItem, type ItemEnd, type WatchedQueue } from './item-ends';

/** A node's waits for the ends of items. */
export type LateItems = LateResults<AwaitedItem, ItemEnd>;

export interface LateItemsDeps {
  pendingWaits: PendingWaits<PendingWait<AwaitedItem>>;
  runtimes: Peers;
  scope: CurrentScope;
  signIn: SignInWatch;
  clock: Clock;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

export const lateItems = (deps: LateItemsDeps, queue: WatchedQueue, waiter: Waiter<AwaitedItem, ItemEnd>): LateItems =>
  new LateResults({ ...deps, awaitEnd: (_, item) => itemEnd(queue, item, waiter.signal) }, waiter);
