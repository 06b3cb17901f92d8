import type { QueueItem } from '../../lib/queue/model/types';
import { asPrintingError } from '../../lib/service/errors';
import type { Machine, Printed, World } from './machine';
import { Broken } from './trace';

/** States of prints that cover their parts as long as nobody has judged them. */
const COVERING = ['assigned', 'dispatched', 'printing', 'finished', 'unknown'];

/** Numbers of an item of parts, as a person adds it. */
export interface Parts {
  wanted: number;
  perPrint: number;
  /** Parts that one print of its alternative makes; null: it has none. */
  other: number | null;
}

/** A print, as a verdict names it. */
export interface NamedPrint {
  itemId: string;
  copy: number;
  attempt: number;
}

/** Numbers of parts that may be wanted, from some order of events on. */
interface Wanted {
  from: number;
  most: number;
}

/**
 * Oracle of parts (print queue, 9): a print is sent only while what earlier prints have made or cover is not enough, each verdict
 * counts as it was answered, and an item is finished with no fewer good parts than wanted.
 */
export class PartsOracle {
  readonly #items = new Map<string, Parts>();
  readonly #wanted = new Map<string, Wanted[]>();
  /** Numbers of good parts that a print may have, as far as the answers say. */
  readonly #verdicts = new Map<string, Set<number>>();
  /** Prints whose only verdict may not count, because its answer was an error or got lost: the next print accepts them whole. */
  readonly #unanswered = new Set<string>();
  /** Order of the last thing that a person said about a print. */
  #saidAt = -1;
  #broken: Broken | undefined;
  /** Prints that were held against the rule. */
  checked = 0;

  constructor(
    private readonly world: World,
    private readonly isRecalled: (print: NamedPrint) => boolean,
  ) {}

  /** Whether an item was added, or may have been. */
  has(key: string): boolean {
    return this.#items.has(key);
  }

  add(key: string, parts: Parts): void {
    if (this.#items.has(key)) return;
    this.#items.set(key, parts);
    this.#wanted.set(key, [{ from: -1, most: parts.wanted }]);
  }

  /** Wants another number of parts. Until the answer, either may hold; without one, from then on too. */
  async want(key: string, wanted: number, machine: Machine, work: () => Promise<unknown>): Promise<void> {
    const known = this.#wanted.get(key);
    if (!known) return work().then(() => undefined);
    const before = known.at(-1)?.most ?? wanted;
    known.push({ from: this.world.next(), most: Math.max(before, wanted) });
    try {
      await work();
      if (machine.alive) known.push({ from: this.world.next(), most: wanted });
    } catch (thrown) {
      if (machine.alive && asPrintingError(thrown).code === 'INVALID_INPUT')
        this.#break(`${key}: another number of wanted parts was refused`);
      throw thrown;
    }
  }

  /** Judges a print. `isNamed`: the verdict names it, so that it can concern no other. */
  async judge(
    { itemId, copy, attempt }: NamedPrint,
    goodParts: number,
    isNamed: boolean,
    machine: Machine,
    work: () => Promise<unknown>,
  ): Promise<void> {
    const name = `${itemId}/${copy}/${attempt}`;
    this.world.trace.add(`person: judges ${name} ${isNamed ? 'by name' : ''}: ${goodParts} good parts`);
    const known = this.#verdicts.get(name) ?? new Set<number>();
    const isFirst = known.size === 0;
    this.#verdicts.set(name, known.add(goodParts));
    this.#saidAt = this.world.next();
    try {
      await work();
      if (machine.alive && isNamed) {
        this.#verdicts.set(name, new Set([goodParts]));
        this.#unanswered.delete(name);
      }
    } catch (thrown) {
      const { code } = asPrintingError(thrown);
      // A refused verdict changes nothing.
      const isRefused = machine.alive && (code === 'NOT_ACCEPTED' || code === 'NOT_FOUND');
      if (isFirst && isRefused) known.delete(goodParts);
      else if (isFirst) this.#unanswered.add(name);
      throw thrown;
    } finally {
      this.#saidAt = this.world.next();
    }
  }

  /** A person has settled a copy. */
  settle(): void {
    this.#saidAt = this.world.next();
  }

  /** Holds a print that the service has just made against what its item owed when its call left. */
  sent({ uuid, left }: Printed, item: QueueItem): void {
    const key = item.queueKey ?? '';
    const known = this.#wanted.get(key);
    const at = item.prints.findIndex((print) => print.clusterJobId === uuid || print.state === 'assigned');
    // A verdict of a person may be newer than the call.
    if (!known || at < 0 || this.#saidAt >= left.order) return;
    const open = item.prints.filter(({ state }) => state === 'assigned');
    if (open.length > 1 && !item.prints.some(({ clusterJobId }) => clusterJobId === uuid)) return;
    let covered = 0;
    for (const print of item.prints.slice(0, at)) {
      if (this.isRecalled({ itemId: item.itemId, ...print })) continue;
      covered += print.goodParts ?? (COVERING.includes(print.state) ? print.perPrint : 0);
    }
    // Whatever was said last before the call left, or after it.
    const possible = known.filter((_, place) => (known[place + 1]?.from ?? Infinity) >= left.order);
    const most = Math.max(...possible.map((one) => one.most));
    this.checked++;
    if (covered >= most)
      this.#break(`${key}: print ${at + 1} was sent, but ${covered} of ${most} parts were made or under way`);
  }

  /** Compares an item at the end of a run with what it should have come to. */
  finish(item: QueueItem, isRemoved: boolean): void {
    const key = item.queueKey ?? '';
    const { parts, prints, state, copies } = item;
    if (!parts) return this.#break(`${key} has no parts`);
    const sum = prints.reduce((all, { goodParts }) => all + (goodParts ?? 0), 0);
    if (parts.good !== sum) this.#break(`${key}: ${parts.good} good parts, but its prints have ${sum}`);
    if (!isRemoved && (state !== 'finished' || parts.good < parts.wanted))
      this.#break(`${key} is ${state} with ${parts.good} of ${parts.wanted} parts`);
    if (copies.waiting + copies.active + copies.unknown > 0) this.#break(`${key} has ended with copies that are owed`);
    const wanted = this.#wanted.get(key)?.at(-1)?.most ?? 0;
    if (parts.wanted > wanted) this.#break(`${key} wants ${parts.wanted} parts, but at most ${wanted} were asked for`);
    for (const { copy, attempt, goodParts, perPrint, state: ended } of prints) {
      const name = `${item.itemId}/${copy}/${attempt}`;
      const said = this.#verdicts.get(name);
      const mayBeWhole = this.#unanswered.has(name) && goodParts === perPrint;
      if (goodParts !== null && goodParts > perPrint)
        this.#break(`${key}/${copy}/${attempt} has more parts than it makes`);
      if (said?.size === 1 && ended !== 'recalled' && goodParts !== null && !said.has(goodParts) && !mayBeWhole)
        this.#break(`${key}/${copy}/${attempt} has ${goodParts} good parts, but was judged with ${[...said].join()}`);
    }
  }

  check(): void {
    if (this.#broken) throw this.#broken;
  }

  #break(sentence: string): void {
    this.world.trace.add(`broken: ${sentence}`);
    this.#broken ??= new Broken(1, sentence);
  }
}
