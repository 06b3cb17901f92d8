import { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import { phrase } from '../words/sentence';
import { BoardCache } from './board-cache';
import { countCopies, isStuck, itemStateOf, openAttempts } from './copies';
import { explainedAttempt, stuckAttempts, stuckReasons } from './stuck-attempts';
import type { ClusterViews } from './cluster-views';
import { planItem, wasRefused } from './item-plan';
import { itemShape } from './item-shape';
import type { Plan, PlanInput, PlanItem } from './plan-types';
import { explanationOf } from './explanation';
import { isModelPending } from './facts-reader';
import { forecast, type ActivePrint, type QueueForecast } from './forecast';
import { forecastShape } from './forecast-shape';
import { Planner } from './plan';
import { configurationOf, printerBoard, type BoardInput } from './printer-board';
import type { ExplainedItem, Forecast, QueueExplanation, QueueItem, QueueFigures } from './queue-api';
import type { QueueData } from './queue-data';
import type { Attempt, ItemRecord } from './queue-item';
import { printerKey, type QueuePrinter } from './queue-printer';
import type { QueueRules } from './queue-rules';
import { isPauseOver } from './queue-state';
import { RecentForecast } from './recent-forecast';
import { requirementOf } from './requirement-of';
import { mismatchOf } from './suitability';
import type { ItemReason, Reason } from './reasons';
import { Explainer } from './waiting-reasons';

interface QueueViewDeps {
  queueId: string;
  rules: QueueRules;
  clock: Clock;
  data: QueueData;
  views: ClusterViews;
  /** Clusters of the queue. */
  clusterIds: () => readonly string[];
  /** Why the whole queue starts nothing, apart from its pause; null: it may. */
  obstacle: () => Reason<ItemReason> | null;
  /** Age from which a status is stale, ms. */
  staleAfter: number;
}

/** A plan, and what it shows about the items. */
interface Planned {
  input: PlanInput;
  plan: Plan;
  /** Whether every printer of the queue was seen, so that what none of them can print is known. */
  isComplete: boolean;
  positions: ReadonlyMap<string, number>;
}

/** The queue at one moment: its printers, its plan, its items in the shape of messages. */
export class QueueView {
  readonly #deps: QueueViewDeps;
  readonly #planner = new Planner();
  /** Source of the items' `eta`. */
  readonly forecasts: RecentForecast;
  #explained: Explainer | null = null;
  #planItems = new WeakMap<ItemRecord, PlanItem>();
  /** Materials that were known to `#planItems`. */
  #materialCount = 0;
  readonly #board = new BoardCache();
  #last: Planned | null = null;

  constructor(deps: QueueViewDeps) {
    this.#deps = deps;
    this.forecasts = new RecentForecast({
      clock: deps.clock,
      items: () => this.input.items.length,
      run: () => this.#forecast(),
    });
  }

  /** Call after anything has changed. */
  invalidate(): void {
    this.#last = null;
    this.#explained = null;
    this.forecasts.invalidate();
  }

  /** The present plan. */
  get plan(): Plan {
    return this.#planned.plan;
  }

  get input(): PlanInput {
    return this.#planned.input;
  }

  /** Printers of `input` that suit an item which may start now. */
  get wantedPrinters(): ReadonlySet<QueuePrinter> {
    return this.#planner.wantedPrinters(this.input);
  }

  /** The printers as they would be without one copy, whose own assignment makes its printer busy. */
  printersWithout(itemId: string, copy: number): QueuePrinter[] {
    return printerBoard(this.#boardInput(this.#deps.clock.now(), { itemId, copy }));
  }

  /** When the next deadline passes, ms since 1970; Infinity: never. */
  get overdueAt(): number {
    const open = this.#deps.data.items.all.filter((record) => record.endedAt === null && !record.isOverdue);
    return open.reduce((first, { deadline }) => Math.min(first, deadline === null ? Infinity : deadline + 1), Infinity);
  }

  /** When a pause ends by itself, ms since 1970; Infinity: never. */
  get pauseEndsAt(): number {
    const { paused, pausedPrinters } = this.#deps.data.state.record;
    const now = this.#deps.clock.now();
    const pauses = [...(paused ? [paused] : []), ...Object.values(pausedPrinters)];
    return Math.min(Infinity, ...pauses.map(({ until }) => (until !== null && until > now ? until : Infinity)));
  }

  /** Whether a copy of an item could be printed by some printer, as far as is known. */
  canBePlanned(record: ItemRecord): boolean {
    const { isComplete, positions } = this.#planned;
    if (!isComplete || positions.has(record.itemId)) return true;
    const now = this.#deps.clock.now();
    const isLater = (record.notBefore !== null && record.notBefore > now) || isModelPending(record, now);
    if (isLater || countCopies(record).waiting === 0 || record.isHeld || record.awaitsApproval) return true;
    return this.#explainer.canBeTaken(record.itemId);
  }

  item(record: ItemRecord): QueueItem {
    const position = this.#planned.positions.get(record.itemId) ?? null;
    const canBePlanned = this.canBePlanned(record);
    const reasons = this.#waits(record) ? this.#explainer.summaryOf(record.itemId) : stuckReasons(record);
    const waitingFor = reasons.map(({ code, printers, sentence }) => ({ code, printers, text: sentence }));
    const eta = this.forecasts.etaOf(record.itemId);
    return itemShape(record, this.#deps, { position, canBePlanned, eta, waitingFor });
  }

  /** An item with the reason of each printer. */
  explained(record: ItemRecord): ExplainedItem {
    if (!this.#waits(record)) return { ...this.item(record), waitingFor: stuckAttempts(record).map(explainedAttempt) };
    const { own, printers } = this.#explainer.reasonsOf(record.itemId);
    const general = own.map(({ code, sentence }) => ({ ...NOWHERE, code, text: sentence }));
    const each = printers.map(({ printer, reason }) => {
      const { clusterId, printerId, clusterName } = printer;
      return { clusterId, printerId, clusterName, code: reason.code, text: reason.sentence };
    });
    return { ...this.item(record), waitingFor: [...general, ...each] };
  }

  #waits(record: ItemRecord): boolean {
    return record.endedAt === null && countCopies(record).waiting > 0;
  }

  /** The queue's printers and figures. */
  explanation(): QueueExplanation {
    const { data, rules, clock } = this.#deps;
    return explanationOf(this.input.printers, { data, rules, now: clock.now(), copies: this.copies });
  }

  /** Figures for a node's status. */
  state(obstacle: Reason<ItemReason> | null): QueueFigures {
    const { data, clock } = this.#deps;
    const { paused } = data.state.record;
    const blocked = data.items.all.filter((record) => record.blocked.is);
    const isPaused = paused !== null && !isPauseOver(paused, clock.now());
    const error = obstacle && new PrintingError('NOT_ACCEPTED', obstacle.sentence);
    const [first] = blocked;
    const [reason] = first ? this.item(first).waitingFor : [];
    const firstReason = reason ? { code: reason.code, text: reason.text } : null;
    // A printed copy whose plate is not judged yet is active, but nothing prints it.
    const { waiting } = this.copies;
    return { waiting, active: this.input.printing, blocked: blocked.length, firstReason, isPaused, error };
  }

  /** Runs the plan forward. The result also becomes the items' `eta`. */
  async forecast(): Promise<Forecast> {
    return forecastShape(await this.forecasts.make(), this.#deps.clock.now());
  }

  /** Items that the forecast expects to end after their deadlines. */
  async lateItems(): Promise<string[]> {
    const { items } = await this.forecasts.make();
    const open = this.#deps.data.items.all;
    return open
      .filter(({ itemId, deadline }) => deadline !== null && (items.get(itemId)?.endAt ?? -Infinity) > deadline)
      .map(({ itemId }) => itemId);
  }

  #forecast(): Promise<QueueForecast> {
    const { data, clock, rules } = this.#deps;
    const { input } = this.#planned;
    const orders = new Map(
      data.items.all.flatMap(({ itemId, orderId, endedAt }) =>
        orderId === null || endedAt !== null ? [] : [[itemId, orderId] as const],
      ),
    );
    const active = [...data.open.values()].flatMap((record) =>
      openAttempts(record).map((one) => activePrint(record, one)),
    );
    // A start that nobody has seen to begin yet begins soon.
    const nextStartAt = Math.min(input.nextStartAt, input.now + rules.stagger);
    return forecast({ ...input, nextStartAt, orders, active }, { clock });
  }

  /** Copies that wait and can be planned, and copies that are assigned or printing. */
  get copies(): { waiting: number; active: number } {
    const { data } = this.#deps;
    let [waiting, active] = [0, 0];
    for (const record of data.items.all) {
      if (record.endedAt !== null) continue;
      const state = itemStateOf(record, this.canBePlanned(record));
      if (state === 'waiting' || state === 'active')
        waiting += record.isHeld || record.awaitsApproval ? 0 : countCopies(record).waiting;
      active += Object.values(record.touched).filter((copy) => copy === 'active').length;
    }
    return { waiting, active };
  }

  get #explainer(): Explainer {
    return (this.#explained ??= new Explainer(this.#planner, this.#planned.input));
  }

  get #planned(): Planned {
    return (this.#last ??= this.#plan());
  }

  #plan(): Planned {
    const input = this.#input();
    const plan = this.#planner.plan(input);
    const { clusterIds, views } = this.#deps;
    const ids = clusterIds();
    const isComplete = ids.length > 0 && ids.every((clusterId) => views.get(clusterId) !== undefined);
    return { input, plan, isComplete, positions: new Map(plan.order.map((itemId, at) => [itemId, at + 1])) };
  }

  #input(): PlanInput {
    const { data, rules, clock, views, obstacle } = this.#deps;
    const now = clock.now();
    const printers = this.#board.printers(this.#boardInput(now));
    if (this.#materialCount !== views.materialCount) this.#planItems = new WeakMap();
    this.#materialCount = views.materialCount;
    const configurations = new Map(printers.map((printer) => [printerKey(printer), configurationOf(printer)]));
    const items = data.items.all
      .filter((record) => record.endedAt === null)
      .map((record) => this.#planItem(record, configurations));
    const open = [...data.open.values()].flatMap(openAttempts);
    const { paused } = data.state.record;
    const isPaused = paused !== null && !isPauseOver(paused, now);
    return {
      items,
      printers,
      rules,
      now,
      printing: open.filter((attempt) => attempt.state !== 'unknown' && !isStuck(attempt)).length,
      nextStartAt: data.nextStartAt(rules.stagger),
      obstacle: obstacle() ?? (isPaused ? pausedBy(paused.reason) : null),
    };
  }

  #planItem(record: ItemRecord, configurations: ReadonlyMap<string, string>): PlanItem {
    const known = this.#planItems.get(record);
    if (known && !wasRefused(record)) return known;
    const item = planItem(record, configurations, this.#deps.views.materialOf);
    this.#planItems.set(record, item);
    return item;
  }

  #suits(attempt: Attempt, printer: QueuePrinter): boolean {
    const { data, rules, views } = this.#deps;
    const record = [...data.open.values()].find(({ prints }) => prints.includes(attempt));
    const needs = record && requirementOf(record.require, record.files[attempt.file]?.facts ?? null, views.materialOf);
    return needs !== undefined && mismatchOf(needs, printer, rules) === null;
  }

  #boardInput(now: number, without?: { itemId: string; copy: number }): BoardInput {
    const { data, rules, views, clusterIds, staleAfter } = this.#deps;
    const { pausedPrinters } = data.state.record;
    const paused = new Map(Object.entries(pausedPrinters).filter(([, pause]) => !isPauseOver(pause, now)));
    return {
      clusterIds: clusterIds(),
      viewOf: (clusterId) => views.get(clusterId),
      gateOf: (clusterId, printerId) => data.gates.of(clusterId, printerId),
      open: data.openByCluster(without),
      suits: (attempt, printer) => this.#suits(attempt, printer),
      paused,
      usage: data.usage(),
      rules,
      now,
      staleAfter,
    };
  }
}

const NOWHERE = { clusterId: null, printerId: null, clusterName: null } as const;

function activePrint({ itemId, files }: ItemRecord, { clusterId, file, startedAt, assignedAt }: Attempt): ActivePrint {
  const startAt = startedAt ?? assignedAt;
  const seconds = files[file]?.facts?.seconds ?? null;
  return { itemId, clusterId, startAt, endAt: seconds === null ? null : startAt + seconds * 1000 };
}

const pausedBy = (reason: string | null): Reason<ItemReason> => ({
  code: 'QUEUE_PAUSED',
  sentence: reason ? phrase`The queue is paused: ${reason}.` : phrase`The queue is paused.`,
});
