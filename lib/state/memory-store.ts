import type { Deadline } from '../time/deadline';
import { Locks, UNLOSABLE_LOCK } from './locks';
import type { Lock } from './membership';
import {
  beginsWith,
  type Change,
  type Key,
  type ListOptions,
  pageOf,
  positionOf,
  type PutOptions,
  type StatePage,
  type StateStore,
} from './store';

/** A StateStore in memory, with the locks and the copies of a durable one. */
export class MemoryStore implements StateStore {
  readonly values = new Map<string, string>();
  readonly #locks = new Locks();

  async get<T>(key: Key): Promise<T | undefined> {
    const held = this.values.get(JSON.stringify(key));
    return held === undefined ? undefined : (JSON.parse(held) as T);
  }

  async put<T>(key: Key, value: T): Promise<void> {
    await this.update<T>(key, () => value);
  }

  async delete(key: Key): Promise<void> {
    await this.update(key, () => undefined);
  }

  update<T>(key: Key, change: Change<T>, options: PutOptions = {}): Promise<T | undefined> {
    const name = JSON.stringify(key);
    const work = async () => {
      const next = await change(await this.get<T>(key), UNLOSABLE_LOCK);
      if (next === undefined) this.values.delete(name);
      else this.values.set(name, JSON.stringify(next));
      return next;
    };
    return this.#locks.waitFor(name, work, options.deadline);
  }

  waitForLock<T>(key: Key, work: (lock: Lock) => Promise<T>, deadline?: Deadline): Promise<T> {
    return this.#locks.waitFor(JSON.stringify(key), () => work(UNLOSABLE_LOCK), deadline);
  }

  async list<T>(prefix: Key, options: ListOptions): Promise<StatePage<T>> {
    const keys = [...this.values.keys()]
      .map((name) => JSON.parse(name) as Key)
      .filter((key) => beginsWith(key, prefix));
    const byPosition = new Map(keys.map((key) => [positionOf(key), key]));
    const { page, next } = pageOf(byPosition.keys(), options);
    const entries = page.map((position) => {
      const key = byPosition.get(position) as Key;
      return { key, value: JSON.parse(this.values.get(JSON.stringify(key)) as string) as T };
    });
    return { entries, next };
  }
}

/** A store bound to the deadline of one piece of work: no call waits longer. The underlying operation continues. */
export class DeadlineStore implements StateStore {
  constructor(
    private readonly inner: StateStore,
    private readonly deadline: Deadline,
  ) {}

  get runtime(): string | undefined {
    return this.inner.runtime;
  }

  get<T>(key: Key): Promise<T | undefined> {
    return this.deadline.wait(this.inner.get<T>(key));
  }

  put<T>(key: Key, value: T, options?: PutOptions): Promise<void> {
    return this.deadline.wait(this.inner.put(key, value, options));
  }

  delete(key: Key, options?: PutOptions): Promise<void> {
    return this.deadline.wait(this.inner.delete(key, options));
  }

  update<T>(key: Key, change: Change<T>, options?: PutOptions): Promise<T | undefined> {
    return this.deadline.wait(this.inner.update(key, change, options));
  }

  /** Waits for the lock until the deadline. Work that has begun runs to its end. */
  waitForLock<T>(key: Key, work: (lock: Lock) => Promise<T>, deadline = this.deadline): Promise<T> {
    return this.inner.waitForLock(key, work, deadline);
  }

  list<T>(prefix: Key, options: ListOptions): Promise<StatePage<T>> {
    return this.deadline.wait(this.inner.list<T>(prefix, options));
  }
}
