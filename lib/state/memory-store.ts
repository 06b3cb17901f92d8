import { UNLOSABLE_LOCK, Locks } from './locks';
import { beginsWith, pageOf, positionOf } from './position';
import type { Change, Key, ListOptions, PutOptions, StatePage, StateStore } from './store';

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
    return this.#locks.hold(name, work, options.deadline);
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
