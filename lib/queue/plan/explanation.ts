import { isWithin, nextOpening } from '../../rules/hours';
import { isoTime } from '../../time/clock';
import { phrase } from '../../words/sentence';
import { isPlateToClear, type PlateGate } from '../model/gate';
import { countCopies, isStuck, itemStateOf, openAttempts } from '../model/item';
import { isPauseOver } from '../model/queue';
import { type MaterialFinder, requirementOf } from '../model/requirement';
import { costOfFile, type QueueRules } from '../model/rules';
import {
  type Attempt,
  type ExplainedItem,
  type ItemReason,
  type ItemRecord,
  OUTCOME_UNKNOWN,
  printerKey,
  type PrinterReason,
  printingId,
  type QueueExplanation,
  type QueueItem,
  type QueuePrint,
  type QueuePrinter,
  type Reason,
  REFUSED,
} from '../model/types';
import type { QueueData } from '../records/data';
import { type Decision, findOnly, NONE, type PlanInput, Planner, type Turn, type WaitingReasons } from './plan';
import {
  choiceMismatch,
  lowMaterial,
  type Mismatch,
  placeMismatch,
  type RequirementGroup,
  toolMismatch,
} from './suitability';

/** Facts about an item that only the queue as a whole knows. */
interface ItemPlace {
  /** Null: the item can't be planned. */
  position: number | null;
  canBePlanned: boolean;
  eta: { startAt: number; endAt: number } | null;
  waitingFor: QueueItem['waitingFor'];
}

interface ShapeContext {
  queueId: string;
  rules: Pick<QueueRules, 'prices'>;
  views: { materialOf: MaterialFinder };
}

/** An item in the shape of messages (print queue, 4). */
export function itemShape(record: ItemRecord, { queueId, rules, views }: ShapeContext, place: ItemPlace): QueueItem {
  const [file] = record.files;
  const facts = file?.facts ?? null;
  const { nozzles: _, ...requires } = requirementOf(record.require, facts, views.materialOf);
  const { eta } = place;
  return {
    itemId: record.itemId,
    queueId,
    queueKey: record.queueKey,
    orderId: record.orderId,
    name: record.name,
    owner: record.owner,
    costCode: record.costCode,
    jobId: file?.jobId ?? null,
    fileSize: file?.size ?? null,
    state: itemStateOf(record, place.canBePlanned),
    held: record.isHeld || record.awaitsApproval,
    priority: record.priority,
    position: place.position,
    createdAt: isoTime(record.createdAt),
    notBefore: isoOrNull(record.notBefore),
    deadline: isoOrNull(record.deadline),
    endedAt: isoOrNull(record.endedAt),
    copies: { ...countCopies(record) },
    requires,
    estimate: {
      seconds: facts?.seconds ?? null,
      volumes: facts?.volumes ?? [],
      weights: facts?.weights ?? [],
      cost: costOfFile(rules.prices, facts, facts?.seconds ?? null),
    },
    eta: eta && { startAt: isoTime(eta.startAt), endAt: isoTime(eta.endAt) },
    waitingFor: place.waitingFor,
    prints: record.prints.map(printShape),
  };
}

export const printShape = (attempt: Attempt): QueuePrint => ({
  copy: attempt.copy,
  attempt: attempt.attempt,
  clusterId: attempt.clusterId,
  clusterName: attempt.clusterName,
  printerId: attempt.printerId,
  clusterJobId: attempt.clusterJobId,
  state: attempt.state,
  startedAt: isoOrNull(attempt.startedAt),
  endedAt: isoOrNull(attempt.endedAt),
  seconds: attempt.seconds,
  cost: attempt.cost,
});

export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

interface ExplanationContext {
  data: Pick<QueueData, 'open' | 'items' | 'gates' | 'state'>;
  queueId: string;
  rules: Pick<QueueRules, 'gate'>;
  now: number;
  copies: { waiting: number; active: number };
}

/**
 * Each printer of a queue, with the reason for which it can't print. `current`: the copy that occupies it, or else the one
 * whose part waits on its plate; null if the print there is not of this queue.
 */
export function explanationOf(
  printers: readonly QueuePrinter[],
  { data, queueId, rules, now, copies }: ExplanationContext,
): QueueExplanation {
  const open = data.open.all.flatMap((record) =>
    openAttempts(record).map((attempt) => ({ attempt, itemId: record.itemId })),
  );
  const gateOf = ({ clusterId, printerId }: QueuePrinter): PlateGate | undefined => {
    const gate = data.gates.of(clusterId, printerId);
    return gate && isPlateToClear(gate, rules.gate) ? gate : undefined;
  };
  const parts = partsOf(new Set(printers.flatMap((printer) => gateOf(printer)?.ended?.id ?? [])), { data, queueId });
  const { paused } = data.state.record;
  const isPaused = paused !== null && !isPauseOver(paused, now);
  return {
    printers: printers.map((printer) => {
      const { clusterId, printerId, clusterName, obstacle, lastUsedAt, usedFor } = printer;
      const awaiting = gateOf(printer);
      const here =
        open.find(
          ({ attempt }) => attempt.clusterId === clusterId && (printerId === null || attempt.printerId === printerId),
        ) ?? parts.get(awaiting?.ended?.id ?? '');
      const { copy = 0, attempt = 0, clusterJobId = null } = here?.attempt ?? {};
      return {
        ...{ clusterId, printerId, clusterName, free: obstacle === null },
        plate: awaiting ? 'awaiting' : 'clear',
        code: obstacle?.code ?? null,
        text: obstacle?.sentence ?? null,
        lastUsedAt: lastUsedAt === null ? null : isoTime(lastUsedAt),
        hours: Math.round(usedFor / 36_000) / 100,
        current: here ? { itemId: here.itemId, copy, attempt, clusterJobId } : null,
      };
    }),
    paused: isPaused ? { until: isoOrNull(paused.until), reason: paused.reason } : null,
    ...copies,
  };
}

/** The queue's attempts among these printings, by the id of the printing. */
function partsOf(
  ids: ReadonlySet<string>,
  { data, queueId }: Pick<ExplanationContext, 'data' | 'queueId'>,
): ReadonlyMap<string, { attempt: Attempt; itemId: string }> {
  const parts = new Map<string, { attempt: Attempt; itemId: string }>();
  if (ids.size === 0) return parts;
  for (const { itemId, prints } of data.items.all)
    for (const attempt of prints) {
      const id = printingId(queueId, itemId, attempt);
      if (ids.has(id)) parts.set(id, { attempt, itemId });
    }
  return parts;
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

/** Reasons that leave the configuration of a printer unknown. */
const UNSEEN: readonly PrinterReason[] = ['OFFLINE', 'STALE'];

/** Why an item waits at the moment of a plan; the caller plans many items with one `Explainer`. */
export const reasonsOf = (itemId: string, input: PlanInput): WaitingReasons =>
  new Explainer(new Planner(), input).reasonsOf(itemId);

/** Explains one plan: why each item waits. Requirements are compared with each kind of printer once. */
export class Explainer {
  readonly #planner: Planner;
  readonly #input: PlanInput;
  readonly #decision: Decision;
  readonly #verdicts = new Map<RequirementGroup, Verdict[]>();
  /** For each place in the order, how many items before it compete with a group. */
  readonly #ahead = new Map<RequirementGroup, Uint32Array>();
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

  /** The same reasons, with the number of printers in place of the printers; the text is that of the first one. */
  summaryOf(itemId: string): ReasonCount[] {
    const turn = this.#planner.turnOf(itemId);
    if (!turn) return [];
    const counts = new Map<PrinterReason, { reason: Reason<PrinterReason>; printers: number }>();
    for (let at = 0; at < this.#input.printers.length; at++) {
      const reason = this.#reasonAt(turn, at);
      if (!reason) continue;
      const count = counts.get(reason.code);
      if (count) count.printers++;
      else counts.set(reason.code, { reason, printers: 1 });
    }
    const own = this.#ownReasons(turn).map((reason) => ({ ...reason, printers: 0 }));
    const others = [...counts.values()].map(({ reason: { code, sentence }, printers }) => ({
      code,
      sentence,
      printers,
    }));
    return [...own, ...others];
  }

  /** Whether a printer could print an item as it is configured, or one that is offline is not known well enough. */
  canBeTaken(itemId: string): boolean {
    const turn = this.#planner.turnOf(itemId);
    return turn?.fault === null && !this.#isHopeless(turn);
  }

  #ownReasons(turn: Turn): Reason<ItemReason>[] {
    const { rules, now, nextStartAt, printing, obstacle } = this.#input;
    const { choices } = this.#decision;
    const { item } = turn;
    const found: (Reason<ItemReason> | null)[] = [item.obstacle];
    const add = (code: ItemReason, applies: boolean, say: () => Reason['sentence']) =>
      found.push(applies ? { code, sentence: say() } : null);
    add('UPLOAD', turn.fault === 'UPLOAD' && item.obstacle === null, () => phrase`The file is not stored.`);
    add(
      'MODEL_UNKNOWN',
      turn.fault === 'MODEL_UNKNOWN',
      () => phrase`The printer model of the file is unknown: name models in msg.require.`,
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
    add('STAGGER', nextStart > now, () => phrase`The next print may start at ${timeOf(nextStart)}.`);
    const atATime = printing + choices.length;
    const { maxPrinting } = rules;
    add(
      'LIMIT',
      maxPrinting > 0 && atATime >= maxPrinting,
      () => phrase`Prints at a time: ${atATime}, which is the most that the queue allows.`,
    );
    const ahead = turn.position === NONE ? 0 : this.#aheadOf(turn);
    add('BEHIND', ahead > 0, () => phrase`Items that go first: ${ahead}.`);
    return found.filter((reason) => reason !== null);
  }

  /** Whether no printer could print an item as it is configured, not even one that is offline. */
  #isHopeless(turn: Turn): boolean {
    findOnly(turn, this.#planner.fleet);
    if (turn.only !== NONE) return false;
    return !this.#input.printers.some(
      ({ obstacle }, at) =>
        obstacle !== null && UNSEEN.includes(obstacle.code) && this.#mismatchAt(turn, at)?.isUnknown === true,
    );
  }

  /** The first reason for which a printer can't print an item; null: it could. */
  #reasonAt(turn: Turn, at: number): Reason<PrinterReason> | null {
    const mismatch = this.#mismatchAt(turn, at);
    if (mismatch) return mismatch;
    const { obstacle } = this.#input.printers[at] as QueuePrinter;
    const isRefused = turn.item.refused.size > 0 && turn.item.refused.has(this.#planner.fleet.keyAt(at));
    if (isRefused && obstacle === null) return REFUSED;
    return isRefused && obstacle?.code === 'OUTCOME_UNKNOWN' ? REFUSED : obstacle;
  }

  /** The mismatch of an item's first file with a printer; null: one of its files suits. */
  #mismatchAt({ files }: Turn, at: number): Mismatch | null {
    const { fleet } = this.#planner;
    const printer = fleet.printers[at] as QueuePrinter;
    let first: Mismatch | null = null;
    for (const { group, volumes } of files) {
      const { tools, place } = this.#verdictOf(group, fleet.kinds[at] ?? 0);
      const low = tools ?? (volumes && lowMaterial(volumes, printer));
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

/** A time in a sentence; hours that never begin have none. */
const timeOf = (ms: number): string => (ms < Infinity ? isoTime(ms) : '–');

/** The attempts with which only a person can help: of unknown outcome, or with a job that can't be removed. */
export const stuckAttempts = ({ prints }: ItemRecord): Attempt[] =>
  prints.filter((attempt) => attempt.state === 'unknown' || isStuck(attempt));

const reasonOf = ({ state }: Attempt) => (state === 'unknown' ? OUTCOME_UNKNOWN : REFUSED);

/** A copy whose print was aborted: whether it is still wanted is unknown. */
const ABORTED = { code: 'HELD', sentence: phrase`A print of it was aborted: release it or remove it.` } as const;

/** The reason of an item that waits for a person because prints of it were aborted; null: none was. */
export const heldReason = (record: ItemRecord): Reason<ItemReason> | null =>
  countCopies(record).held > 0 ? ABORTED : null;

/** The reasons of an item that waits for a person alone, with the number of their printers. */
export function stuckReasons(record: ItemRecord): ReasonCount[] {
  const attempts = stuckAttempts(record);
  const held = heldReason(record);
  const stuck = [OUTCOME_UNKNOWN, REFUSED].flatMap((reason) => {
    const printers = new Set(attempts.filter((attempt) => reasonOf(attempt) === reason).map(printerKey));
    return printers.size > 0 ? [{ ...reason, printers: printers.size }] : [];
  });
  return held ? [{ ...held, printers: 0 }, ...stuck] : stuck;
}

/** The reason of a stuck attempt, with its printer. */
export function explainedAttempt(attempt: Attempt): ExplainedItem['waitingFor'][number] {
  const { clusterId, printerId, clusterName } = attempt;
  const { code, sentence } = reasonOf(attempt);
  return { clusterId, printerId, clusterName, code, text: sentence };
}
