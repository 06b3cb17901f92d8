import { MemoryStore } from '../../lib/state/memory-store';
import type { Key, ListOptions, StatePage } from '../../lib/state/store';

export { MemoryStore };

/** A store whose next read, after `delayNext`, answers only after `release`, with the state at the time of the read. */
export class LateStore extends MemoryStore {
  release: () => void = () => undefined;
  #wait: Promise<void> | undefined;

  delayNext(): void {
    this.#wait = new Promise((resolve) => (this.release = resolve));
  }

  override get<T>(key: Key): Promise<T | undefined> {
    return this.#late(super.get<T>(key));
  }

  override list<T>(prefix: Key, options: ListOptions): Promise<StatePage<T>> {
    return this.#late(super.list<T>(prefix, options));
  }

  async #late<T>(answer: Promise<T>): Promise<T> {
    const wait = this.#wait;
    this.#wait = undefined;
    const answered = await answer;
    await wait;
    return answered;
  }
}
