import { LateResults, type Waiter } from '../print/late-results';
import type { PendingWait, PendingWaits } from '../print/pending-waits';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { CurrentScope, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Peers } from '../watch/replication/peers';
import type { Sentence } from '../words/sentence';
import { type AwaitedItem, itemEnd, type ItemEnd, type WatchedQueue } from './model/types';
import { PrintQueue, type PrintQueueDeps } from './print-queue';
import { LocalChanges } from './records/store';
import type { QueueOptions } from './run/options';

type QueuesDeps = Omit<PrintQueueDeps, 'localChanges' | 'interval' | 'closed'> & {
  /** The store as all accounts of this process know it. */
  shared: StateStore;
};

/** The open print queues of an account. */
export class Queues {
  readonly #deps: QueuesDeps;
  readonly #open = new Set<PrintQueue>();

  constructor(deps: QueuesDeps) {
    this.#deps = deps;
  }

  /** Opens a queue. Its node closes it; the account closes those that are left. */
  open(options: QueueOptions): PrintQueue {
    const { shared, ...deps } = this.#deps;
    const { queueId, name } = options;
    const queue: PrintQueue = new PrintQueue(options, {
      ...deps,
      localChanges: LocalChanges.of(shared),
      interval: deps.watcher.jobEndInterval,
      closed: () => {
        this.#open.delete(queue);
        endMetrics?.();
      },
    });
    const endMetrics = deps.meter?.attach({ queueId, name, figures: () => queue.figures() });
    this.#open.add(queue);
    return queue;
  }

  /** Resolves when the outcomes of all sends are written. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((queue) => queue.close()));
  }
}

/** A node's waits for the ends of items. */
export type LateItems = LateResults<AwaitedItem, ItemEnd>;

interface LateItemsDeps {
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
