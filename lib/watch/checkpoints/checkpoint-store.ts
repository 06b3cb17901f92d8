import { randomUUID } from 'node:crypto';
import { type Checkpoint, isCheckpoint, readCheckpoint, VERSION } from '../../events/checkpoint';
import { isListCheckpoint, readListCheckpoint } from '../../events/list-changes';
import { newerValue } from '../../service/errors';
import type { ClusterStatus } from '../../service/cluster';
import { list, record, text } from '../../service/json-readers';
import { storedStatus } from '../../service/cluster';
import { isNewerThan } from '../../service/shapes';
import { UNLOSABLE_LOCK } from '../../state/locks';
import { type Lock, LockLostError } from '../../state/membership';
import type { Key, PutOptions, StateStore } from '../../state/store';
import type { Clock } from '../../time/clock';
import { settledWithin } from '../../time/concurrency';
import { RetryTimer } from '../../time/retry';
import type { ClusterMemory, ListedCluster, ListMemory, ScopeMemory } from './memory';

/** Id that stands for the list among the clusters. */
export const LIST = '*';

/** Assignment of the regular polls to this runtime. Only the owner of an item advances its checkpoint (ADR 12). */
export interface Ownership {
  /** Whether this runtime owns the regular polls of an item. If not, another runtime owns them, or none. */
  isOurs(item: string): boolean;
  /** Lock for polls and writes of an item; null where this runtime does not own it. */
  lockOf(item: string): Lock | null;
  /** Whether other runtimes wait for the polls of a cluster. */
  isAwaited(clusterId: string): boolean;
  /** Claims a free item, beyond any share. Returns false where another runtime holds it. */
  claim(item: string): Promise<boolean>;
  /** Call after a subscription has changed. */
  changed(): void;
}

/** Ownership where there are no other runtimes. */
export const SOLE_OWNER: Ownership = {
  isOurs: () => true,
  lockOf: () => UNLOSABLE_LOCK,
  isAwaited: () => false,
  claim: async () => true,
  changed: () => undefined,
};

/** Whether work that began under a lock may continue. */
export const isStillOwned = (ownership: Ownership, item: string, lock: Lock | null): boolean =>
  lock !== null && ownership.lockOf(item) === lock;

/** Whether events found under a lock may be delivered now: the lock still fences all other runtimes. */
export async function isSecured(ownership: Ownership, item: string, lock: Lock | null): Promise<boolean> {
  if (lock === null) return false;
  try {
    const check = await lock.secure(0);
    check();
    return isStillOwned(ownership, item, lock);
  } catch {
    return false;
  }
}

/** Retention of an unused checkpoint, ms. */
const KEEP = 365 * 24 * 3600_000;
/** Concurrent writes. */
const AT_ONCE = 4;
const RETRIES = { first: 5_000, longest: 15 * 60_000 };
/** Shorter where another runtime resumes from the store as soon as the lease expires. */
const SHARED_RETRIES = { first: 1_000, longest: 5_000 };
/** Longest wait for an unresponsive database on close, ms. */
const CLOSE_WITHIN = 5_000;
const LOADED = Symbol('loaded');
/** Kind of the state that the next poll resumes from. */
export const CHECKPOINT = 'checkpoint';

interface QueuedWrite {
  item: string;
  /** Lock at the time of the change. Under a later lock, another runtime may have written in between. */
  lock: Lock | null;
  key: Key;
  value: () => unknown;
  options: PutOptions;
  /** Called after an attempt. False: not written yet, or not this runtime's to write. */
  onAttempt?: (isWritten: boolean) => unknown;
}

/** Throws for a checkpoint of a newer version, so that it is not overwritten. */
function throwIfNewer(stored: unknown): void {
  if (isNewerThan(VERSION, stored)) throw newerValue(CHECKPOINT);
}

/** Whether a value is what this store writes, or is left alone: of a newer version, or without a checkpoint of this one. */
export function isStoredCheckpoint(value: unknown): boolean {
  const stored = record(value);
  if (stored?.version !== VERSION) return stored !== null;
  return 'known' in stored ? isListCheckpoint(stored) : isCheckpoint(stored);
}

/**
 * Reads and writes checkpoints. Several changes of a queued checkpoint are written once. Failed writes are retried: the
 * memory is then ahead of the store, and an event is delivered twice only if the process ends before the write.
 */
export class CheckpointStore {
  readonly #queue = new Map<string, QueuedWrite>();
  readonly #inFlight: string[] = [];
  #writers = 0;
  #closing = false;
  readonly #retries: RetryTimer;
  #closeWaiters: (() => void)[] = [];
  #settledWaiters: { item: string; resolve: () => void }[] = [];

  constructor(
    private readonly store: StateStore,
    private readonly clock: Clock,
    private readonly ownership: Ownership,
    private readonly fault: (thrown: unknown) => void,
  ) {
    this.#retries = new RetryTimer(clock, this.#isShared ? SHARED_RETRIES : RETRIES);
  }

  /** Loads the stored checkpoint of a cluster, once. Rejects while the store can't be read. */
  async load(under: ScopeMemory, clusterId: string, memory: ClusterMemory): Promise<void> {
    const stored = await this.#read([CHECKPOINT, ...under.scope, clusterId], memory);
    if (stored === LOADED) return;
    throwIfNewer(stored);
    const { figures, movedTo, mark, gates } = record(stored) ?? {};
    const marked = list(gates).filter((machine) => typeof machine === 'string');
    const lacksMarks =
      (under.gates.get(clusterId)?.length ?? 0) > 0 && under.gates.get(clusterId)?.some((one) => !marked.includes(one));
    under.markGate(clusterId, marked);
    const isCurrent = memory.marks.includes(text(mark) ?? '');
    // Otherwise another runtime has written since, and the memory is older.
    if (!isCurrent) {
      if (memory.marks.length > 0) memory.forget();
      memory.restore(readCheckpoint(stored), storedStatus(figures));
      memory.movedTo = text(movedTo);
      memory.dirty = false;
      if (this.#isShared) memory.marks = [text(mark) ?? ''];
    }
    memory.recordLoad();
    if ((isCurrent && memory.mayBeAhead) || lacksMarks) this.write(under, clusterId, memory);
  }

  /** State for the next owner where the store may lag behind; null where the store is complete. */
  unwritten(memory: ClusterMemory): Unwritten | null {
    // State that isn't loaded may come from the previous owner; `load` of the next one checks it as well.
    if (!memory.hasUnsavedDeliveries || memory.movedTo !== null) return null;
    return { ...memory.contents, marks: memory.marks };
  }

  /** Resumes from state that the previous owner could not write. `load` drops it if a third runtime has written. */
  resumeFrom(stored: unknown, memory: ClusterMemory): void {
    const { checkpoint, figures, marks } = record(stored) ?? {};
    const known = readCheckpoint(checkpoint);
    if (!known) return;
    memory.forget();
    memory.restore(known, storedStatus(figures));
    memory.marks = list(marks).filter((mark) => typeof mark === 'string');
    memory.movedTo = null;
    memory.dirty = true;
    memory.delivered++;
  }

  async loadList(under: ScopeMemory, memory: ListMemory): Promise<void> {
    const stored = await this.#read([CHECKPOINT, ...under.scope], memory);
    if (stored === LOADED) return;
    throwIfNewer(stored);
    const { mark, clusters } = record(stored) ?? {};
    if (!memory.marks.includes(text(mark) ?? '')) {
      memory.checkpoint = readListCheckpoint(stored);
      memory.clusters = list(clusters) as ListedCluster[];
      if (this.#isShared) memory.marks = [text(mark) ?? ''];
    }
    memory.recordLoad();
    if (memory.isWriteOpen) this.writeList(under);
  }

  /** Writes new marks of plate gates; those of a cluster that is not loaded are written once it is. */
  writeMarks(under: ScopeMemory, clusterId: string): void {
    const memory = under.clusters.get(clusterId);
    if (memory?.loaded) this.write(under, clusterId, memory);
  }

  write({ scope, gates }: ScopeMemory, clusterId: string, memory: ClusterMemory): void {
    const value = () => {
      const marked = gates.get(clusterId);
      const { checkpoint, figures } = memory.contents;
      const contents = memory.movedTo !== null ? { movedTo: memory.movedTo } : checkpoint && { ...checkpoint, figures };
      return { ...contents, ...(marked && { gates: marked }) };
    };
    this.#write([CHECKPOINT, ...scope, clusterId], clusterId, memory, { value, notify: memory.movedTo !== null });
  }

  writeList({ scope, list: memory }: ScopeMemory): void {
    const value = () => ({ ...memory.checkpoint, ...(this.#isShared && { clusters: memory.clusters }) });
    this.#write([CHECKPOINT, ...scope], LIST, memory, { value, notify: true });
  }

  /** Writes a value about a cluster that other runtimes wait for, as its owner. `written`: called once it is there. */
  publish(clusterId: string, key: Key, value: () => object, { keepFor, written }: Publication): void {
    const onAttempt = (isWritten: boolean) => isWritten && written();
    this.#enqueue({ item: clusterId, key, value, options: { keepFor, notify: true }, onAttempt });
  }

  /** Resolves when no write of an item is pending. */
  settled(item: string): Promise<void> {
    return new Promise((resolve) => {
      this.#settledWaiters.push({ item, resolve });
      this.#resolveSettled();
    });
  }

  /** Resolves when no write is pending. Failed writes are not retried; the wait for a shared store is limited. */
  async close(): Promise<void> {
    this.#retries.stop();
    this.#closing = true;
    this.#pump();
    if (this.#writers === 0) return;
    const written = new Promise<void>((resolve) => this.#closeWaiters.push(resolve));
    await (this.#isShared ? settledWithin(this.clock, CLOSE_WITHIN, written) : written);
    this.#queue.clear();
  }

  /**
   * Reads a stored checkpoint, or returns LOADED where the memory holds it already, such as after a concurrent call. Repeats a
   * read during which the memory became invalid: its answer may be older than the change.
   */
  async #read(key: Key, memory: ClusterMemory | ListMemory): Promise<unknown> {
    while (!memory.loaded) {
      const { invalidations } = memory;
      const stored = await this.store.get<unknown>(key);
      if ((memory.loaded as boolean) || memory.invalidations !== invalidations) continue;
      memory.loaded = true;
      return stored;
    }
    return LOADED;
  }

  /** Among several runtimes, writes the value with a mark. `notify`: whether other runtimes need it at once. */
  #write(
    key: Key,
    item: string,
    memory: ClusterMemory | ListMemory,
    { value, notify }: { value: () => object; notify: boolean },
  ): void {
    memory.dirty = this.#isShared;
    if (!this.#isShared) return this.#enqueue({ item, key, value, options: { keepFor: KEEP } });
    const mark = randomUUID().slice(0, 8);
    let delivered = 0;
    this.#enqueue({
      item,
      key,
      value: () => {
        memory.dirty = false;
        delivered = memory.delivered;
        memory.marks = [...memory.marks, mark];
        return { ...value(), mark };
      },
      options: { keepFor: KEEP, notify },
      onAttempt: (isWritten) => {
        if (isWritten) {
          memory.marks = [mark];
          memory.saved = Math.max(memory.saved, delivered);
        } else memory.dirty = true;
      },
    });
  }

  get #isShared(): boolean {
    return this.ownership !== SOLE_OWNER;
  }

  #enqueue(write: Omit<QueuedWrite, 'lock'>): void {
    const lock = this.ownership.lockOf(write.item);
    this.#queue.set(JSON.stringify(write.key), { ...write, lock });
    if (!this.#retries.isArmed) this.#pump();
  }

  #pump(): void {
    while (this.#writers < AT_ONCE && this.#queue.size > 0) {
      this.#writers++;
      void this.#drain();
    }
  }

  async #drain(): Promise<void> {
    for (;;) {
      const [next] = this.#queue;
      if (!next || this.#retries.isArmed) break;
      const [name, write] = next;
      this.#queue.delete(name);
      this.#inFlight.push(write.item);
      try {
        const isWritten = await this.#put(write);
        write.onAttempt?.(isWritten);
        this.#retries.succeeded();
      } catch (thrown) {
        // After a lost lock the next owner resumes from the last written state.
        if (!(thrown instanceof LockLostError)) this.fault(thrown);
        write.onAttempt?.(false);
        this.#scheduleRetry(name, write);
      }
      this.#inFlight.splice(this.#inFlight.indexOf(write.item), 1);
      this.#resolveSettled();
    }
    this.#writers--;
    if (this.#writers === 0) this.#closeWaiters.splice(0).forEach((resolve) => resolve());
  }

  /** Returns false where this runtime no longer owns the item. */
  async #put({ item, lock, key, value, options }: QueuedWrite): Promise<boolean> {
    if (!isStillOwned(this.ownership, item, lock)) return false;
    await this.store.put(
      key,
      value(),
      lock === null || lock === UNLOSABLE_LOCK ? options : { ...options, under: [lock] },
    );
    return true;
  }

  #scheduleRetry(name: string, write: QueuedWrite): void {
    if (this.#closing) return;
    if (!this.#queue.has(name)) this.#queue.set(name, write);
    this.#retries.plan(() => this.#pump());
  }

  #resolveSettled(): void {
    if (this.#settledWaiters.length === 0) return;
    const open = new Set([...this.#inFlight, ...[...this.#queue.values()].map(({ item }) => item)]);
    const done = this.#settledWaiters.filter(({ item }) => !open.has(item));
    this.#settledWaiters = this.#settledWaiters.filter(({ item }) => open.has(item));
    for (const { resolve } of done) resolve();
  }
}

/** Delivered state for the next owner; `marks` identify the writes that the store may contain. */
interface Unwritten {
  checkpoint: Checkpoint | null;
  figures: ClusterStatus | null;
  marks: readonly string[];
}

interface Publication {
  /** ms. */
  keepFor: number;
  written: () => void;
}
