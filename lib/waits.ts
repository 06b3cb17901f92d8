import { latePrints, type LatePrints, type PrintWaiter } from './print/late-prints';
import type { Waiter } from './print/late-results';
import { PendingWaits, type PendingWait } from './print/pending-waits';
import type { Awaited } from './print/print-request';
import type { AwaitedItem, ItemEnd, QueueApi } from './queue/model/types';
import { lateItems, type LateItems } from './queue/queues';
import type { SignInWatch } from './sign-in/sign-in-state';
import type { CurrentScope, StateStore } from './state/store';
import type { Clock } from './time/clock';
import type { Watcher } from './watch/watcher';
import type { Sentence } from './words/sentence';

interface WaitsDeps {
  store: StateStore;
  clock: Clock;
  scope: CurrentScope;
  watcher: Watcher;
  signIn: SignInWatch;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

/** The stored waits of an account's nodes: for ends that come after their message (ADR 10). */
export class Waits {
  readonly #deps: WaitsDeps;
  readonly #prints: PendingWaits<PendingWait<Awaited>>;
  readonly #items: PendingWaits<PendingWait<AwaitedItem>>;

  constructor(deps: WaitsDeps) {
    const { store, clock, watcher } = deps;
    this.#deps = deps;
    this.#prints = new PendingWaits(store, clock, watcher.runtimes);
    this.#items = new PendingWaits(store, clock, watcher.runtimes);
  }

  /** The waits of one node for the ends of prints. */
  ofPrints(waiter: PrintWaiter): LatePrints {
    const { runtimes } = this.#deps.watcher;
    return latePrints({ ...this.#deps, runtimes, pendingWaits: this.#prints }, waiter);
  }

  /** The waits of one node for the ends of a queue's items. */
  ofItems(queue: QueueApi, waiter: Waiter<AwaitedItem, ItemEnd>): LateItems {
    const { runtimes } = this.#deps.watcher;
    return lateItems({ ...this.#deps, runtimes, pendingWaits: this.#items }, queue, waiter);
  }

  /** Resolves when all writes have settled; never rejects. */
  async close(): Promise<void> {
    await Promise.all([this.#prints.close(), this.#items.close()]);
  }
}
