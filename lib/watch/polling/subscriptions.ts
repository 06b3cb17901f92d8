import { asPrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import { copyInTurns, copyOfJson, nextTurn } from '../../time/concurrency';
import { guard } from '../../time/guard';
import type { PollPlan } from './scheduler';
import type { EventSubscriber, PollReports, PollResult, Subscriber } from './types';
import { firstSpan, isCloseBefore, isTurn, turnAfter, turnAfterFirst, turnAgain, turnFrom } from './timing';

/** Interval without an active subscriber, ms. */
const USUAL_INTERVAL = 60_000;

interface Entry {
  subscriber: Subscriber;
  /** Next turn, monotonic ms; Infinity while another runtime polls the cluster. */
  turn: number;
  /** Whether it has had no turn yet. */
  first: boolean;
  /** Result of a poll shortly before the turn, kept for the turn because no time is left for another poll. */
  kept: PollResult | null;
}

/** One poll, as its results are distributed. */
export interface Poll {
  /** Monotonic, ms. */
  start: number;
  /** Whether a user requested it; otherwise it was due. */
  asked: boolean;
  /** Whether this runtime may deliver it. */
  isOurs: boolean;
}

type Answer = (result: PollResult) => void;

/** Subscribers of one cluster: the turn of each one, and the distribution of results. */
export class Subscriptions {
  #entries: Entry[] = [];

  constructor(
    private readonly clusterId: string,
    private readonly plan: PollPlan,
    private readonly reports: Pick<PollReports, 'fault'>,
  ) {}

  get all(): Subscriber[] {
    return this.#entries.map(({ subscriber }) => subscriber);
  }

  /** Subscribers that receive events. */
  get forEvents(): EventSubscriber[] {
    const all = this.all;
    return all
      .filter((one): one is EventSubscriber => one.events !== null)
      .filter(({ events: { beside } }) => beside === undefined || !all.some((other) => other === beside));
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  some(condition: (subscriber: Subscriber) => boolean): boolean {
    return this.#entries.some(({ subscriber }) => condition(subscriber));
  }

  /** Shortest interval of an active subscriber, ms. */
  get interval(): number {
    const active = this.#active;
    return active.length > 0 ? Math.min(...active.map(({ subscriber }) => subscriber.interval)) : USUAL_INTERVAL;
  }

  /** Earliest turn that needs a poll, monotonic ms; null without an active subscriber. */
  get nextTurn(): number | null {
    const active = this.#active;
    return active.length > 0 ? Math.min(...active.map((entry) => (entry.kept ? Infinity : entry.turn))) : null;
  }

  /** Earliest turn of a kept result, monotonic ms. */
  get nextKept(): number {
    return Math.min(Infinity, ...this.#entries.filter(({ kept }) => kept !== null).map(({ turn }) => turn));
  }

  /** Adds a subscriber to a cluster that another runtime polls. */
  addWaiting(subscriber: Subscriber, known: boolean): void {
    this.#entries.push({ subscriber, turn: Infinity, first: !known, kept: null });
  }

  /** Adds a subscriber. `known`, `by`: as in `Poller.add`. */
  add(subscriber: Subscriber, now: number, { known, by }: { known: boolean; by: number }): void {
    const { interval } = subscriber;
    const last = this.plan.lastPollOf(this.clusterId);
    const next = known ? turnAgain(last, now, interval, this.phase) : null;
    const turn = next ?? this.#firstTurn(now, firstSpan(now, by, interval));
    // Counts as polled one interval before, so that a deploy in between does not delay the first poll.
    if (last === -Infinity) this.plan.setLastPoll(this.clusterId, turn - interval);
    this.#entries.push({ subscriber, turn, first: !known, kept: null });
  }

  /** Returns false where the subscriber is unknown. */
  remove(subscriber: Subscriber): boolean {
    const before = this.#entries.length;
    this.#entries = this.#entries.filter((entry) => entry.subscriber !== subscriber);
    return this.#entries.length < before;
  }

  /** Replans all turns after this runtime gained the cluster; `polledAt`, `soon`: as in `startRegularPolls`. */
  restart(now: number, polledAt: number | null, soon: number | null): void {
    for (const entry of this.#entries) {
      const { interval } = entry.subscriber;
      const again = polledAt === null ? null : turnAgain(polledAt, now, interval, this.phase);
      const first = () =>
        soon === null ? this.#firstTurn(now, interval) : turnFrom(now, Math.min(soon, interval / 2), this.phase);
      setTurn(entry, again ?? first());
      entry.first = polledAt === null;
    }
    const before = Math.min(now, ...this.#entries.map(({ turn, subscriber }) => turn - subscriber.interval));
    this.plan.setLastPoll(this.clusterId, polledAt ?? before);
  }

  /** Cancels all turns after this runtime lost the cluster. */
  stop(): void {
    for (const entry of this.#entries) setTurn(entry, Infinity);
  }

  /** Plans the turn of a resumed subscriber; `isPolled`: a poll is requested or in flight. */
  resume(subscriber: Subscriber, now: number, isPolled: boolean): void {
    const { interval } = subscriber;
    for (const entry of this.#entries)
      if (entry.subscriber === subscriber)
        setTurn(entry, isPolled ? turnAfter(now, interval, this.phase) : this.#firstTurn(now, interval));
  }

  /** Plans overdue turns again, or all of them, after a sign-in. */
  wake(now: number, all: boolean): void {
    for (const entry of this.#entries)
      if (all || entry.turn <= now) setTurn(entry, this.#firstTurn(now, entry.subscriber.interval));
  }

  /** Spreads overdue turns by phase. */
  spread(now: number): void {
    for (const entry of this.#entries)
      if (entry.turn < now) setTurn(entry, turnFrom(now, entry.subscriber.interval, this.phase));
  }

  /** Whether a poll counts as the turn of any subscriber. */
  isDue(start: number, asked: boolean): boolean {
    return this.#entries.some((entry) => isDue(entry, start, asked));
  }

  /**
   * Makes the copies that `distribute` will need, in turns of the event loop: a result may be large, and have many receivers.
   */
  async copies(
    result: PollResult,
    poll: Poll,
    requests: number,
    clock: Pick<Clock, 'monotonic'>,
  ): Promise<PollResult[]> {
    const { due, early } = this.#receivers(poll);
    const copies: PollResult[] = [];
    try {
      while (copies.length < due.length + early.length + requests - 1) {
        await nextTurn();
        const status = structuredClone(result.status);
        copies.push({ ...result, status, raw: await copyInTurns(result.raw, clock) });
      }
    } catch {
      // `distribute` reports an answer that can't be copied.
    }
    return copies;
  }

  /**
   * Distributes a result. Each receiver at its turn gets its own copy, since flows may change it. `copies`: those made so far;
   * a receiver may have come since.
   */
  distribute(result: PollResult, poll: Poll, requests: readonly Answer[], copies: PollResult[]): void {
    const { start } = poll;
    const { due, early } = this.#receivers(poll);
    let others = due.length + early.length + requests.length - 1;
    const own = () => (others-- > 0 ? (copies.pop() ?? copyResult(result)) : result);
    for (const entry of this.#entries) {
      const { subscriber, first } = entry;
      if (early.includes(entry)) entry.kept = own();
      if (!due.includes(entry)) {
        this.#call(() => subscriber.onPoll(result, false));
        continue;
      }
      setTurn(entry, (first ? turnAfterFirst : turnAfter)(start, subscriber.interval, this.phase));
      entry.first = false;
      const mine = own();
      this.#call(() => subscriber.onPoll(mine, true));
    }
    for (const answer of requests) answer(own());
  }

  #receivers({ start, asked, isOurs }: Poll): { due: Entry[]; early: Entry[] } {
    return {
      due: isOurs ? this.#entries.filter((entry) => isDue(entry, start, asked)) : [],
      early: isOurs && asked ? this.#entries.filter((entry) => isEarly(entry, start)) : [],
    };
  }

  /** Shows a result that another runtime has read. */
  show(result: PollResult): void {
    for (const subscriber of this.all) this.#call(() => subscriber.onPoll(result, false));
  }

  /** Delivers kept results that are due. Returns false if no result was due. */
  deliverKept(now: number): boolean {
    const turns = this.#entries.filter(({ kept, turn }) => kept !== null && turn <= now);
    for (const entry of turns) {
      const { subscriber, kept, turn } = entry;
      setTurn(entry, turnAfter(turn, subscriber.interval, this.phase));
      entry.first = false;
      if (kept && !subscriber.paused) this.#call(() => subscriber.onTurn?.(kept));
    }
    return turns.length > 0;
  }

  /** Reports that this runtime gained or lost the cluster. */
  notifyAssigned(isOurs: boolean): void {
    for (const { subscriber } of this.#entries) subscriber.assigned?.(this.clusterId, isOurs);
  }

  get phase(): number {
    return this.plan.phaseOf(this.clusterId);
  }

  get #active(): Entry[] {
    return this.#entries.filter(({ subscriber }) => !subscriber.paused);
  }

  #firstTurn(now: number, interval: number): number {
    return this.plan.admit() ? now : turnFrom(now, interval, this.phase);
  }

  /** Isolates a subscriber's failure from the poll and from other subscribers. */
  #call(delivery: () => void): void {
    guard(delivery, (error) => this.reports.fault(this.clusterId, error))();
  }
}

/** Whether a poll counts as the subscriber's turn. */
const isDue = ({ subscriber, turn }: Entry, start: number, asked: boolean): boolean =>
  !subscriber.paused &&
  (isTurn(start, turn, subscriber.interval) ||
    (!(asked && subscriber.keepsTurn) && isCloseBefore(start, turn, subscriber.interval)));

/** Whether to keep the result of a requested poll for a turn that comes soon. */
const isEarly = ({ subscriber, turn }: Entry, start: number): boolean =>
  !subscriber.paused &&
  subscriber.keepsTurn === true &&
  !isTurn(start, turn, subscriber.interval) &&
  isCloseBefore(start, turn, subscriber.interval);

const setTurn = (entry: Entry, turn: number): void => {
  entry.turn = turn;
  entry.kept = null;
};

/** Copies a result; an answer that can't be copied becomes a failure. */
function copyResult(result: PollResult): PollResult {
  try {
    return { ...result, status: structuredClone(result.status), raw: copyOfJson(result.raw) };
  } catch (thrown) {
    return { ...result, status: null, raw: null, error: asPrintingError(thrown) };
  }
}
