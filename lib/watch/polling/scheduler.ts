import type { Clock } from '../../time/clock';
import { guard } from '../../time/guard';
import type { WatchMemory } from '../checkpoints/memory';

/** Priority queue of items by time, earliest first. An item's time can change, and items can be removed. */
export class TimerQueue<T> {
  readonly #items: T[] = [];
  readonly #times: number[] = [];
  readonly #positions = new Map<T, number>();

  get size(): number {
    return this.#items.length;
  }

  /** Earliest time; Infinity for an empty queue. */
  get first(): number {
    return this.#times[0] ?? Infinity;
  }

  set(item: T, time: number): void {
    this.#place(this.#positions.get(item) ?? this.#items.length, item, time);
  }

  remove(item: T): void {
    const at = this.#positions.get(item);
    if (at === undefined) return;
    this.#positions.delete(item);
    const [lastItem, lastTime] = [this.#items.pop() as T, this.#times.pop() as number];
    if (at < this.#items.length) this.#place(at, lastItem, lastTime);
  }

  /** Removes and returns the earliest item. */
  shift(): T | undefined {
    const [item] = this.#items;
    if (item !== undefined) this.remove(item);
    return item;
  }

  /** Moves an item from the free position `at` up or down the heap to its place. */
  #place(at: number, item: T, time: number): void {
    while (at > 0) {
      const above = (at - 1) >> 1;
      if ((this.#times[above] as number) <= time) break;
      this.#move(above, at);
      at = above;
    }
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      const below = (this.#times[right] ?? Infinity) < (this.#times[left] ?? Infinity) ? right : left;
      if (!((this.#times[below] ?? Infinity) < time)) break;
      this.#move(below, at);
      at = below;
    }
    this.#put(at, item, time);
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#items[from] as T, this.#times[from] as number);
  }

  #put(at: number, item: T, time: number): void {
    this.#items[at] = item;
    this.#times[at] = time;
    this.#positions.set(item, at);
  }
}

/** Limits of concurrent requests; the service's latency determines the number within them. */
const FEWEST = 1;
const AT_FIRST = 16;
const MOST = 64;
/** Share of the places that requested polls may occupy. */
const SHARE = 0.75;
/** Delay of a due poll that counts as a jump, ms: the machine slept, or the service requested a pause. */
const JUMP = 5_000;
/** Polls due within this span start together, ms: single starts cost more than twice the CPU time (ADR 15). */
const BEAT = 100;

/** Effect of one poll on all polls of the account. */
export interface PollEnd {
  /** Time for which the service asks for no more polls, ms. */
  readonly pauseFor: number;
}

export const NO_PAUSE: PollEnd = { pauseFor: 0 };

/** Source of polls. */
export interface Scheduled {
  /** Makes one poll. `leave` gives its place to another poll before its end. Never rejects. */
  run(asked: boolean, leave: () => void): Promise<PollEnd>;
}

interface SchedulerOptions {
  clock: Clock;
  memory: Pick<WatchMemory, 'pausedUntil'>;
  /** Whether the account is signed in, so that polls can succeed. */
  usable: () => boolean;
  /** Called after a jump: overdue polls would all start at once, and should be planned again. */
  onJump: () => void;
  fault: (thrown: unknown) => void;
  /** Called before each poll that was due, with its delay, ms. */
  onTurn?: ((lag: number) => void) | undefined;
}

/**
 * Starts the polls of an account when they are due, with one timer for all clusters and a limited number of concurrent
 * requests. After a 429 it lowers the limit and pauses for as long as the service requests.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #due = new TimerQueue<Scheduled>();
  /** Requested by users: these ignore a pause. */
  readonly #requested = new Set<Scheduled>();
  #limit = AT_FIRST;
  #inFlight = 0;
  /** Those of `#inFlight` that were requested. */
  #requestedInFlight = 0;
  /** Whether the last poll that started was requested, so that a due one precedes the next. */
  #wasRequested = false;
  #disarm: () => void = () => undefined;
  #armedFor = Infinity;
  #pumping = false;
  #closed = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Present limit of concurrent requests. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Plans the next poll of `item` for `time` (monotonic, ms), or a beat later; Infinity: none. */
  plan(item: Scheduled, time: number): void {
    if (time === Infinity) this.#due.remove(item);
    else this.#due.set(item, Math.ceil(time / BEAT) * BEAT);
    if (this.#due.first < this.#armedFor || this.#due.size === 0) this.#arm();
  }

  /** Requests a poll of `item` for a user. */
  ask(item: Scheduled): void {
    this.#requested.add(item);
    this.#pump();
  }

  remove(item: Scheduled): void {
    this.#requested.delete(item);
    this.plan(item, Infinity);
  }

  /** Call after `usable` may have changed. */
  wake(): void {
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#disarm();
  }

  #pump(): void {
    while (!this.#closed && this.#inFlight < this.#limit) {
      const requested = this.#nextRequested();
      const item = requested ?? (this.#mayPoll() ? this.#shift() : undefined);
      if (!item) break;
      this.#requested.delete(item);
      this.#wasRequested = requested !== undefined;
      void this.#run(item, this.#wasRequested);
    }
    this.#arm();
  }

  /**
   * The next requested poll; undefined if none may start now. While polls are due, every other one that starts is a due
   * one. The last quarter of the places is theirs, so that requested polls that hang don't occupy them all.
   */
  #nextRequested(): Scheduled | undefined {
    if (this.#wasRequested && this.#mayPoll()) return undefined;
    if (this.#requestedInFlight >= Math.ceil(this.#limit * SHARE)) return undefined;
    const [requested] = this.#requested;
    return requested;
  }

  #shift(): Scheduled | undefined {
    const { onTurn, clock } = this.#options;
    onTurn?.(clock.monotonic() - this.#due.first);
    return this.#due.shift();
  }

  #mayPoll(): boolean {
    const now = this.#options.clock.monotonic();
    return this.#options.usable() && now >= this.#options.memory.pausedUntil && this.#due.first <= now;
  }

  async #run(item: Scheduled, asked: boolean): Promise<void> {
    this.#inFlight++;
    if (asked) this.#requestedInFlight++;
    let hasLeft = false;
    const end = () => {
      if (hasLeft) return;
      hasLeft = true;
      this.#inFlight--;
      if (asked) this.#requestedInFlight--;
    };
    const leave = () => {
      end();
      this.#pump();
    };
    let pauseFor = 0;
    try {
      ({ pauseFor } = await item.run(asked, leave));
    } catch (thrown) {
      this.#options.fault(thrown);
    }
    end();
    if (pauseFor > 0) this.pause(pauseFor);
    // Raise the limit only while polls queue for it.
    else if (this.#inFlight + 1 >= this.#limit) this.#limit = Math.min(MOST, this.#limit + 1 / this.#limit);
    this.#pump();
  }

  /** Lowers the limit, and starts no due poll for `wait`, ms. No effect for 0. */
  pause(wait: number): void {
    if (wait <= 0) return;
    const { clock, memory } = this.#options;
    const now = clock.monotonic();
    // Refusals of requests already in flight count once.
    if (now >= memory.pausedUntil) this.#limit = Math.max(FEWEST, this.#limit / 2);
    memory.pausedUntil = Math.max(memory.pausedUntil, now + wait);
  }

  /** Pumps after the current task, so that polls planned together start together. */
  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    const pump = () => {
      this.#pumping = false;
      this.#pump();
    };
    queueMicrotask(guard(pump, this.#options.fault));
  }

  #arm(): void {
    const time = this.#nextPump();
    // Keep an armed timer: this runs at the start and the end of every poll.
    if (time === this.#armedFor) return;
    this.#disarm();
    this.#armedFor = Infinity;
    if (time === Infinity) return;
    const { clock, onJump } = this.#options;
    const wait = Math.ceil(time - clock.monotonic());
    if (wait <= 0) return this.#pumpSoon();
    this.#armedFor = time;
    this.#disarm = clock.after(wait, () => {
      this.#armedFor = Infinity;
      if (clock.monotonic() - this.#due.first > JUMP) onJump();
      this.#pump();
    });
  }

  #nextPump(): number {
    if (this.#closed || !this.#options.usable() || this.#inFlight >= this.#limit) return Infinity;
    return Math.max(this.#due.first, this.#options.memory.pausedUntil);
  }
}

/** Number of first polls that may start at once after a deploy, and time until one more may, ms. */
const AT_ONCE = 5;
const ONE_MORE = 2_000;

/** Lets a few clusters start at once. All others start at their turn, spread over the interval. */
export class StartupLimiter {
  #left = AT_ONCE;
  #countedAt: number;

  constructor(private readonly clock: Clock) {
    this.#countedAt = clock.monotonic();
  }

  admit(): boolean {
    const now = this.clock.monotonic();
    const more = Math.floor((now - this.#countedAt) / ONE_MORE);
    this.#left = Math.min(AT_ONCE, this.#left + more);
    this.#countedAt += more * ONE_MORE;
    if (this.#left === 0) return false;
    this.#left--;
    return true;
  }
}

/** Timing shared by the pollers of one account: their phases and last polls, the scheduler and the startup limit. */
export class PollPlan {
  readonly #memory: WatchMemory;
  readonly #limiter: StartupLimiter;

  constructor(
    readonly scheduler: Scheduler,
    memory: WatchMemory,
    clock: Clock,
    readonly random: () => number,
  ) {
    this.#memory = memory;
    this.#limiter = new StartupLimiter(clock);
  }

  /** Position of a cluster's turn within its interval, 0 to 1. */
  phaseOf(clusterId: string): number {
    return this.#memory.phaseOf(clusterId);
  }

  /** Start of a cluster's last poll, monotonic ms; -Infinity before the first one. */
  lastPollOf(clusterId: string): number {
    return this.#memory.polledAt.get(clusterId) ?? -Infinity;
  }

  setLastPoll(clusterId: string, time: number): void {
    this.#memory.polledAt.set(clusterId, time);
  }

  /** Whether a first poll may start at once: a few may, many are spread. */
  admit(): boolean {
    return this.#limiter.admit();
  }
}
