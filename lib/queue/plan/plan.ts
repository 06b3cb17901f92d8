import { isWithin, nextClosing, nextOpening } from '../../rules/hours';
import type { Requirement } from '../model/requirement';
import type { QueueRules } from '../model/rules';
import type { QueuePrinter } from '../model/types';
import { copyAfter, type PlanFile, type PlanInput, type PlanItem } from './inputs';
import { Fleet, isLow, type RequirementGroup, RequirementGroups } from './suitability';

export interface Assignment {
  itemId: string;
  copy: number;
  /** Index in the item's files. */
  file: number;
  clusterId: string;
  printerId: string | null;
}

export interface Plan {
  /** Copies to start now. */
  assignments: readonly Assignment[];
  /** Items in the order of their turn: those that can be planned. */
  order: readonly string[];
  /** When the plan may change by time alone (hours, stagger, notBefore, pause), ms since 1970; Infinity: never. */
  nextAt: number;
}

/** An item in a plan, with what the plan knows about it beyond its record. */
export interface Turn {
  // What each plan reads of every turn, which costs most of its time, lies together here.
  /** Whether it owes copies of a file that can be printed, and nothing holds it. */
  isReady: boolean;
  /** Index of the only printer that suits, or `NONE` or `SEVERAL`, as of the fleet's `stock`. */
  only: number;
  stock: number;
  /** ms since 1970; 0: at once. */
  notBefore: number;
  front: number;
  /** Place in the order of turns, from 0; -1: it can't be planned. */
  position: number;
  /** Place in the order of `sort`, among items of the same priority. */
  key: number;
  /** Estimate of a copy, s. */
  seconds: number;
  priority: number;
  item: PlanItem;
  itemId: string;
  rank: string;
  added: string;
  /** Whether a printer refused it. */
  isRefused: boolean;
  /** The group of its only file; null: it has several. */
  group: RequirementGroup | null;
  /** Files that can be printed; all files, where none can. */
  files: readonly TurnFile[];
  /** Why none of its files can be printed; null: one can. */
  fault: 'MODEL_UNKNOWN' | 'UPLOAD' | null;
}

interface TurnFile {
  /** Index in the item's files. */
  index: number;
  group: RequirementGroup;
  /** Null: none is known. */
  volumes: Requirement['volumes'] | null;
}

/** No printer, and no place in the order. */
export const NONE = -1;
const SEVERAL = -2;

/** Duration of a copy whose estimate is unknown, s (print queue, 8). */
export const ASSUMED_SECONDS = 3600;

/** Whether a file can be printed, as far as the rules ask for its model. */
const canPrint = ({ requirement, isStored }: PlanFile, match: QueueRules['match']): boolean =>
  isStored && (match === 'lenient' || requirement.models !== null);

const isKnown = (volume: number | null): boolean => volume !== null;

/** Makes or renews the turn of an item. */
export function turnOf(item: PlanItem, groups: RequirementGroups, { match }: Pick<QueueRules, 'match'>): Turn {
  const all: TurnFile[] = [];
  const printable: TurnFile[] = [];
  let isAnyStored = false;
  for (let index = 0; index < item.files.length; index++) {
    const file = item.files[index] as PlanFile;
    const { volumes } = file.requirement;
    all.push({ index, group: groups.of(file.requirement), volumes: volumes.some(isKnown) ? volumes : null });
    if (canPrint(file, match)) printable.push(all[index] as TurnFile);
    isAnyStored ||= file.isStored;
  }
  const files = printable.length > 0 ? printable : all;
  const fault = printable.length > 0 ? null : isAnyStored ? 'MODEL_UNKNOWN' : 'UPLOAD';
  return {
    isReady: item.obstacle === null && fault === null && item.waiting.length > 0,
    only: NONE,
    stock: -1,
    notBefore: item.notBefore ?? 0,
    front: item.front,
    position: NONE,
    key: 0,
    seconds: item.files[files[0]?.index ?? 0]?.seconds ?? ASSUMED_SECONDS,
    priority: item.priority,
    item,
    itemId: item.itemId,
    rank: item.rank,
    added: item.added,
    isRefused: item.refused.size > 0,
    group: files.length === 1 ? (files[0]?.group ?? null) : null,
    files,
    fault,
  };
}

/** Renews the only printer that suits an item. */
export function findOnly(turn: Turn, fleet: Fleet): void {
  if (turn.stock === fleet.stock) return;
  turn.stock = fleet.stock;
  const isAmple = turn.group !== null && !turn.isRefused && turn.group.isAmple;
  turn.only = isAmple ? SEVERAL : onlyPrinter(turn, fleet);
}

function onlyPrinter({ item, files }: Turn, fleet: Fleet): number {
  let only = NONE;
  for (const file of files) {
    for (const at of file.group.suitable) {
      if (at === only || !accepts(item, file, at, fleet)) continue;
      if (only !== NONE) return SEVERAL;
      only = at;
    }
  }
  return only;
}

/** Whether a printer that suits a file's group has enough material for it, and did not refuse the item. */
export function accepts(item: PlanItem, { group, volumes }: TurnFile, at: number, fleet: Fleet): boolean {
  const printer = fleet.printers[at];
  if (!printer || (volumes !== null && isLow(volumes, printer, group.suitedAt(at)))) return false;
  return item.refused.size === 0 || !item.refused.has(printer.clusterId);
}

/** Order of turns: higher priority first, then by `sort`, then by rank. */
function compareTurns(one: Turn, other: Turn): number {
  if (one.priority !== other.priority) return other.priority - one.priority;
  if (one.key !== other.key) return one.key - other.key;
  if (one.rank !== other.rank) return one.rank < other.rank ? -1 : 1;
  return one.itemId < other.itemId ? -1 : Number(one.itemId !== other.itemId);
}

/** Keys of turns. They hold for the same configuration of printers, `until` a time, ms since 1970. */
interface Keys {
  until: number;
  of: (turn: Turn, now: number) => number;
}

function keysFor({ sort, staffed }: Pick<QueueRules, 'sort' | 'staffed'>, now: number): Keys {
  switch (sort) {
    case 'priority':
      return { until: Infinity, of: () => 0 };
    case 'shortest':
      return { until: Infinity, of: ({ seconds }) => seconds };
    case 'deadline':
      return { until: Infinity, of: latestStart };
    case 'staffed':
      return staffedKeys(staffed, now);
  }
}

/** Slack plus the present time, ms: the printers that suit share what the item still owes. */
function latestStart({ item, files, seconds }: Turn): number {
  if (item.deadline === null) return Infinity;
  const printers = Math.max(1, ...files.map(({ group }) => group.suitable.length));
  return item.deadline - Math.ceil(item.waiting.length / printers) * seconds * 1000;
}

/** More than the seconds of any print. */
const CLASS = 1e9;
/** Changes between staffed and unstaffed hours that are foreseen: seven weeks of working days. */
const CHANGES = 70;

/** First what ends in staffed hours, the shortest first, then what ends before they begin again, the longest first. */
function staffedKeys(staffed: QueueRules['staffed'], since: number): Keys {
  const isStaffed = isWithin(staffed, since);
  const changes: number[] = [];
  for (let at = since; changes.length < CHANGES && at < Infinity;) {
    at = isStaffed === (changes.length % 2 === 0) ? nextClosing(staffed, at) : nextOpening(staffed, at);
    changes.push(at);
  }
  const keys: Keys = {
    until: changes[0] ?? Infinity,
    of({ seconds }, now) {
      let passed = 0;
      while (passed < changes.length && (changes[passed] ?? Infinity) <= now + seconds * 1000) passed++;
      keys.until = Math.min(keys.until, (changes[passed] ?? Infinity) - seconds * 1000);
      if (isStaffed === (passed % 2 === 0)) return seconds;
      return passed <= (isStaffed ? 1 : 0) ? 2 * CLASS - seconds : 2 * CLASS + seconds;
    },
  };
  return keys;
}

/** A copy and its printer, an index into the fleet. */
export interface Choice {
  turn: Turn;
  copy: number;
  /** Index in the item's files. */
  file: number;
  printer: number;
}

/** Clusters on which a copy failed, each with the place of the last failure in their order. */
type Failures = ReadonlyMap<string, number>;
const NO_FAILURES: Failures = new Map();
let runs = 0;

/** The turns that can be planned, all in the order of `compareTurns`. */
interface ReadyTurns {
  all: readonly Turn[];
  /** Those with copies that were rejected. */
  front: readonly Turn[];
  /** Those that only one printer suits. */
  single: readonly Turn[];
}

/**
 * Assigns waiting copies to free printers in the order of their turns (print queue, rules 7 and 8).
 *
 * @param free indexes of the free printers, the first choice first
 * @param most number of prints that may start
 * @param refusals printers that refused an item a moment ago
 */
function assignCopies(
  turns: ReadyTurns,
  fleet: Fleet,
  free: readonly number[],
  most: number,
  refusals: PlanInput['refusals'],
): Choice[] {
  const run = new Run(turns, fleet, free, most, refusals);
  while (!run.isOver) run.assignNextPriority();
  return run.choices;
}

/** Turns that are read once, one priority after another. */
class Lane {
  #at = 0;

  constructor(private readonly turns: readonly Turn[]) {}

  /** Priority of the next turn; null: none is left. */
  get priority(): number | null {
    return this.turns[this.#at]?.priority ?? null;
  }

  /** The next turn; null: none of this priority is left. */
  next(priority: number | null): Turn | null {
    const turn = this.turns[this.#at];
    if (!turn || turn.priority !== priority) return null;
    this.#at++;
    return turn;
  }
}

class Run {
  readonly choices: Choice[] = [];
  /** For each printer, its place among the free ones; `NONE`: it is not free, or is given away. */
  readonly #places: Int32Array;
  /** For each printer: when the first of the items that have no other printer was added, as `added`. */
  readonly #since: (string | null)[];
  /** Parts that the assigned prints of an item make. */
  readonly #made = new Map<Turn, number>();
  readonly #all: Lane;
  readonly #front: Lane;
  readonly #single: Lane;
  #id = 0;

  constructor(
    turns: ReadyTurns,
    private readonly fleet: Fleet,
    private readonly free: readonly number[],
    private readonly most: number,
    private readonly refusals: PlanInput['refusals'],
  ) {
    const { length } = fleet.printers;
    this.#places = new Int32Array(length).fill(NONE);
    for (const [place, at] of free.entries()) this.#places[at] = place;
    this.#since = new Array<string | null>(length).fill(null);
    this.#all = new Lane(turns.all);
    this.#front = new Lane(turns.front);
    this.#single = new Lane(turns.single);
  }

  get isOver(): boolean {
    return this.#all.priority === null || this.#isFull;
  }

  get #isFull(): boolean {
    return this.choices.length >= Math.min(this.most, this.free.length);
  }

  /** Assigns the copies of all items of the highest priority that is left. */
  assignNextPriority(): void {
    const { priority } = this.#all;
    this.#id = ++runs;
    this.#since.fill(null);
    let turn: Turn | null;
    while ((turn = this.#single.next(priority))) {
      const { only, added, itemId } = turn;
      if (this.#isRefused(itemId, only)) continue;
      const since = this.#since[only] ?? null;
      if (since === null || added < since) this.#since[only] = added;
    }
    while ((turn = this.#front.next(priority))) this.#assignItem(turn, 0, turn.front);
    while (!this.#isFull && (turn = this.#all.next(priority))) {
      if (turn.group?.isExhausted && turn.group.run === this.#id && turn.only < 0) continue;
      this.#assignItem(turn, turn.front, Infinity);
    }
  }

  /** Assigns the copies of an item from one place in their order to before another, as many as it owes. */
  #assignItem(turn: Turn, from: number, to: number): void {
    const { item } = turn;
    const { avoid, parts, files } = item;
    for (let at = from; at < to && !this.#isFull; at++) {
      const copy = copyAfter(item, at);
      const made = parts ? (this.#made.get(turn) ?? 0) : 0;
      if (copy === undefined || (parts && made >= parts.left)) return;
      const failed = avoid.get(copy) ?? NO_FAILURES;
      const choice = this.#choose(turn, failed) ?? (failed.size > 0 ? this.#choose(turn, failed, true) : null);
      if (!choice) return;
      this.#places[choice.printer] = NONE;
      this.choices.push({ turn, copy, ...choice });
      if (parts) this.#made.set(turn, made + (files[choice.file]?.perPrint ?? 1));
    }
  }

  /**
   * Finds the first file that suits a free printer, and its first choice.
   * @param mayRepeat whether a cluster on which the copy failed may be chosen: that of the earliest failure
   */
  #choose(turn: Turn, failed: Failures, mayRepeat = false): Pick<Choice, 'file' | 'printer'> | null {
    for (const file of turn.files) {
      const printer = this.#printerFor(turn, file, failed, mayRepeat);
      if (printer !== null) return { file: file.index, printer };
    }
    return null;
  }

  #printerFor(turn: Turn, file: TurnFile, failed: Failures, mayRepeat: boolean): number | null {
    const { group } = file;
    if (group.run !== this.#id) {
      group.run = this.#id;
      group.candidates = this.#candidatesFor(group);
      group.cursor = 0;
      group.isExhausted = false;
    }
    if (group.isExhausted && turn.only < 0) return null;
    const { candidates, isSuitable } = group;
    let isAnyLeft = false;
    let earliest: number | null = null;
    let failedAt = Infinity;
    for (let place = group.cursor; place < candidates.length; place++) {
      const at = candidates[place] ?? 0;
      if (this.#placeOf(at) === NONE || isSuitable[at] !== 1) {
        if (place === group.cursor) group.cursor++;
        continue;
      }
      if (this.#isReserved(turn, at)) continue;
      isAnyLeft = true;
      const failure = failed.size > 0 ? failed.get(this.fleet.printers[at]?.clusterId ?? '') : undefined;
      if (failure !== undefined && (!mayRepeat || failure >= failedAt)) continue;
      if (!accepts(turn.item, file, at, this.fleet) || this.#isRefused(turn.itemId, at)) continue;
      if (failure === undefined) return at;
      earliest = at;
      failedAt = failure;
    }
    // A printer that is reserved for another item is kept from the whole group, so that equal items keep their order.
    if (!isAnyLeft && turn.only < 0) group.isExhausted = true;
    return earliest;
  }

  /** The printers to search for a group, the first choice first: the free ones, or the fewer that suit. */
  #candidatesFor({ suitable }: RequirementGroup): readonly number[] {
    if (this.free.length <= suitable.length) return this.free;
    const candidates = suitable.filter((at) => this.#placeOf(at) !== NONE);
    return candidates.sort((one, other) => this.#placeOf(one) - this.#placeOf(other));
  }

  #placeOf(at: number): number {
    return this.#places[at] ?? NONE;
  }

  /** Whether the service refused an item at a printer a moment ago. */
  #isRefused(itemId: string, at: number): boolean {
    if (this.refusals.size === 0) return false;
    return this.refusals.get(itemId)?.has(this.fleet.printers[at]?.clusterId ?? '') ?? false;
  }

  /** Whether another item, which was added before, has no other printer (print queue, rule 8). */
  #isReserved({ added, only }: Turn, at: number): boolean {
    const since = this.#since[at] ?? null;
    return only !== at && since !== null && since < added;
  }
}

/** Decision of a plan, with its printers as indexes into the fleet. */
export interface Decision {
  choices: readonly Choice[];
  /** Turns that can be planned, in their order; valid until the next decision. */
  order: readonly Turn[];
  nextAt: number;
  /** Whether the queue may start a print now. */
  mayStart: boolean;
}

/** Ready turns in their order. They hold for a stock of the fleet, from a time to before another, ms since 1970. */
interface ReadyForPlan extends ReadyTurns {
  order: readonly Turn[];
  itemIds: readonly string[] | null;
  stock: number;
  since: number;
  nextAt: number;
}

/** New and changed turns, and all whose place in the order may have changed. */
interface Renewal {
  renewed: Turn[];
  moved: Set<Turn>;
}

/**
 * Assigns waiting copies to free printers; the same input gives the same plan (print queue, rule 11). Each plan computes
 * only what has changed since the last one. It recognises changes by identity: pass an item, a printer or the rules as a
 * new object if, and only if, they changed.
 */
export class Planner {
  #rules: QueueRules | null = null;
  #fleet = new Fleet();
  #groups: RequirementGroups | null = null;
  /** Items of the last input, and their turns in the same order. */
  #items: readonly PlanItem[] = [];
  #turns: Turn[] = [];
  /** The same turns in the order of `compareTurns`. */
  #sorted: Turn[] = [];
  #byItem = new Map<string, Turn>();
  /** The keys of the last plan; null: none hold. */
  #keys: { keys: Keys; version: number; since: number } | null = null;
  /** Those that can be planned; null: a turn has changed since. */
  #ready: ReadyForPlan | null = null;
  /** The array of all of them: a new one for each plan would be most of its garbage. */
  readonly #all: Turn[] = [];

  #last: { input: PlanInput; decision: Decision } | null = null;

  get fleet(): Fleet {
    return this.#fleet;
  }

  /** The turn of an item in the last plan. */
  turnOf(itemId: string): Turn | undefined {
    return this.#byItem.get(itemId);
  }

  /** Place of an item in the order of the last plan, from 1; null: it can't be planned. */
  positionOf(itemId: string): number | null {
    const { position = NONE } = this.#byItem.get(itemId) ?? {};
    return position === NONE ? null : position + 1;
  }

  /** The order of the last plan, if some items had these ranks. */
  orderWith(ranks: ReadonlyMap<string, string>): string[] {
    const turns = this.#all.map((turn) => ({ ...turn, rank: ranks.get(turn.itemId) ?? turn.rank }));
    return frontFirst(turns.sort(compareTurns)).map(({ itemId }) => itemId);
  }

  /** Whether an item could be planned in the last plan, or only must not start yet. */
  canPlan(itemId: string): boolean {
    const turn = this.#byItem.get(itemId);
    return turn !== undefined && this.#isPlannable(turn);
  }

  /** Whether some printer of a kind could take an item in the last plan. */
  canTake(itemId: string, isOfKind: (printer: QueuePrinter) => boolean): boolean {
    const turn = this.#byItem.get(itemId);
    if (!turn || !this.#isPlannable(turn)) return false;
    const { printers } = this.#fleet;
    return turn.files.some((file) =>
      file.group.suitable.some(
        (at) => isOfKind(printers[at] as QueuePrinter) && accepts(turn.item, file, at, this.#fleet),
      ),
    );
  }

  plan(input: PlanInput): Plan {
    const { choices, nextAt } = this.decide(input);
    return {
      assignments: choices.map((choice) => this.#assignment(choice)),
      order: this.#itemIds(),
      nextAt,
    };
  }

  /** The item IDs of the last plan, in their order. */
  #itemIds(): readonly string[] {
    if (!this.#ready) return [];
    return (this.#ready.itemIds ??= this.#ready.order.map(({ itemId }) => itemId));
  }

  decide(input: PlanInput): Decision {
    if (this.#last?.input !== input) this.#last = { input, decision: this.#decide(input) };
    return this.#last.decision;
  }

  #decide(input: PlanInput): Decision {
    this.#update(input);
    const { rules, now } = input;
    const turns = this.#readyTurns(now);
    const { order, nextAt } = turns;
    const startAt = Math.max(nextOpening(rules.hours, now), input.nextStartAt);
    if (input.obstacle !== null || order.length === 0) return { choices: [], order, nextAt, mayStart: false };
    if (startAt > now) return { choices: [], order, nextAt: Math.min(nextAt, startAt), mayStart: false };
    const starts = startsLeft(input);
    const choices = assignCopies(turns, this.#fleet, this.#fleet.free(rules), starts, input.refusals);
    return {
      choices,
      order,
      nextAt: choices.length > 0 && rules.stagger > 0 ? Math.min(nextAt, now + rules.stagger) : nextAt,
      mayStart: starts > 0,
    };
  }

  /** Finds the turns that can be planned, unless those of the last plan still are the same. */
  #readyTurns(now: number): ReadyForPlan {
    const { stock } = this.#fleet;
    const last = this.#ready;
    if (last?.stock === stock && now >= last.since && now < last.nextAt) return last;
    const all = this.#all;
    const [front, single]: [Turn[], Turn[]] = [[], []];
    let count = 0;
    let nextAt = Infinity;
    for (const turn of this.#sorted) {
      const isPlannable = this.#isPlannable(turn);
      if (isPlannable && turn.notBefore <= now) {
        turn.position = count;
        all[count++] = turn;
        if (turn.front > 0) front.push(turn);
        if (turn.only >= 0) single.push(turn);
        continue;
      }
      turn.position = NONE;
      if (isPlannable) nextAt = Math.min(nextAt, turn.notBefore);
    }
    all.length = count;
    const order = front.length > 0 ? renumbered(frontFirst(all)) : all;
    return (this.#ready = { all, front, single, order, itemIds: null, stock, since: now, nextAt });
  }

  /** Printers of the input that suit an item which may start now; none while nothing may. */
  wantedPrinters(input: PlanInput): Set<QueuePrinter> {
    const { order, mayStart } = this.decide(input);
    const wanted = new Set<QueuePrinter>();
    if (!mayStart) return wanted;
    /** Printers of each group that are not wanted so far. */
    const left = new Map<RequirementGroup, readonly number[]>();
    for (const { item, files } of order)
      for (const file of files) {
        const { group } = file;
        const others = (left.get(group) ?? group.suitable).filter((at) => {
          if (!accepts(item, file, at, this.#fleet)) return true;
          wanted.add(input.printers[at] as QueuePrinter);
          return false;
        });
        left.set(group, others);
      }
    return wanted;
  }

  #isPlannable(turn: Turn): boolean {
    if (!turn.isReady) return false;
    findOnly(turn, this.#fleet);
    return turn.only !== NONE;
  }

  #assignment({ turn, copy, file, printer }: Choice): Assignment {
    const { clusterId = '', printerId = null } = this.#fleet.printers[printer] ?? {};
    const group = turn.files.find(({ index }) => index === file)?.group;
    const suitable = this.#fleet.membersAt(printer).filter((at) => group?.isSuitable[at] === 1);
    // The service chooses the member of a group of printers, unless only one suits.
    return { itemId: turn.itemId, copy, file, clusterId, printerId: suitable.length === 1 ? printerId : null };
  }

  #update({ items, printers, rules, now }: PlanInput): void {
    const left = Math.max(this.#groupsOf(rules).size - items.length, this.#fleet.samples.length - printers.length);
    if (left > SPARE) this.#rules = null;
    const groups = this.#groupsOf(rules);
    this.#fleet.update(printers);
    const { renewed, moved } = this.#renewTurns(items, groups, rules);
    this.#renewKeys({ rules, now, renewed, moved });
    if (moved.size === 0) return;
    this.#sorted = sortedTurns(this.#sorted, moved);
    this.#ready = null;
  }

  /** The groups under the same rules; begins anew under others. */
  #groupsOf(rules: QueueRules): RequirementGroups {
    if (this.#groups && rules === this.#rules) return this.#groups;
    this.#rules = rules;
    this.#fleet = new Fleet();
    this.#items = [];
    this.#turns = [];
    this.#sorted = [];
    this.#byItem = new Map();
    this.#keys = null;
    this.#ready = null;
    return (this.#groups = new RequirementGroups({ fleet: this.#fleet, rules }));
  }

  /** Renews the turns of new and changed items. Returns them, and those whose place in the order may have changed. */
  #renewTurns(items: readonly PlanItem[], groups: RequirementGroups, rules: QueueRules): Renewal {
    const [renewed, moved]: [Turn[], Set<Turn>] = [[], new Set()];
    const before = this.#items;
    if (items === before) return { renewed, moved };
    for (let at = 0; at < items.length; at++) {
      const item = items[at] as PlanItem;
      if (before[at] === item) continue;
      this.#ready = null;
      let turn = this.#byItem.get(item.itemId);
      if (turn?.item !== item) {
        const present = turnOf(item, groups, rules);
        for (const { volumes } of present.files) if (volumes !== null) this.#fleet.expect(volumes);
        if (!turn || compareTurns(turn, { ...present, key: turn.key }) !== 0) moved.add(turn ?? present);
        turn = turn ? Object.assign(turn, present, { key: turn.key }) : present;
        this.#byItem.set(item.itemId, turn);
        renewed.push(turn);
      }
      this.#turns[at] = turn;
    }
    this.#turns.length = items.length;
    this.#items = items;
    if (this.#byItem.size > items.length) this.#dropOthers(items);
    return { renewed, moved };
  }

  /** Renews the keys that may have changed, and adds the turns whose key has. */
  #renewKeys({ rules, now, renewed, moved }: Renewal & { rules: QueueRules; now: number }): void {
    const { version } = this.#fleet;
    const last = this.#keys;
    const isValid = last?.version === version && now >= last.since && now < last.keys.until;
    const { keys } = (this.#keys = isValid ? last : { keys: keysFor(rules, now), version, since: now });
    for (const turn of isValid ? renewed : this.#turns) {
      const key = keys.of(turn, now);
      if (key !== turn.key) moved.add(turn);
      turn.key = key;
    }
  }

  #dropOthers(items: readonly PlanItem[]): void {
    const kept = new Set(items.map(({ itemId }) => itemId));
    this.#ready = null;
    this.#sorted = this.#sorted.filter(({ item }) => kept.has(item.itemId));
    for (const itemId of this.#byItem.keys()) if (!kept.has(itemId)) this.#byItem.delete(itemId);
  }
}

/** Number of unused groups and kinds of printers up to which they are kept. */
const SPARE = 1_000;

/** Number of turns up to which each is put into its place; more are sorted. */
const FEW = 100;

/** Puts the turns that moved into their places among the sorted ones. */
function sortedTurns(sorted: readonly Turn[], moved: ReadonlySet<Turn>): Turn[] {
  const turns = sorted.filter((turn) => !moved.has(turn));
  if (moved.size > FEW) return [...turns, ...moved].sort(compareTurns);
  for (const turn of moved) {
    let [low, high] = [0, turns.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareTurns(turns[middle] as Turn, turn) < 0) low = middle + 1;
      else high = middle;
    }
    turns.splice(low, 0, turn);
  }
  return turns;
}

/** Numbers turns whose order differs from that of `compareTurns`. */
function renumbered(order: readonly Turn[]): readonly Turn[] {
  for (let at = 0; at < order.length; at++) (order[at] as Turn).position = at;
  return order;
}

/** The sorted turns in their order: an item with a rejected copy goes to the front of its priority. */
function frontFirst(sorted: readonly Turn[]): readonly Turn[] {
  const isFront = ({ front }: Turn) => front > 0;
  return sorted.toSorted(
    (one, other) => other.priority - one.priority || Number(isFront(other)) - Number(isFront(one)),
  );
}

/** Number of prints that may start now. */
function startsLeft({ rules, printing }: PlanInput): number {
  const left = rules.maxPrinting > 0 ? Math.max(0, rules.maxPrinting - printing) : Infinity;
  return rules.stagger > 0 ? Math.min(1, left) : left;
}
