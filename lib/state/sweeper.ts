import type { Clock } from '../time/clock';
import { phrase, type Sentence } from '../words/sentence';

interface SweeperOptions {
  clock: Clock;
  /** Removes expired state. */
  sweep: () => Promise<void>;
  /** Called when the last user has left. */
  ended: () => Promise<void>;
  warn: (sentence: Sentence) => void;
}

/** Delay of the first sweep, ms: by then, a machine without a battery-backed clock has set its time. */
const FIRST = 60 * 60 * 1000;
const EVERY = 24 * 60 * 60 * 1000;

/** Sweeps the state while it has users: an hour after the first one begins, then daily. */
export class Sweeper {
  readonly #options: SweeperOptions;
  #users = 0;
  #disarm: (() => void) | undefined;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /** Registers a user. The returned function unregisters it, and resolves when the cleanup is done. */
  use(): () => Promise<void> {
    if (this.#users++ === 0) this.#arm(FIRST);
    let isActive = true;
    return async () => {
      if (!isActive) return;
      isActive = false;
      if (--this.#users > 0) return;
      this.#disarm?.();
      await this.#options.ended();
    };
  }

  #arm(wait: number): void {
    const { clock, sweep, warn } = this.#options;
    this.#disarm = clock.after(wait, () => {
      this.#arm(EVERY);
      sweep().catch(() => warn(phrase`The saved state could not be tidied.`));
    });
  }
}
