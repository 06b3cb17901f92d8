import { PrintingError } from '../../lib/service/errors';
import type { Lock } from '../../lib/state/membership';
import type { Change, Key, ListOptions, PutOptions, StatePage, StateStore } from '../../lib/state/store';
import type { Deadline } from '../../lib/time/deadline';
import { MemoryStore } from './memory-store';
import { phrase } from '../../lib/words/sentence';

/** Fault of one step of the store. */
export type StoreFault = 'unreadable' | 'unwritable' | 'crash-before' | 'crash-after' | undefined;

/** A MemoryStore in which any read or write can fail or end the process. */
export class FaultyStore implements StateStore {
  readonly #inner: MemoryStore;
  readonly #fault: (step: 'read' | 'write', key: Key) => StoreFault;
  /** Contents of the disk at the crash. */
  #left: MemoryStore | undefined;

  constructor(
    inner: MemoryStore,
    fault: (step: 'read' | 'write', key: Key) => StoreFault,
    private readonly onCrash: () => void,
  ) {
    this.#inner = inner;
    this.#fault = fault;
  }

  /** Store that a crash left behind; undefined without a crash. */
  get left(): MemoryStore | undefined {
    return this.#left;
  }

  async get<T>(key: Key): Promise<T | undefined> {
    this.#step('read', key);
    return this.#inner.get<T>(key);
  }

  async list<T>(prefix: Key, options: ListOptions): Promise<StatePage<T>> {
    this.#step('read', prefix);
    return this.#inner.list<T>(prefix, options);
  }

  async put<T>(key: Key, value: T, options?: PutOptions): Promise<void> {
    await this.update<T>(key, () => value, options);
  }

  async delete(key: Key, options?: PutOptions): Promise<void> {
    await this.update(key, () => undefined, options);
  }

  async update<T>(key: Key, change: Change<T>, options?: PutOptions): Promise<T | undefined> {
    // A put needs no read, but it fails on a lost disk.
    let after = false;
    const result = await this.#inner.update<T>(
      key,
      async (current, lock) => {
        this.#step('read', key);
        const next = await change(current, lock);
        if (next === undefined && current === undefined) return next;
        after = this.#step('write', key);
        return next;
      },
      options,
    );
    if (after) this.#crash();
    return result;
  }

  waitForLock<T>(key: Key, work: (lock: Lock) => Promise<T>, deadline?: Deadline): Promise<T> {
    const underLock = (lock: Lock) => {
      // A lock needs no disk, but it fails on a lost one.
      this.#step('read', key);
      return work(lock);
    };
    return this.#inner.waitForLock(key, underLock, deadline);
  }

  #crash(): never {
    this.#left = copyOf(this.#inner);
    this.onCrash();
    throw new PrintingError('FILE_NOT_WRITABLE', phrase`The process has ended.`);
  }

  /** Applies the fault of a step; returns true if the process ends right after the step. */
  #step(step: 'read' | 'write', key: Key): boolean {
    if (this.#left) throw new PrintingError('FILE_NOT_READABLE', phrase`The process has ended.`);
    const fault = this.#fault(step, key);
    if (fault === 'crash-before' || (fault === 'crash-after' && step === 'read')) this.#crash();
    if (fault === 'unreadable' && step === 'read')
      throw new PrintingError('FILE_NOT_READABLE', phrase`The disk is broken.`);
    if (fault === 'unwritable' && step === 'write')
      throw new PrintingError('FILE_NOT_WRITABLE', phrase`The disk is full.`);
    return fault === 'crash-after';
  }
}

function copyOf(store: MemoryStore): MemoryStore {
  const copy = new MemoryStore();
  for (const [key, value] of store.values) copy.values.set(key, value);
  return copy;
}
