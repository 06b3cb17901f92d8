import { nextOpening } from '../rules/hours';
import { assignCopies, type Choice } from './assign';
import { Fleet } from './fleet';
import type { Assignment, Plan, PlanInput, PlanItem } from './plan-types';
import type { QueuePrinter } from './queue-printer';
import type { QueueRules } from './queue-rules';
import { RequirementGroups, type RequirementGroup } from './requirement-group';
import { compareTurns, keyReader, findOnly, NONE, takes, turnOf, type Turn } from './turns';

/** Decision of a plan, with its printers as indexes into the fleet. */
export interface Decision {
  choices: readonly Choice[];
  /** Turns that can be planned, in their order; valid until the next decision. */
  order: readonly Turn[];
  nextAt: number;
  /** Whether the queue may start a print now. */
  mayStart: boolean;
}

/** The assignment of waiting copies to free printers (print queue, rule 11); the same input gives the same plan. */
export const plan = (input: PlanInput): Plan => new Planner().plan(input);

/**
 * Plans again and again, and computes only what has changed since the last plan. It recognises changes by identity: pass
 * an item, a printer or the rules as a new object if, and only if, they changed.
 */
export class Planner {
  #rules: QueueRules | null = null;
  #fleet = new Fleet();
  #groups: RequirementGroups | null = null;
  /** Turns in the order of the last input. */
  #turns: Turn[] = [];
  /** The same turns in the order of `compareTurns`. */
  #sorted: Turn[] = [];
  #byItem = new Map<string, Turn>();
  /** Those that can be planned: kept, because a new array for each plan would be most of its garbage. */
  readonly #ready: Turn[] = [];

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

  /** Whether an item could be planned in the last plan, or only must not start yet. */
  canPlan(itemId: string): boolean {
    const turn = this.#byItem.get(itemId);
    return turn !== undefined && this.#isPlannable(turn);
  }

  plan(input: PlanInput): Plan {
    const { choices, order, nextAt } = this.decide(input);
    return {
      assignments: choices.map((choice) => this.#assignment(choice)),
      order: order.map(({ itemId }) => itemId),
      nextAt,
    };
  }

  decide(input: PlanInput): Decision {
    if (this.#last?.input !== input) this.#last = { input, decision: this.#decide(input) };
    return this.#last.decision;
  }

  #decide(input: PlanInput): Decision {
    this.#update(input);
    const { rules, now } = input;
    const ready = this.#ready;
    let count = 0;
    let nextAt = Infinity;
    for (const turn of this.#sorted) {
      turn.position = NONE;
      if (!this.#isPlannable(turn)) continue;
      if (turn.notBefore > now) nextAt = Math.min(nextAt, turn.notBefore);
      else ready[count++] = turn;
    }
    ready.length = count;
    const order = numbered(ready);
    const startAt = Math.max(nextOpening(rules.hours, now), input.nextStartAt);
    if (input.obstacle !== null || order.length === 0) return { choices: [], order, nextAt, mayStart: false };
    if (startAt > now) return { choices: [], order, nextAt: Math.min(nextAt, startAt), mayStart: false };
    const starts = startsLeft(input);
    const choices = assignCopies(ready, this.#fleet, this.#fleet.free(rules), starts);
    return {
      choices,
      order,
      nextAt: choices.length > 0 && rules.stagger > 0 ? Math.min(nextAt, now + rules.stagger) : nextAt,
      mayStart: starts > 0,
    };
  }

  /** Printers of the input that suit an item which may start now; none while nothing may. */
  wantedPrinters(input: PlanInput): Set<QueuePrinter> {
    const { order, mayStart } = this.decide(input);
    const wanted = new Set<QueuePrinter>();
    if (!mayStart) return wanted;
    /** Printers of each group that are not wanted so far. */
    const left = new Map<RequirementGroup, readonly number[]>();
    for (const { item, files } of order)
      for (const { group, volumes } of files) {
        const others = (left.get(group) ?? group.suitable).filter((at) => {
          const isTaken = takes(item, volumes, at, this.#fleet);
          if (isTaken) wanted.add(input.printers[at] as QueuePrinter);
          return !isTaken;
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
    const moved = this.#renewTurns(items, groups, rules);
    const keyOf = keyReader(rules, now);
    if (keyOf)
      for (const turn of this.#turns) {
        const key = keyOf(turn);
        if (key !== turn.key) moved.add(turn);
        turn.key = key;
      }
    if (moved.size > 0) this.#sorted = sortedTurns(this.#sorted, moved);
  }

  /** The groups under the same rules; begins anew under others. */
  #groupsOf(rules: QueueRules): RequirementGroups {
    if (this.#groups && rules === this.#rules) return this.#groups;
    this.#rules = rules;
    this.#fleet = new Fleet();
    this.#turns = [];
    this.#sorted = [];
    this.#byItem = new Map();
    return (this.#groups = new RequirementGroups({ fleet: this.#fleet, rules }));
  }

  /** Renews the turns of new and changed items. Returns those whose place in the order may have changed. */
  #renewTurns(items: readonly PlanItem[], groups: RequirementGroups, rules: QueueRules): Set<Turn> {
    const moved = new Set<Turn>();
    if (items === this.#last?.input.items && this.#turns.length === items.length) return moved;
    for (let at = 0; at < items.length; at++) {
      const item = items[at] as PlanItem;
      if (this.#turns[at]?.item === item) continue;
      let turn = this.#byItem.get(item.itemId);
      if (turn?.item !== item) {
        const renewed = turnOf(item, groups, rules);
        for (const { volumes } of renewed.files) this.#fleet.expect(volumes ?? []);
        if (!turn || compareTurns(turn, { ...renewed, key: turn.key }) !== 0) moved.add(turn ?? renewed);
        turn = turn ? Object.assign(turn, renewed, { key: turn.key }) : renewed;
        this.#byItem.set(item.itemId, turn);
      }
      this.#turns[at] = turn;
    }
    this.#turns.length = items.length;
    if (this.#byItem.size > items.length) this.#dropOthers(items);
    return moved;
  }

  #dropOthers(items: readonly PlanItem[]): void {
    const kept = new Set(items.map(({ itemId }) => itemId));
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

/** Numbers the turns: a copy that was rejected goes to the front of its priority. */
function numbered(ready: readonly Turn[]): readonly Turn[] {
  const order = ready.some(({ isFront }) => isFront)
    ? ready.toSorted((one, other) => other.priority - one.priority || Number(other.isFront) - Number(one.isFront))
    : ready;
  for (let at = 0; at < order.length; at++) (order[at] as Turn).position = at;
  return order;
}

/** Number of prints that may start now. */
function startsLeft({ rules, printing }: PlanInput): number {
  const left = rules.maxPrinting > 0 ? Math.max(0, rules.maxPrinting - printing) : Infinity;
  return rules.stagger > 0 ? Math.min(1, left) : left;
}
