import type { StateStore } from '../state/store';
import { PrintQueue } from './print-queue';
import { LocalChanges } from './records/records';
import type { QueueOptions, QueueParts } from './run/context';

type QueuesDeps = Omit<QueueParts, keyof QueueOptions | 'localChanges' | 'interval' | 'closed'> & {
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
    const queue: PrintQueue = new PrintQueue({
      ...options,
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
