import { waitBefore } from '../time/backoff';
import type { Clock } from '../time/clock';
import type { Change, Key, PutOptions, StateStore } from './store';

const WAITS = { first: 1_000, longest: 60_000 };

interface Unwritten {
  key: Key;
  value: unknown;
  options: PutOptions;
}

/**
 * Keeps the promise of `insist` for any store: a value that could not be written is what everybody in this runtime reads,
 * and is written as soon as the store takes it.
 */
export class InsistentStore implements StateStore {
  readonly #inner: StateStore;
  readonly #clock: Clock;
  readonly #unwritten = new Map<string, Unwritten>();
  #disarm: (() => void) | undefined;
  #failures = 0;

  constructor(inner: StateStore, clock: Clock) {
    this.#inner = inner;
    this.#clock = clock;
  }

  /** Values that wait to be written. */
  get waiting(): number {
    return this.#unwritten.size;
  }

  async get<T>(key: Key): Promise<T | undefined> {
    const unwritten = this.#unwritten.get(nameOf(key));
    return unwritten ? (unwritten.value as T | undefined) : this.#inner.get<T>(key);
  }

  put<T>(key: Key, value: T, options: PutOptions = {}): Promise<void> {
    return this.#attempt(key, value, options, () => this.#inner.put(key, value, options));
  }

  delete(key: Key, options: PutOptions = {}): Promise<void> {
    return this.#attempt(key, undefined, options, () => this.#inner.delete(key, options));
  }

  async update<T>(key: Key, change: Change<T>, options: PutOptions = {}): Promise<T | undefined> {
    const name = nameOf(key);
    let next: { value: T | undefined } | undefined;
    const changed: Change<T> = async (stored) => {
      const unwritten = this.#unwritten.get(name);
      const value = await change(unwritten ? (unwritten.value as T | undefined) : stored);
      next = { value };
      // The same value as before is no change to the caller, but may be one to the store.
      return unwritten && typeof value === 'object' && value === unwritten.value ? structuredClone(value) : value;
    };
    try {
      await this.#inner.update<T>(key, changed, options);
      this.#unwritten.delete(name);
      return next?.value;
    } catch (error) {
      if (next) this.#note(key, next.value, options);
      throw error;
    }
  }

  async #attempt(key: Key, value: unknown, options: PutOptions, write: () => Promise<void>): Promise<void> {
    try {
      await write();
      this.#unwritten.delete(nameOf(key));
    } catch (error) {
      if (!options.deadline?.aborted) this.#note(key, value, options);
      throw error;
    }
  }

  /** A later value takes the place of one that waits, whoever insisted on that. */
  #note(key: Key, value: unknown, options: PutOptions): void {
    const name = nameOf(key);
    if (!options.insist && !this.#unwritten.has(name)) return;
    this.#unwritten.set(name, { key, value, options });
    this.#arm();
  }

  /** Tries once more to write what waits, and then no more. Resolves when that is over; never rejects. */
  async close(): Promise<void> {
    this.#disarm?.();
    this.#disarm = undefined;
    await this.#write();
  }

  #arm(): void {
    this.#disarm ??= this.#clock.after(waitBefore(this.#failures++, WAITS), () => {
      this.#write().then(
        () => {
          this.#disarm = undefined;
          if (this.#unwritten.size > 0) this.#arm();
          else this.#failures = 0;
        },
        () => undefined,
      );
    });
  }

  async #write(): Promise<void> {
    for (const [name, { key, value, options }] of [...this.#unwritten]) {
      try {
        await this.#inner.update(
          key,
          (stored) => {
            // Somebody may have written since.
            const still = this.#unwritten.get(name);
            return still ? still.value : stored;
          },
          { ...options, deadline: undefined },
        );
        if (this.#unwritten.get(name)?.value === value) this.#unwritten.delete(name);
      } catch {
        // Was told when it began; tried again.
      }
    }
  }
}

const nameOf = (key: Key): string => JSON.stringify(key);
