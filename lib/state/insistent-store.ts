import { waitBefore } from '../time/backoff';
import type { Clock } from '../time/clock';
import type { JoinOptions, Membership } from './membership';
import { LockLostError, type Change, type Key, type PutOptions, type StateStore } from './store';

const WAITS = { first: 1_000, longest: 60_000 };

interface Unwritten {
  key: Key;
  value: unknown;
  /** JSON of the value that it takes the place of; none where that may be any. */
  before?: string | false | undefined;
  options: PutOptions;
}

/**
 * Keeps the promise of `insist` for any store: a value that could not be written is what everybody in this runtime reads,
 * and is written as soon as the store takes it. What another runtime has put there meanwhile is newer, and stays.
 */
export class InsistentStore implements StateStore {
  readonly #inner: StateStore;
  readonly #clock: Clock;
  readonly #longest: number;
  readonly #unwritten = new Map<string, Unwritten>();
  readonly join?: (topic: Key, options: JoinOptions) => Membership;
  #disarm: (() => void) | undefined;
  #failures = 0;

  /** @param longest between two tries, ms */
  constructor(inner: StateStore, clock: Clock, longest = WAITS.longest) {
    this.#inner = inner;
    this.#clock = clock;
    this.#longest = longest;
    if (inner.join) this.join = inner.join.bind(inner);
  }

  onChange(listener: (key: Key | null) => void): () => void {
    return this.#inner.onChange?.(listener) ?? (() => undefined);
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
    let next: { value: T | undefined; before: Unwritten['before'] } | undefined;
    const changed: Change<T> = async (stored, lock) => {
      const unwritten = this.#valid(name, stored);
      // Said before the change, which may change the value itself.
      const before = unwritten ? unwritten.before : options.insist && jsonOf(stored);
      const value = await change(unwritten ? (unwritten.value as T | undefined) : stored, lock);
      next = { value, before };
      // The same value as before is no change to the caller, but may be one to the store.
      return unwritten && typeof value === 'object' && value === unwritten.value ? structuredClone(value) : value;
    };
    try {
      await this.#inner.update<T>(key, changed, options);
      this.#unwritten.delete(name);
      return next?.value;
    } catch (error) {
      if (next) this.#note(error, { key, ...next, options });
      throw error;
    }
  }

  async #attempt(key: Key, value: unknown, options: PutOptions, write: () => Promise<void>): Promise<void> {
    try {
      await write();
      this.#unwritten.delete(nameOf(key));
    } catch (error) {
      const before = this.#unwritten.get(nameOf(key))?.before;
      if (!options.deadline?.aborted) this.#note(error, { key, value, before, options });
      throw error;
    }
  }

  /** A later value takes the place of one that waits, whoever insisted on that. */
  #note(error: unknown, unwritten: Unwritten): void {
    const name = nameOf(unwritten.key);
    if (isOver(error, unwritten) || !(unwritten.options.insist || this.#unwritten.has(name))) return;
    this.#unwritten.set(name, unwritten);
    this.#arm();
  }

  /** What waits to be written, unless somebody else has written since. */
  #valid(name: string, stored: unknown): Unwritten | undefined {
    const unwritten = this.#unwritten.get(name);
    if (!unwritten?.before || [unwritten.before, jsonOf(unwritten.value)].includes(jsonOf(stored))) return unwritten;
    this.#unwritten.delete(name);
    return undefined;
  }

  /** Tries once more to write what waits, and then no more. Resolves when that is over; never rejects. */
  async close(): Promise<void> {
    this.#disarm?.();
    this.#disarm = undefined;
    await this.#write();
  }

  #arm(): void {
    this.#disarm ??= this.#clock.after(waitBefore(this.#failures++, { ...WAITS, longest: this.#longest }), () => {
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
    for (const [name, unwritten] of [...this.#unwritten]) {
      const { key, value, options } = unwritten;
      try {
        await this.#inner.update(
          key,
          (stored) => {
            const still = this.#valid(name, stored);
            return still ? still.value : stored;
          },
          { ...options, deadline: undefined },
        );
        if (this.#unwritten.get(name)?.value === value) this.#unwritten.delete(name);
      } catch (error) {
        // Was told when it began; tried again.
        if (isOver(error, unwritten)) this.#unwritten.delete(name);
      }
    }
  }
}

/** The locks that it was made under are somebody else's, and so is what becomes of it. */
const isOver = (error: unknown, { options }: Unwritten): boolean =>
  error instanceof LockLostError && (options.under ?? []).length > 0;

const nameOf = (key: Key): string => JSON.stringify(key);
/** Of any value, missing ones too. */
const jsonOf = (value: unknown): string => (value === undefined ? 'missing' : JSON.stringify(value));
