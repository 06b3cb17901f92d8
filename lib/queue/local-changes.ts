import type { Key, StateStore } from '../state/store';

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
