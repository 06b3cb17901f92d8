import type { Clock } from '../time/clock';
import { type Deadline, underDeadline } from '../time/deadline';
import { AGAIN, RetryTimer, retryUntil } from '../time/retry';
import { type JoinOptions, type Lock, LockLostError, type Membership } from './membership';
import {
  beginsWith,
  type Change,
  type Key,
  type ListOptions,
  positionOf,
  type PutOptions,
  type StatePage,
  type StateStore,
} from './store';

const WAITS = { first: 1_000, longest: 60_000 };
/** Duration of the last tries, ms: Node-RED gives a node 15 s to close. */
const CLOSING = 12_000;
const LAST_WAITS = { first: 500, longest: 1_000 };

interface Unwritten {
  key: Key;
  value: unknown;
  /** JSON of the stored values that it replaces; missing if it replaces any. */
  replaceable?: readonly string[] | undefined;
  options: PutOptions;
  /** Releases the locks that are kept for it. */
  release: () => void;
}

/**
 * Implements `insist` for any store. A value that couldn't be written is read everywhere in this runtime, and written
 * as soon as the store accepts it. Until then its locks are kept, so that no other runtime continues from the old
 * value. If another runtime has written a value all the same, that one is newer and stays.
 */
export class WriteBehindStore implements StateStore {
  readonly #retries: RetryTimer;
  readonly #unwritten = new Map<string, Unwritten>();
  readonly join?: (topic: Key, options: JoinOptions) => Membership;
  #isRetrying = false;

  /** @param longest longest wait between two attempts, ms */
  constructor(
    private readonly inner: StateStore,
    private readonly clock: Clock,
    longest = WAITS.longest,
  ) {
    this.#retries = new RetryTimer(clock, { ...WAITS, longest });
    if (inner.join) this.join = inner.join.bind(inner);
  }

  onChange(listener: (key: Key | null) => void): () => void {
    return this.inner.onChange?.(listener) ?? (() => undefined);
  }

  get runtime(): string | undefined {
    return this.inner.runtime;
  }

  /** Number of unwritten values. */
  get waiting(): number {
    return this.#unwritten.size;
  }

  async get<T>(key: Key): Promise<T | undefined> {
    const name = nameOf(key);
    const unwritten = this.#unwritten.get(name);
    // A closed store is in use again.
    if (unwritten) this.#arm();
    if (unwritten && !isFreed(unwritten)) return unwritten.value as T | undefined;
    const stored = await this.inner.get<T>(key);
    const valid = this.#valid(name, stored);
    return valid ? (valid.value as T | undefined) : stored;
  }

  put<T>(key: Key, value: T, options: PutOptions = {}): Promise<void> {
    return this.#attempt(key, value, options, () => this.inner.put(key, value, options));
  }

  delete(key: Key, options: PutOptions = {}): Promise<void> {
    return this.#attempt(key, undefined, options, () => this.inner.delete(key, options));
  }

  async update<T>(key: Key, change: Change<T>, options: PutOptions = {}): Promise<T | undefined> {
    const name = nameOf(key);
    let next: Pick<Unwritten, 'value' | 'replaceable'> | undefined;
    let release = noop;
    const changed: Change<T> = async (stored, lock) => {
      const unwritten = this.#valid(name, stored);
      // Keep the lock from the start: if the write gets no answer, the lock must not have been released by then.
      if (unwritten || options.insist) release = keep([lock, ...(options.under ?? [])]);
      // Serialize before the change, which may mutate the value.
      const replaceable = unwritten || options.insist ? [jsonOf(stored)] : undefined;
      const value = await change(unwritten ? (unwritten.value as T | undefined) : stored, lock);
      next = { value, replaceable };
      // Returned unchanged, the value isn't new to the caller, but it is to the inner store, so pass a copy.
      return unwritten && typeof value === 'object' && value === unwritten.value ? structuredClone(value) : value;
    };
    try {
      await this.inner.update<T>(key, changed, options);
      this.#drop(name);
      release();
      return next?.value as T | undefined;
    } catch (error) {
      if (next) this.#retain(error, { key, ...next, options, release });
      else release();
      throw error;
    }
  }

  waitForLock<T>(key: Key, work: (lock: Lock) => Promise<T>, deadline?: Deadline): Promise<T> {
    return this.inner.waitForLock(key, work, deadline);
  }

  async list<T>(prefix: Key, options: ListOptions): Promise<StatePage<T>> {
    // Remembered before the page is read: it may lack a value that is written meanwhile.
    const unwritten = [...this.#unwritten.values()].filter(({ key }) => beginsWith(key, prefix));
    const page = await this.inner.list<T>(prefix, options);
    const { after = '' } = options;
    const entries = new Map(page.entries.map((entry) => [positionOf(entry.key), entry]));
    for (const { key } of unwritten) {
      const position = positionOf(key);
      if (position <= after || (page.next !== null && position > page.next)) continue;
      const value = await this.get<T>(key);
      if (value === undefined) entries.delete(position);
      else entries.set(position, { key, value });
    }
    return { ...page, entries: [...entries.values()] };
  }

  async #attempt(key: Key, value: unknown, options: PutOptions, write: () => Promise<void>): Promise<void> {
    const release = options.insist ? keep(options.under ?? []) : noop;
    try {
      await write();
      this.#drop(nameOf(key));
      release();
    } catch (error) {
      const before = this.#unwritten.get(nameOf(key));
      // The write of the earlier value may have arrived.
      const replaceable = before?.replaceable && [...before.replaceable, jsonOf(before.value)];
      if (options.deadline?.aborted) release();
      else this.#retain(error, { key, value, replaceable, options, release });
      throw error;
    }
  }

  /** Retains a value that couldn't be written. A later value replaces an unwritten one, even without `insist`. */
  #retain(error: unknown, unwritten: Unwritten): void {
    const name = nameOf(unwritten.key);
    const wanted = isLost(error, unwritten) ? freed(unwritten) : unwritten;
    if (!wanted || !(unwritten.options.insist || this.#unwritten.has(name))) return unwritten.release();
    const before = this.#unwritten.get(name);
    this.#unwritten.set(name, wanted);
    before?.release();
    this.#arm();
  }

  /** Drops an unwritten value: it was written, or is no longer wanted. */
  #drop(name: string): void {
    const unwritten = this.#unwritten.get(name);
    this.#unwritten.delete(name);
    unwritten?.release();
  }

  /** The unwritten value, unless another runtime has written since. */
  #valid(name: string, stored: unknown): Unwritten | undefined {
    const unwritten = this.#unwritten.get(name);
    if (!unwritten || isCurrent(unwritten, stored)) return unwritten;
    this.#drop(name);
    return undefined;
  }

  /** Tries for some seconds to write the unwritten values, which the end of the process would lose. Never rejects. */
  async close(): Promise<void> {
    this.#retries.stop();
    const written = async () => {
      await this.#write();
      return this.#unwritten.size > 0 ? AGAIN : undefined;
    };
    await underDeadline(this.clock, { ms: CLOSING }, (limit) => retryUntil(limit, LAST_WAITS, written)).catch(noop);
  }

  #arm(): void {
    if (!this.#isRetrying) this.#retries.plan(() => void this.#retry());
  }

  /** Never rejects. */
  async #retry(): Promise<void> {
    this.#isRetrying = true;
    await this.#write();
    this.#isRetrying = false;
    if (this.#unwritten.size > 0) this.#arm();
    else this.#retries.succeeded();
  }

  async #write(): Promise<void> {
    for (const [name, unwritten] of [...this.#unwritten]) {
      const { key, value, options } = unwritten;
      try {
        await this.inner.update(
          key,
          (stored) => {
            const unchanged = this.#valid(name, stored);
            return unchanged ? unchanged.value : stored;
          },
          { ...options, deadline: undefined },
        );
        if (this.#unwritten.get(name)?.value === value) this.#drop(name);
      } catch (error) {
        // The first failure was reported; this one is retried.
        if (this.#unwritten.get(name) !== unwritten || !isLost(error, unwritten)) continue;
        const wanted = freed(unwritten);
        if (wanted) this.#unwritten.set(name, wanted);
        else this.#drop(name);
      }
    }
  }
}

const noop = (): void => undefined;

/** Keeps locks until the returned function is called. */
function keep(locks: readonly Lock[]): () => void {
  const kept = locks.map((lock) => lock.keep?.());
  return () => kept.forEach((release) => release?.());
}

/**
 * Whether the write failed because a lock of `under` was lost. The runtime that holds it now decides about the value.
 */
const isLost = (error: unknown, { options }: Unwritten): boolean =>
  error instanceof LockLostError && (options.under ?? []).length > 0;

/** The value without its lost locks, if it may still replace the stored one. */
const freed = (unwritten: Unwritten): Unwritten | undefined =>
  unwritten.options.replaces && { ...unwritten, options: { ...unwritten.options, under: [] } };

/** Whether the value lost its locks, so that another runtime may write at any time. */
const isFreed = ({ options }: Unwritten): boolean => options.replaces !== undefined && options.under?.length === 0;

/** Whether nothing newer has been stored. */
function isCurrent(unwritten: Unwritten, stored: unknown): boolean {
  const { value, replaceable, options } = unwritten;
  if (isFreed(unwritten)) return options.replaces?.(stored) ?? false;
  return !replaceable || [...replaceable, jsonOf(value)].includes(jsonOf(stored));
}

const nameOf = (key: Key): string => JSON.stringify(key);
/** JSON of any value, including a missing one. */
const jsonOf = (value: unknown): string => (value === undefined ? 'missing' : JSON.stringify(value));
