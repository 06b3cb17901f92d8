import { advance, openQuestions } from '../../events/advance';
import { eventsFor } from '../../events/milestones';
import type { EventDraft } from '../../events/print-event';
import type { Checkpoint, Ended } from '../../events/checkpoint';
import type { JobAnswer } from '../../events/job-ends';
import type { Observation } from '../../events/observation';
import type { ClusterStatus } from '../../service/cluster-status';
import { asPrintingError, withIds } from '../../service/errors';
import { UNLOSABLE_LOCK } from '../../state/locks';
import { LockLostError, type Lock } from '../../state/store';
import { guard } from '../../time/guard';
import type { AccountContext, Subscriber } from './account-context';
import type { ClusterMemory } from '../checkpoints/cluster-memory';
import { joinTurns, Predictions } from './predictions';
import { VanishedJobResolver } from './vanished-job-resolver';
import { readStatus } from './read-status';
import type { Scheduled } from './scheduler';
import { isSecured, isStillOwned } from '../checkpoints/ownership';
import {
  firstSpan,
  isCloseBefore,
  isTurn,
  retryPoll,
  SHORTEST,
  turnAfter,
  turnAfterFirst,
  turnAgain,
  turnFrom,
} from './poll-timing';
import type { PollResult } from '../watch-types';
import type { ScopeMemory } from '../checkpoints/watch-memory';

/** Where nobody says how often, ms. */
const USUAL_INTERVAL = 60_000;
/** Whoever waits for what another runtime polls, polls after so many intervals in which nothing was heard of it. */
const SILENCE = 3;
/** A 429 that doesn't say how long, ms. */
const SLOW_DOWN = 30_000;

interface Entry {
  subscriber: Subscriber;
  /** When it is this subscriber's turn, monotonic ms; Infinity while another runtime polls the cluster. */
  turn: number;
  /** It was not served yet. */
  first: boolean;
  /** The result of a poll shortly before its turn, kept for the turn: no time is left for another poll. */
  early: PollResult | null;
}

interface Poll {
  /** Monotonic, ms. */
  start: number;
  /** A user waited for it; else it was its turn. */
  asked: boolean;
  /** Whether it is this runtime's to hand over. */
  isOurs: boolean;
}

/** The polls of one cluster: when the next is due, what it brings, and whom it serves. */
export class Poller implements Scheduled {
  #entries: Entry[] = [];
  #askers: ((result: PollResult) => void)[] = [];
  #endings: (() => void)[] = [];
  #running = false;
  #failures = 0;
  #retryAt = 0;
  /** When the last known figures were read, monotonic ms. */
  #readAt = -Infinity;
  #predictions: Predictions | null = null;
  #questions: VanishedJobResolver | null = null;
  /** Where observations led that no subscriber heard of: for followers, who look at more than events. */
  #unheard: Checkpoint | null = null;
  /** When other runtimes were heard of last, or nothing was to be heard of them before, monotonic ms. */
  #heardAt = -Infinity;
  /** What is known under the present scope. */
  #memory: ClusterMemory | null = null;

  constructor(
    readonly clusterId: string,
    private readonly account: AccountContext,
  ) {}

  get subscribers(): Subscriber[] {
    return this.#entries.map(({ subscriber }) => subscriber);
  }

  /** Those that events are delivered to. */
  get hearers(): Subscriber[] {
    const all = this.subscribers;
    return all.filter(({ hears, beside }) => hears && (beside === undefined || !all.some((other) => other === beside)));
  }

  /** Whether the last poll failed. */
  get failing(): boolean {
    return this.#failures > 0;
  }

  /** Whether this runtime polls the cluster: where it does not, it only answers who asks. */
  get isOurs(): boolean {
    return this.account.tenure.isOurs(this.clusterId);
  }

  /** Whether somebody watches this cluster by itself. */
  get isWatched(): boolean {
    return this.#entries.some(({ subscriber }) => subscriber.wants === 'cluster' && !subscriber.paused);
  }

  /** Whether it is polled by itself, and not only where a message asks. */
  get isPolled(): boolean {
    return (this.isOurs || this.isWaitedFor) && this.#entries.some(({ subscriber }) => !subscriber.paused);
  }

  /** Whether somebody here waits for what polls bring, whoever makes them. */
  get isWaitedFor(): boolean {
    return this.#entries.some(({ subscriber }) => subscriber.wants === 'wait');
  }

  get #phase(): number {
    return this.account.memory.phaseOf(this.clusterId);
  }

  get #last(): number {
    return this.account.memory.polledAt.get(this.clusterId) ?? -Infinity;
  }

  /** `known`: it watched before, and goes on in its turn. `by`: when it wants its first poll at the latest, where it can. */
  add(subscriber: Subscriber, { known = false, by = Infinity } = {}): void {
    const { interval } = subscriber;
    const { clock, memory } = this.account;
    const now = clock.monotonic();
    // Dealt in the order of the list, also to who need not wait for it.
    const phase = this.#phase;
    this.account.tenure.changed();
    if (!this.isOurs) {
      if (!this.isWaitedFor) this.#heardAt = now;
      this.#entries.push({ subscriber, turn: Infinity, first: !known, early: null });
      return this.replan();
    }
    const next = known ? turnAgain(this.#last, now, interval, phase) : null;
    const turn = next ?? this.#firstTurn(now, firstSpan(now, by, interval));
    // Counts as polled an interval before: a deploy until then does not put off its first poll.
    if (this.#last === -Infinity) memory.polledAt.set(this.clusterId, turn - interval);
    this.#entries.push({ subscriber, turn, first: !known, early: null });
    this.replan();
  }

  remove(subscriber: Subscriber): void {
    const before = this.#entries.length;
    this.#entries = this.#entries.filter((entry) => entry.subscriber !== subscriber);
    if (this.#entries.length === before) return;
    if (subscriber.hears && this.#memory?.hasCheckpoint && !this.#entries.some((entry) => entry.subscriber.hears)) {
      this.#memory.late = true;
      this.#memory.deafSince = this.account.clock.monotonic();
    }
    this.account.tenure.changed();
    this.replan();
    this.#rest();
  }

  /** A subscriber is paused. */
  pause(): void {
    this.account.tenure.changed();
    this.replan();
  }

  /**
   * The polls are this runtime's from now on. `polledAt`: when the last began, as far as is known (monotonic, ms); null: there
   * is no word of any. `soon`: over how long those are spread that may be overdue, ms; null: there was none yet.
   */
  begin(polledAt: number | null, soon: number | null): void {
    const { clock, memory } = this.account;
    const now = clock.monotonic();
    const phase = this.#phase;
    this.#forget();
    for (const entry of this.#entries) {
      const { interval } = entry.subscriber;
      const again = polledAt === null ? null : turnAgain(polledAt, now, interval, phase);
      const first = () =>
        soon === null ? this.#firstTurn(now, interval) : turnFrom(now, Math.min(soon, interval / 2), phase);
      setTurn(entry, again ?? first());
      entry.first = polledAt === null;
    }
    const before = Math.min(now, ...this.#entries.map(({ turn, subscriber }) => turn - subscriber.interval));
    memory.polledAt.set(this.clusterId, polledAt ?? before);
    this.#assigned(true);
  }

  /** The polls are another runtime's. */
  end(): void {
    this.#forget();
    this.#memory = null;
    this.#heardAt = this.account.clock.monotonic();
    for (const entry of this.#entries) setTurn(entry, Infinity);
    this.#assigned(false);
  }

  /** Serves those who wait with what a poll of another runtime has brought. */
  async hear(checkpoint: Checkpoint | null, status: ClusterStatus): Promise<void> {
    const { account, clusterId } = this;
    const memory = (await account.scoped()).of(clusterId);
    if (this.isOurs || account.signal.aborted) return;
    this.#memory = memory;
    this.#unheard = checkpoint;
    memory.show(status);
    this.#heardAt = this.#readAt = account.clock.monotonic();
    account.observed(clusterId, status);
    const result = { clusterId, status, raw: null, error: null };
    for (const subscriber of this.subscribers) this.#hand(() => subscriber.serve(result, false));
    this.replan();
  }

  /** Resolves when no poll is under way. */
  over(): Promise<void> {
    return this.#running ? new Promise((resolve) => this.#endings.push(resolve)) : Promise.resolve();
  }

  /** Polls now, or joins the poll under way. Never rejects. */
  ask(): Promise<PollResult> {
    return new Promise((resolve) => {
      this.#askers.push(resolve);
      if (!this.#running) this.account.scheduler.ask(this);
    });
  }

  /** The same in the place of another poll that is under way. */
  askNow(): Promise<PollResult> {
    return new Promise((resolve) => {
      this.#askers.push(resolve);
      if (!this.#running) void this.run(true);
    });
  }

  /** A subscriber is paused no more: it is its turn, unless it asked for a poll anyway. */
  resume(subscriber: Subscriber, asking: boolean): void {
    this.account.tenure.changed();
    if (!this.isOurs) return;
    const now = this.account.clock.monotonic();
    const polled = asking || this.#running || this.#askers.length > 0;
    for (const entry of this.#entries)
      if (entry.subscriber === subscriber)
        setTurn(
          entry,
          polled ? turnAfter(now, subscriber.interval, this.#phase) : this.#firstTurn(now, subscriber.interval),
        );
    this.#retryAt = 0;
    this.replan();
  }

  /** Polls have a chance again. */
  wake(): void {
    const now = this.account.clock.monotonic();
    const failed = this.#failures > 0;
    this.#failures = 0;
    if (!this.isOurs) return;
    for (const entry of this.#entries)
      if (failed || entry.turn <= now) setTurn(entry, this.#firstTurn(now, entry.subscriber.interval));
    this.replan();
  }

  /** Time was lost: what is overdue has its turn when it would have had it anyway. */
  spread(): void {
    const now = this.account.clock.monotonic();
    for (const entry of this.#entries)
      if (entry.turn < now) setTurn(entry, turnFrom(now, entry.subscriber.interval, this.#phase));
    if (this.#retryAt < now) this.#retryAt = turnFrom(now, this.#interval, this.#phase);
    this.replan();
  }

  /** Says when the next poll is due. */
  replan(): void {
    const { scheduler, signal } = this.account;
    if (this.#running || signal.aborted) return;
    scheduler.plan(this, this.#due());
  }

  /** How a job ended, where that is known. */
  endOf(jobId: string): Ended | null {
    const ended = (this.#unheard ?? this.#memory?.checkpoint)?.ended.find(({ id }) => id === jobId);
    if (!ended || ended.job) return ended ?? null;
    const { history = [], jobs = [] } = this.#lastStatus() ?? {};
    const job = [...history, ...jobs].find(({ clusterJobId }) => clusterJobId === jobId);
    return { ...ended, job: job ?? null };
  }

  /** Whether a job was seen and not known to have ended. */
  isOpen(jobId: string): boolean {
    return (this.#unheard ?? this.#memory?.checkpoint)?.jobs.some(({ id }) => id === jobId) ?? false;
  }

  /** The last known figures; as stale where the last poll failed, or they are older than `maxAge`, ms. */
  lastKnown(maxAge = Infinity): PollResult {
    const status = this.#lastStatus();
    const isStale = this.failing || this.account.clock.monotonic() - this.#readAt > maxAge;
    return {
      clusterId: this.clusterId,
      status: status && isStale ? { ...status, stale: true } : status,
      raw: null,
      error: null,
    };
  }

  /** The same as stale, from the store where nothing was read since. Never rejects. */
  async recall(): Promise<PollResult> {
    if (!this.#lastStatus()) await this.#load();
    return this.lastKnown(-1);
  }

  /** Reads the checkpoint. False: it can't be read now, and no events can be made. */
  async load(): Promise<boolean> {
    // What was known before may be old.
    if (!this.isOurs && !this.isWaitedFor) {
      this.#unheard = null;
      if (this.#memory) this.#memory.loaded = false;
    }
    return (await this.#load()) !== null;
  }

  /** Makes one poll. Never rejects. */
  async run(asked: boolean): Promise<number> {
    const { account, clusterId } = this;
    if (this.#running) return 0;
    account.scheduler.remove(this);
    const start = account.clock.monotonic();
    if (this.#passEarly(start) && !asked && this.#nextPoll() > start) {
      this.replan();
      return 0;
    }
    const regular = this.#entries.some((entry) => isDue(entry, start, asked));
    if (!asked && !regular) this.#predictions?.spend(start);
    const last = this.#last;
    account.memory.polledAt.set(clusterId, start);
    this.#running = true;
    const lock = this.isOurs ? account.tenure.lockOf(clusterId) : null;
    /** Whether it is this runtime's to hand over. */
    let isOurs: boolean;
    /** Null: nothing was asked, as the poll is another runtime's by now. */
    let result: PollResult | null;
    try {
      [result, isOurs] = await this.#poll(lock);
      if (!account.signal.aborted) account.polled(clusterId, null, start);
      this.#failures = 0;
    } catch (thrown) {
      isOurs = isStillOwned(account.tenure, clusterId, lock);
      result = thrown instanceof LockLostError && !isOurs ? null : this.#failed(thrown, start, last);
    }
    this.#running = false;
    if (result) this.#serve(result, { start, asked, isOurs });
    else if (this.#askers.length > 0) account.scheduler.ask(this);
    for (const resolve of this.#endings.splice(0)) resolve();
    this.replan();
    this.#rest();
    return result?.error?.code === 'RATE_LIMITED' ? (result.error.retryAfter ?? SLOW_DOWN) : 0;
  }

  #failed(thrown: unknown, start: number, last: number): PollResult {
    const { account, clusterId } = this;
    const error = withIds(asPrintingError(thrown), { clusterId });
    if (!account.signal.aborted) account.polled(clusterId, error, start);
    this.#failures++;
    // Without a sign-in nothing was asked.
    if (error.code === 'NOT_SIGNED_IN') account.memory.polledAt.set(clusterId, last);
    const { retryAfter } = error;
    const failed = { interval: this.#interval, failures: this.#failures, retryAfter };
    this.#retryAt = start + retryPoll(failed, account.random);
    return { ...this.lastKnown(), error };
  }

  /** The check for the moment in which a request of a poll leaves, which may have waited for a token or to be repeated. */
  #leaving(lock: Lock | null): Pick<Lock, 'secure'> {
    const { tenure, memory, clock } = this.account;
    const check = () => {
      const isGone = lock !== null && !isStillOwned(tenure, this.clusterId, lock);
      if (isGone && this.#askers.length === 0 && !this.isWaitedFor) throw new LockLostError();
      memory.polledAt.set(this.clusterId, clock.monotonic());
    };
    return { secure: () => Promise.resolve(check) };
  }

  #due(): number {
    const early = this.#entries.filter((entry) => entry.early !== null).map(({ turn }) => turn);
    return Math.min(this.#nextPoll(), ...early);
  }

  #nextPoll(): number {
    const active = this.#entries.filter(({ subscriber }) => !subscriber.paused);
    if (active.length === 0 || (!this.isOurs && !this.isWaitedFor)) return Infinity;
    const last = this.#last;
    if (this.failing) return Math.max(this.#retryAt, last + SHORTEST);
    if (!this.isOurs) return Math.max(this.#heardAt + SILENCE * this.#interval, last + this.#interval);
    const turn = Math.min(...active.map((entry) => (entry.early ? Infinity : entry.turn)));
    const extra = this.#predictions?.next(last) ?? Infinity;
    return Math.max(last + SHORTEST, joinTurns(turn, extra, last, this.#interval));
  }

  get #interval(): number {
    const active = this.#entries.filter(({ subscriber }) => !subscriber.paused);
    return active.length > 0 ? Math.min(...active.map(({ subscriber }) => subscriber.interval)) : USUAL_INTERVAL;
  }

  #firstTurn(now: number, interval: number): number {
    return this.account.admit() ? now : turnFrom(now, interval, this.#phase);
  }

  /** Hands the result over: to each its own, for it goes on to flows. */
  #serve(result: PollResult, { start, asked, isOurs }: Poll): void {
    if (this.account.signal.aborted) {
      for (const answer of this.#askers.splice(0)) answer(result);
      return;
    }
    const due = isOurs ? this.#entries.filter((entry) => isDue(entry, start, asked)) : [];
    const early = isOurs && asked ? this.#entries.filter((entry) => isEarly(entry, start)) : [];
    const askers = this.#askers.splice(0);
    let copies = due.length + early.length + askers.length - 1;
    const own = () => (copies-- > 0 ? copyOf(result) : result);
    for (const entry of this.#entries) {
      const { subscriber, first } = entry;
      if (early.includes(entry)) entry.early = own();
      if (!due.includes(entry)) {
        this.#hand(() => subscriber.serve(result, false));
        continue;
      }
      setTurn(entry, (first ? turnAfterFirst : turnAfter)(start, subscriber.interval, this.#phase));
      entry.first = false;
      const mine = own();
      this.#hand(() => subscriber.serve(mine, true));
    }
    for (const answer of askers) answer(own());
  }

  /** Delivers kept results whose turn has come. False: none was due. */
  #passEarly(now: number): boolean {
    const turns = this.#entries.filter(({ early, turn }) => early !== null && turn <= now);
    for (const entry of turns) {
      const { subscriber, early, turn } = entry;
      setTurn(entry, turnAfter(turn, subscriber.interval, this.#phase));
      entry.first = false;
      if (early && !subscriber.paused) this.#hand(() => subscriber.pass?.(early));
    }
    return turns.length > 0;
  }

  /** Nothing that a subscriber does ends a poll, or keeps it from the others. */
  #hand(delivery: () => void): void {
    guard(delivery, (error) => this.account.fault(this.clusterId, error))();
  }

  async #poll(lock: Lock | null): Promise<[result: PollResult, isOurs: boolean]> {
    const { account, clusterId } = this;
    const scope = await account.scoped();
    const memory = await this.#load(scope);
    account.signal.throwIfAborted();
    const isOurs = () => isStillOwned(account.tenure, clusterId, lock);
    if (memory?.movedTo) return [await account.moved(clusterId, memory.movedTo), isOurs()];
    const answer = await readStatus(account, clusterId, { known: () => this.#lastStatus(), lock: this.#leaving(lock) });
    account.signal.throwIfAborted();
    if ('reboundTo' in answer) {
      const { reboundTo } = answer;
      if (!isOurs()) return [await account.elsewhere(reboundTo.clusterId), false];
      return [await account.rebound(clusterId, reboundTo), isOurs()];
    }

    const { seen, raw } = answer;
    const { status } = seen;
    let taken = isOurs();
    if (memory && (taken || this.isWaitedFor)) taken = await this.#take(seen, memory, scope, taken ? lock : null);
    else scope.of(clusterId).show(status);
    if (raw !== null) {
      this.#readAt = account.clock.monotonic();
      (this.#predictions ??= new Predictions()).note(status.jobs, account.clock.monotonic());
      account.observed(clusterId, status);
      if (taken && account.tenure.isAwaited(clusterId))
        account.told(clusterId, this.#unheard ?? memory?.checkpoint ?? null, status);
    }
    return [{ clusterId, status, raw, error: null }, taken];
  }

  /**
   * Events, and then the checkpoint: it stands for what was handed over. False: that is not for this runtime to do, and the
   * poll is made again where it should have been.
   */
  async #take(seen: Observation, memory: ClusterMemory, scope: ScopeMemory, lock: Lock | null): Promise<boolean> {
    const { account, clusterId } = this;
    // What another runtime tells nobody hears from this one.
    const hearing = () => (lock === null ? [] : this.hearers);
    const milestones = hearing().map((subscriber) => subscriber.milestones);
    if (milestones.length > 0 && memory.pass(seen, milestones)) {
      this.#unheard = this.#questions = null;
      return true;
    }
    const lastOf = () => (hearing().length > 0 ? memory.checkpoint : (this.#unheard ?? memory.checkpoint));
    let before = lastOf();
    const open = openQuestions(before, seen);
    let answers = new Map<string, JobAnswer>();
    if (open.length > 0 || this.#questions) {
      answers = await (this.#questions ??= new VanishedJobResolver()).ask(account, clusterId, open);
      account.signal.throwIfAborted();
      before = lastOf();
    }
    const { checkpoint, drafts } = advance(before, seen, { answers, late: memory.late && before !== null });
    if (lock !== UNLOSABLE_LOCK && isNews(drafts, hearing())) {
      if (!(await isSecured(account.tenure, clusterId, lock))) return false;
      account.signal.throwIfAborted();
    }
    const hearers = hearing();
    if (hearers.length === 0) {
      this.#unheard = checkpoint;
      memory.show(seen.status);
      return lock !== null;
    }
    const delivered = hearers.map((subscriber) => subscriber.deliver(drafts)).some((some) => some);
    this.#unheard = null;
    memory.late = false;
    memory.take(checkpoint, seen);
    // Few writes: much of this runs on SD cards. What was delivered must be written, or a restart would deliver it again.
    if (delivered) memory.delivered++;
    if (delivered || !before || !hasSameJobs(before, checkpoint)) account.checkpoints.write(scope, clusterId, memory);
    else memory.dirty = true;
    return true;
  }

  async #load(scope?: ScopeMemory): Promise<ClusterMemory | null> {
    const { account, clusterId } = this;
    try {
      const under = scope ?? (await account.scoped());
      const memory = under.of(clusterId);
      if (this.#memory !== memory) {
        this.#memory = memory;
        this.#unheard = null;
      }
      if (!memory.loaded) await account.checkpoints.load(under, clusterId, memory);
      return memory;
    } catch (thrown) {
      account.fault(clusterId, thrown);
      return null;
    }
  }

  #lastStatus(): ClusterStatus | null {
    return this.#memory?.status ?? null;
  }

  /** What the polls of another runtime, or of one that was cut off, have made old. */
  #forget(): void {
    this.#unheard = this.#questions = this.#predictions = null;
    this.#failures = this.#retryAt = 0;
    this.account.handedOver(this.clusterId);
  }

  #assigned(isOurs: boolean): void {
    for (const { subscriber } of this.#entries) subscriber.assigned?.(this.clusterId, isOurs);
    this.replan();
  }

  #rest(): void {
    if (this.#entries.length === 0 && !this.#running && this.#askers.length === 0) this.account.idle(this.clusterId);
  }
}

/** Whether a poll serves a subscriber in full. */
const isDue = ({ subscriber, turn }: Entry, start: number, asked: boolean): boolean =>
  !subscriber.paused &&
  (isTurn(start, turn, subscriber.interval) ||
    (!(asked && subscriber.keepsTurn) && isCloseBefore(start, turn, subscriber.interval)));

/** Whether the result of a poll asked for elsewhere serves a turn that comes soon. */
const isEarly = ({ subscriber, turn }: Entry, start: number): boolean =>
  !subscriber.paused &&
  subscriber.keepsTurn === true &&
  !isTurn(start, turn, subscriber.interval) &&
  isCloseBefore(start, turn, subscriber.interval);

const setTurn = (entry: Entry, turn: number): void => {
  entry.turn = turn;
  entry.early = null;
};

/** Whether somebody is to hear any of it. */
const isNews = (drafts: readonly EventDraft[], hearers: readonly Subscriber[]): boolean =>
  drafts.length > 0 && hearers.some(({ milestones }) => eventsFor(drafts, milestones).length > 0);

/** An answer that can't be copied is none. */
function copyOf(result: PollResult): PollResult {
  try {
    return { ...result, status: structuredClone(result.status), raw: structuredClone(result.raw) };
  } catch (thrown) {
    return { ...result, status: null, raw: null, error: asPrintingError(thrown) };
  }
}

const hasSameJobs = (one: Checkpoint, other: Checkpoint): boolean =>
  hasSameIds(one.jobs, other.jobs) && hasSameIds(one.ended.slice(-10), other.ended.slice(-10));

const hasSameIds = (some: readonly { id: string }[], others: readonly { id: string }[]): boolean =>
  some.length === others.length && some.every(({ id }, at) => id === others[at]?.id);
