import { isWithin, nextOpening } from '../../rules/hours';
import { isoTime } from '../../time/clock';
import { phrase } from '../../words/sentence';
import { countCopies, isStuck } from '../model/item';
import {
  type Attempt,
  type ItemReason,
  type ItemRecord,
  printerKey,
  type PrinterReason,
  type QueuePrinter,
  type Reason,
} from '../model/types';
import type { PlanInput } from './inputs';
import type { Decision, Planner } from './plan';
import { BUSY, NOT_REMOVED, OUTCOME_UNKNOWN, REFUSED } from './printers';
import {
  choiceMismatch,
  lowMaterial,
  type Mismatch,
  placeMismatch,
  type RequirementGroup,
  toolMismatch,
} from './suitability';
import { findOnly, NONE, type Turn } from './turns';

/** Why an item waits: reasons of the item and the queue, then each printer that can't print it, with its first reason. */
interface WaitingReasons {
  own: readonly Reason<ItemReason>[];
  printers: readonly {
    printer: Pick<QueuePrinter, 'clusterId' | 'printerId' | 'clusterName'>;
    reason: Reason<PrinterReason>;
  }[];
}

/** A reason and the number of printers that it applies to; 0 for a reason of the item or the queue. */
interface ReasonCount extends Reason {
  printers: number;
}

/** Mismatches of a requirement and a kind of printer: those that precede MATERIAL_LOW, and those that follow it. */
interface Verdict {
  tools: Mismatch | null;
  place: Mismatch | null;
}

/** Explains one plan: why each item waits. Requirements are compared with each kind of printer once. */
export class Explainer {
  readonly #planner: Planner;
  readonly #input: PlanInput;
  readonly #decision: Decision;
  readonly #verdicts = new Map<RequirementGroup, Verdict[]>();
  /** For each place in the order, how many items before it compete with a group. */
  readonly #ahead = new Map<RequirementGroup, Uint32Array>();
  /** Counts of the printers' reasons, by group and by what a copy needs of each material. */
  readonly #counts = new Map<RequirementGroup, Map<string, readonly ReasonCount[]>>();
  readonly #rivals = new Map<RequirementGroup, Map<RequirementGroup, boolean>>();

  /** Valid until the planner's next plan. */
  constructor(planner: Planner, input: PlanInput) {
    this.#planner = planner;
    this.#input = input;
    this.#decision = planner.decide(input);
  }

  /** Reasons of the item and the queue, then each printer that can't print the item, with its first reason. */
  reasonsOf(itemId: string): WaitingReasons {
    const turn = this.#planner.turnOf(itemId);
    if (!turn) return { own: [], printers: [] };
    const printers = this.#input.printers.flatMap((printer, at) => {
      const reason = this.#reasonAt(turn, at);
      return reason ? [{ printer, reason: { code: reason.code, sentence: reason.sentence } }] : [];
    });
    return { own: this.#ownReasons(turn), printers };
  }

  /** The same reasons, with the number of printers in place of the printers: each sentence with those that it is true of. */
  summaryOf(itemId: string): ReasonCount[] {
    const turn = this.#planner.turnOf(itemId);
    if (!turn) return [];
    const own = this.#ownReasons(turn).map((reason) => ({ ...reason, printers: 0 }));
    return [...own, ...this.#countsOf(turn)];
  }

  /** The reasons of the printers. Items with the same needs share them, unless some printer refused one. */
  #countsOf(turn: Turn): readonly ReasonCount[] {
    const { group, isRefused, itemId, files } = turn;
    if (group === null || isRefused || this.#input.refusals.has(itemId)) return this.#countReasons(turn);
    const byVolumes = this.#counts.get(group) ?? new Map<string, readonly ReasonCount[]>();
    this.#counts.set(group, byVolumes);
    const volumes = String(files[0]?.volumes);
    const known = byVolumes.get(volumes) ?? this.#countReasons(turn);
    byVolumes.set(volumes, known);
    return known;
  }

  #countReasons(turn: Turn): ReasonCount[] {
    const counts = new SentenceCounts();
    let nextFreeAt = Infinity;
    for (const [at, { freeAt }] of this.#input.printers.entries()) {
      const reason = this.#reasonAt(turn, at);
      if (!reason) continue;
      counts.add(reason);
      if (reason === BUSY && freeAt !== null) nextFreeAt = Math.min(nextFreeAt, freeAt);
    }
    const { now } = this.#input;
    return counts.all.map(({ reason, printers }) => ({
      code: reason.code,
      sentence: reason === BUSY && printers > 1 ? busySentence(printers, nextFreeAt, now) : reason.sentence,
      printers,
    }));
  }

  /** Whether a printer could print an item as it is configured, or one that is offline is not known well enough. */
  isPrintable(itemId: string): boolean {
    const turn = this.#planner.turnOf(itemId);
    return turn?.fault === null && !this.#isHopeless(turn);
  }

  #ownReasons(turn: Turn): Reason<ItemReason>[] {
    const { rules, now, nextStartAt, printing, inDoubt, obstacle } = this.#input;
    const { choices } = this.#decision;
    const { item } = turn;
    const found: (Reason<ItemReason> | null)[] = [item.obstacle];
    const add = (code: ItemReason, applies: boolean, say: () => Reason['sentence']) =>
      found.push(applies ? { code, sentence: say() } : null);
    add('UPLOAD', turn.fault === 'UPLOAD' && item.obstacle === null, () => phrase`The file is not stored.`);
    add(
      'MODEL_UNKNOWN',
      turn.fault === 'MODEL_UNKNOWN',
      () =>
        phrase`The printer model of the file is unknown: name models in msg.require, or set the matching of the queue to lenient.`,
    );
    add(
      'NO_PRINTER',
      turn.fault === null && this.#isHopeless(turn),
      () => phrase`No printer of the queue could take it: change a printer or the item.`,
    );
    add('NOT_BEFORE', turn.notBefore > now, () => phrase`It must not start before ${isoTime(turn.notBefore)}.`);
    found.push(obstacle);
    const opening = nextOpening(rules.hours, now);
    add(
      'HOURS',
      !isWithin(rules.hours, now),
      () => phrase`Prints may start in these hours: ${rules.hours.text}. The next ones begin at ${timeOf(opening)}.`,
    );
    const nextStart = rules.stagger > 0 && choices.length > 0 ? now + rules.stagger : nextStartAt;
    add('STAGGER', nextStart > now, () => staggered(nextStart));
    const atATime = printing + choices.length;
    const { maxPrinting } = rules;
    add('LIMIT', maxPrinting > 0 && atATime >= maxPrinting, () => limited(atATime, inDoubt));
    const ahead = turn.position === NONE ? 0 : this.#aheadOf(turn);
    add('BEHIND', ahead > 0, () => phrase`Items that go first: ${ahead}.`);
    return found.filter((reason) => reason !== null);
  }

  /** Whether no printer could print an item as it is configured, not even one that is offline. */
  #isHopeless(turn: Turn): boolean {
    findOnly(turn, this.#planner.fleet);
    if (turn.only !== NONE) return false;
    return !this.#input.printers.some((_, at) => this.#mayTurnOut(turn, at));
  }

  /**
   * Whether a printer that was not seen, or whose status lacks its configuration, may turn out to suit a file. One that the item
   * excludes by itself is not asked.
   */
  #mayTurnOut({ files }: Turn, at: number): boolean {
    const { fleet } = this.#planner;
    const printer = fleet.printers[at] as QueuePrinter;
    return files.some(({ group }) => {
      const { tools, place } = this.#verdictOf(group, fleet.kinds[at] ?? 0);
      const isUnseen = printer.isOutOfSight || (printer.extruders === null && tools?.code !== 'MODEL');
      const isUnknown = isUnseen && tools?.isUnknown === true;
      return isUnknown && place === null && choiceMismatch(group.requirement, printer) === null;
    });
  }

  /** The first reason for which a printer can't print an item; null: it could. */
  #reasonAt(turn: Turn, at: number): Reason<PrinterReason> | null {
    const mismatch = this.#mismatchAt(turn, at);
    if (mismatch) return mismatch;
    const { obstacle, clusterId } = this.#input.printers[at] as QueuePrinter;
    const refusal = turn.item.refused.has(clusterId)
      ? REFUSED
      : (this.#input.refusals.get(turn.itemId)?.get(clusterId) ?? null);
    return refusal && (obstacle === null || obstacle.code === 'OUTCOME_UNKNOWN') ? refusal : obstacle;
  }

  /** The mismatch of an item's first file with a printer; null: one of its files suits. */
  #mismatchAt({ files }: Turn, at: number): Mismatch | null {
    const { fleet } = this.#planner;
    const printer = fleet.printers[at] as QueuePrinter;
    let first: Mismatch | null = null;
    for (const { group, volumes } of files) {
      const { tools, place } = this.#verdictOf(group, fleet.kinds[at] ?? 0);
      const low = tools ?? (volumes && lowMaterial(volumes, printer, group.suitedAt(at)));
      const found = low ?? place ?? choiceMismatch(group.requirement, printer);
      if (!found) return null;
      first ??= found;
    }
    return first;
  }

  #verdictOf(group: RequirementGroup, kind: number): Verdict {
    const { requirement } = group;
    const sample = this.#planner.fleet.samples[kind] as QueuePrinter;
    const verdicts = this.#verdicts.get(group) ?? [];
    this.#verdicts.set(group, verdicts);
    return (verdicts[kind] ??= {
      tools: toolMismatch(requirement, sample, this.#input.rules),
      place: placeMismatch(requirement, sample),
    });
  }

  /** Number of items that go first and could be printed on one of the same printers. */
  #aheadOf({ group, files, position }: Turn): number {
    const { order } = this.#decision;
    const competes = (one: RequirementGroup, other: Turn) =>
      other.files.some((file) => this.#areRivals(one, file.group));
    if (group === null)
      return order.slice(0, position).filter((other) => files.some((file) => competes(file.group, other))).length;
    let ahead = this.#ahead.get(group);
    if (!ahead) {
      ahead = new Uint32Array(order.length);
      let count = 0;
      for (const [place, other] of order.entries()) {
        ahead[place] = count;
        if (competes(group, other)) count++;
      }
      this.#ahead.set(group, ahead);
    }
    return ahead[position] ?? 0;
  }

  #areRivals(one: RequirementGroup, other: RequirementGroup): boolean {
    const rivals = this.#rivals.get(one) ?? new Map<RequirementGroup, boolean>();
    this.#rivals.set(one, rivals);
    let found = rivals.get(other);
    if (found === undefined) rivals.set(other, (found = one.suitable.some((at) => other.isSuitable[at] === 1)));
    return found;
  }
}

/** Most sentences that an item lists of one code: each printer may have one of its own. */
const SENTENCES = 5;
const OTHERS = phrase`Other reasons of the same kind.`;

/** Numbers of printers by sentence. Further sentences of a code are counted together. */
class SentenceCounts {
  readonly #byReason = new Map<Reason<PrinterReason>, SentenceCount>();
  readonly #byText = new Map<string, SentenceCount>();
  readonly #texts = new Map<PrinterReason, number>();

  get all(): SentenceCount[] {
    return [...this.#byText.values()];
  }

  add(reason: Reason<PrinterReason>): void {
    // Most printers share the objects of few reasons.
    const count = this.#byReason.get(reason) ?? this.#countOf(reason);
    this.#byReason.set(reason, count);
    count.printers++;
  }

  #countOf(reason: Reason<PrinterReason>): SentenceCount {
    const { code, sentence } = reason;
    const known = this.#byText.get(`${code} ${String(sentence)}`);
    if (known) return known;
    const number = (this.#texts.get(code) ?? 0) + 1;
    this.#texts.set(code, number);
    const shown = number < SENTENCES ? reason : { code, sentence: OTHERS };
    const text = `${code} ${String(shown.sentence)}`;
    const count = this.#byText.get(text) ?? { reason: shown, printers: 0 };
    this.#byText.set(text, count);
    return count;
  }
}

interface SentenceCount {
  reason: Reason<PrinterReason>;
  printers: number;
}

/** What several busy printers have in common. */
const busySentence = (printers: number, nextFreeAt: number, now: number) =>
  nextFreeAt < Infinity
    ? phrase`${printers} suitable printers are busy, the next is free at ${clockTime(Math.max(nextFreeAt, now), now)}.`
    : phrase`${printers} suitable printers are busy.`;

/** Time of day in the runtime's time zone, with the date on another day. */
function clockTime(ms: number, now: number): string {
  const date = new Date(ms);
  const two = (part: number) => String(part).padStart(2, '0');
  const time = `${date.getHours()}:${two(date.getMinutes())}`;
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

/** A time in a sentence; hours that never begin have none. */
const timeOf = (ms: number): string => (ms < Infinity ? isoTime(ms) : '–');

/** When the next print may start; Infinity: some time after the last one has begun. */
const staggered = (nextStart: number) =>
  nextStart < Infinity
    ? phrase`The next print may start at ${isoTime(nextStart)}.`
    : phrase`The next print has to wait: the last one has not begun yet.`;

/** Why no more prints may start; a print that may not exist counts until it is settled. */
const limited = (atATime: number, inDoubt: number) =>
  inDoubt === 0
    ? phrase`Prints at a time: ${atATime}, which is the most that the queue allows.`
    : phrase`Prints at a time: ${atATime}, which is the most that the queue allows. Prints of unknown outcome among them, to be settled: ${inDoubt}.`;

/** A copy whose print was aborted: whether it is still wanted is unknown. */
const ABORTED = { code: 'HELD', sentence: phrase`A print of it was aborted: release it or remove it.` } as const;

/**
 * Why an item waits that only a person can help: aborted copies, attempts of unknown outcome, and jobs that can't be
 * removed.
 */
export function stuckReasonsOf(record: ItemRecord): WaitingReasons {
  const stuck = record.prints.filter((attempt) => attempt.state === 'unknown' || isStuck(attempt));
  return {
    own: countCopies(record).held > 0 ? [ABORTED] : [],
    printers: stuck.map((attempt) => ({
      printer: attempt,
      reason: stuckReasonOf(attempt),
    })),
  };
}

function stuckReasonOf({ state, recall }: Attempt): Reason<PrinterReason> {
  if (state === 'unknown') return OUTCOME_UNKNOWN;
  return recall?.why === 'changes' ? REFUSED : NOT_REMOVED;
}

/** The same reasons, with the number of printers in place of the printers. */
export function stuckSummaryOf(record: ItemRecord): ReasonCount[] {
  const { own, printers } = stuckReasonsOf(record);
  const counts = [OUTCOME_UNKNOWN, REFUSED, NOT_REMOVED].map((reason) => {
    const here = printers.filter((one) => one.reason === reason);
    return { ...reason, printers: new Set(here.map(({ printer }) => printerKey(printer))).size };
  });
  return [...own.map((reason) => ({ ...reason, printers: 0 })), ...counts.filter((count) => count.printers > 0)];
}
