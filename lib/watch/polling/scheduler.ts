import type { Clock } from '../../time/clock';
import { guard } from '../../time/guard';
import { TimerQueue } from './timer-queue';

/** Limits of concurrent requests; the service's latency determines the number within them. */
const FEWEST = 1;
const AT_FIRST = 16;
const MOST = 64;
/** Delay of a due poll that counts as a jump, ms: the machine slept, or the service requested a pause. */
const JUMP = 5_000;
/** Polls due within this span start together, ms: single starts cost more than twice the CPU time (ADR 15). */
const BEAT = 100;

/** Source of polls. */
export interface Scheduled {
  /** Makes one poll. Resolves with the pause that the service requests, ms. Never rejects. */
  run(asked: boolean): Promise<number>;
}

interface SchedulerOptions {
  clock: Clock;
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
  /** Requested by users: these go first, and ignore a pause. */
  readonly #requested = new Set<Scheduled>();
  #limit = AT_FIRST;
  #inFlight = 0;
  #pausedUntil = -Infinity;
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
      const [requested] = this.#requested;
      const item = requested ?? (this.#mayPoll() ? this.#shift() : undefined);
      if (!item) break;
      this.#requested.delete(item);
      void this.#run(item, requested !== undefined);
    }
    this.#arm();
  }

  #shift(): Scheduled | undefined {
    const { onTurn, clock } = this.#options;
    onTurn?.(clock.monotonic() - this.#due.first);
    return this.#due.shift();
  }

  #mayPoll(): boolean {
    const now = this.#options.clock.monotonic();
    return this.#options.usable() && now >= this.#pausedUntil && this.#due.first <= now;
  }

  async #run(item: Scheduled, asked: boolean): Promise<void> {
    this.#inFlight++;
    let pause = 0;
    try {
      pause = await item.run(asked);
    } catch (thrown) {
      this.#options.fault(thrown);
    }
    this.#inFlight--;
    if (pause > 0) this.#pause(pause);
    // Raise the limit only while polls queue for it.
    else if (this.#inFlight + 1 >= this.#limit) this.#limit = Math.min(MOST, this.#limit + 1 / this.#limit);
    this.#pump();
  }

  #pause(wait: number): void {
    const now = this.#options.clock.monotonic();
    // Refusals of requests already in flight count once.
    if (now >= this.#pausedUntil) this.#limit = Math.max(FEWEST, this.#limit / 2);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + wait);
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
    return Math.max(this.#due.first, this.#pausedUntil);
  }
}
