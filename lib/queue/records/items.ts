import { createHash, randomUUID } from 'node:crypto';
import type { ClusterStatus } from '../../service/cluster';
import { PrintingError } from '../../service/errors';
import { record } from '../../service/json-readers';
import type { Key } from '../../state/store';
import type { Clock } from '../../time/clock';
import { eachInTurn } from '../../time/concurrency';
import { phrase } from '../../words/sentence';
import { highestRank, isOpen, isUnplaced, lastAttempt, openAttempts, waitsOver } from '../model/item';
import { ranksBetween } from '../model/rank';
import type { Attempt, ItemRecord } from '../model/types';
import { type QueueStore, Records } from './records';
import { StoredItems } from './stored-items';
import { isNumber, isText, listOf, mapOf, orMissing, shapeOf } from '../../service/shapes';

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
  readonly #records: Records<ItemRecord>;
  readonly #stored: StoredItems;
  #version = 0;
  #highestRank: string | null = null;
  readonly #startedAt: { now: number; monotonic: number };

  constructor(deps: ItemStoreDeps) {
    this.#deps = deps;
    this.#stored = new StoredItems(deps.store, deps.queueId);
    this.#startedAt = { now: deps.clock.now(), monotonic: deps.clock.monotonic() };
    this.#records = new Records({
      store: deps.store,
      keyOf: this.#key,
      read: (itemId, value) => this.#stored.read(itemId, value),
      write: (record, before, lock) => this.#stored.write(record, before, lock),
      changed: (before, after) => {
        this.#version++;
        if (after) this.#highestRank = highestRank([after], this.#highestRank);
        deps.changed(before, after);
      },
    });
  }

  /** Reads all records. Rejects while none can be read. */
  async load(): Promise<void> {
    const { store, queueId } = this.#deps;
    await this.#stored.load();
    const prefix = store.keyOf('queue-item', queueId);
    const listed = new Set<string>();
    await this.#records.load(async function* (unread) {
      for await (const { key, value } of store.entries(prefix, unread)) {
        const id = key[prefix.length] ?? '';
        listed.add(id);
        yield { id, value };
      }
    });
    void this.#stored.sweep((itemId) => listed.has(itemId));
  }

  /** Why some item could not be read; null: each was. */
  get unseen(): PrintingError | null {
    return this.#records.unseen;
  }

  /** Orders with an item of a newer version that has not ended, as far as its record says so. */
  get unknownOrders(): ReadonlySet<string> {
    const orders = new Set<string>();
    for (const [itemId, value] of this.#records.newer) {
      const { orderId = this.#stored.orderOf(itemId), endedAt } = record(value) ?? {};
      if (isText(orderId) && !isNumber(endedAt)) orders.add(orderId);
    }
    return orders;
  }

  /** The listed items: without those that ended long ago. */
  get all(): ItemRecord[] {
    return this.#records.all;
  }

  get size(): number {
    return this.#records.size;
  }

  /** Grows with each change of an item. */
  get version(): number {
    return this.#version;
  }

  /** The highest rank at which an item stands, stood or was added; null: there was none. */
  get highestRank(): string | null {
    return this.#highestRank;
  }

  get(itemId: string): ItemRecord | undefined {
    return this.#records.get(itemId);
  }

  /** Id of a new item; that of a known queue key is always the same. */
  idOf(queueKey: string | null): string {
    if (queueKey === null) return randomUUID();
    return createHash('sha256')
      .update(JSON.stringify([this.#deps.queueId, queueKey]))
      .digest('base64url')
      .slice(0, 22);
  }

  /** Reads an item that may have been added by another runtime, or have ended long ago. Only the latter is not listed. */
  async find(itemId: string): Promise<ItemRecord | undefined> {
    const known = this.get(itemId);
    if (known) return known;
    const found = await this.#records.find(itemId);
    if (!found || isOld(found, this.#cutoff)) return found;
    await this.reload(itemId);
    return this.get(itemId);
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
  reload(itemId: string): Promise<void> {
    return this.#records.reload(itemId);
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
    for (const record of this.all) if (isOld(record, cutoff)) this.#records.forget(record.itemId);
  }

  get #cutoff(): number {
    return this.#deps.clock.now() - this.#deps.keepFor;
  }

  async #update(
    itemId: string,
    change: (current: ItemRecord | undefined) => ItemRecord | undefined,
    asPlanner = false,
  ): Promise<ItemRecord | undefined> {
    const made = { change: false };
    let waits: number[] = [];
    const record = await this.#records.update(
      itemId,
      (current) => {
        const next = change(current);
        made.change = next !== current;
        waits = current && next ? waitsOver(current, next) : [];
        return next;
      },
      { asPlanner },
    );
    for (const ms of waits) this.#deps.waited?.(ms);
    if (record && made.change && record.endedAt !== null && record.outbox.length === 0) await this.#mayGo(record);
    return record;
  }

  /** Lets the store remove an ended item one day, once its events are delivered; each other write keeps it for ever. */
  async #mayGo(ended: ItemRecord): Promise<void> {
    const keepFor = this.#keepFor(ended);
    const isOver = ({ endedAt, outbox }: ItemRecord) => endedAt !== null && outbox.length === 0;
    const change = (current?: ItemRecord) => (current && isOver(current) ? { ...current } : current);
    await this.#records
      .update(ended.itemId, change, { keepFor })
      // The record only occupies space.
      .catch(() => undefined);
  }

  #keepFor({ queueKey }: ItemRecord): number {
    const { keepFor } = this.#deps;
    return queueKey === null ? keepFor : Math.max(keepFor, KEY_KEPT);
  }

  readonly #key = (itemId: string): Key => this.#deps.store.keyOf('queue-item', this.#deps.queueId, itemId);
}

/** Whether an item has ended before a time, ms since 1970, and its events are delivered. */
const isOld = ({ endedAt, outbox }: ItemRecord, before: number): boolean =>
  endedAt !== null && endedAt < before && outbox.length === 0;

export const itemNotFound = (): PrintingError =>
  new PrintingError(
    'QUEUE_ITEM_NOT_FOUND',
    phrase`The queue has no such item: check msg.itemId, msg.queueKey or msg.orderId.`,
  );

/** Copies that have a cluster to themselves, of all queues of the account. */
interface ReservedCluster {
  clusterId: string;
  /** `reservationOf` of each. */
  holders: readonly string[];
  /** Plate gates of the machines that were there at the last reservation; absent in older records. */
  machines?: readonly string[];
  /** Of machines that had left before it, the copies that had reserved the cluster until then. */
  left?: Readonly<Record<string, readonly string[]>>;
}

const isReserved = shapeOf({
  clusterId: isText,
  holders: listOf(isText),
  machines: orMissing(listOf(isText)),
  left: orMissing(mapOf(listOf(isText))),
});

/** Reads a stored reservation. One of another shape reserves nothing: open attempts reserve their clusters anew. */
const readReserved = (value: unknown): ReservedCluster | null =>
  isReserved(value) ? (value as ReservedCluster) : null;

const NOBODY: ReservedCluster = { clusterId: '', holders: [] };

/** All machines that may have taken a print of a reserved cluster. */
const machinesOf = ({ machines = [], left = {} }: ReservedCluster): string[] => [...machines, ...Object.keys(left)];

/** A reserved cluster after a change of its holders; undefined: nobody holds it. `here`: its present machines. */
function reservedAfter(
  before: ReservedCluster,
  holders: readonly string[],
  here: readonly string[] | null,
): ReservedCluster | undefined {
  if (holders.length === 0) return undefined;
  const machines = here ?? before.machines;
  // One of an older version stands for the machines that are there.
  if (!machines) return { clusterId: before.clusterId, holders };
  const gone = (before.machines ?? []).filter((gateId) => !machines.includes(gateId));
  const left = [...Object.entries(before.left ?? {}), ...gone.map((gateId) => [gateId, before.holders] as const)]
    .map(([gateId, all]) => [gateId, all.filter((holder) => holders.includes(holder))] as const)
    .filter(([gateId, all]) => all.length > 0 && !machines.includes(gateId));
  return { clusterId: before.clusterId, holders, machines, ...(left.length > 0 && { left: Object.fromEntries(left) }) };
}

/** Names a copy among those of all queues. */
export const reservationOf = (queueId: string, itemId: string, copy: number): string =>
  JSON.stringify([queueId, itemId, copy]);

/** Queue, item and copy of a holder; blank for a text that `reservationOf` did not make. */
function wordsOf(holder: string): [queueId: string, itemId: string, copy: number] {
  try {
    const words = JSON.parse(holder) as unknown;
    const [queueId, itemId, copy] = Array.isArray(words) ? (words as unknown[]) : [];
    return isText(queueId) && isText(itemId) ? [queueId, itemId, Number(copy)] : ['', '', 0];
  } catch {
    return ['', '', 0];
  }
}

/** How many copies may hold a cluster. */
interface Room {
  /** Its printers, and those of them that are free without the copies in `known`. */
  printers: number;
  free: number;
  /** Copies whose prints the status shows, or that `free` leaves out already. */
  known: ReadonlySet<string>;
}

/** Time after a dispatch, or the assignment before it, for which the status that another queue knows need not list the print, ms. */
const UNLISTED = 60_000;

/**
 * Whether the print of another queue, which a group does not show, may be on any of its members. Clocks of two runtimes may
 * differ: a time that can't be right forbids (ADR 32).
 */
function isOutOfSight(attempt: Attempt, now: number): boolean {
  const { state, assignedAt, dispatchedAt } = attempt;
  if (!isUnplaced(attempt)) return false;
  const age = now - (dispatchedAt ?? assignedAt);
  return state === 'unknown' || age < 0 || age > UNLISTED;
}

/** Lived time for which a reservation of another queue must have been over before this queue releases it, ms. */
const SPENT_FOR = 600_000;

/** Room for one more copy whatever holds the cluster. */
const ANY_ROOM: Room = { printers: Infinity, free: Infinity, known: new Set() };

/**
 * Reservations of printers from before an assignment until its print has ended: two queues that share a printer must not
 * both send to it before the service shows the first job. Saved under `['queue-printer', ...scope, clusterId]`.
 */
export class Reservations {
  /** Clusters that each copy of this queue holds: a copy that failed may begin elsewhere before the first is released. */
  readonly #own = new Map<string, Set<string>>();
  /** The reservations of all queues, by cluster, and the clusters in whose reservations each machine is. */
  readonly #all = new Map<string, ReservedCluster>();
  readonly #byMachine = new Map<string, Set<string>>();
  /** Reservations of other queues that are over: since when (monotonic, ms), and for which attempt. */
  readonly #spent = new Map<string, { since: number; attempt: number | null }>();

  constructor(
    private readonly store: QueueStore,
    private readonly queueId: string,
    private readonly clock: Clock,
    private readonly machinesIn: (clusterId: string) => readonly string[],
  ) {}

  /** Reads the reservations of all queues. Rejects while none can be read. */
  async load(): Promise<void> {
    const found = new Map<string, ReservedCluster>();
    for await (const { value } of this.store.entries(this.store.keyOf('queue-printer'), () => undefined)) {
      const reserved = readReserved(value);
      if (reserved) found.set(reserved.clusterId, reserved);
    }
    for (const clusterId of new Set([...this.#all.keys(), ...found.keys()]))
      this.#note(clusterId, found.get(clusterId));
  }

  /** Reads a reservation again that another runtime or queue has changed. */
  async reload(clusterId: string): Promise<void> {
    const value = await this.store.get(this.store.keyOf('queue-printer', clusterId));
    this.#note(clusterId, readReserved(value) ?? undefined);
  }

  /** Plate gates of the machines that may have taken the open prints of a cluster; of an older record, those that are there. */
  readonly machinesAt = (clusterId: string): readonly string[] => {
    const reserved = this.#all.get(clusterId);
    return reserved?.machines ? machinesOf(reserved) : this.machinesIn(clusterId);
  };

  /** Whether a reservation names a machine. */
  isNamed(gateId: string): boolean {
    return this.#byMachine.has(gateId);
  }

  /** Whether a machine may have got a print of another queue in another cluster than this, before it left that. */
  isTaken(gateId: string, clusterId: string): boolean {
    const isOthers = (id: string) => {
      const { holders = [], left = {} } = this.#all.get(id) ?? {};
      // The id of a machine may be any text.
      const possible = (Object.hasOwn(left, gateId) ? left[gateId] : undefined) ?? holders;
      return id !== clusterId && possible.some((holder) => wordsOf(holder)[0] !== this.queueId);
    };
    return [...(this.#byMachine.get(gateId) ?? [])].some(isOthers);
  }

  /** Reserves a cluster for a copy, if it has room for that beside the copies that hold it. Returns whether the copy holds it. */
  async reserve(clusterId: string, holder: string, { printers, free, known }: Room): Promise<boolean> {
    const after = await this.#change(clusterId, (holders) => {
      // Each copy whose print no status shows yet may take one of the free printers.
      const unseen = holders.filter((other) => !known.has(other)).length;
      const isFull = holders.length >= printers || unseen >= free;
      return holders.includes(holder) || isFull ? holders : [...holders, holder];
    });
    if (after.includes(holder)) this.#remember(clusterId, holder);
    return after.includes(holder);
  }

  /**
   * The copies of other queues that hold a group and whose prints its status shows, and whether some print is nowhere to be
   * seen, so that it may lie on any member. A record that can't be read now shows none. `now`: ms since 1970.
   */
  async othersIn({ clusterId, jobs }: ClusterStatus, now: number): Promise<{ seen: string[]; areNowhere: boolean }> {
    const { store, queueId: own } = this;
    const seen: string[] = [];
    let areNowhere = false;
    const holders = readReserved(await store.get(store.keyOf('queue-printer', clusterId)))?.holders ?? [];
    for (const holder of holders) {
      const [queueId, itemId, copy] = wordsOf(holder);
      if (queueId === own) continue;
      const stored = await store.get(store.keyOf('queue-item', queueId, itemId));
      const record = await new StoredItems(store, queueId).read(itemId, stored).catch(() => undefined);
      const attempt = record && lastAttempt(record, copy);
      const { clusterJobId = null } = attempt ?? {};
      if (clusterJobId !== null && jobs.some((job) => job.clusterJobId === clusterJobId)) seen.push(holder);
      else areNowhere ||= attempt !== undefined && isOutOfSight(attempt, now);
    }
    return { seen, areNowhere };
  }

  /**
   * Releases what another queue has reserved for a copy whose print has ended, if it has not done so for ten minutes: the
   * queue may have been deleted while nobody watched it. `hasEnded`: whether a gate knows the end of a printing. An open
   * print of unknown outcome is nobody's to release.
   */
  async releaseSpent(clusterId: string, hasEnded: (clusterJobId: string) => boolean): Promise<void> {
    const now = this.clock.monotonic();
    const holders = readReserved(await this.store.get(this.store.keyOf('queue-printer', clusterId)))?.holders ?? [];
    const spent = new Set<string>();
    for (const holder of holders) {
      if (wordsOf(holder)[0] === this.queueId) continue;
      const key = `${clusterId} ${holder}`;
      const over = await this.#whenOver(holder, hasEnded);
      const before = this.#spent.get(key);
      if (!over) this.#spent.delete(key);
      else if (before?.attempt !== over.attempt) this.#spent.set(key, { ...over, since: now });
      else if (now - before.since >= SPENT_FOR) spent.add(holder);
    }
    if (spent.size === 0) return;
    await this.#change(clusterId, (current) => current.filter((holder) => !spent.has(holder)));
    for (const holder of spent) this.#spent.delete(`${clusterId} ${holder}`);
  }

  /** The attempt of a reservation of another queue that is over, null without one; undefined while it may be open. */
  async #whenOver(
    holder: string,
    hasEnded: (clusterJobId: string) => boolean,
  ): Promise<{ attempt: number | null } | undefined> {
    const [queueId, itemId, copy] = wordsOf(holder);
    const stored = await this.store.get(this.store.keyOf('queue-item', queueId, itemId));
    if (stored === undefined) return { attempt: null };
    const record = await new StoredItems(this.store, queueId).read(itemId, stored).catch(() => undefined);
    if (!record) return undefined;
    const last = lastAttempt(record, copy);
    if (!last) return { attempt: null };
    const isOver = !isOpen(last) || (last.clusterJobId !== null && hasEnded(last.clusterJobId));
    return isOver ? { attempt: last.attempt } : undefined;
  }

  async release(clusterId: string, holder: string): Promise<void> {
    await this.#change(clusterId, (holders) => holders.filter((other) => other !== holder));
    const clusters = this.#own.get(holder);
    clusters?.delete(clusterId);
    if (clusters?.size === 0) this.#own.delete(holder);
  }

  /**
   * Finds what earlier tenures left reserved for a queue, and reserves the clusters of all its open attempts: a removal of
   * the queue may have released them.
   */
  async restore(queueId: string, records: Iterable<ItemRecord>): Promise<void> {
    for await (const { value } of this.store.entries(this.store.keyOf('queue-printer'), () => undefined)) {
      const { clusterId, holders } = readReserved(value) ?? NOBODY;
      for (const holder of holders) if (wordsOf(holder)[0] === queueId) this.#remember(clusterId, holder);
    }
    const open = [...records].flatMap((record) =>
      openAttempts(record).map(({ copy, clusterId }) => ({
        clusterId,
        holder: reservationOf(queueId, record.itemId, copy),
      })),
    );
    const missing = open.filter(({ holder, clusterId }) => !this.#own.get(holder)?.has(clusterId));
    await eachInTurn(missing, ({ holder, clusterId }) => this.reserve(clusterId, holder, ANY_ROOM));
  }

  /** Releases the reservations of items that were seen, but those of `wanted`: the cluster that each copy needs. */
  async keepOnly(wanted: ReadonlyMap<string, string>, isSeen: (itemId: string) => boolean = () => true): Promise<void> {
    const held = [...this.#own].flatMap(([holder, clusters]) =>
      [...clusters].map((clusterId) => ({ holder, clusterId })),
    );
    const left = held.filter(({ holder, clusterId }) => wanted.get(holder) !== clusterId && isSeen(wordsOf(holder)[1]));
    await eachInTurn(left, ({ holder, clusterId }) => this.release(clusterId, holder));
  }

  #remember(clusterId: string, holder: string): void {
    const clusters = this.#own.get(holder) ?? new Set();
    this.#own.set(holder, clusters.add(clusterId));
  }

  async #change(
    clusterId: string,
    change: (holders: readonly string[]) => readonly string[],
  ): Promise<readonly string[]> {
    const key: Key = this.store.keyOf('queue-printer', clusterId);
    let after: readonly string[] = [];
    const written = await this.store.update<unknown>(
      key,
      (current) => {
        const before = { ...(readReserved(current) ?? NOBODY), clusterId };
        after = change(before.holders);
        if (after.length === before.holders.length) return current;
        const isMore = after.length > before.holders.length;
        return reservedAfter(before, after, isMore ? this.machinesIn(clusterId) : null);
      },
      { asPlanner: true },
    );
    this.#note(clusterId, readReserved(written) ?? undefined);
    return after;
  }

  #note(clusterId: string, reserved: ReservedCluster | undefined): void {
    for (const gateId of machinesOf(this.#all.get(clusterId) ?? NOBODY)) {
      const clusters = this.#byMachine.get(gateId);
      clusters?.delete(clusterId);
      if (clusters?.size === 0) this.#byMachine.delete(gateId);
    }
    if (!reserved) return void this.#all.delete(clusterId);
    this.#all.set(clusterId, reserved);
    for (const gateId of machinesOf(reserved))
      this.#byMachine.set(gateId, (this.#byMachine.get(gateId) ?? new Set()).add(clusterId));
  }
}

/** The present order of the items that can be planned, and the one that they would have with other ranks. */
interface PlannedOrder {
  order: readonly string[];
  orderWith: (ranks: ReadonlyMap<string, string>) => readonly string[];
}

/**
 * New ranks of moved items, by item: among those of their priority, as an item never passes one of a higher priority. Throws
 * QUEUE_ITEM_NOT_FOUND, INVALID_INPUT, and NOT_ACCEPTED if an item would not stand where it is wanted, as ranks do not decide alone.
 */
export function movedRanks(
  moved: readonly ItemRecord[],
  all: readonly ItemRecord[],
  { order, orderWith }: PlannedOrder,
  to: { position: number } | { before: string },
): Map<string, string> {
  const ranks = new Map<string, string>();
  const planned = new Set(order);
  /** By priority, the order that is wanted. */
  const wanted: string[][] = [];
  for (const priority of new Set(moved.map((item) => item.priority))) {
    const own = moved.filter((item) => item.priority === priority).sort(byRank);
    const isOwn = new Set(own);
    const peers = all
      .filter((item) => item.priority === priority && item.endedAt === null && !isOwn.has(item))
      .sort(byRank);
    const places = new Map(peers.map(({ itemId }, at) => [itemId, at]));
    const others = order.filter((itemId) => places.has(itemId));
    const higher = all.filter((item) => item.priority > priority && planned.has(item.itemId)).length;
    // A position is one of the whole plan, 1 is next.
    const next = 'before' in to ? neighbour(to.before, peers, all) : others[Math.max(0, to.position - 1 - higher)];
    const at = next === undefined ? peers.length : (places.get(next) ?? peers.length);
    const fresh = ranksBetween(peers[at - 1]?.rank ?? null, peers[at]?.rank ?? null, own.length);
    for (const [nth, { itemId }] of own.entries()) ranks.set(itemId, fresh[nth] as string);
    const ids = own.map(({ itemId }) => itemId).filter((itemId) => planned.has(itemId));
    const place = next === undefined ? others.length : others.indexOf(next);
    if (place >= 0 && ids.length > 0) wanted.push(others.toSpliced(place, 0, ...ids));
  }
  if (wanted.length > 0) checkPlaces(orderWith(ranks), wanted, ranks);
  return ranks;
}

/** Throws NOT_ACCEPTED unless the items stand in these orders; those that were moved, in any order among themselves. */
function checkPlaces(
  order: readonly string[],
  wanted: readonly (readonly string[])[],
  moved: ReadonlyMap<string, string>,
): void {
  for (const ids of wanted) {
    const among = new Set(ids);
    const found = order.filter((itemId) => among.has(itemId));
    const isRight = (itemId: string, other = '') => itemId === other || (moved.has(itemId) && moved.has(other));
    if (!ids.every((itemId, at) => isRight(itemId, found[at])))
      throw new PrintingError(
        'NOT_ACCEPTED',
        phrase`The order of the queue leaves the item where it is: change its priority instead of moving it.`,
      );
  }
}

function neighbour(itemId: string, peers: readonly ItemRecord[], all: readonly ItemRecord[]): string {
  if (peers.some((item) => item.itemId === itemId)) return itemId;
  if (!all.some((item) => item.itemId === itemId)) throw itemNotFound();
  throw new PrintingError(
    'INVALID_INPUT',
    phrase`An item can only be moved among waiting items of the same priority: choose another msg.before.`,
  );
}

const byRank = (one: ItemRecord, other: ItemRecord): number =>
  one.rank < other.rank ? -1 : one.rank > other.rank ? 1 : 0;
