import { setImmediate as nextTurn } from 'node:timers/promises';
import { nominal } from '../../helpers/nominal-time';
import { threadTime } from '../../helpers/thread-time';

/** Idle turns of the event loop after which all work is done. */
const CALM = 6;

/** A turn that takes less time is not converted, ms: it is short at any speed of the machine. */
const SHORT = 30;

/** Longest age of a reading of the CPU time that is used again, ms: a reading takes as long as many turns. */
const FRESH = 5;

/** Turn of the event loop and its CPU time. */
export interface Turn {
  cause: string;
  /** CPU time, nominal ms. */
  cpu: number;
}

interface Moment {
  /** Monotonic time, ms. */
  at: number;
  /** CPU time of the main thread so far, ms. */
  cpu: number;
}

/**
 * Tracks the activity below the pack: injected time advances only when there is none.
 *
 * Also measures how long the event loop is blocked. The simulator runs in the same thread, so each piece of data, file
 * operation and timer gets a turn of its own. All work of that turn, including promises, belongs to the side that
 * received the piece. Only the turns of the pack count. The measure is CPU time of the main thread in nominal ms: waits
 * for a processor don't count, and a slowdown by other processes is divided out.
 */
export class Activity {
  /** The longest turn of the pack. */
  longest: Turn = { cause: '', cpu: 0 };
  readonly #turns: { cause: string | null; action: () => void }[] = [];
  #busy = 0;
  #count = 0;
  /** CPU time that the measurement itself has used, ms. */
  #overhead = 0;
  /** The last reading of the CPU time, and when it was made. */
  #reading: Moment = { at: -Infinity, cpu: 0 };

  /** Marks work as in flight until the returned function is called. */
  begin(): () => void {
    this.#busy++;
    this.#count++;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#busy--;
      this.#count++;
    };
  }

  touch(): void {
    this.#count++;
  }

  /** Runs `action` in a turn of its own, in order. A null cause marks a turn that is not the pack's. */
  turn(cause: string | null, action: () => void): void {
    this.#turns.push({ cause, action });
    if (this.#turns.length === 1) this.#nextTurn();
  }

  /** Runs `action` now; its turn ends with the next immediate. */
  measure(cause: string, action: () => void): void {
    const began = this.#now();
    setImmediate(() => this.#measured(cause, began));
    action();
  }

  #nextTurn(): void {
    const end = this.begin();
    setImmediate(() => {
      const { cause, action } = this.#turns[0] as { cause: string | null; action: () => void };
      const began = cause === null ? null : this.#now();
      setImmediate(() => {
        if (cause !== null && began) this.#measured(cause, began);
        this.#turns.shift();
        if (this.#turns.length > 0) this.#nextTurn();
      });
      end();
      action();
    });
  }

  #measured(cause: string, began: Moment): void {
    const passed = performance.now() - began.at;
    const spent = passed < SHORT ? passed : this.#cpuTime() - began.cpu;
    const cpu = spent < SHORT ? spent : this.#nominal(spent);
    if (cpu > this.longest.cpu) this.longest = { cause, cpu };
  }

  /** The present moment. Its CPU time may be too small by what the last few milliseconds used. */
  #now(): Moment {
    const at = performance.now();
    if (at - this.#reading.at > FRESH) this.#reading = { at, cpu: this.#cpuTime() };
    return { at, cpu: this.#reading.cpu };
  }

  #nominal(spent: number): number {
    const before = threadTime();
    const result = nominal(spent);
    this.#overhead += threadTime() - before;
    return result;
  }

  #cpuTime(): number {
    return threadTime() - this.#overhead;
  }

  async quiet(): Promise<void> {
    let seen = -1;
    for (let calm = 0; calm < CALM; calm++) {
      await nextTurn();
      if (this.#busy === 0 && this.#count === seen && (calm < CALM - 1 || !realFiles())) continue;
      seen = this.#count;
      calm = -1;
    }
  }
}

/** Whether real file operations are in flight: files outside the state, such as the one to print, are really read. */
const realFiles = (): boolean =>
  process.getActiveResourcesInfo().some((name) => /^(FS|Close)Req|^Zlib|^(Write|Shutdown)Wrap/.test(name));
