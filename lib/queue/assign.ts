import type { Fleet } from './fleet';
import { takes, type Turn } from './turns';

/** A copy and its printer, an index into the fleet. */
export interface Choice {
  turn: Turn;
  copy: number;
  /** Index in the item's files. */
  file: number;
  printer: number;
}

const NO_PRINTERS: ReadonlySet<string> = new Set();
let runs = 0;

/**
 * Assigns waiting copies to free printers in the order of their turns (print queue, rules 7 and 8).
 *
 * @param turns those that can be planned, sorted
 * @param free indexes of the free printers, the first choice first
 * @param most number of prints that may start
 */
export function assignCopies(turns: readonly Turn[], fleet: Fleet, free: readonly number[], most: number): Choice[] {
  const run = new Run(fleet, free, most);
  for (let from = 0; from < turns.length && !run.isOver;) {
    let to = from;
    const priority = turns[from]?.priority;
    while (to < turns.length && turns[to]?.priority === priority) to++;
    run.assign(turns, from, to);
    from = to;
  }
  return run.choices;
}

class Run {
  readonly choices: Choice[] = [];
  /** 1 for each printer that is given away. */
  readonly #taken: Uint8Array;
  /** For each printer: when the oldest item that has no other printer was added, ms since 1970. */
  readonly #since: Float64Array;
  #id = 0;

  constructor(
    private readonly fleet: Fleet,
    private readonly free: readonly number[],
    private readonly most: number,
  ) {
    const { length } = fleet.printers;
    this.#taken = new Uint8Array(length);
    this.#since = new Float64Array(length);
  }

  get isOver(): boolean {
    return this.choices.length >= Math.min(this.most, this.free.length);
  }

  /** Assigns the copies of all items of one priority: the turns from `from` to before `to`. */
  assign(turns: readonly Turn[], from: number, to: number): void {
    this.#id = ++runs;
    this.#since.fill(Infinity);
    let hasFront = false;
    for (let at = from; at < to; at++) {
      const { only, createdAt, isFront } = turns[at] as Turn;
      hasFront ||= isFront;
      if (only >= 0) this.#since[only] = Math.min(this.#since[only] ?? Infinity, createdAt);
    }
    for (let at = from; hasFront && at < to; at++) {
      const turn = turns[at] as Turn;
      if (turn.isFront) this.#assignItem(turn, 0, 1);
    }
    for (let at = from; at < to && !this.isOver; at++) {
      const turn = turns[at] as Turn;
      if (turn.group?.isExhausted && turn.group.run === this.#id && turn.only < 0) continue;
      this.#assignItem(turn, turn.isFront ? 1 : 0, turn.item.waiting.length);
    }
  }

  #assignItem(turn: Turn, from: number, to: number): void {
    const { waiting, avoid } = turn.item;
    for (let at = from; at < to && !this.isOver; at++) {
      const choice =
        at === 0 && avoid.size > 0
          ? (this.#choose(turn, avoid) ?? this.#choose(turn, NO_PRINTERS))
          : this.#choose(turn, NO_PRINTERS);
      if (!choice) return;
      this.#taken[choice.printer] = 1;
      this.choices.push({ turn, copy: waiting[at] ?? 0, ...choice });
    }
  }

  /** Finds the first file that suits a free printer, and its first choice. */
  #choose(turn: Turn, avoid: ReadonlySet<string>): Pick<Choice, 'file' | 'printer'> | null {
    for (const file of turn.files) {
      const printer = this.#printerFor(turn, file, avoid);
      if (printer !== null) return { file: file.index, printer };
    }
    return null;
  }

  #printerFor(turn: Turn, { group, volumes }: Turn['files'][number], avoid: ReadonlySet<string>): number | null {
    if (group.run !== this.#id) Object.assign(group, { run: this.#id, cursor: 0, isExhausted: false });
    if (group.isExhausted && turn.only < 0) return null;
    const { isSuitable } = group;
    let isAnyLeft = false;
    for (let place = group.cursor; place < this.free.length; place++) {
      const at = this.free[place] ?? 0;
      if (this.#taken[at] === 1 || isSuitable[at] !== 1) {
        if (place === group.cursor) group.cursor++;
        continue;
      }
      if (this.#isReserved(turn, at)) continue;
      if ((avoid.size === 0 || !avoid.has(this.fleet.keyAt(at))) && takes(turn.item, volumes, at, this.fleet))
        return at;
      isAnyLeft = true;
    }
    // A printer that is reserved for another item is kept from the whole group, so that equal items keep their order.
    if (!isAnyLeft && turn.only < 0) group.isExhausted = true;
    return null;
  }

  /** Whether another item, which was added before, has no other printer (print queue, rule 8). */
  #isReserved({ createdAt, only }: Turn, at: number): boolean {
    return only !== at && (this.#since[at] ?? Infinity) < createdAt;
  }
}
