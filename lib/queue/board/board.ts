import { isDeepStrictEqual } from 'node:util';
import { type Clock, isoTime } from '../../time/clock';
import { Rerun, Turns } from '../../time/concurrency';
import { guard } from '../../time/guard';
import { phrase, type Sentence } from '../../words/sentence';
import { itemStateOf } from '../model/item';
import { goodAndWanted } from '../model/queue-record';
import {
  type Board,
  type BoardEvent,
  type BoardItem,
  type BoardOrder,
  type BoardPrinter,
  type Forecast,
  type ItemRecord,
  type ItemState,
  type Need,
  printerKey,
} from '../model/types';
import type { QueueContext } from '../run/context';
import { needsOf, needsOfItem } from './needs';
import { boardPrinter } from './printers';

/** Ended items that a board shows. */
const ENDED = 50;
/** Least time between two boards that are sent, and longest between two that renew every item, ms. */
const EVERY = 1_000;
const LATEST = 30_000;
/** Share of the time that boards may occupy which only renew figures, such as the progress of prints. */
const FIGURES_SHARE = 0.005;
/** Items that every board renews; of the others only those that changed themselves. */
const FIRST = 200;

/** The items and orders of a board, as of a number of changes. */
interface Listed {
  changes: number;
  forecast: Forecast;
  /** When every item was renewed, monotonic, ms. */
  wholeAt: number;
  isWhole: boolean;
  items: readonly BoardItem[];
  needs: readonly Need[];
  orders: readonly BoardOrder[];
  counts: Board['counts'];
}

/**
 * The board of a queue: its plan, forecast and explanations, as a page shows them (print queue, 9). It has no knowledge of its
 * own. What is the same as before stays the same object, so that whoever sends it on finds the differences at once.
 */
export class QueueBoard {
  readonly #queue: QueueContext;
  readonly #turns: Turns;
  #listed: Listed | null = null;
  #last: Board | null = null;
  /** The view's number of looks, and the time, monotonic ms, of the last board. */
  #looks = -1;
  #madeAt = -Infinity;
  #revision = 0;
  #shown = new Map<string, { record: ItemRecord; item: BoardItem }>();
  /** When each need without a time of its own was first seen, ms since 1970. */
  #since = new Map<string, number>();
  #making: Promise<unknown> = Promise.resolve();

  constructor(queue: QueueContext) {
    this.#queue = queue;
    this.#turns = new Turns(queue.clock);
  }

  /**
   * The present board; the last one, if nothing has changed. Lets the event loop turn meanwhile.
   * @param isWhole false: of the items behind the first 200, what the plan alone has changed may come up to 30 s later
   */
  make(isWhole = true): Promise<Board> {
    const made = this.#making.then(() => this.#make(isWhole));
    this.#making = made.catch(() => undefined);
    return made;
  }

  async #make(isWhole: boolean): Promise<Board> {
    const { view, clock } = this.#queue;
    const { looks } = view;
    const last = this.#last;
    const isRecent = clock.monotonic() - this.#madeAt < LATEST && looks === this.#looks;
    if (last && isRecent && (!isWhole || this.#listed?.isWhole)) return last;
    await this.#turns.next();
    const { forecast, next } = await view.recentForecast();
    const { items, orders, counts, needs } = await this.#list(forecast, isWhole);
    await this.#turns.next();
    const printers = await this.#printers(next);
    await this.#turns.next();
    const todo = kept(
      this.#dated(needsOf(this.#queue, { printers, ofItems: needs, forecast })),
      last?.todo ?? [],
      ({ id }) => id,
    );
    this.#looks = looks;
    this.#madeAt = clock.monotonic();
    const isSame =
      last?.printers === printers &&
      last.todo === todo &&
      last.items === items &&
      last.orders === orders &&
      last.counts === counts;
    if (last && isSame && last.forecast === forecast) return last;
    if (!last || !isSame || !isSameForecast(last.forecast, forecast)) this.#revision++;
    return (this.#last = { at: isoTime(clock.now()), printers, items, orders, todo, counts, forecast });
  }

  /** Grows with each change of what the board shows, apart from the times when it was made. */
  get revision(): number {
    return this.#revision;
  }

  /** The needs with the times of those that were seen first here. */
  #dated(needs: readonly Need[]): Need[] {
    const now = this.#queue.clock.now();
    const since = new Map(
      needs.filter((need) => need.since === null).map(({ id }) => [id, this.#since.get(id) ?? now] as const),
    );
    this.#since = since;
    return needs.map((need) => (need.since === null ? { ...need, since: isoTime(since.get(need.id) ?? now) } : need));
  }

  /** The printers, each the same object as before if it shows the same. */
  async #printers(next: ReadonlyMap<string, string>): Promise<readonly BoardPrinter[]> {
    const before = this.#last?.printers ?? [];
    const known = new Map(before.map((printer) => [printerKey(printer), printer]));
    const printers: BoardPrinter[] = [];
    for (const explained of this.#queue.view.explainedPrinters()) {
      await this.#turns.next();
      const printer = boardPrinter(this.#queue, explained, next);
      const old = known.get(printerKey(printer));
      printers.push(old !== undefined && isDeepStrictEqual(old, printer) ? old : printer);
    }
    return sameList(printers, before);
  }

  async #list(forecast: Forecast, isAsked: boolean): Promise<Listed> {
    const { view, data, clock } = this.#queue;
    const { changes } = view;
    const before = this.#listed;
    const isWhole = isAsked || clock.monotonic() - (before?.wholeAt ?? -Infinity) >= LATEST;
    if (before?.changes === changes && before.forecast === forecast && (before.isWhole || !isWhole)) return before;
    const all = view.listed();
    const open = all.findIndex(({ endedAt }) => endedAt !== null);
    const records = open < 0 ? all : all.slice(0, open + ENDED);
    const items: BoardItem[] = [];
    const needs: Need[] = [];
    const shown = new Map<string, { record: ItemRecord; item: BoardItem }>();
    for (const [place, { itemId }] of records.entries()) {
      await this.#turns.next();
      // It may have changed, or be gone, while the event loop turned.
      const record = data.items.get(itemId);
      if (!record) continue;
      const known = this.#shown.get(itemId);
      const isKept = !isWhole && place >= FIRST && known?.record === record;
      const item = isKept ? known.item : this.#item(record, known?.item);
      items.push(item);
      needs.push(...needsOfItem(this.#queue, record));
      shown.set(itemId, { record, item });
    }
    this.#shown = shown;
    await this.#turns.next();
    const counts = { waiting: 0, active: 0, held: 0, blocked: 0, failed: 0, cancelled: 0, finished: 0 };
    for (const record of all) counts[itemStateOf(record, view.canBePlanned(record))]++;
    return (this.#listed = {
      ...{ changes, forecast, isWhole, needs },
      wholeAt: isWhole ? clock.monotonic() : (before?.wholeAt ?? -Infinity),
      items: sameList(items, before?.items ?? []),
      orders: kept(ordersOf(all, records, forecast), before?.orders ?? [], ({ orderId }) => orderId),
      counts: isDeepStrictEqual(counts, before?.counts) ? (before?.counts ?? counts) : counts,
    });
  }

  #item(record: ItemRecord, before: BoardItem | undefined): BoardItem {
    const item = this.#queue.view.shownItem(record);
    // Whatever else an item shows is made of its record.
    const isSame =
      before !== undefined &&
      before.requires === item.requires &&
      before.state === item.state &&
      before.position === item.position &&
      before.eta?.startAt === item.eta?.startAt &&
      before.eta?.endAt === item.eta?.endAt &&
      areSameReasons(before.waitingFor, item.waitingFor);
    return isSame ? before : { ...item, sentence: sentenceOf(item) };
  }
}

const isSameForecast = (one: Forecast, other: Forecast): boolean =>
  one === other || isDeepStrictEqual(withoutNow(one), withoutNow(other));

/** A forecast without the time when it was made, at which an idle queue is idle. */
const withoutNow = ({ at, idleAt, ...rest }: Forecast) => ({ ...rest, idleAt: idleAt === at ? '' : idleAt });

const areSameReasons = (some: BoardItem['waitingFor'], others: BoardItem['waitingFor']): boolean =>
  some.length === others.length &&
  some.every(({ code, printers, text }, at) => {
    const other = others[at];
    return (
      code === other?.code &&
      printers === other.printers &&
      (text === other.text ||
        (text.pattern === other.text.pattern &&
          text.values.every(
            (value, place) => value === other.text.values[place] || isDeepStrictEqual(value, other.text.values[place]),
          )))
    );
  });

/** The entries, with the earlier objects of those that are the same; the earlier list if all are. */
function kept<T extends object>(now: readonly T[], before: readonly T[], keyOf: (entry: T) => string): readonly T[] {
  const known = new Map(before.map((entry) => [keyOf(entry), entry]));
  const list = now.map((entry) => {
    const old = known.get(keyOf(entry));
    return old !== undefined && isDeepStrictEqual(old, entry) ? old : entry;
  });
  return sameList(list, before);
}

const sameList = <T>(now: readonly T[], before: readonly T[]): readonly T[] =>
  now.length === before.length && now.every((entry, at) => entry === before[at]) ? before : now;

/** Orders of the shown items, with all of their items. */
function ordersOf(all: readonly ItemRecord[], shown: readonly ItemRecord[], { orders }: Forecast): BoardOrder[] {
  const foretold = new Map(orders.map((order) => [order.orderId, order]));
  const found = new Map<string, { orderId: string; good: number; wanted: number }>();
  for (const { orderId } of shown) if (orderId !== null) found.set(orderId, { orderId, good: 0, wanted: 0 });
  for (const item of all) {
    const order = item.orderId === null ? undefined : found.get(item.orderId);
    if (!order) continue;
    const { good, wanted } = goodAndWanted(item);
    order.good += good;
    order.wanted += wanted;
  }
  return [...found.values()].map((order) => {
    const { endAt = null, late = false } = foretold.get(order.orderId) ?? {};
    return { ...order, endAt, late };
  });
}

/** Sentence about the work on an item, or the reason why it waits. */
function sentenceOf({ state, waitingFor, prints, copies }: Omit<BoardItem, 'sentence'>): Sentence {
  const [reason] = waitingFor;
  const last = prints.findLast((print) => print.state === 'printing' || print.state === 'dispatched');
  const STATES: Record<ItemState, Sentence> = {
    active: last
      ? phrase`It prints on ${last.clusterName ?? last.clusterId}.`
      : prints.some((print) => print.state === 'finished' && print.goodParts === null)
        ? phrase`It is printed, and its plate waits for a verdict.`
        : phrase`It is being sent to a printer.`,
    waiting: reason?.text ?? phrase`It is next.`,
    held: reason?.text ?? phrase`It is held.`,
    blocked: reason?.text ?? phrase`Only a person can help.`,
    failed: phrase`Copies that failed: ${copies.failed}.`,
    cancelled: phrase`It was removed.`,
    finished: phrase`It is finished.`,
  };
  return STATES[state];
}

/** Sends the board of a queue to whoever watches it, at most once a second while something changes. */
export class WatchedBoard {
  readonly #clock: Clock;
  readonly #loaded: () => QueueContext | null;
  readonly #eventOf: (board: Board) => BoardEvent;
  /** Watchers, and the revision of the last board that each got; -1: none. */
  readonly #watchers = new Map<(event: BoardEvent) => void, number>();
  readonly #rounds = new Rerun(() => this.#round());
  #made: { queue: QueueContext; board: QueueBoard } | null = null;
  /** The view's numbers of changes and looks at the last board, its time, monotonic ms, and how long it took, ms. */
  #last = { changes: -1, looks: -1, madeAt: -Infinity, took: 0 };
  #disarm: (() => void) | undefined;

  /** @param loaded the queue; null while its records are not loaded */
  constructor(clock: Clock, loaded: () => QueueContext | null, eventOf: (board: Board) => BoardEvent) {
    this.#clock = clock;
    this.#loaded = loaded;
    this.#eventOf = eventOf;
  }

  make(queue: QueueContext): Promise<Board> {
    return this.#boardOf(queue).make();
  }

  #boardOf(queue: QueueContext): QueueBoard {
    // Another workspace has other items.
    if (this.#made?.queue !== queue) {
      this.#made = { queue, board: new QueueBoard(queue) };
      for (const watcher of this.#watchers.keys()) this.#watchers.set(watcher, -1);
    }
    return this.#made.board;
  }

  watch(onBoard: (event: BoardEvent) => void): () => void {
    // A copy, as one function may be passed twice.
    const own = (event: BoardEvent) => onBoard(event);
    this.#watchers.set(own, -1);
    if (!this.#disarm) void this.#rounds.request();
    return () => {
      this.#watchers.delete(own);
      if (this.#watchers.size === 0) this.#stop();
    };
  }

  close(): void {
    this.#watchers.clear();
    this.#stop();
  }

  #stop(): void {
    this.#disarm?.();
    this.#disarm = undefined;
  }

  /** Never rejects. */
  async #round(): Promise<void> {
    const queue = this.#loaded();
    const isNew = [...this.#watchers.values()].includes(-1);
    if (queue && (isNew || this.#isDue(queue))) await this.#send(queue).catch(() => undefined);
    if (this.#watchers.size === 0 || this.#disarm) return;
    this.#disarm = this.#clock.after(EVERY, () => {
      this.#disarm = undefined;
      void this.#rounds.request();
    });
  }

  #isDue({ view: { changes, looks } }: QueueContext): boolean {
    const { madeAt, took, ...last } = this.#last;
    const age = this.#clock.monotonic() - madeAt;
    if (changes !== last.changes || age >= LATEST) return true;
    return looks !== last.looks && age >= took / FIGURES_SHARE;
  }

  /** A board that can't be made now is made a second later. */
  async #send(queue: QueueContext): Promise<void> {
    const { changes, looks } = queue.view;
    const made = this.#boardOf(queue);
    const begunAt = this.#clock.monotonic();
    const board = await made.make(false);
    const madeAt = this.#clock.monotonic();
    this.#last = { changes, looks, madeAt, took: madeAt - begunAt };
    for (const [watcher, sent] of this.#watchers) {
      if (sent === made.revision) continue;
      this.#watchers.set(watcher, made.revision);
      guard(() => watcher(this.#eventOf(board)))();
    }
  }
}
