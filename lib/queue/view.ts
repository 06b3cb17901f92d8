import type { ClusterStatus } from '../service/cluster';
import { PrintingError } from '../service/errors';
import { isoTime } from '../time/clock';
import { countCopies, itemStateOf, openAttempts } from './model/item';
import { isPauseOver } from './model/queue';
import type {
  Attempt,
  ExplainedItem,
  Forecast,
  ItemReason,
  ItemRecord,
  QueueExplanation,
  QueueFigures,
  QueueItem,
  QueuePrinter,
  Reason,
} from './model/types';
import {
  explainedAttempt,
  Explainer,
  explanationOf,
  heldReason,
  isoOrNull,
  itemShape,
  stuckAttempts,
  stuckReasons,
} from './plan/explanation';
import { type ActivePrint, forecast, type QueueForecast, RecentForecast } from './plan/forecast';
import { PlanInputs, type PlanInputsDeps, Refusals } from './plan/inputs';
import { type Plan, type PlanInput, Planner } from './plan/plan';
import { isModelPending } from './records/data';

/** A forecast in the shape of messages (print queue, 3.2). `now`: ms since 1970. */
const forecastShape = ({ items, orders, idleAt }: QueueForecast, now: number): Forecast => ({
  at: isoTime(now),
  items: [...items].map(([itemId, { startAt, endAt, clusterId }]) => ({
    ...{ itemId, startAt: isoOrNull(startAt), endAt: isoOrNull(endAt), clusterId },
  })),
  orders: [...orders].map(([orderId, { endAt, late }]) => ({ orderId, endAt: isoOrNull(endAt), late })),
  idleAt: isoOrNull(idleAt),
});

interface QueueViewDeps extends Omit<PlanInputsDeps, 'refusals'> {
  queueId: string;
}

/** A plan, and what it shows about the items. */
interface Planned {
  input: PlanInput;
  plan: Plan;
  /** Whether every printer of the queue was seen, so that what none of them can print is known. */
  isComplete: boolean;
  /** Place of an item, from 1; null: it can't be planned. */
  positionOf: (itemId: string) => number | null;
}

/** Counts of copies, and the items of which the record does not say whether they are blocked. */
interface Overview {
  /** Copies that wait and can be planned. */
  waiting: number;
  /** Copies that are assigned or printing. */
  active: number;
  toBlock: readonly ItemRecord[];
  toUnblock: readonly ItemRecord[];
}

/** The queue at one moment: its printers, its plan, its items in the shape of messages. */
export class QueueView {
  readonly #deps: QueueViewDeps;
  readonly #planner = new Planner();
  /** Source of the items' `eta`. */
  readonly forecasts: RecentForecast;
  readonly refusals: Refusals;
  #explained: Explainer | null = null;
  readonly #inputs: PlanInputs;
  #last: Planned | null = null;
  #overview: Overview | null = null;

  constructor(deps: QueueViewDeps) {
    this.#deps = deps;
    this.refusals = new Refusals(deps.clock);
    this.#inputs = new PlanInputs({ ...deps, refusals: this.refusals });
    this.forecasts = new RecentForecast({
      clock: deps.clock,
      items: () => this.input.items.length,
      run: () => this.#forecast(),
    });
  }

  /** Call after anything has changed. */
  invalidate(): void {
    this.#last = null;
    this.#overview = null;
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
    return this.#inputs.printersWithout(itemId, copy);
  }

  /** Whether a status may change the plan; call it as soon as the status is recorded. */
  differs(status: ClusterStatus): boolean {
    return this.#inputs.differs(status);
  }

  /** When the next deadline passes, ms since 1970; Infinity: never. */
  get overdueAt(): number {
    const { withDeadline } = this.#deps.data;
    return withDeadline.all.reduce((first, { deadline }) => Math.min(first, (deadline ?? Infinity) + 1), Infinity);
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
    const { isComplete, positionOf } = this.#planned;
    if (!isComplete || positionOf(record.itemId) !== null) return true;
    const now = this.#deps.clock.now();
    const isLater = (record.notBefore !== null && record.notBefore > now) || isModelPending(record, now);
    if (isLater || countCopies(record).waiting === 0 || record.isHeld || record.awaitsApproval) return true;
    return this.#explainer.canBeTaken(record.itemId);
  }

  item(record: ItemRecord): QueueItem {
    const position = this.#planned.positionOf(record.itemId);
    const canBePlanned = this.canBePlanned(record);
    const reasons = this.#waits(record) ? this.#explainer.summaryOf(record.itemId) : stuckReasons(record);
    const waitingFor = reasons.map(({ code, printers, sentence }) => ({ code, printers, text: sentence }));
    const eta = this.forecasts.etaOf(record.itemId);
    return itemShape(record, this.#deps, { position, canBePlanned, eta, waitingFor });
  }

  /** An item with the reason of each printer. */
  explained(record: ItemRecord): ExplainedItem {
    const ofItem = ({ code, sentence }: Reason<ItemReason>) => ({ ...NOWHERE, code, text: sentence });
    if (!this.#waits(record)) {
      const held = heldReason(record);
      const stuck = stuckAttempts(record).map(explainedAttempt);
      return { ...this.item(record), waitingFor: held ? [ofItem(held), ...stuck] : stuck };
    }
    const { own, printers } = this.#explainer.reasonsOf(record.itemId);
    const general = own.map(ofItem);
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
    const { data, queueId, rules, clock } = this.#deps;
    const context = { data, queueId, rules, now: clock.now(), copies: this.overview };
    return explanationOf(this.input.printers, context);
  }

  /** Figures for a node's status. */
  state(obstacle: Reason<ItemReason> | null): QueueFigures {
    const { data, clock } = this.#deps;
    const { paused } = data.state.record;
    const blocked = data.blocked.all;
    const isPaused = paused !== null && !isPauseOver(paused, clock.now());
    const error = obstacle && new PrintingError('NOT_ACCEPTED', obstacle.sentence);
    const [first] = blocked;
    const [reason] = first ? this.item(first).waitingFor : [];
    const firstReason = reason ? { code: reason.code, text: reason.text } : null;
    // A printed copy whose plate is not judged yet is active, but nothing prints it.
    const { waiting } = this.overview;
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
    const active = data.open.all.flatMap((record) => openAttempts(record).map((one) => activePrint(record, one)));
    // A start that no status shows yet begins soon.
    const nextStartAt = Math.min(input.nextStartAt, input.now + rules.stagger);
    return forecast({ ...input, nextStartAt, orders, active }, { clock });
  }

  /** Made once for each plan. */
  get overview(): Overview {
    return (this.#overview ??= this.#look());
  }

  #look(): Overview {
    let [waiting, active] = [0, 0];
    const [toBlock, toUnblock]: [ItemRecord[], ItemRecord[]] = [[], []];
    for (const record of this.#deps.data.items.all) {
      if (record.endedAt !== null && !record.blocked.is) continue;
      const counts = countCopies(record);
      const state = itemStateOf(record, this.canBePlanned(record));
      const isKept = record.isHeld || record.awaitsApproval;
      if ((state === 'waiting' || state === 'active') && !isKept) waiting += counts.waiting;
      active += counts.active;
      if ((state === 'blocked') !== record.blocked.is) (record.blocked.is ? toUnblock : toBlock).push(record);
    }
    return { waiting, active, toBlock, toUnblock };
  }

  get #explainer(): Explainer {
    return (this.#explained ??= new Explainer(this.#planner, this.#planned.input));
  }

  get #planned(): Planned {
    return (this.#last ??= this.#plan());
  }

  #plan(): Planned {
    const input = this.#inputs.make();
    const plan = this.#planner.plan(input);
    const { clusterIds, views } = this.#deps;
    const ids = clusterIds();
    const isComplete = ids.length > 0 && ids.every((clusterId) => views.get(clusterId) !== undefined);
    return { input, plan, isComplete, positionOf: (itemId) => this.#planner.positionOf(itemId) };
  }
}

const NOWHERE = { clusterId: null, printerId: null, clusterName: null } as const;

function activePrint({ itemId, files }: ItemRecord, { clusterId, file, startedAt, assignedAt }: Attempt): ActivePrint {
  const startAt = startedAt ?? assignedAt;
  const seconds = files[file]?.facts?.seconds ?? null;
  return { itemId, clusterId, startAt, endAt: seconds === null ? null : startAt + seconds * 1000 };
}
