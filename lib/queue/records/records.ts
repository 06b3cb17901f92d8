import { asPrintingError, NewerValueError, newerValue, type PrintingError } from '../../service/errors';
import type { Lock } from '../../state/membership';
import { damaged, setAside } from '../../state/records';
import { type Change, type Key, type PutOptions, type Scope, type StateStore, valuesBelow } from '../../state/store';
import { eachInTurn } from '../../time/concurrency';
import { guard } from '../../time/guard';
import type { Sentence } from '../../words/sentence';
import { EventAges } from './event-ages';
import { Sightings } from './sightings';

/** The option of a change that only the runtime with the queue's lease may make. */
export const PLANNER = { asPlanner: true };

/** Records per page of a listing. */
const PAGE = 1_000;

/** Kinds of the queue's records. */
type Kind =
  | 'queue-item'
  | 'queue-past'
  | 'queue-plate'
  | 'queue-printer'
  | 'queue-read'
  | 'queue-state'
  | 'queue-telling';

/**
 * The queue's records in the store. Every change is an update under the record's lock, so that a person at one runtime
 * and the planner at another never overwrite each other; other runtimes are notified of it.
 */
export class QueueStore {
  /** Kinds with a record of a newer version. */
  readonly #newer = new Set<string>();

  constructor(
    readonly store: StateStore,
    readonly scope: Scope,
    /** For the log. */
    private readonly warn: (sentence: Sentence) => void = () => undefined,
    /** Lease of the planner, without which its changes are not written; null: none is needed. */
    private readonly lease: () => Lock | null = () => null,
    /** Called after each change that was written. */
    private readonly written: (key: Key) => void = () => undefined,
  ) {}

  keyOf = (kind: Kind, ...words: string[]): Key => [kind, ...this.scope, ...words];

  /** Key of a cluster's event checkpoint, in which written gates leave their marks; without an id, of all of them. */
  checkpointKey = (clusterId?: string): Key => [
    'checkpoint',
    ...this.scope,
    ...(clusterId === undefined ? [] : [clusterId]),
  ];

  get<T>(key: Key): Promise<T | undefined> {
    return this.store.get<T>(key);
  }

  /** Changes a record. `asPlanner`: only while this runtime holds the lease. */
  async update<T>(
    key: Key,
    change: Change<T>,
    options: PutOptions & { asPlanner?: boolean } = {},
  ): Promise<T | undefined> {
    const { asPlanner = false, ...others } = options;
    const lease = asPlanner ? this.lease() : null;
    const made = { change: false };
    const noticed: Change<T> = async (current, lock) => {
      const next = await change(current, lock);
      made.change = next !== current;
      return next;
    };
    const after = await this.store.update<T>(key, noticed, {
      ...others,
      notify: true,
      ...(lease && { under: [lease] }),
    });
    if (made.change) this.written(key);
    return after;
  }

  /** Writes a record for the other runtimes, as the planner; where no other can be there, nothing. */
  async publish(key: Key, value: unknown, keepFor: number): Promise<void> {
    const lease = this.lease();
    if (lease) await this.store.put(key, value, { keepFor, notify: true, under: [lease] });
  }

  /**
   * Reads all records below a key, page by page. One that can't be read now is left out, and named to `unread`. Throws if
   * none can be read.
   */
  async *entries(prefix: Key, unread: (error: PrintingError) => void): AsyncGenerator<{ key: Key; value: unknown }> {
    let count = 0;
    let failure: PrintingError | undefined;
    const failed = (error: PrintingError) => {
      failure ??= error;
    };
    for await (const entry of valuesBelow<unknown>(this.store, prefix, { limit: PAGE, unread: failed })) {
      count++;
      yield entry;
    }
    if (failure && count === 0) throw failure;
    if (failure) unread(failure);
  }

  /** Keeps a copy of a record of another shape under a key of its own, before the record itself goes. */
  async setAside(key: Key, value: unknown): Promise<void> {
    await this.store.put(['set-aside', ...key], value);
    this.warn(setAside(damaged(key)));
  }

  /** Says once for each kind that a record of a newer version is left alone. */
  leftAlone([kind]: Key): void {
    if (!this.#newer.has(kind)) this.warn(newerValue(kind).sentence);
    this.#newer.add(kind);
  }
}

/** A record by its id. */
interface Stored {
  id: string;
  value: unknown;
}

/** Reads stored records; those that can't be read now are named to `unread`. */
export type Listing = (unread: (error: PrintingError) => void) => AsyncIterable<Stored>;

interface RecordsDeps<T> {
  store: QueueStore;
  keyOf: (id: string) => Key;
  /** Reads a stored value; undefined: it has another shape, and is set aside. Throws NewerValueError. */
  read: (id: string, value: unknown) => T | undefined | Promise<T | undefined>;
  /** What is to be stored of a record in the place of a value, under the lock of its key. Default: the record itself. */
  write?: (record: T, before: unknown, lock: Lock) => Promise<unknown>;
  /** Whether a stored value is only read, and never written: one of a newer version. Default: none. */
  isLeftAlone?: (value: unknown) => boolean;
  /** Whether a record stays in memory although the store has lost it. Default: false. */
  isLasting?: boolean;
  /** Called after a change of a record, here or at another runtime. */
  changed: (before: T | undefined, after: T | undefined) => void;
}

/** Options of a change in memory and in the store. */
interface RecordChange extends PutOptions {
  /** Only while this runtime plans. */
  asPlanner?: boolean;
}

/**
 * The records of one kind in memory, each as it was last written or read. A change that can't be written changes nothing. Each
 * record is checked when it is read: one of another shape is set aside, one of a newer version is left alone, and neither
 * concerns the others.
 */
export class Records<T extends object> {
  readonly #deps: RecordsDeps<T>;
  readonly #known = new Map<string, T>();
  #unseen: PrintingError | null = null;
  /** Why it is not known what is stored of a record: the answer to a write was lost, or the read after it failed. */
  readonly #doubtful = new Map<string, PrintingError>();
  /** Records of a newer version, as they are stored. */
  readonly #newer = new Map<string, unknown>();
  /** Records that were changed or read singly during the listing under way; null: there is none. */
  #touched: Set<string> | null = null;

  constructor(deps: RecordsDeps<T>) {
    this.#deps = deps;
  }

  get all(): T[] {
    return [...this.#known.values()];
  }

  get size(): number {
    return this.#known.size;
  }

  get(id: string): T | undefined {
    return this.#known.get(id);
  }

  /** Why it is not known what is stored of some record; null: it is known of each. */
  get unseen(): PrintingError | null {
    const [doubt = null] = this.#doubtful.values();
    return this.#unseen ?? doubt;
  }

  /** Records of a newer version, as they are stored. */
  get newer(): ReadonlyMap<string, unknown> {
    return this.#newer;
  }

  /**
   * Reads all records, in one listing at a time. Rejects while none can be read; one that can't be read now is left out, or
   * stays as it was.
   */
  async load(listing: Listing): Promise<void> {
    const touched = (this.#touched = new Set<string>());
    const found = new Map<string, T>();
    const odd: string[] = [];
    const unread: PrintingError[] = [];
    this.#newer.clear();
    try {
      for await (const { id, value } of listing((error) => unread.push(error))) {
        const record = await this.#read(id, value);
        if (record) found.set(id, record);
        else if (record === undefined) odd.push(id);
        else this.#newer.set(id, value);
      }
    } finally {
      this.#touched = null;
    }
    const doubtful = new Set([...this.#doubtful.keys(), ...touched]);
    for (const id of new Set([...this.#known.keys(), ...found.keys()]))
      if (unread.length > 0 && !found.has(id)) doubtful.add(id);
      else if (!doubtful.has(id)) this.#set(id, found.get(id));
    // Of a record that changed during the listing, either state may be the newer one.
    await eachInTurn(doubtful, (id) => this.reload(id)).catch((thrown: unknown) =>
      unread.push(asPrintingError(thrown)),
    );
    this.#unseen = unread[0] ?? null;
    // A record that can't be set aside now stays where it is, and is not used either.
    for (const id of odd) await this.reload(id).catch(() => undefined);
  }

  /** Reads a record again that another runtime or queue has changed. */
  async reload(id: string): Promise<void> {
    try {
      // An update waits for a change of this runtime that is being written; a plain read would not. After a lost answer it
      // also keeps the write from arriving late.
      await this.#update(id, (current) => current);
      this.#newer.delete(id);
    } catch (thrown) {
      if (!(thrown instanceof NewerValueError)) {
        this.#doubtful.set(id, asPrintingError(thrown));
        throw thrown;
      }
      this.#deps.store.leftAlone(this.#deps.keyOf(id));
      this.#newer.set(id, await this.#deps.store.get(this.#deps.keyOf(id)));
      this.forget(id);
    }
  }

  /** Reads a record that is not in memory. Throws NewerValueError. */
  async find(id: string): Promise<T | undefined> {
    const value = await this.#deps.store.get<unknown>(this.#deps.keyOf(id));
    return value === undefined ? undefined : await this.#deps.read(id, value);
  }

  /**
   * Changes a record. Resolves with the record when the change is durable. A change that could not be written may be stored all
   * the same, so the record is read again then.
   */
  async update(
    id: string,
    change: (current: T | undefined) => T | undefined,
    options: RecordChange = {},
  ): Promise<T | undefined> {
    try {
      return await this.#update(id, change, options);
    } catch (thrown) {
      if (this.#doubtful.has(id)) void this.reload(id).catch(() => undefined);
      throw thrown;
    }
  }

  async #update(
    id: string,
    change: (current: T | undefined) => T | undefined,
    options: RecordChange = {},
  ): Promise<T | undefined> {
    const { store, keyOf, read, write, isLeftAlone } = this.#deps;
    const key = keyOf(id);
    let record: T | undefined;
    let isChanged = false;
    const changed = async (stored: unknown, lock: Lock) => {
      const current = stored === undefined ? undefined : await read(id, stored);
      if (stored !== undefined && current === undefined) await store.setAside(key, stored);
      record = isLeftAlone?.(stored) ? current : change(current);
      if (isLeftAlone?.(stored)) return stored;
      isChanged = record !== current;
      if (!write || !record) return record;
      return record === current ? stored : write(record, stored, lock);
    };
    await store.update<unknown>(key, changed, options).catch((thrown: unknown) => {
      if (isChanged) this.#doubtful.set(id, asPrintingError(thrown));
      throw thrown;
    });
    this.#doubtful.delete(id);
    this.#touched?.add(id);
    this.#set(id, record);
    return record;
  }

  /** Drops a record from memory; the store decides when it deletes it. */
  forget(id: string): void {
    this.#doubtful.delete(id);
    this.#touched?.add(id);
    const before = this.#known.get(id);
    if (!before) return;
    this.#known.delete(id);
    this.#deps.changed(before, undefined);
  }

  /** Undefined: another shape; null: a newer version. */
  async #read(id: string, value: unknown): Promise<T | undefined | null> {
    const { store, keyOf, read } = this.#deps;
    try {
      return await read(id, value);
    } catch (thrown) {
      if (!(thrown instanceof NewerValueError)) throw thrown;
      store.leftAlone(keyOf(id));
      return null;
    }
  }

  #set(id: string, record: T | undefined): void {
    const before = this.#known.get(id);
    if (before === record || (!record && this.#deps.isLasting)) return;
    if (record) this.#known.set(id, record);
    else this.#known.delete(id);
    this.#deps.changed(before, record);
  }
}

type Listener = (key: Key) => void;

/**
 * Changes of records within this process. The store notifies other runtimes only, but queues of one account share the
 * gates of their printers, and a queue that is closing may still write while its successor is there.
 */
export class LocalChanges {
  static readonly #byStore = new WeakMap<StateStore, LocalChanges>();
  /** What this process has seen of machines, for all queues as well. */
  readonly sightings = new Sightings();
  readonly eventAges = new EventAges();
  readonly #listeners = new Set<Listener>();

  /** The changes of a store, the same for all queues that use it. */
  static of(store: StateStore): LocalChanges {
    const known = this.#byStore.get(store) ?? new LocalChanges();
    this.#byStore.set(store, known);
    return known;
  }

  /** Returns a function that removes the listener. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reports a change to all listeners but the one that made it. */
  report(key: Key, by: Listener | null): void {
    for (const listener of [...this.#listeners]) if (listener !== by) guard(listener)(key);
  }
}
