import type { Key, PutOptions, StateStore } from '../../lib/state/store';

/** A StateStore that forgets with its process, with the same locks and the same copies as a durable one. */
export class MemoryStore implements StateStore {
  readonly values = new Map<string, string>();
  #locks = new Map<string, Promise<unknown>>();

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

  async update<T>(
    key: Key,
    change: (current: T | undefined) => Promise<T | undefined> | T | undefined,
    _options?: PutOptions,
  ): Promise<T | undefined> {
    const name = JSON.stringify(key);
    const turn = (this.#locks.get(name) ?? Promise.resolve()).then(async () => {
      const next = await change(await this.get<T>(key));
      if (next === undefined) this.values.delete(name);
      else this.values.set(name, JSON.stringify(next));
      return next;
    });
    this.#locks.set(
      name,
      turn.catch(() => undefined),
    );
    return turn;
  }
}
