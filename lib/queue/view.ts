import { PrintingError } from '../service/errors';
import { EVENT_PRINTS } from '../rules/limits';
import { type Clock, isoTime } from '../time/clock';
import { nextTurn, Turns } from '../time/concurrency';
import { Sentence } from '../words/sentence';
import { isPlateToClear } from './model/gate';
import { judgesOf, printToClear } from './model/gate-verdicts';
import { addedOf, awaitsRelease, countCopies, itemStateOf, openAttempts } from './model/item';
import { countParts, goodPartsOf } from './model/parts';
import { costOfPrints, isPauseOver, pauseAt, type PauseState } from './model/queue-record';
import { type MaterialFinder, type Require, type Requirement, requirementOf } from './model/requirement';
import { costOfFile } from './model/rules';
import {
  type Attempt,
  type ExplainedItem,
  type Forecast,
  type ItemRecord,
  type MaterialForecast,
  type QueueExplanation,
  type QueueFigures,
  type QueueItem,
  type QueuePrint,
  type QueuePrinter,
} from './model/types';
import { usedOf } from './model/usage';
import { Explainer, stuckReasonsOf, stuckSummaryOf } from './plan/explanation';
import { type ActivePrint, type ForecastInput, type QueueForecast, SimulatedQueue, stocksOf } from './plan/forecast';
import { planFile, type PlanInput, PlanInputs, type PlanSource } from './plan/inputs';
import { type Plan, Planner } from './plan/plan';
import { type Fleet, mismatchOf } from './plan/suitability';
import { isModelPending } from './records/facts';
import { Refusals } from './records/statuses';

/** What a queue knows, and the time. */
export interface ViewSource extends PlanSource {
  queueId: string;
  clock: Clock;
  /** Whether it is certain that the queue has no other clusters. */
  areListed: () => boolean;
}

/** The present plan, and what made it. */
interface Planned {
  planner: Planner;
  input: PlanInput;
  plan: Plan;
  /** Whether every printer of the queue was seen, or is missing, so that what none of them can print is known. */
  isComplete: boolean;
  /** When time alone may change it, ms since 1970; Infinity: never. */
  until: number;
}

/** Counts of copies, and the items of which the record does not say whether they are blocked. */
interface Overview {
  /** Copies that wait and can be planned. */
  waiting: number;
  /** Copies that are assigned or printing. */
  active: number;
  toBlock: readonly ItemRecord[];
  toUnblock: readonly ItemRecord[];
  /** Whether a copy waits or is active; null: not known before every printer was seen. */
  isBusy: boolean | null;
}

/** An item as messages show it, without what depends on the plan: these members are filled in. */
type FixedItem = QueueItem;

/** What people see of a queue at one moment: its plan, its printers, and its items in the shape of messages. */
export class QueueView {
  readonly refusals: Refusals;
  readonly #source: ViewSource;
  readonly #inputs: PlanInputs;
  readonly #planner = new Planner();
  readonly #forecast: RecentForecast;
  #last: Planned | null = null;
  #lastExplainer: Explainer | null = null;
  #lastOverview: Overview | null = null;
  /** By record, as long as the same materials are known. */
  #fixed = new WeakMap<ItemRecord, FixedItem>();
  #materialCount = 0;
  #configuration: { fleet: Fleet; version: number } | null = null;
  #shownForecast: { made: QueueForecast; forecast: Forecast } | null = null;

  constructor(source: ViewSource) {
    this.#source = source;
    this.refusals = new Refusals(source.data.lived);
    this.#inputs = new PlanInputs(source, this.refusals);
    this.#forecast = new RecentForecast(source.clock);
  }

  /** Grows with each change that may concern items, and with each status. */
  changes = 0;
  looks = 0;

  /** Call after anything has changed. */
  invalidate(): void {
    this.changes++;
    this.refresh();
  }

  /** Call after a status that changed nothing but figures, such as the progress of a print. */
  refresh(): void {
    this.looks++;
    this.#last = null;
    this.#lastExplainer = null;
    this.#lastOverview = null;
    this.#forecast.isCurrent = false;
  }

  /** The present plan. */
  get plan(): Plan {
    return this.#planned.plan;
  }

  /** The items in the order of the present plan, if some had these ranks. */
  orderWith(ranks: ReadonlyMap<string, string>): string[] {
    return this.#planned.planner.orderWith(ranks);
  }

  get input(): PlanInput {
    return this.#planned.input;
  }

  /** Printers of `input` that suit an item which may start now. */
  get wantedPrinters(): ReadonlySet<QueuePrinter> {
    return this.#planner.wantedPrinters(this.input);
  }

  /**
   * The printers of a cluster as they would be without one copy, whose own assignment makes its printer busy, and without
   * refusals.
   */
  printersWithout(itemId: string, copy: number, clusterId: string): QueuePrinter[] {
    return this.#inputs.printersWithout(itemId, copy, clusterId, this.#now);
  }

  /** Whether the last status of a cluster may change the plan; call it as soon as the status is recorded. */
  differs({ clusterId }: { clusterId: string }): boolean {
    return this.#inputs.differs(clusterId, this.#now);
  }

  /** When the next deadline passes, ms since 1970; Infinity: never. */
  get overdueAt(): number {
    const { withDeadline } = this.#source.data;
    return withDeadline.all.reduce((first, { deadline }) => Math.min(first, (deadline ?? Infinity) + 1), Infinity);
  }

  /** When a pause ends by itself, ms since 1970; Infinity: never. */
  get pauseEndsAt(): number {
    const { paused, pausedPrinters } = this.#source.data.state.record;
    const now = this.#now;
    const pauses = [...(paused ? [paused] : []), ...Object.values(pausedPrinters)];
    return Math.min(Infinity, ...pauses.map(({ until }) => (until !== null && until > now ? until : Infinity)));
  }

  /**
   * Whether a copy of an item could be printed by some printer, as far as is known. Before every printer was seen, it is what
   * the record says, unless one that was seen could take the item.
   */
  canBePlanned(record: ItemRecord): boolean {
    if (!this.#planned.isComplete) return !record.blocked.is || this.#isTakenBySeen(record);
    if (this.#positionOf(record) !== null) return true;
    const now = this.#now;
    const isLater =
      (record.notBefore !== null && record.notBefore > now) || isModelPending(record, this.#source.data.lived.now);
    if (isLater || countCopies(record).waiting === 0 || awaitsRelease(record)) return true;
    return this.#explainer.isPrintable(record.itemId);
  }

  #isTakenBySeen({ itemId }: ItemRecord): boolean {
    const { views } = this.#source;
    return this.#planned.planner.canTake(itemId, ({ clusterId }) => views.get(clusterId) !== undefined);
  }

  /** Counts over all items, made once for each plan. */
  get overview(): Overview {
    return (this.#lastOverview ??= this.#count());
  }

  /** An item in the shape of messages (print queue, 4), with its newest `mostPrints` prints. */
  item(record: ItemRecord, mostPrints = Infinity): QueueItem {
    return this.#item(record, this.#fixedOf(record, mostPrints));
  }

  /** The same for a board, which shows each item again and again: what its record decides stays the same objects. */
  shownItem(record: ItemRecord): QueueItem {
    const { materialCount } = this.#source.views;
    if (this.#materialCount !== materialCount) this.#fixed = new WeakMap();
    this.#materialCount = materialCount;
    const fixed = this.#fixed.get(record) ?? this.#fixedOf(record, EVENT_PRINTS);
    this.#fixed.set(record, fixed);
    return this.#item(record, fixed);
  }

  #item(record: ItemRecord, fixed: FixedItem): QueueItem {
    const reasons = isWaiting(record) ? this.#explainer.summaryOf(record.itemId) : stuckSummaryOf(record);
    // The last forecast may be of a moment when the item was to go on.
    const goesOn = record.endedAt === null && !record.isRemoved && !(fixed.held && fixed.copies.waiting > 0);
    return {
      ...fixed,
      state: itemStateOf(record, this.canBePlanned(record)),
      position: this.#positionOf(record),
      eta: goesOn ? this.#forecast.etaOf(record.itemId) : null,
      waitingFor: reasons.map(({ code, printers, sentence }) => ({ code, printers, text: sentence })),
    };
  }

  /** Members of an item that do not depend on the plan. */
  #fixedOf(record: ItemRecord, mostPrints: number): FixedItem {
    const { queueId, rules, views } = this.#source;
    const [file] = record.files;
    const facts = file?.facts ?? null;
    const { nozzles: _, ...requires } = requirementOf(record.require, facts, views.materialOf);
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
      state: 'waiting',
      held: awaitsRelease(record),
      priority: record.priority,
      position: null,
      createdAt: isoTime(record.createdAt),
      notBefore: isoOrNull(record.notBefore),
      deadline: isoOrNull(record.deadline),
      endedAt: isoOrNull(record.endedAt),
      copies: { ...countCopies(record) },
      parts: partsShape(record),
      requires,
      estimate: {
        seconds: facts?.seconds ?? null,
        volumes: facts?.volumes ?? [],
        weights: facts?.weights ?? [],
        cost: costOfFile(rules.prices, facts, views.materialOf, facts?.seconds ?? null),
      },
      cost: costOfPrints(record.prints),
      eta: null,
      waitingFor: [],
      prints: record.prints.slice(-mostPrints).map((attempt) => printShape(record, attempt)),
    };
  }

  /** An item with the reason of each printer. */
  explained(record: ItemRecord): ExplainedItem {
    const { own, printers } = isWaiting(record) ? this.#explainer.reasonsOf(record.itemId) : stuckReasonsOf(record);
    const general = own.map(({ code, sentence }) => ({ ...NOWHERE, code, text: sentence }));
    const each = printers.map(({ printer: { clusterId, printerId, clusterName }, reason }) => {
      const { code, sentence: text } = reason;
      return { clusterId, printerId, clusterName, code, text };
    });
    return { ...this.item(record), waitingFor: [...general, ...each] };
  }

  /** The queue's printers and figures. Lets the event loop turn meanwhile. */
  async explanation(): Promise<QueueExplanation> {
    const { clock, data } = this.#source;
    const { waiting, active } = this.overview;
    const { paused } = data.state.record;
    const shown = this.isPaused ? shownPause(paused, this.#now) : null;
    const turns = new Turns(clock);
    const printers = [];
    for (const printer of this.explainedPrinters()) {
      await turns.next();
      printers.push(printer);
    }
    return { printers, paused: shown, waiting, active };
  }

  /**
   * The queue's printers one by one, since there may be thousands. `current`: the copy that occupies a printer, or else the
   * one whose part waits on its plate; null if the print there is not of this queue.
   */
  *explainedPrinters(): Generator<QueueExplanation['printers'][number], void> {
    const { data, rules } = this.#source;
    const { printers } = this.input;
    const now = this.#now;
    const open = new Map<string, { item: ItemRecord; attempt: Attempt }[]>();
    for (const item of data.open.all)
      for (const attempt of openAttempts(item)) {
        const here = open.get(attempt.clusterId);
        if (here) here.push({ item, attempt });
        else open.set(attempt.clusterId, [{ item, attempt }]);
      }
    for (const printer of printers) {
      const { clusterId, printerId, clusterName, printerName, obstacle, lastUsedAt, usedFor } = printer;
      const gate = data.gates.of(clusterId, printerId);
      const awaiting = gate && isPlateToClear(gate, rules.gate) ? gate : undefined;
      const here =
        open.get(clusterId)?.find(({ attempt }) => printerId === null || attempt.printerId === printerId) ??
        data.printOf((awaiting && printToClear(awaiting)) ?? '');
      const { copy = 0, attempt = 0, clusterJobId = null } = here?.attempt ?? {};
      const pause = pauseAt(
        data.state.record.pausedPrinters,
        { clusterId, printerId, gateId: data.gates.idOf(clusterId, printerId) },
        now,
      );
      yield {
        ...{ clusterId, printerId, clusterName, printerName, free: obstacle === null },
        plate: awaiting ? 'awaiting' : 'clear',
        judges: gate ? judgesOf(gate) : null,
        code: obstacle?.code ?? null,
        text: obstacle?.sentence ?? null,
        paused: shownPause(pause, now),
        lastUsedAt: isoOrNull(lastUsedAt),
        hours: Math.round(usedFor / 36_000) / 100,
        current: here ? { itemId: here.item.itemId, copy, attempt, clusterJobId } : null,
      };
    }
  }

  /** Figures for a node's status. */
  state(): QueueFigures {
    const blocked = this.#source.data.blocked.all;
    const obstacle = this.#source.obstacle();
    const [first] = blocked;
    const [reason] = first ? this.item(first).waitingFor : [];
    return {
      waiting: this.overview.waiting,
      // A printed copy whose plate is not judged yet is active, but nothing prints it.
      active: this.input.printing - this.input.inDoubt,
      blocked: blocked.length,
      firstReason: reason ? { code: reason.code, text: reason.text } : null,
      isPaused: this.isPaused,
      error: obstacle && new PrintingError('NOT_ACCEPTED', obstacle.sentence),
    };
  }

  /** The items in the order of `list`. */
  listed(items: readonly ItemRecord[] = this.#source.data.items.all): ItemRecord[] {
    const order = new Map(this.plan.order.map((itemId, at) => [itemId, at]));
    return [...items].sort(compareListed(order));
  }

  /** Runs the plan forward. The result also becomes the items' `eta`. */
  async forecast(): Promise<Forecast> {
    return forecastShape(this.#now, await this.#forecast.make(() => this.#forecastInput()));
  }

  /** The last forecast, or another one after changes; with what comes next. */
  async recentForecast(): Promise<{ forecast: Forecast; next: QueueForecast['next'] }> {
    const { made, at } = await this.#forecast.recent(this.changes, () => this.#forecastInput());
    const known =
      this.#shownForecast?.made === made ? this.#shownForecast : { made, forecast: forecastShape(at, made) };
    this.#shownForecast = known;
    return { forecast: known.forecast, next: made.next };
  }

  /** Another object after any change of a printer's configuration. */
  get configuration(): object {
    const { fleet } = this.#planned.planner;
    const { version } = fleet;
    const isSame = this.#configuration?.fleet === fleet && this.#configuration.version === version;
    return isSame && this.#configuration ? this.#configuration : (this.#configuration = { fleet, version });
  }

  /** Needs of each file of an item. */
  requires(record: ItemRecord): Requirement[] {
    return record.files.map(({ facts }) => requirementOf(record.require, facts, this.#source.views.materialOf));
  }

  /** Whether a printer could print a file of an item if it required this. */
  suits(record: ItemRecord, require: Require, printer: QueuePrinter): boolean {
    const { views, rules } = this.#source;
    return record.files.some(
      ({ facts }) => mismatchOf(requirementOf(require, facts, views.materialOf), printer, rules) === null,
    );
  }

  /** Whether every printer was seen since the start, or is missing. */
  get isComplete(): boolean {
    return this.#planned.isComplete;
  }

  /** Materials of which something is missing; null: not known before every printer was seen. */
  get shortMaterials(): string[] | null {
    if (!this.isComplete) return null;
    return stocksOf({ ...this.input, active: this.#active }).flatMap(({ key, isShort }) => (isShort ? [key] : []));
  }

  /** Materials of a new forecast of which something is missing. */
  async shortages(): Promise<Map<string, MaterialForecast>> {
    const { materials } = await this.#forecast.make(() => this.#forecastInput());
    return new Map(materials.flatMap((stock) => (stock.isShort ? [[stock.key, materialShape(stock)] as const] : [])));
  }

  /** Renews the items' `eta` if anything has changed since the last forecast, unless that costs too much. */
  async renewForecast(): Promise<void> {
    if (this.#forecast.isDue(this.input.items.length)) await this.#forecast.make(() => this.#forecastInput());
  }

  /** Items that a new forecast expects to end after their deadlines, even if everything unknown turns out to be short. */
  async lateItems(): Promise<ItemRecord[]> {
    const input = this.#forecastInput();
    const lateIn = ({ items }: QueueForecast, among: readonly ItemRecord[]) =>
      among.filter(({ itemId, deadline }) => deadline !== null && (items.get(itemId)?.endAt ?? -Infinity) > deadline);
    let late = lateIn(await this.#forecast.make(() => input), this.#source.data.items.all);
    if (late.length > 0) late = lateIn(await runForecast(input, this.#source.clock, SHORT_SECONDS), late);
    return late;
  }

  #forecastInput(): ForecastInput {
    const { data, rules } = this.#source;
    const { input } = this;
    const orders = new Map(
      data.items.all.flatMap(({ itemId, orderId, endedAt }) =>
        orderId === null || endedAt !== null ? [] : [[itemId, orderId] as const],
      ),
    );
    // A start that no status shows yet begins soon.
    const nextStartAt = Math.min(input.nextStartAt, input.now + rules.stagger);
    // A refusal may be over by then, as any obstacle that only the service knows.
    const { paused } = data.state.record;
    // All other obstacles of the whole queue wait for a person.
    const obstacleEndsAt = this.#source.obstacle() ? Infinity : (paused?.until ?? Infinity);
    return { ...input, nextStartAt, orders, active: this.#active, refusals: new Map(), obstacleEndsAt };
  }

  /** The queue's prints under way. */
  get #active(): ActivePrint[] {
    const { data, views } = this.#source;
    return data.open.all.flatMap((record) =>
      openAttempts(record).map((one) => activePrint(record, one, views.materialOf)),
    );
  }

  #count(): Overview {
    let [waiting, active] = [0, 0];
    let [certain, isCertain] = [0, true];
    const { isComplete } = this.#planned;
    const [toBlock, toUnblock]: [ItemRecord[], ItemRecord[]] = [[], []];
    for (const record of this.#source.data.items.all) {
      if (record.endedAt !== null && !record.blocked.is) continue;
      const counts = countCopies(record);
      const state = itemStateOf(record, this.canBePlanned(record));
      const isPlannable = (state === 'waiting' || state === 'active') && !awaitsRelease(record);
      // What decides may be a printer that was not seen since the start.
      const isKnown = isComplete || this.#positionOf(record) !== null || itemStateOf(record, false) === state;
      if (isPlannable) waiting += counts.waiting;
      if (isPlannable && isKnown) certain += counts.waiting;
      isCertain &&= isKnown || !isPlannable;
      active += counts.active;
      if ((state === 'blocked') !== record.blocked.is) (record.blocked.is ? toUnblock : toBlock).push(record);
    }
    const isBusy = active + certain > 0 ? true : isCertain ? false : null;
    return { waiting, active, toBlock, toUnblock, isBusy };
  }

  get #now(): number {
    return this.#source.clock.now();
  }

  /** Whether the whole queue is paused. */
  get isPaused(): boolean {
    const { paused } = this.#source.data.state.record;
    return paused !== null && !isPauseOver(paused, this.#now);
  }

  /** Place of an item in the order of the present plan, from 1; null: it can't be planned. */
  #positionOf({ itemId }: ItemRecord): number | null {
    return this.#planned.planner.positionOf(itemId);
  }

  get #explainer(): Explainer {
    const { planner, input } = this.#planned;
    return (this.#lastExplainer ??= new Explainer(planner, input));
  }

  get #planned(): Planned {
    // Rounds of the planner renew it; the other runtimes have none.
    if (this.#last && this.#now >= this.#last.until) this.refresh();
    return (this.#last ??= this.#makePlan());
  }

  #makePlan(): Planned {
    const { views } = this.#source;
    const clusterIds = this.#source.clusterIds();
    const now = this.#now;
    const input = this.#inputs.make(now);
    const plan = this.#planner.plan(input);
    const isKnown = (clusterId: string) => views.get(clusterId) !== undefined || views.isMissing(clusterId);
    const isComplete = clusterIds.length > 0 && this.#source.areListed() && clusterIds.every(isKnown);
    const nextAt = plan.nextAt > now ? plan.nextAt : Infinity;
    const until = Math.min(nextAt, this.pauseEndsAt, now + this.refusals.wait);
    return { planner: this.#planner, input, plan, isComplete, until };
  }
}

function partsShape(record: ItemRecord): QueueItem['parts'] {
  const counts = countParts(record);
  if (!counts || !record.parts) return null;
  const { good, rejected, owed } = counts;
  const { wanted, perPrint } = record.parts;
  return { wanted, perPrint, good, rejected, owed };
}

export const printShape = (record: ItemRecord, attempt: Attempt): QueuePrint => ({
  copy: attempt.copy,
  attempt: attempt.attempt,
  clusterId: attempt.clusterId,
  clusterName: attempt.clusterName,
  printerId: attempt.printerId,
  clusterJobId: attempt.clusterJobId,
  state: attempt.state,
  reason: attempt.reason ? Sentence.from(attempt.reason) : null,
  startedAt: isoOrNull(attempt.startedAt),
  endedAt: isoOrNull(attempt.endedAt),
  seconds: attempt.seconds,
  cost: attempt.cost,
  perPrint: attempt.perPrint ?? 1,
  goodParts: goodPartsOf(record, attempt),
  used: usedOf(record, attempt),
});

const isoOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

const shownPause = (pause: PauseState | null | undefined, now: number) =>
  pause && !isPauseOver(pause, now) ? { until: isoOrNull(pause.until), reason: pause.reason } : null;

const NOWHERE = { clusterId: null, printerId: null, clusterName: null } as const;

/** Whether copies of an item wait, so that its plan explains why. */
const isWaiting = (record: ItemRecord): boolean => record.endedAt === null && countCopies(record).waiting > 0;

const forecastShape = (at: number, { items, prints, orders, idleAt, materials }: QueueForecast): Forecast => ({
  at: isoTime(at),
  items: [...items].map(([itemId, { startAt, endAt, clusterId }]) => ({
    ...{ itemId, startAt: isoOrNull(startAt), endAt: isoOrNull(endAt), clusterId },
  })),
  prints: prints.map((print) => ({ ...print, startAt: isoTime(print.startAt), endAt: isoTime(print.endAt) })),
  orders: [...orders].map(([orderId, { endAt, late }]) => ({ orderId, endAt: isoOrNull(endAt), late })),
  idleAt: isoOrNull(idleAt),
  materials: materials.map(materialShape),
});

/** Open items first: those that can be planned in their order, then the others, oldest first. Ended ones follow, newest first. */
const compareListed = (order: ReadonlyMap<string, number>) => {
  const placeOf = ({ itemId }: ItemRecord) => order.get(itemId) ?? order.size;
  return (one: ItemRecord, other: ItemRecord): number => {
    if (one.endedAt !== null && other.endedAt !== null) return other.endedAt - one.endedAt || byAdded(other, one);
    if (one.endedAt !== null || other.endedAt !== null) return one.endedAt === null ? -1 : 1;
    return placeOf(one) - placeOf(other) || byAdded(one, other);
  };
};

const byAdded = (one: ItemRecord, other: ItemRecord): number => (addedOf(one) < addedOf(other) ? -1 : 1);

function activePrint(
  record: ItemRecord,
  { clusterId, file, startedAt, assignedAt, state }: Attempt,
  find: MaterialFinder,
): ActivePrint {
  const startAt = startedAt ?? assignedAt;
  const plan = planFile(record, file, find);
  const endAt = plan.seconds === null ? null : startAt + plan.seconds * 1000;
  return { itemId: record.itemId, clusterId, startAt, endAt, file: plan, isInDoubt: state === 'unknown' };
}

const materialShape = ({ material, needed, loaded, missing, shortAt }: ForecastedStock): MaterialForecast => ({
  ...{ material, needed, loaded, missing },
  shortAt: isoOrNull(shortAt),
});

type ForecastedStock = QueueForecast['materials'][number];

/** Age up to which a forecast still gives the `eta` of items, ms; longer if a board may not have another one yet. */
const KEPT = 60_000;
/** Least time between two forecasts for the `eta` of items, ms, and the share of the time that they may occupy. */
const SHORTEST_AGE = 1_000;
export const FORECAST_SHARE = 0.05;
/** Share of the time that forecasts for a board may occupy. */
const BOARD_SHARE = 0.005;
/** Most items for which a forecast is made without being asked for. */
const ITEMS = 1_000;
/** Length of an unknown print at its best, s. */
const SHORT_SECONDS = 1;
/** Time for which a forecast may occupy the event loop at a stretch, ms. */
const STRETCH = 4;

/** The last forecast of a queue, from which its items have their `eta`. */
class RecentForecast {
  /** Whether nothing has changed since the forecast began. */
  isCurrent = false;
  #last: QueueForecast | null = null;
  /** Monotonic, ms. */
  #madeAt = -Infinity;
  #took = 0;
  /** ms since 1970. */
  #at = 0;
  /** Number of changes before the last one that a board has asked for. */
  #changes = -1;
  /** As messages show them. */
  readonly #etas = new Map<string, QueueItem['eta']>();

  constructor(private readonly clock: Clock) {}

  /**
   * The last one, or another one if items or printers have changed since, or it is a minute old; `at`: of what it foretells, ms
   * since 1970. Figures alone move every time of a forecast, so they are not worth another one.
   */
  async recent(changes: number, input: () => ForecastInput): Promise<{ made: QueueForecast; at: number }> {
    const age = this.clock.monotonic() - this.#madeAt;
    const least = Math.max(SHORTEST_AGE, this.#pause);
    const isDue = age >= Math.max(KEPT, least) || (changes !== this.#changes && age >= least);
    if (this.#last && !isDue) return { made: this.#last, at: this.#at };
    this.#changes = changes;
    return { made: await this.make(input), at: this.#at };
  }

  /** Least time between two forecasts for a board, ms. */
  get #pause(): number {
    return this.#took / BOARD_SHARE;
  }

  async make(inputNow: () => ForecastInput): Promise<QueueForecast> {
    const startedAt = this.clock.monotonic();
    const turns = new Turns(this.clock);
    const input = inputNow();
    this.isCurrent = true;
    await turns.next();
    this.#last = await runForecast(input, this.clock);
    this.#etas.clear();
    this.#at = input.now;
    this.#madeAt = this.clock.monotonic();
    this.#took = this.#madeAt - startedAt;
    return this.#last;
  }

  /** Whether another forecast of so many items is worth its time. */
  isDue(items: number): boolean {
    const age = this.clock.monotonic() - this.#madeAt;
    return !this.isCurrent && items <= ITEMS && age >= Math.max(SHORTEST_AGE, this.#took / FORECAST_SHARE);
  }

  /** When an item begins and ends; null: unknown. */
  etaOf(itemId: string): QueueItem['eta'] {
    if (this.clock.monotonic() - this.#madeAt > Math.max(KEPT, this.#pause)) return null;
    const known = this.#etas.get(itemId);
    if (known) return known;
    const { startAt = null, endAt = null } = this.#last?.items.get(itemId) ?? {};
    if (startAt === null || endAt === null) return null;
    const eta = { startAt: isoTime(startAt), endAt: isoTime(endAt) };
    this.#etas.set(itemId, eta);
    return eta;
  }
}

/** Runs a forecast to its end, and lets the event loop turn meanwhile. */
export async function runForecast(input: ForecastInput, clock: Clock, assumed?: number): Promise<QueueForecast> {
  let since = clock.monotonic();
  const queue = new SimulatedQueue(input, assumed);
  do {
    if (clock.monotonic() - since < STRETCH) continue;
    await nextTurn();
    since = clock.monotonic();
  } while (queue.step());
  return queue.result();
}
