import { createHash, randomUUID } from 'node:crypto';
import { PrintingError } from '../service/errors';
import type { Key } from '../state/store';
import type { Clock } from '../time/clock';
import { phrase } from '../words/sentence';
import type { ItemRecord } from './queue-item';
import type { QueueStore } from './queue-store';
import { waitsOver } from './waiting-times';

/** Least time for which a queue key is known, ms. */
const KEY_KEPT = 90 * 24 * 3_600_000;
/** Time for which the clock must run steadily before it decides that an item is old, ms. */
const PROOF = 24 * 3_600_000;
/** Longest jump of a steady clock, ms. */
const SET_BY = 3_600_000;

interface ItemStoreDeps {
  store: QueueStore;
  queueId: string;
  clock: Clock;
  /** Time for which ended items stay listed, ms. */
  keepFor: number;
  /** Called after a change of an item, here or at another runtime. */
  changed: (before: ItemRecord | undefined, after: ItemRecord | undefined) => void;
  /** Called after a change with which a print has begun; `ms`: the time that its copy waited. */
  waited?: (ms: number) => void;
}

/** Options of a change. */
interface ItemChange {
  /** Only while this runtime plans. */
  asPlanner?: boolean;
}

/** The items of a queue: one record each. The list in memory is rebuilt from the records alone. */
export class ItemStore {
  readonly #deps: ItemStoreDeps;
  readonly #items = new Map<string, ItemRecord>();
  #version = 0;
  readonly #startedAt: { now: number; monotonic: number };

  constructor(deps: ItemStoreDeps) {
    this.#deps = deps;
    this.#startedAt = { now: deps.clock.now(), monotonic: deps.clock.monotonic() };
  }

  /** Reads all records. Rejects while the store can't be read. */
  async load(): Promise<void> {
    const { store, queueId } = this.#deps;
    const found = new Map<string, ItemRecord>();
    const before = new Map(this.#items);
    for await (const record of store.list<ItemRecord>(store.keyOf('queue-item', queueId)))
      found.set(record.itemId, record);
    const doubtful: string[] = [];
    for (const itemId of new Set([...before.keys(), ...this.#items.keys(), ...found.keys()]))
      if (this.#items.get(itemId) === before.get(itemId)) this.#set(itemId, found.get(itemId));
      else doubtful.push(itemId);
    // Of an item that changed during the listing, either state may be the newer one.
    for (const itemId of doubtful) await this.reload(itemId);
  }

  /** The listed items: without those that ended long ago. */
  get all(): ItemRecord[] {
    return [...this.#items.values()];
  }

  get size(): number {
    return this.#items.size;
  }

  /** Grows with each change of an item. */
  get version(): number {
    return this.#version;
  }

  get(itemId: string): ItemRecord | undefined {
    return this.#items.get(itemId);
  }

  /** Id of a new item; that of a known queue key is always the same. */
  idOf(queueKey: string | null): string {
    if (queueKey === null) return randomUUID();
    return createHash('sha256')
      .update(JSON.stringify([this.#deps.queueId, queueKey]))
      .digest('base64url')
      .slice(0, 22);
  }

  /** Reads an item that may have been added by another runtime, or have ended long ago. */
  async find(itemId: string): Promise<ItemRecord | undefined> {
    return this.#items.get(itemId) ?? (await this.#deps.store.get<ItemRecord>(this.#key(itemId)));
  }

  /** Adds an item unless it exists. Resolves when it is durable. */
  async add(itemId: string, make: () => ItemRecord): Promise<{ record: ItemRecord; isNew: boolean }> {
    let isNew = false;
    const record = await this.#update(itemId, (current) => {
      isNew = !current;
      return current ?? make();
    });
    return { record: record as ItemRecord, isNew };
  }

  /** Changes an item; the change may throw. Throws QUEUE_ITEM_NOT_FOUND. */
  async change(
    itemId: string,
    change: (record: ItemRecord) => ItemRecord,
    { asPlanner = false }: ItemChange = {},
  ): Promise<ItemRecord> {
    const changed = await this.#update(itemId, (current) => current && change(current), asPlanner);
    if (!changed) throw itemNotFound();
    return changed;
  }

  /** Reads an item again that another runtime has changed. */
  async reload(itemId: string): Promise<void> {
    // An update waits for a change of this runtime that is being written; a plain read would not.
    await this.#update(itemId, (current) => current);
  }

  /**
   * Time before which items that ended are old, ms since 1970; null until the clock has proved itself: one that was wrong
   * before would hide items that have just ended.
   */
  get oldBefore(): number | null {
    const { clock } = this.#deps;
    const passed = clock.monotonic() - this.#startedAt.monotonic;
    const isProved = passed >= PROOF && Math.abs(clock.now() - this.#startedAt.now - passed) <= SET_BY;
    return isProved ? this.#cutoff : null;
  }

  /** Drops old items from memory, and none that ended at `before` or later; the store removes their records. */
  forget(before: number): void {
    const cutoff = Math.min(before, this.#cutoff);
    for (const [itemId, { endedAt, outbox }] of this.#items)
      if (endedAt !== null && endedAt < cutoff && outbox.length === 0) this.#set(itemId, undefined);
  }

  get #cutoff(): number {
    return this.#deps.clock.now() - this.#deps.keepFor;
  }

  async #update(
    itemId: string,
    change: (current: ItemRecord | undefined) => ItemRecord | undefined,
    asPlanner = false,
  ): Promise<ItemRecord | undefined> {
    const { store } = this.#deps;
    const made = { change: false };
    let waits: number[] = [];
    const record = await store.update<ItemRecord>(
      this.#key(itemId),
      (current) => {
        const next = change(current);
        made.change = next !== current;
        waits = current && next ? waitsOver(current, next) : [];
        return next;
      },
      { asPlanner },
    );
    this.#set(itemId, record);
    for (const ms of waits) this.#deps.waited?.(ms);
    if (record && made.change && record.endedAt !== null && record.outbox.length === 0) await this.#mayGo(record);
    return record;
  }

  /** Lets the store remove an ended item one day, once its events are delivered; each other write keeps it for ever. */
  async #mayGo(ended: ItemRecord): Promise<void> {
    const keepFor = this.#keepFor(ended);
    const isOver = ({ endedAt, outbox }: ItemRecord) => endedAt !== null && outbox.length === 0;
    const change = (current?: ItemRecord) => (current && isOver(current) ? { ...current } : current);
    await this.#deps.store
      .update<ItemRecord>(this.#key(ended.itemId), change, { keepFor })
      // The record only occupies space.
      .catch(() => undefined);
  }

  #keepFor({ queueKey }: ItemRecord): number {
    const { keepFor } = this.#deps;
    return queueKey === null ? keepFor : Math.max(keepFor, KEY_KEPT);
  }

  #set(itemId: string, record: ItemRecord | undefined): void {
    const before = this.#items.get(itemId);
    if (before === record) return;
    this.#version++;
    if (record) this.#items.set(itemId, record);
    else this.#items.delete(itemId);
    this.#deps.changed(before, record);
  }

  #key = (itemId: string): Key => this.#deps.store.keyOf('queue-item', this.#deps.queueId, itemId);
}

export const itemNotFound = (): PrintingError =>
  new PrintingError(
    'QUEUE_ITEM_NOT_FOUND',
    phrase`The queue has no such item: check msg.itemId, msg.queueKey or msg.orderId.`,
  );
