import type { Clock } from '../../time/clock';
import { guard } from '../../time/guard';
import { TimerQueue } from './timer-queue';

/** Requests under way: as many as the latency of the service needs, within these. */
const FEWEST = 1;
const AT_FIRST = 16;
const MOST = 64;
/** Polls that could not begin for so long, ms: the machine slept, or the service wanted a pause. */
const JUMP = 5_000;
/** What falls due within so long begins together, ms: each by itself costs the processor more than twice as much (ADR 8). */
const BEAT = 100;

/** What has polls to make. */
export interface Scheduled {
  /** Makes one poll. Resolves with the ms for which the service wants no more requests; never rejects. */
  run(asked: boolean): Promise<number>;
}

interface SchedulerOptions {
  clock: Clock;
  /** Whether polls have a chance (the account is signed in). */
  usable: () => boolean;
  /** Time was lost: all that is overdue would come at once, and should be planned anew. */
  onJump: () => void;
  fault: (thrown: unknown) => void;
}

/**
 * Starts the polls of an account when they are due: one timer for however many clusters, and not too many requests at a
 * time. When the service says that they are too many, it gets fewer, and none for as long as it asks.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #due = new TimerQueue<Scheduled>();
  /** Those that users wait for go first, and don't wait for a pause. */
  readonly #asked = new Set<Scheduled>();
  #limit = AT_FIRST;
  #underWay = 0;
  #pausedUntil = -Infinity;
  #disarm: () => void = () => undefined;
  #armedFor = Infinity;
  #pumping = false;
  #closed = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** Most requests at a time, at present. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** The next poll of `item` is due at `time` (monotonic, ms), or a beat later; Infinity: none is. */
  plan(item: Scheduled, time: number): void {
    if (time === Infinity) this.#due.remove(item);
    else this.#due.set(item, Math.ceil(time / BEAT) * BEAT);
    if (this.#due.first < this.#armedFor || this.#due.size === 0) this.#arm();
  }

  /** A user waits for a poll of `item`. */
  ask(item: Scheduled): void {
    this.#asked.add(item);
    this.#pump();
  }

  remove(item: Scheduled): void {
    this.#asked.delete(item);
    this.plan(item, Infinity);
  }

  /** Whether polls have a chance may have changed. */
  wake(): void {
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#disarm();
  }

  #pump(): void {
    while (!this.#closed && this.#underWay < this.#limit) {
      const [asked] = this.#asked;
      const item = asked ?? (this.#mayPoll() ? this.#due.shift() : undefined);
      if (!item) break;
      this.#asked.delete(item);
      void this.#run(item, asked !== undefined);
    }
    this.#arm();
  }

  #mayPoll(): boolean {
    const now = this.#options.clock.monotonic();
    return this.#options.usable() && now >= this.#pausedUntil && this.#due.first <= now;
  }

  async #run(item: Scheduled, asked: boolean): Promise<void> {
    this.#underWay++;
    let pause = 0;
    try {
      pause = await item.run(asked);
    } catch (thrown) {
      this.#options.fault(thrown);
    }
    this.#underWay--;
    if (pause > 0) this.#pause(pause);
    // Only as many as are needed: while some wait for others to end, there may be more.
    else if (this.#underWay + 1 >= this.#limit) this.#limit = Math.min(MOST, this.#limit + 1 / this.#limit);
    this.#pump();
  }

  #pause(wait: number): void {
    const now = this.#options.clock.monotonic();
    // Those that were under way when the first was refused are refused as well: that is one word, not many.
    if (now >= this.#pausedUntil) this.#limit = Math.max(FEWEST, this.#limit / 2);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + wait);
  }

  /** After whatever else is planned in one go. */
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
    // What is armed already stays: this comes with the begin and the end of every poll.
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
    if (this.#closed || !this.#options.usable() || this.#underWay >= this.#limit) return Infinity;
    return Math.max(this.#due.first, this.#pausedUntil);
  }
}
