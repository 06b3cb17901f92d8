import { newerValue } from '../../service/errors';
import { type Json, record } from '../../service/json-readers';
import type { Lock } from '../../state/membership';
import type { Key } from '../../state/store';
import { eachInTurn } from '../../time/concurrency';
import { eventId, isOpen } from '../model/item';
import { COPIES } from '../../rules/limits';
import { isRank } from '../model/rank';
import type { Attempt, CopyState, ItemRecord, QueueEventDraft, QueueEventType } from '../model/types';
import type { QueueStore } from './records';
import {
  isCount,
  isFlag,
  isNewerThan,
  isNumber,
  isText,
  isTime,
  listOf,
  mapOf,
  oneOf,
  orMissing,
  orNull,
  type Shape,
  shapeOf,
} from '../../service/shapes';

/** Kind of the records that hold what is over of an item. */
const PAST = 'queue-past';
const VERSION = 3;
/** That of items of copies: versions of the pack that know no parts must not print an item of parts as one of copies. */
const VERSION_OF_COPIES = 2;

/** Members that seldom change: the first record of what is over holds them as well, so that the item's own stays small. */
const LASTING = ['files', 'require', 'name', 'queueKey', 'orderId', 'owner', 'costCode', 'createdAt', 'parts'] as const;

/** What most items have; such members are not written. */
const USUAL: Partial<ItemRecord> = {
  ...{ queueKey: null, orderId: null, owner: null, costCode: null, name: null, require: null, priority: 0 },
  ...{ notBefore: null, deadline: null, isHeld: false, awaitsApproval: false, isRemoved: false, isOverdue: false },
  ...{ front: [], ends: 0, endedAt: null, blocked: { is: false, count: 0 }, outbox: [] },
};
const USUAL_ATTEMPT: Partial<Attempt> = {
  attempt: 1,
  ...{ file: 0, clusterName: null, printerId: null, clusterJobId: null, dispatchedAt: null, startedAt: null },
  ...{ endedAt: null, seconds: null, cost: null, reason: null, counts: false, recall: null, settledAs: null },
};

/** Other members of most attempts: a send that was answered, and an event for each step. */
const usualAttempt = (attempt: Partial<Attempt>): Partial<Attempt> => {
  const { dispatchedAt = null, startedAt = null, state } = attempt;
  const told: QueueEventType[] = [];
  if (dispatchedAt !== null) told.push('print.dispatched');
  if (startedAt !== null) told.push('print.started');
  if (state === 'finished') told.push('print.finished');
  return { ...USUAL_ATTEMPT, told, ...(dispatchedAt !== null && { hasLeft: true }) };
};

/** Members that an event of an item has in common with its print, if it is about one; they are not written. */
const usualDraft = (
  { type, print }: Pick<QueueEventDraft, 'type' | 'print'>,
  { queueId, itemId, prints }: { queueId: string; itemId: string; prints: ReadonlyMap<string, Attempt> },
): Partial<QueueEventDraft> => {
  const { clusterId = null, clusterName = null } = (print && prints.get(nameOf(print))) ?? {};
  const id = eventId(queueId, type, itemId, ...(print ? [print.copy, print.attempt] : []));
  return { id, print: null, clusterId, clusterName, value: null };
};

/**
 * The record of an item as it is stored: its members that differ from `USUAL` and from its past, and the attempts and
 * states of copies that differ from it. It stays as small however many copies were printed. Version 1 has no past.
 */
interface StoredItem extends Json {
  /** Number of records that hold its past. */
  past: number;
}

/** One record of the past of an item: attempts that are over, and states of copies; null: the copy waits. It never changes. */
interface StoredPast {
  version: 1;
  lasting?: Partial<ItemRecord>;
  prints: readonly Json[];
  touched: Readonly<Record<string, CopyState | null>>;
}

/** The sum of the records of an item's past. */
class Past {
  length = 0;
  lasting: Partial<ItemRecord> = {};
  /** By copy and attempt, in the order in which they ended. */
  readonly prints = new Map<string, Attempt>();
  readonly touched: Record<string, CopyState> = {};

  add({ lasting, prints, touched }: StoredPast): void {
    this.length++;
    this.lasting = { ...this.lasting, ...lasting };
    for (const attempt of prints.map(attemptOf)) put(this.prints, attempt);
    for (const [copy, state] of Object.entries(touched))
      if (state === null) Reflect.deleteProperty(this.touched, copy);
      else this.touched[copy] = state;
  }
}

/** Reads and writes the items of a queue: each is one record, and one for each attempt that is over. */
export class StoredItems {
  readonly #known = new Map<string, Past>();
  /** Items of which nothing but the past may be left. */
  #listed: readonly string[] = [];

  constructor(
    private readonly store: QueueStore,
    private readonly queueId: string,
  ) {}

  /** Reads the past of all items, before they are read. One that can't be read now is read with its item. */
  async load(): Promise<void> {
    const prefix = this.store.keyOf(PAST, this.queueId);
    const found = new Map<string, Map<number, unknown>>();
    for await (const { key, value } of this.store.entries(prefix, () => undefined)) {
      const [itemId = '', at = ''] = key.slice(prefix.length);
      found.set(itemId, (found.get(itemId) ?? new Map<number, unknown>()).set(Number(at), value));
    }
    this.#known.clear();
    this.#listed = [...found.keys()];
    for (const [itemId, parts] of found) {
      const past = new Past();
      for (let part = parts.get(0); isPast(part); part = parts.get(past.length)) past.add(part as StoredPast);
      this.#known.set(itemId, past);
    }
  }

  /**
   * Deletes what is left of the items that the store has removed. `isThere`: an item that was listed after `load`. Never
   * rejects: what can't be deleted now only occupies space.
   */
  async sweep(isThere: (itemId: string) => boolean): Promise<void> {
    const left = this.#listed.filter((itemId) => !isThere(itemId));
    this.#listed = [];
    await eachInTurn(left, async (itemId) => {
      const { length } = this.#known.get(itemId) ?? { length: 0 };
      const key = this.store.keyOf('queue-item', this.queueId, itemId);
      // Throws for an item that can't be read now, or is one of a newer version.
      if ((await this.store.get(key)) !== undefined) return;
      // The past of an item that was set aside is needed to restore it.
      if ((await this.store.get(['set-aside', ...key])) !== undefined) return;
      for (let at = length - 1; at >= 0; at--) await this.store.store.delete(this.#keyOf(itemId, at));
      this.#known.delete(itemId);
    }).catch(() => undefined);
  }

  /** Order of an item by its past alone; undefined: it has none, or that does not name one. */
  orderOf(itemId: string): string | null | undefined {
    return this.#known.get(itemId)?.lasting.orderId;
  }

  /** Reads a stored item; undefined: it has another shape. Throws FILE_NOT_READABLE for one of a newer version. */
  async read(itemId: string, value: unknown): Promise<ItemRecord | undefined> {
    if (isNewerThan(VERSION, value)) throw newerValue('queue-item');
    const stored = record(value);
    if (stored?.itemId !== itemId) return undefined;
    if (stored.version === 1) return isItem(stored) ? (stored as unknown as ItemRecord) : undefined;
    if (!isPresent(stored)) return undefined;
    const past = await this.#pastOf(itemId, stored.past as number);
    if (!past) return undefined;
    const present = (stored.prints as Json[]).map(attemptOf);
    const prints = new Map(past.prints);
    for (const attempt of present) put(prints, attempt);
    const states = Object.entries({ ...past.touched, ...activeCopies(present), ...record(stored.touched) });
    const draftOf = (draft: unknown) => {
      const members = record(draft) ?? {};
      const { type, print = null } = members as Partial<QueueEventDraft>;
      if (!isText(type) || !isPrint(print)) return draft;
      return { ...usualDraft({ type, print }, { queueId: this.queueId, itemId, prints }), ...members };
    };
    const { past: _past, ...found } = stored;
    complete(found, past.lasting);
    complete(found, USUAL);
    found.version = 1;
    found.prints = present;
    found.touched = Object.fromEntries(states.filter(([, state]) => state !== null));
    found.outbox = Array.isArray(found.outbox) ? found.outbox.map(draftOf) : (found.outbox ?? []);
    // The past was checked when it was read.
    return isItem(found) ? ({ ...found, prints: [...prints.values()] } as unknown as ItemRecord) : undefined;
  }

  /**
   * What is to be stored of an item, after what is over has got a record of its own.
   * @param lock the lock of the item's record
   */
  async write(item: ItemRecord, before: unknown, lock: Lock): Promise<StoredItem> {
    const { itemId } = item;
    const { past: length } = (record(before) ?? {}) as Partial<StoredItem>;
    const past = (await this.#pastOf(itemId, isCount(length) ? (length as number) : 0)) ?? new Past();
    const fresh = item.prints.filter((attempt) => isNew(past, attempt));
    const over = fresh.filter((attempt) => !isOpen(attempt));
    const isFirst = past.length === 0 && item.prints.length > 0;
    if (over.length > 0 ? item.copies > 1 : isFirst) {
      const open = new Set(fresh.filter(isOpen).map(({ copy }) => String(copy)));
      const states = Object.entries(touchedSince(past, item)).filter(([copy]) => !open.has(copy));
      const lasting = differing(
        { ...USUAL, ...past.lasting },
        Object.fromEntries(LASTING.flatMap((name) => (item[name] === undefined ? [] : [[name, item[name]]]))),
      );
      const part: StoredPast = {
        version: 1,
        ...(Object.keys(lasting).length > 0 && { lasting }),
        prints: over.map((attempt) => differing(usualAttempt(attempt), { ...attempt })),
        touched: Object.fromEntries(states),
      };
      await this.store.store.put(this.#keyOf(itemId, past.length), part, {
        under: [lock],
      });
      past.add(part);
      for (const attempt of over) put(past.prints, attempt);
      this.#known.set(itemId, past);
    }
    const { version: _version, prints: _prints, touched: _touched, outbox, ...members } = item;
    const left = fresh.filter((attempt) => isNew(past, attempt));
    const prints = new Map(item.prints.map((attempt) => [nameOf(attempt), attempt]));
    const draftOf = (draft: QueueEventDraft) =>
      differing(usualDraft(draft, { queueId: this.queueId, itemId, prints }), { ...draft });
    const touched = { ...past.touched, ...activeCopies(left) };
    return {
      ...{
        version: item.parts ? VERSION : VERSION_OF_COPIES,
        past: past.length,
        ...differing({ ...USUAL, ...past.lasting }, members),
      },
      ...(outbox.length > 0 && { outbox: outbox.map(draftOf) }),
      prints: left.map((attempt) => differing(usualAttempt(attempt), { ...attempt })),
      touched: touchedSince({ touched }, item),
    };
  }

  readonly #keyOf = (itemId: string, at: number): Key => this.store.keyOf(PAST, this.queueId, itemId, String(at));

  /** The first records of an item's past; undefined: one is missing or has another shape. */
  async #pastOf(itemId: string, length: number): Promise<Past | undefined> {
    const known = this.#known.get(itemId);
    const past = known && known.length <= length ? known : new Past();
    while (past.length < length) {
      const at = past.length;
      const part = await this.store.get<unknown>(this.#keyOf(itemId, at));
      // Another reader of the same item may have been faster.
      if (past.length > at) continue;
      if (isNewerThan(1, part)) throw newerValue(PAST);
      if (!isPast(part)) return undefined;
      past.add(part as StoredPast);
    }
    // Most items of a long queue wait, and have none.
    if (length > 0) this.#known.set(itemId, past);
    return past;
  }
}

const nameOf = ({ copy, attempt }: Pick<Attempt, 'copy' | 'attempt'>): string => `${copy}/${attempt}`;

/** Replaces an attempt. One that counted as not printed moves behind the others if its print showed up (`showedUp`). */
function put(prints: Map<string, Attempt>, attempt: Attempt): void {
  const name = nameOf(attempt);
  if (attempt.state !== 'recalled' && prints.get(name)?.state === 'recalled') prints.delete(name);
  prints.set(name, attempt);
}

/** States that the open attempts of an item imply. */
const activeCopies = (prints: readonly Attempt[]): Record<string, CopyState> =>
  Object.fromEntries(prints.filter(isOpen).map(({ copy }) => [copy, 'active']));

/** Whether the past has an attempt in another state, or not at all. */
function isNew(past: Past, attempt: Attempt): boolean {
  const known = past.prints.get(nameOf(attempt));
  return known !== attempt && Object.keys(differing(known ?? {}, { ...attempt })).length > 0;
}

/** States of copies that differ from the past; null: the copy waits. */
function touchedSince(past: Pick<Past, 'touched'>, { touched }: ItemRecord): Record<string, CopyState | null> {
  const since: Record<string, CopyState | null> = {};
  for (const [copy, state] of Object.entries(touched)) if (past.touched[copy] !== state) since[copy] = state;
  for (const copy of Object.keys(past.touched)) if (!(copy in touched)) since[copy] = null;
  return since;
}

const attemptOf = (stored: Json): Attempt => ({ ...usualAttempt(stored), ...stored }) as Attempt;

/**
 * Adds the members that an item lacks, one by one: objects that are spread into each other take ten times as long, and up to
 * twice the memory.
 */
function complete(item: Json, usual: Partial<ItemRecord>): void {
  for (const [name, value] of Object.entries(usual)) if (!(name in item)) item[name] = value;
}

/** The members that are not as usual. */
const differing = (usual: object, members: Json): Json =>
  Object.fromEntries(
    Object.entries(members).filter(
      ([name, value]) => !(name in usual) || JSON.stringify((usual as Json)[name]) !== JSON.stringify(value),
    ),
  );

const isTextOrNull = orNull(isText);
const isTimeOrNull = orNull(isTime);
const isNumberOrNull = orNull(isNumber);
const isPosition: Shape = (value) => isCount(value) && value !== 0;

const isMaterial = shapeOf(
  Object.fromEntries(['guid', 'type', 'brand', 'color'].map((name) => [name, orMissing(isTextOrNull)])),
);

const isFacts = shapeOf({
  source: oneOf('service', 'file'),
  model: isTextOrNull,
  printCores: listOf(isTextOrNull),
  materials: listOf(orNull(isMaterial)),
  volumes: listOf(isNumberOrNull),
  weights: listOf(isNumberOrNull),
  nozzles: orMissing(listOf(isNumberOrNull)),
  buildPlate: isTextOrNull,
  seconds: isNumberOrNull,
  size: orNull(shapeOf({ x: isNumber, y: isNumber, z: isNumber })),
});

const isFile = shapeOf({
  jobId: isTextOrNull,
  filename: isTextOrNull,
  size: isNumberOrNull,
  facts: orNull(isFacts),
  isGone: isFlag,
  perPrint: orMissing(isPosition),
});

const isRequire = shapeOf({
  models: orMissing(listOf(isText)),
  printCores: orMissing(listOf(isTextOrNull)),
  materials: orMissing(listOf(orNull(isMaterial))),
  buildPlate: orMissing(isText),
  tags: orMissing(listOf(isText)),
  printers: orMissing(listOf(isText)),
});

const isCopyState = oneOf('active', 'good', 'failed', 'held', 'unknown', 'cancelled', 'dropped');

const isRecall = shapeOf({
  why: oneOf('late', 'changes', 'overtaken', 'removed'),
  since: isTime,
  isStuck: isFlag,
  configuration: isTextOrNull,
  tries: orMissing(isCount),
  again: orMissing(isNumber),
});

/** A sentence whose values may be sentences, down to a depth that none of the pack's has. */
export const isSentence = (depth = 4): Shape =>
  shapeOf({
    pattern: isText,
    values: listOf((value) => isText(value) || isNumber(value) || (depth > 0 && isSentence(depth - 1)(value))),
  });

const isUsed = shapeOf({
  extruder: isCount,
  slot: isNumberOrNull,
  guid: isTextOrNull,
  volume: isNumberOrNull,
  weight: isNumberOrNull,
  estimated: isFlag,
});

const isAttempt = shapeOf({
  copy: isPosition,
  attempt: isPosition,
  file: isCount,
  clusterId: isText,
  clusterName: isTextOrNull,
  printerId: isTextOrNull,
  clusterJobId: isTextOrNull,
  state: oneOf(
    ...['assigned', 'dispatched', 'printing', 'finished', 'rejected', 'failed', 'aborted', 'recalled', 'unknown'],
  ),
  assignedAt: isTime,
  hasLeft: orMissing(isFlag),
  dispatchedAt: isTimeOrNull,
  startedAt: isTimeOrNull,
  endedAt: isTimeOrNull,
  seconds: isNumberOrNull,
  cost: isNumberOrNull,
  reason: orMissing(orNull(isSentence())),
  perPrint: orMissing(isPosition),
  goodParts: orMissing(isCount),
  used: orMissing(listOf(isUsed)),
  told: listOf(isText),
  counts: isFlag,
  recall: orNull(isRecall),
  settledAs: orNull(oneOf('printed', 'not-printed')),
  machines: orMissing(listOf(isText)),
  begun: orMissing(mapOf(isCount)),
  dispatchedLived: orMissing(isNumber),
  startedLived: orMissing(isNumber),
});

const isPrint = orNull(shapeOf({ copy: isPosition, attempt: isPosition }));

/** A saved event of an item or of a queue. */
export const isDraft = shapeOf({
  id: isText,
  type: isText,
  at: isTime,
  print: isPrint,
  clusterId: isTextOrNull,
  clusterName: isTextOrNull,
});

const isItem = shapeOf({
  version: oneOf(1),
  itemId: isText,
  ...Object.fromEntries(['queueKey', 'orderId', 'owner', 'costCode', 'name'].map((name) => [name, isTextOrNull])),
  files: (value) => listOf(isFile)(value) && (value as unknown[]).length > 0,
  require: orNull(isRequire),
  priority: isNumber,
  rank: isRank,
  added: orMissing(isRank),
  createdAt: isTime,
  createdLived: orMissing(isNumber),
  waitsSince: isTime,
  notBefore: isTimeOrNull,
  deadline: isTimeOrNull,
  ...Object.fromEntries(['isHeld', 'awaitsApproval', 'isRemoved', 'isOverdue'].map((name) => [name, isFlag])),
  toldDeadline: orMissing(isTime),
  // An item of parts begins more of them than it wants at first, as some parts are bad.
  copies: (value) => isPosition(value) && (value as number) <= 10 * COPIES,
  parts: orMissing(shapeOf({ wanted: isPosition, perPrint: isPosition, cancelled: orMissing(isCount) })),
  touched: mapOf(isCopyState),
  front: listOf(isPosition),
  prints: listOf(isAttempt),
  tries: orMissing(isCount),
  ends: isCount,
  endedAt: isTimeOrNull,
  blocked: shapeOf({ is: isFlag, count: isCount, at: orMissing(isTime) }),
  outbox: listOf(isDraft),
});

const areObjects = listOf((value) => record(value) !== null);

/** What an item's own record has besides its members. */
const isPresent = shapeOf({ past: isCount, prints: areObjects, touched: mapOf(orNull(isCopyState)) });

const isPast = shapeOf({
  version: oneOf(1),
  lasting: orMissing((value) => record(value) !== null),
  prints: (value) => areObjects(value) && listOf(isAttempt)((value as Json[]).map(attemptOf)),
  touched: mapOf(orNull(isCopyState)),
});
