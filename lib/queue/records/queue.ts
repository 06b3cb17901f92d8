import type { Key } from '../../state/store';
import { NEW_QUEUE, type QueueRecord } from '../model/queue';
import type { QueueStore } from './store';

/** The state of one queue in the store. */
export class SavedQueue {
  #record = NEW_QUEUE;

  constructor(
    private readonly store: QueueStore,
    private readonly queueId: string,
    /** Called after a change while events wait for their delivery. */
    private readonly hasEvents: () => void,
  ) {}

  get record(): QueueRecord {
    return this.#record;
  }

  async load(): Promise<void> {
    for (;;) {
      const before = this.#record;
      const stored = await this.store.get<QueueRecord>(this.#key);
      // After a change during the read, either may be the newer one.
      if (this.#record !== before) continue;
      this.#record = stored ?? NEW_QUEUE;
      return;
    }
  }

  /** Changes the state; a change that returns the same record is not written. */
  async change(change: (record: QueueRecord) => QueueRecord, { asPlanner = false } = {}): Promise<void> {
    if (asPlanner && change(this.#record) === this.#record) return;
    const changed = await this.store.update<QueueRecord>(
      this.#key,
      (current) => {
        const next = change(current ?? NEW_QUEUE);
        return next === NEW_QUEUE ? current : next;
      },
      { asPlanner },
    );
    this.#record = changed ?? NEW_QUEUE;
    if (this.#record.outbox.length > 0) this.hasEvents();
  }

  /** Writes the state as it is. Rejects while the store can't be written. */
  async probe(): Promise<void> {
    await this.store.update<QueueRecord>(this.#key, (current) => ({ ...(current ?? NEW_QUEUE) }), { asPlanner: true });
  }

  get #key(): Key {
    return this.store.keyOf('queue-state', this.queueId);
  }
}
