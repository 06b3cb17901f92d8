import type { Deadline } from '../time/deadline';
import type { Change, Key, ListOptions, PutOptions, StatePage, StateStore } from './store';

/** A store bound to the deadline of one piece of work: no call waits longer. The underlying operation continues. */
export class DeadlineStore implements StateStore {
  readonly #inner: StateStore;
  readonly #deadline: Deadline;

  constructor(inner: StateStore, deadline: Deadline) {
    this.#inner = inner;
    this.#deadline = deadline;
  }

  get runtime(): string | undefined {
    return this.#inner.runtime;
  }

  get<T>(key: Key): Promise<T | undefined> {
    return this.#deadline.wait(this.#inner.get<T>(key));
  }

  put<T>(key: Key, value: T, options?: PutOptions): Promise<void> {
    return this.#deadline.wait(this.#inner.put(key, value, options));
  }

  delete(key: Key, options?: PutOptions): Promise<void> {
    return this.#deadline.wait(this.#inner.delete(key, options));
  }

  update<T>(key: Key, change: Change<T>, options?: PutOptions): Promise<T | undefined> {
    const updated = this.#inner.update(key, change, options);
    // A change with its own deadline enforces it itself. It may be work that must not be abandoned.
    return options?.deadline ? updated : this.#deadline.wait(updated);
  }

  list<T>(prefix: Key, options: ListOptions): Promise<StatePage<T>> {
    return this.#deadline.wait(this.#inner.list<T>(prefix, options));
  }
}
