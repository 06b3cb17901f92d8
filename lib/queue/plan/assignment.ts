import { copyAfter, type PlanInput } from './inputs';
import type { Fleet, RequirementGroup } from './suitability';
import { accepts, NONE, type Turn, type TurnFile } from './turns';

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
export interface ReadyTurns {
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
export function assignCopies(
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
