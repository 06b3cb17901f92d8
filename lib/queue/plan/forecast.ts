import { nextClosing } from '../../rules/hours';
import { FORESEEN } from '../../rules/limits';
import { afterHours } from '../model/rules';
import { type PlannedPrints, printerKey, type QueuePrinter } from '../model/types';
import type { Choice } from './assignment';
import { type PlanFile, type PlanInput, type PlanItem, withoutPrints } from './inputs';
import { MaterialForecast, type MaterialStock, materialStocks } from './materials';
import { type Decision, Planner } from './plan';
import { BUSY } from './printers';
import { ASSUMED_SECONDS } from './turns';

/** The state of a queue from which a forecast starts. `items` has all that have not ended, also without waiting copies. */
export interface ForecastInput extends PlanInput {
  /** Order of each item that belongs to one, by item. */
  orders: ReadonlyMap<string, string>;
  /** Prints of the queue that are assigned, dispatched or printing, or may be. */
  active: readonly ActivePrint[];
  /** When the obstacle of the whole queue ends by itself, ms since 1970; Infinity: a person decides. */
  obstacleEndsAt: number;
}

export interface ActivePrint {
  itemId: string;
  clusterId: string;
  /** ms since 1970; an unknown end counts as an hour from now. */
  startAt: number;
  endAt: number | null;
  file: PlanFile;
  /** Whether its outcome is unknown: it counts until a person decides. */
  isInDoubt?: boolean;
}

/** Result of a forecast; null: unknown, or beyond its end. Times in ms since 1970. */
export interface QueueForecast {
  items: ReadonlyMap<string, ItemForecast>;
  orders: ReadonlyMap<string, { endAt: number | null; late: boolean }>;
  /** When no copy is active or waiting, apart from items that can't be planned. */
  idleAt: number | null;
  /** The item that each printer prints next, by `printerKey`. */
  next: ReadonlyMap<string, string>;
  /** The prints that begin within the next 24 hours, in the order in which they begin. */
  prints: readonly PrintsForecast[];
  /** The materials that waiting copies need, and when each runs out; null: it does not. */
  materials: readonly (MaterialStock & { shortAt: number | null })[];
}

/** Prints of one item that follow each other on one printer. Times in ms since 1970. */
export type PrintsForecast = Omit<PlannedPrints, 'startAt' | 'endAt'> & { startAt: number; endAt: number };

interface ItemForecast {
  /** Start of its first print, present or coming, and the cluster. */
  startAt: number | null;
  clusterId: string | null;
  /** End of its last copy. */
  endAt: number | null;
}

/** Material for the waiting copies, and for the rest of the prints under way. */
export function stocksOf({
  items,
  printers,
  active,
  rules,
  now,
}: Omit<ForecastInput, 'orders' | 'obstacleEndsAt'>): MaterialStock[] {
  const underWay = active.map(({ file, startAt, endAt }) => ({
    file,
    share: endAt === null || endAt <= startAt ? 1 : Math.min(1, Math.max(0, (endAt - now) / (endAt - startAt))),
  }));
  return materialStocks(items, printers, underWay, rules.material);
}

/** Number of plans of a forecast, and of those that are made for a single moment. */
const STEPS = 3_000;
const EXACT = 1_000;
/** Time from now within which prints are listed, ms, and most entries of that list. */
const LISTED_FOR = 24 * 3_600_000;
const LISTED = 5_000;
/** Longest pause between two prints of an item that are listed as one, ms. */
const APART = 30 * 60_000;
/** Share of the time from now that later plans cover. */
const COARSE = 0.01;

/**
 * Runs the plan forward in simulated time. Each step plans, and goes on to the next moment at which a plan may differ. The
 * first step is the present plan; the forecast ends after 3,000 steps, or ten years from now. Each of the first 1,000 assigns the printers that
 * become free at one moment. Each later one also assigns the printers that become free within the next hundredth of the
 * time from now, at their own moments. Materials never run out, and a printer that waits for a person stays unavailable,
 * unless it waits for its plate to be cleared.
 */
export class SimulatedQueue {
  readonly #input: ForecastInput;
  /** ms. */
  readonly #assumed: number;
  readonly #planner = new Planner();
  readonly #materials: MaterialForecast;
  /** The item that each printer prints next, by the printer's index. */
  readonly #next: (string | undefined)[] = [];
  readonly #prints: PrintsForecast[] = [];
  /** The last listed prints of each printer, by the printer's index. */
  readonly #lastPrints: (PrintsForecast | undefined)[] = [];
  #items: PlanItem[];
  #printers: QueuePrinter[];
  /** When each printer becomes free, ms since 1970. */
  readonly #freeAt: Float64Array;
  /** Ends of the prints under way. */
  #ends: number[];
  readonly #forecasts = new Map<string, { clusterId: string; startAt: number; last: number }>();
  /** Items that owe copies which can be planned, now or at a later time. */
  readonly #planned = new Set<string>();
  /** Place of each item in `#items`, and the number of those that owe copies. */
  #places = new Map<string, number>();
  #owing = 0;
  #now: number;
  #nextStartAt: number;
  /** Latest use of a printer, lived time, ms. */
  readonly #lastUse: number;
  #steps = 0;

  /** @param assumed length of a print, or of the rest of one, that is unknown, s */
  constructor(input: ForecastInput, assumed = ASSUMED_SECONDS) {
    this.#input = input;
    this.#assumed = assumed * 1000;
    this.#items = [...input.items];
    this.#printers = [...input.printers];
    this.#now = input.now;
    this.#nextStartAt = input.nextStartAt;
    this.#lastUse = input.printers.reduce((last, { lastUsedLived }) => Math.max(last, lastUsedLived ?? 0), 0);
    this.#materials = new MaterialForecast(stocksOf(input), input.rules.material, input.now);
    const soon = input.now + this.#assumed;
    // A print that takes longer than estimated ends now at the earliest.
    const active = input.active.map((print) => ({ ...print, endAt: Math.max(input.now, print.endAt ?? soon) }));
    for (const { itemId, ...print } of active) this.#record(itemId, print);
    const ends = new Map(active.map(({ clusterId, endAt }) => [clusterId, endAt]));
    this.#freeAt = Float64Array.from(input.printers, (printer) =>
      this.#firstFreeAt(printer, ends.get(printer.clusterId) ?? soon),
    );
    const unknown = Math.max(0, input.printing - input.active.length);
    const counted = active.map(({ endAt, isInDoubt = false }) => (isInDoubt ? Infinity : endAt));
    this.#ends = [...counted, ...Array.from({ length: unknown }, () => soon)];
  }

  /** Plans, and goes on to the next moment. Returns false once nothing more can happen: `result` is complete then. */
  step(): boolean {
    const decision = this.#decide();
    if (this.#steps === 0) this.#notePlanned();
    this.#start(decision.choices);
    const next = this.#nextTime(decision);
    if (++this.#steps >= STEPS || next === Infinity || this.#owing === 0) return false;
    this.#now = next;
    this.#freePrinters();
    return true;
  }

  result(): QueueForecast {
    const left = new Set(this.#items.filter(({ waiting }) => waiting.length > 0).map(({ itemId }) => itemId));
    const items = new Map<string, ItemForecast>();
    for (const { itemId } of this.#input.items) {
      const { startAt = null, clusterId = null, last = null } = this.#forecasts.get(itemId) ?? {};
      const endAt = left.has(itemId) ? null : this.#foreseen(last);
      items.set(itemId, { startAt: this.#foreseen(startAt), clusterId, endAt });
    }
    const busy = [...new Set([...this.#planned, ...this.#input.active.map(({ itemId }) => itemId)])];
    const ends = busy.map((itemId) => items.get(itemId)?.endAt ?? null);
    const last = Math.max(this.#input.now, ...ends.map((endAt) => endAt ?? Infinity));
    const materials = this.#materials.stocks.map((stock) => ({ ...stock, shortAt: this.#materials.shortAt(stock) }));
    const idleAt = last === Infinity ? null : last;
    const next = new Map<string, string>();
    for (const [at, itemId] of this.#next.entries())
      if (itemId !== undefined) next.set(printerKey(this.#input.printers[at] as QueuePrinter), itemId);
    return { items, orders: this.#orders(items), idleAt, next, prints: this.#prints, materials };
  }

  #orders(items: ReadonlyMap<string, ItemForecast>): QueueForecast['orders'] {
    const orders = new Map<string, { endAt: number | null; late: boolean }>();
    for (const { itemId, deadline } of this.#input.items) {
      const orderId = this.#input.orders.get(itemId);
      if (orderId === undefined) continue;
      const endAt = items.get(itemId)?.endAt ?? null;
      const late = deadline !== null && (endAt ?? this.#input.now) > deadline;
      const order = orders.get(orderId) ?? { endAt: -Infinity, late: false };
      const last = endAt === null || order.endAt === null ? null : Math.max(order.endAt, endAt);
      orders.set(orderId, { endAt: last, late: order.late || late });
    }
    return orders;
  }

  #decide(): Decision {
    if (this.#steps === 0) return this.#planner.decide(this.#input);
    const now = this.#now;
    this.#ends = this.#ends.filter((end) => end > now);
    return this.#planner.decide({
      ...this.#input,
      items: this.#items,
      printers: this.#printers,
      now,
      printing: this.#ends.length,
      nextStartAt: this.#nextStartAt,
      obstacle: now < this.#input.obstacleEndsAt ? this.#input.obstacle : null,
    });
  }

  #start(choices: readonly Choice[]): void {
    if (choices.length === 0) return;
    const { stagger } = this.#input.rules;
    const begun = new Map<string, Choice[]>();
    this.#items = [...this.#items];
    this.#printers = [...this.#printers];
    for (const choice of choices) {
      const { turn, file, printer: at } = choice;
      const { itemId, files } = turn.item;
      const printer = this.#printers[at] as QueuePrinter;
      const startAt = Math.max(this.#now, this.#freeAt[at] ?? 0);
      const seconds = files[file]?.seconds ?? null;
      const duration = seconds === null ? this.#assumed : seconds * 1000;
      const endAt = startAt + duration;
      this.#record(itemId, { clusterId: printer.clusterId, startAt, endAt });
      this.#ends.push(endAt);
      this.#materials.begin(files[file], startAt);
      this.#next[at] ??= itemId;
      if (startAt < this.#input.now + LISTED_FOR) this.#list(at, itemId, startAt, endAt);
      this.#freeAt[at] = this.#clearAt(endAt);
      const lastUsedLived = this.#lastUse + startAt - this.#input.now;
      this.#printers[at] = { ...printer, obstacle: BUSY, lastUsedLived, usedFor: printer.usedFor + duration };
      this.#nextStartAt = Math.max(this.#nextStartAt, startAt + stagger);
      const others = begun.get(itemId);
      if (others) others.push(choice);
      else begun.set(itemId, [choice]);
    }
    for (const [itemId, started] of begun) {
      const place = this.#places.get(itemId) ?? 0;
      const item = withoutPrints(this.#items[place] as PlanItem, started);
      this.#items[place] = item;
      if (item.waiting.length === 0) this.#owing--;
    }
    this.#dropEnded();
  }

  /** Lists a print, or adds it to those of its item that it follows. */
  #list(at: number, itemId: string, startAt: number, endAt: number): void {
    const last = this.#lastPrints[at];
    if (last?.itemId === itemId && startAt - last.endAt <= APART) {
      last.endAt = endAt;
      last.copies++;
      return;
    }
    const { clusterId, printerId } = this.#printers[at] as QueuePrinter;
    const print = { itemId, clusterId, printerId, startAt, endAt, copies: 1 };
    this.#lastPrints[at] = print;
    if (this.#prints.length < LISTED) this.#prints.push(print);
  }

  #nextTime({ nextAt }: Decision): number {
    const now = this.#now;
    const { obstacle, obstacleEndsAt } = this.#input;
    let next = nextAt > now ? nextAt : Infinity;
    if (obstacle !== null && obstacleEndsAt > now) next = Math.min(next, obstacleEndsAt);
    for (const at of this.#freeAt) if (at > now && at < next) next = at;
    if (this.#input.rules.maxPrinting > 0) for (const at of this.#ends) if (at > now && at < next) next = at;
    return this.#foreseen(next) ?? Infinity;
  }

  /** A time up to the end of the forecast; null: a later one. */
  #foreseen(at: number | null): number | null {
    return at !== null && at <= this.#input.now + FORESEEN ? at : null;
  }

  /** Frees the printers whose time has come, and later on those whose time comes soon. */
  #freePrinters(): void {
    const { hours } = this.#input.rules;
    const width = this.#steps < EXACT ? 0 : (this.#now - this.#input.now) * COARSE;
    const until = width > 0 ? Math.min(this.#now + width, nextClosing(hours, this.#now) - 1) : this.#now;
    this.#printers = this.#printers.map((printer, at) =>
      printer.obstacle !== null && (this.#freeAt[at] ?? Infinity) <= Math.max(until, this.#now)
        ? { ...printer, obstacle: null }
        : printer,
    );
  }

  #notePlanned(): void {
    for (const { itemId } of this.#items) if (this.#planner.canPlan(itemId)) this.#planned.add(itemId);
    this.#indexItems();
  }

  /** Drops the items without copies once they are half of all: they slow down every plan. */
  #dropEnded(): void {
    if (this.#owing > this.#items.length / 2) return;
    this.#items = this.#items.filter(({ waiting }) => waiting.length > 0);
    this.#indexItems();
  }

  #indexItems(): void {
    this.#places = new Map(this.#items.map(({ itemId }, at) => [itemId, at]));
    this.#owing = this.#items.filter(({ itemId, waiting }) => waiting.length > 0 && this.#planned.has(itemId)).length;
  }

  #record(itemId: string, { clusterId, startAt, endAt }: { clusterId: string; startAt: number; endAt: number }): void {
    const known = this.#forecasts.get(itemId);
    if (!known) return void this.#forecasts.set(itemId, { clusterId, startAt, last: endAt });
    known.last = Math.max(known.last, endAt);
    if (startAt < known.startAt) Object.assign(known, { clusterId, startAt });
  }

  /** When a printer becomes free; `expected`: the end of its print where the printer does not state one. */
  #firstFreeAt({ obstacle, isRefused, freeAt, barredUntil }: QueuePrinter, expected: number): number {
    const { now } = this.#input;
    if (isRefused) return barredUntil;
    switch (obstacle?.code) {
      case undefined:
        return now;
      case 'PAUSED':
        return barredUntil;
      case 'BUSY':
      case 'FOREIGN_JOB':
        return Math.max(barredUntil, this.#clearAt(Math.max(now, freeAt ?? expected)));
      case 'PLATE_NOT_CLEARED':
        return Math.max(barredUntil, this.#clearAt(now));
      default:
        return Infinity;
    }
  }

  /** When the plate is clear after a print that ended. */
  #clearAt(endAt: number): number {
    const { gate, staffed, turnaround } = this.#input.rules;
    return gate === 'automatic' ? endAt : afterHours(staffed, endAt, turnaround);
  }
}
