import { waitBefore } from '../time/backoff';
import type { Clock } from '../time/clock';
import type { JoinOptions, Membership } from './membership';
import { LockLostError, type Change, type Key, type Lock, type PutOptions, type StateStore } from './store';

const WAITS = { first: 1_000, longest: 60_000 };

interface Unwritten {
  key: Key;
  value: unknown;
  /** JSON of the value that it takes the place of; none where that may be any. */
  before?: string | false | undefined;
  options: PutOptions;
  /** Gives back the locks that are kept for it. */
  release: () => void;
}

/**
 * Keeps the promise of `insist` for any store: a value that could not be written is what everybody in this runtime reads,
 * and is written as soon as the store takes it. Until then the locks that it is written under are kept, so that no other
 * runtime goes on from the old value. A value that another one has put there nevertheless is newer, and stays.
 */
export class WriteBehindStore implements StateStore {
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

  get runtime(): string | undefined {
    return this.#inner.runtime;
  }

  /** Values that wait to be written. */
  get waiting(): number {
    return this.#unwritten.size;
  }

  async get<T>(key: Key): Promise<T | undefined> {
    const unwritten = this.#unwritten.get(nameOf(key));
    // A store that was closed is used again.
    if (unwritten) this.#arm();
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
    let release = NOTHING;
    const changed: Change<T> = async (stored, lock) => {
      const unwritten = this.#valid(name, stored);
      // From the beginning on: at the end, an answer that does not come must not find the lock given back.
      if (unwritten || options.insist) release = keep([lock, ...(options.under ?? [])]);
      // Said before the change, which may change the value itself.
      const before = unwritten ? unwritten.before : options.insist && jsonOf(stored);
      const value = await change(unwritten ? (unwritten.value as T | undefined) : stored, lock);
      next = { value, before };
      // The same value as before is no change to the caller, but may be one to the store.
      return unwritten && typeof value === 'object' && value === unwritten.value ? structuredClone(value) : value;
    };
    try {
      await this.#inner.update<T>(key, changed, options);
      this.#drop(name);
      release();
      return next?.value;
    } catch (error) {
      if (next) this.#note(error, { key, ...next, options, release });
      else release();
      throw error;
    }
  }

  async #attempt(key: Key, value: unknown, options: PutOptions, write: () => Promise<void>): Promise<void> {
    const release = options.insist ? keep(options.under ?? []) : NOTHING;
    try {
      await write();
      this.#drop(nameOf(key));
      release();
    } catch (error) {
      const before = this.#unwritten.get(nameOf(key))?.before;
      if (options.deadline?.aborted) release();
      else this.#note(error, { key, value, before, options, release });
      throw error;
    }
  }

  /** A later value takes the place of one that waits, whoever insisted on that. */
  #note(error: unknown, unwritten: Unwritten): void {
    const name = nameOf(unwritten.key);
    const wanted = isLost(error, unwritten) ? freed(unwritten) : unwritten;
    if (!wanted || !(unwritten.options.insist || this.#unwritten.has(name))) return unwritten.release();
    const before = this.#unwritten.get(name);
    this.#unwritten.set(name, wanted);
    before?.release();
    this.#arm();
  }

  /** It is written, or not wanted any more. */
  #drop(name: string): void {
    const unwritten = this.#unwritten.get(name);
    this.#unwritten.delete(name);
    unwritten?.release();
  }

  /** The value that waits to be written, unless another runtime has written since. */
  #valid(name: string, stored: unknown): Unwritten | undefined {
    const unwritten = this.#unwritten.get(name);
    if (!unwritten || isStill(unwritten, stored)) return unwritten;
    this.#drop(name);
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
        if (this.#unwritten.get(name)?.value === value) this.#drop(name);
      } catch (error) {
        // The first failure was reported; this one is tried again.
        if (this.#unwritten.get(name) !== unwritten || !isLost(error, unwritten)) continue;
        const wanted = freed(unwritten);
        if (wanted) this.#unwritten.set(name, wanted);
        else this.#drop(name);
      }
    }
  }
}

const NOTHING = (): void => undefined;

/** Keeps locks until the returned function is called. */
function keep(locks: readonly Lock[]): () => void {
  const kept = locks.map((lock) => lock.keep?.());
  return () => kept.forEach((release) => release?.());
}

/** Another runtime has a lock that it was made under, and decides what becomes of it. */
const isLost = (error: unknown, { options }: Unwritten): boolean =>
  error instanceof LockLostError && (options.under ?? []).length > 0;

/** The same without the locks that were lost, where it may still take the stored value's place. */
const freed = (unwritten: Unwritten): Unwritten | undefined =>
  unwritten.options.replaces && { ...unwritten, options: { ...unwritten.options, under: [] } };

/** Nothing newer is stored. */
function isStill({ value, before, options }: Unwritten, stored: unknown): boolean {
  if (options.replaces && options.under?.length === 0) return options.replaces(stored);
  return !before || [before, jsonOf(value)].includes(jsonOf(stored));
}

const nameOf = (key: Key): string => JSON.stringify(key);
/** Of any value, missing ones too. */
const jsonOf = (value: unknown): string => (value === undefined ? 'missing' : JSON.stringify(value));
