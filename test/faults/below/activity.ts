import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Turns of the event loop without anything happening below, after which everything has been worked off. */
const CALM = 6;

/** A turn of the event loop, and the time that the CPU worked for it. */
export interface Turn {
  cause: string;
  /** ms. */
  cpu: number;
}

/**
 * What goes on below the pack, so that time goes on only when nothing does.
 *
 * It also measures how long the event loop stands. The simulator works in the same thread, so each piece of data, step of
 * work on a file and timer gets a turn of the loop to itself: whatever runs in it, promises included, is the work of the
 * side that the piece arrived at. Only the turns of the pack count. The measure is CPU time of the main thread, to which
 * other processes add nothing.
 */
export class Activity {
  /** The longest turn of the pack. */
  longest: Turn = { cause: '', cpu: 0 };
  readonly #turns: { cause: string | null; action: () => void }[] = [];
  #busy = 0;
  #count = 0;

  /** Something is under way until the returned function is called. */
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

  /** Does `action` in a turn of its own, after those before it. Null as the cause: the turn is not the pack's. */
  turn(cause: string | null, action: () => void): void {
    this.#turns.push({ cause, action });
    if (this.#turns.length === 1) this.#nextTurn();
  }

  /** Does `action` now; its turn ends with the next immediate. */
  measure(cause: string, action: () => void): void {
    const began = cpuTime();
    setImmediate(() => this.#measured(cause, began));
    action();
  }

  #nextTurn(): void {
    const end = this.begin();
    setImmediate(() => {
      const { cause, action } = this.#turns[0] as { cause: string | null; action: () => void };
      const began = cause === null ? 0 : cpuTime();
      setImmediate(() => {
        if (cause !== null) this.#measured(cause, began);
        this.#turns.shift();
        if (this.#turns.length > 0) this.#nextTurn();
      });
      end();
      action();
    });
  }

  #measured(cause: string, began: number): void {
    const cpu = cpuTime() - began;
    if (cpu > this.longest.cpu) this.longest = { cause, cpu };
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

/** Files that are no part of the state, such as the one to be printed, are read for real. */
const realFiles = (): boolean =>
  process.getActiveResourcesInfo().some((name) => /^(FS|Close)Req|^Zlib|^(Write|Shutdown)Wrap/.test(name));

const MAIN_THREAD = `/proc/self/task/${process.pid}/schedstat`;

/** ms that the CPU worked for the main thread; where the system does not say so, for the process. */
const cpuTime = ((): (() => number) => {
  const ofProcess = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
  const ofThread = () => Number.parseInt(readFileSync(MAIN_THREAD, 'latin1'), 10) / 1e6;
  try {
    return ofThread() > 0 ? ofThread : ofProcess;
  } catch {
    return ofProcess;
  }
})();
