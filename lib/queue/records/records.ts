import type { Lock } from '../../state/membership';
import type { Change, Key, PutOptions, Scope, StateStore } from '../../state/store';
import { Sightings } from './sightings';

/** The option of a change that only the runtime with the queue's lease may make. */
export const PLANNER = { asPlanner: true };

/** Records per page of a listing. */
const PAGE = 1_000;

/** Kinds of the queue's records. */
type Kind = 'queue-item' | 'queue-plate' | 'queue-printer' | 'queue-state' | 'queue-telling';

/**
 * The queue's records in the store. Every change is an update under the record's lock, so that a person at one runtime
 * and the planner at another never overwrite each other; other runtimes are notified of it.
 */
export class QueueStore {
  constructor(
    readonly store: StateStore,
    readonly scope: Scope,
    /** Lease of the planner, without which its changes are not written; null: none is needed. */
    private readonly lease: () => Lock | null = () => null,
    /** Called after each change that was written. */
    private readonly written: (key: Key) => void = () => undefined,
  ) {}

  keyOf = (kind: Kind, ...words: string[]): Key => [kind, ...this.scope, ...words];

  /** Key of a cluster's event checkpoint, in which written gates leave their marks. */
  checkpointKey = (clusterId: string): Key => ['checkpoint', ...this.scope, clusterId];

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

  /** Reads all records below a key, page by page. */
  async *list<T>(prefix: Key): AsyncGenerator<T> {
    for await (const { value } of this.entries<T>(prefix)) yield value;
  }

  /** The same with their keys. */
  async *entries<T>(prefix: Key): AsyncGenerator<{ key: Key; value: T }> {
    for (let after: string | undefined, isMore = true; isMore;) {
      const { entries, next } = await this.store.list<T>(prefix, { limit: PAGE, after });
      yield* entries;
      isMore = next !== null;
      after = next ?? undefined;
    }
  }
}

interface RecordsDeps<T> {
  store: QueueStore;
  keyOf: (id: string) => Key;
  idOf: (record: T) => string;
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

/** The records of one kind in memory, each as it was last written or read. A change that can't be written changes nothing. */
export class Records<T extends object> {
  readonly #deps: RecordsDeps<T>;
  readonly #known = new Map<string, T>();

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

  /** Reads all records. Rejects while the store can't be read. */
  async load(stored: AsyncIterable<T>): Promise<void> {
    const before = new Map(this.#known);
    const found = new Map<string, T>();
    for await (const record of stored) found.set(this.#deps.idOf(record), record);
    const doubtful: string[] = [];
    for (const id of new Set([...before.keys(), ...this.#known.keys(), ...found.keys()]))
      if (this.#known.get(id) === before.get(id)) this.#set(id, found.get(id));
      else doubtful.push(id);
    // Of a record that changed during the listing, either state may be the newer one.
    for (const id of doubtful) await this.reload(id);
  }

  /** Reads a record again that another runtime or queue has changed. */
  async reload(id: string): Promise<void> {
    // An update waits for a change of this runtime that is being written; a plain read would not.
    await this.update(id, (current) => current);
  }

  /** Changes a record. Resolves with the record when the change is durable. */
  async update(
    id: string,
    change: (current: T | undefined) => T | undefined,
    options: RecordChange = {},
  ): Promise<T | undefined> {
    const record = await this.#deps.store.update<T>(this.#deps.keyOf(id), change, options);
    this.#set(id, record);
    return record;
  }

  /** Drops a record from memory; the store decides when it deletes it. */
  forget(id: string): void {
    const before = this.#known.get(id);
    if (!before) return;
    this.#known.delete(id);
    this.#deps.changed(before, undefined);
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
    for (const listener of [...this.#listeners]) if (listener !== by) listener(key);
  }
}
