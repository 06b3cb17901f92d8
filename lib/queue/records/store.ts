import type { Lock } from '../../state/membership';
import type { Change, Key, PutOptions, Scope, StateStore } from '../../state/store';

/** The option of a change that only the runtime with the queue's lease may make. */
export const PLANNER = { asPlanner: true };

/** Records per page of a listing. */
const PAGE = 1_000;

/** Kinds of the queue's records. */
type Kind = 'queue-item' | 'queue-plate' | 'queue-printer' | 'queue-state';

/**
 * The queue's records in the store. Every change is an update under the record's lock, so that a person at one runtime
 * and the planner at another never overwrite each other; other runtimes are notified of it.
 */
export class QueueStore {
  constructor(
    readonly store: StateStore,
    readonly scope: Scope,
    /** Lease of the planner, without which its changes are not written; null: none is needed. */
    private readonly lease: () => Lock | null = () => null,
    /** Called after each change that was written. */
    private readonly written: (key: Key) => void = () => undefined,
  ) {}

  keyOf = (kind: Kind, ...words: string[]): Key => [kind, ...this.scope, ...words];

  get<T>(key: Key): Promise<T | undefined> {
    return this.store.get<T>(key);
  }

  /** Changes a record. `asPlanner`: only while this runtime holds the lease. */
  async update<T>(
    key: Key,
    change: Change<T>,
    options: PutOptions & { asPlanner?: boolean } = {},
  ): Promise<T | undefined> {
    const { asPlanner = false, ...others } = options;
    const lease = asPlanner ? this.lease() : null;
    const made = { change: false };
    const noticed: Change<T> = async (current, lock) => {
      const next = await change(current, lock);
      made.change = next !== current;
      return next;
    };
    const after = await this.store.update<T>(key, noticed, {
      ...others,
      notify: true,
      ...(lease && { under: [lease] }),
    });
    if (made.change) this.written(key);
    return after;
  }

  /** Reads all records below a key, page by page. */
  async *list<T>(prefix: Key): AsyncGenerator<T> {
    for (let after: string | undefined, isMore = true; isMore;) {
      const { entries, next } = await this.store.list<T>(prefix, { limit: PAGE, after });
      for (const { value } of entries) yield value;
      isMore = next !== null;
      after = next ?? undefined;
    }
  }
}

type Listener = (key: Key) => void;

/**
 * Changes of records within this process. The store notifies other runtimes only, but queues of one account share the
 * gates of their printers, and a queue that is closing may still write while its successor is there.
 */
export class LocalChanges {
  static readonly #byStore = new WeakMap<StateStore, LocalChanges>();
  readonly #listeners = new Set<Listener>();

  /** The changes of a store, the same for all queues that use it. */
  static of(store: StateStore): LocalChanges {
    const known = this.#byStore.get(store) ?? new LocalChanges();
    this.#byStore.set(store, known);
    return known;
  }

  /** Returns a function that removes the listener. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reports a change to all listeners but the one that made it. */
  report(key: Key, by: Listener | null): void {
    for (const listener of [...this.#listeners]) if (listener !== by) listener(key);
  }
}
