import { nextOpening } from '../../rules/hours';
import type { QueueRules } from '../model/rules';
import type { QueuePrinter } from '../model/types';
import { assignCopies, type Choice, type ReadyTurns } from './assignment';
import type { PlanInput, PlanItem } from './inputs';
import { compareTurns, frontFirst, type Keys, keysFor, renumbered, sortedTurns } from './order';
import { Fleet, type RequirementGroup, RequirementGroups } from './suitability';
import { accepts, findOnly, NONE, type Turn, turnOf } from './turns';

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

/** Number of prints that may start now. */
function startsLeft({ rules, printing }: PlanInput): number {
  const left = rules.maxPrinting > 0 ? Math.max(0, rules.maxPrinting - printing) : Infinity;
  return rules.stagger > 0 ? Math.min(1, left) : left;
}
