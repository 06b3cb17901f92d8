import type { ClusterStatus } from '../../service/cluster';
import type { Lock } from '../../state/membership';
import { eachInTurn, Rerun, Turns } from '../../time/concurrency';
import { closed, Deadline } from '../../time/deadline';
import { printToClear } from '../model/gate-verdicts';
import { mayBeLate, overdue, withBlocked } from '../model/item-changes';
import {
  busyFollowed,
  materialsFollowed,
  observedEnds,
  oldForgotten,
  pastCorrected,
  platesFollowed,
} from '../model/queue-record';
import type { ItemRecord } from '../model/types';
import { FactsReader } from '../records/facts';
import { PLANNER } from '../records/records';
import { FORECAST_SHARE } from '../view';
import { Attempts } from './attempts';
import type { QueueContext } from './context';

/** Shortest time between two rounds without a change, ms. */
const LEAST = 100;
/** Least time between two searches for items that will be late, ms. */
const FORECAST_EVERY = 60_000;
/** Share of the time in which materials may be counted. */
const STOCKS_SHARE = 0.01;
/** Time after which the lived time is saved while attempts are open, ms. */
const SAVE_EVERY = 600_000;

/** The planner of a queue during its tenure. Each round settles what is open, plans, hands over the assignments, and arms the next round. */
export class Planning {
  readonly #queue: QueueContext;
  readonly #lock: Lock | null;
  readonly #closing = new AbortController();
  readonly #deadline: Deadline;
  readonly #attempts: Attempts;
  readonly #facts: FactsReader;
  readonly #rounds = new Rerun(() => this.#guardedRound());
  #isCurrent = false;
  #isReady = false;
  /** Whether a search for late items is under way, and when the next one is due, monotonic ms. */
  #isForecasting = false;
  #forecastDueAt = -Infinity;
  /** When the materials may be counted again, monotonic, ms. */
  #stocksDueAt = -Infinity;
  #areCounted = true;
  #disarm: () => void = () => undefined;

  /** @param lock the lease under which this runtime plans; null: none is needed */
  constructor(queue: QueueContext, lock: Lock | null) {
    this.#queue = queue;
    this.#lock = lock;
    this.#deadline = new Deadline(queue.clock, { parent: this.#closing.signal, lost: lock?.signal });
    this.#attempts = new Attempts(queue, this.#deadline, lock);
    this.#facts = new FactsReader(queue, this.#deadline);
  }

  /** Whether everything is known that the planner before this one has written. */
  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  /** Settles what earlier tenures left open, or failed; planning begins after that. Never rejects. */
  async start(): Promise<void> {
    try {
      if (!this.#isCurrent) await this.#takeOver();
      await this.#attempts.restore();
    } catch (thrown) {
      return this.#failed(thrown);
    }
    this.#isReady = true;
    this.round();
  }

  /** Reads what another runtime may have written until its lease ended. Rejects if the records can't be read or written. */
  async #takeOver(): Promise<void> {
    const { data, view } = this.#queue;
    const failure = this.#lock && (await data.load());
    if (failure) throw failure;
    view.refusals.takeOver(data.state.record.refusals);
    // The others, who may have lived longer, follow the time of this one.
    if (this.#lock) await data.state.saveTime();
    this.#isCurrent = true;
    this.#queue.changed();
  }

  /** Ends the tenure: nothing more is sent. */
  close(): void {
    this.#closing.abort(closed());
    this.#disarm();
    this.#deadline.end();
  }

  /** Call after `close`. Resolves when the outcomes of all sends are written, or can't be. */
  async settled(): Promise<void> {
    await this.#rounds.request();
    await this.#attempts.settled();
  }

  /** Follows a status. Never rejects. */
  observe(status: ClusterStatus, requestedAt: number): Promise<void> {
    return this.#attempts.observe(status, requestedAt);
  }

  /** Plans anew: after any change, and at the time that a round has found. */
  round(): void {
    void this.#rounds.request();
  }

  /** Never rejects. */
  async #guardedRound(): Promise<void> {
    if (!this.#isReady || this.#deadline.aborted) return;
    try {
      await this.#round();
    } catch (thrown) {
      // Until `start` repeats it, whatever changes meanwhile.
      this.#isReady = false;
      this.#failed(thrown);
    }
  }

  /** Rejects if anything can't be written; everything else is done nevertheless. */
  async #round(): Promise<void> {
    void this.#facts.read();
    const steps = [
      () => this.#attempts.judge(),
      () => this.#attempts.release(),
      () => this.#assign(),
      () => this.#recordPlates(),
      () => this.#recordPlan(),
      () => this.#recordMaterials(),
    ];
    // With thousands of printers, each step may make a plan.
    const turns = new Turns(this.#queue.clock);
    const inTurn = async (step: () => Promise<void>) => {
      await turns.next();
      await step();
    };
    try {
      await eachInTurn(steps, inTurn);
    } finally {
      void this.#findLate();
      await turns.next();
      this.#arm();
    }
  }

  async #assign(): Promise<void> {
    const { view, obstacle } = this.#queue;
    this.#attempts.follow();
    this.#attempts.settle();
    if (!obstacle() && (await this.#attempts.assign(view.plan.assignments))) this.round();
  }

  /** Records what the queue has seen of its plates. Rejects if it can't be written. */
  async #recordPlates(): Promise<void> {
    const { data, rules } = this.#queue;
    const own = new Set(rules.printers);
    const gates = data.gates.all.map((gate) => {
      // The printer of a part that waits for its verdict may have left the queue.
      const isConcerned = own.size === 0 || own.has(gate.clusterId) || data.isAwaited(printToClear(gate));
      return { gate, isConcerned };
    });
    const context = this.#context;
    await data.state.change((state) => platesFollowed(state, gates, rules.gate, context), PLANNER);
  }

  /** Records blocked and overdue items, ended orders, and an idle queue. Rejects if a change can't be written. */
  async #recordPlan(): Promise<void> {
    const { data, view, rules } = this.#queue;
    const context = this.#context;
    const { toBlock, toUnblock } = view.overview;
    const overdue = data.withDeadline.all.filter(({ deadline }) => (deadline ?? Infinity) < context.now);
    const state = () =>
      data.state.change((before) => {
        // Items may have come since.
        const { isBusy } = view.overview;
        const followed = isBusy === null ? before : busyFollowed(before, isBusy, context);
        const corrected = pastCorrected(followed, context.now);
        const { all, unknownOrders } = data.items;
        const isKnown = ({ orderId }: { orderId: string | null }) => orderId === null || !unknownOrders.has(orderId);
        const known = unknownOrders.size > 0 ? all.filter(isKnown) : all;
        const ended = observedEnds(corrected, known, rules.prices, context);
        const listed = oldForgotten(ended, data.items.oldBefore, data.items.all);
        return view.refusals.savedIn(listed);
      }, PLANNER);
    const changes = [
      ...[...toBlock, ...toUnblock].map((record) => () => {
        // A person may have changed it while the records before it were written.
        const isSame = () => data.items.get(record.itemId) === record;
        const change = (now: ItemRecord) => (isSame() ? withBlocked(now, !record.blocked.is, context) : now);
        return data.items.change(record.itemId, change, PLANNER);
      }),
      ...overdue.map((record) => () => this.#overdue(record)),
      // An order is told as finished once all of its items were seen.
      ...(data.unseen ? [] : [state]),
    ];
    await eachInTurn(changes, (change): Promise<unknown> => change());
    view.refusals.saved(data.state.record);
    data.items.forget(data.state.record.oldBefore);
    // What a killed process has not written is not lived.
    const unsaved = data.lived.now - (data.state.record.lived ?? 0);
    if (data.open.all.length > 0 && unsaved >= SAVE_EVERY) await data.state.saveTime();
  }

  /** Records of which materials something is missing. Rejects if it can't be written. */
  async #recordMaterials(): Promise<void> {
    const { data, view, clock } = this.#queue;
    const startedAt = clock.monotonic();
    this.#areCounted = startedAt >= this.#stocksDueAt;
    if (!this.#areCounted) return;
    const short = view.shortMaterials;
    const took = clock.monotonic() - startedAt;
    this.#stocksDueAt = startedAt + took / STOCKS_SHARE;
    const told = data.state.record.materials?.short ?? [];
    if (!short || (short.length === told.length && short.every((key) => told.includes(key)))) return;
    const entries = await view.shortages();
    await data.state.change((state) => materialsFollowed(state, entries, this.#context), PLANNER);
  }

  /** Records the items whose deadlines can't be met by the forecast, now and then, beside the rounds. Never rejects. */
  async #findLate(): Promise<void> {
    if (this.#forecastWait > 0) return;
    const { clock, view } = this.#queue;
    this.#isForecasting = true;
    const startedAt = clock.monotonic();
    try {
      await eachInTurn(await view.lateItems(), (record) => this.#overdue(record));
    } catch (thrown) {
      this.#failed(thrown);
    }
    const took = clock.monotonic() - startedAt;
    this.#forecastDueAt = clock.monotonic() + Math.max(FORECAST_EVERY, took / FORECAST_SHARE);
    this.#isForecasting = false;
  }

  /**
   * Time until the next search for late items, ms; Infinity if no item has a deadline that it may still meet, and before
   * every printer was seen: one that was not may be free.
   */
  get #forecastWait(): number {
    const { data, clock, view } = this.#queue;
    if (this.#isForecasting) return FORECAST_EVERY;
    const isWanted = data.withDeadline.all.length > 0 && view.isComplete;
    return isWanted ? Math.max(0, this.#forecastDueAt - clock.monotonic()) : Infinity;
  }

  /** Records that an item misses its deadline, unless it has another one by now. */
  async #overdue({ itemId, deadline }: ItemRecord): Promise<void> {
    const isLate = (now: ItemRecord) => mayBeLate(now) && now.deadline === deadline;
    const change = (now: ItemRecord) => (isLate(now) ? overdue(now, this.#context) : now);
    await this.#queue.data.items.change(itemId, change, PLANNER);
  }

  /** Arms the next round. */
  #arm(): void {
    const { clock, view } = this.#queue;
    this.#disarm();
    if (this.#deadline.aborted) return;
    const now = clock.now();
    // Work that is due already is under way, or awaits a change that plans again.
    const times = [view.plan.nextAt, view.pauseEndsAt, view.overdueAt, ...this.#attempts.dueTimes];
    const waits = times.filter((at) => at > now).map((at) => at - now);
    const stocksWait = this.#stocksDueAt - clock.monotonic();
    const wait = Math.min(
      ...[...waits, view.refusals.wait, this.#facts.wait, this.#forecastWait],
      // Counted in this round, they are counted again after the next change.
      stocksWait > 0 && !this.#areCounted ? stocksWait : Infinity,
    );
    if (!Number.isFinite(wait)) return;
    this.#disarm = clock.after(Math.max(LEAST, wait), () => {
      view.invalidate();
      this.round();
    });
  }

  #failed(thrown: unknown): void {
    if (!this.#deadline.aborted) this.#queue.failed(thrown);
  }

  get #context() {
    const { queueId, clock } = this.#queue;
    return { queueId, now: clock.now() };
  }
}
