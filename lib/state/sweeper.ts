import type { Clock } from '../time/clock';
import { phrase, type Sentence } from '../words/sentence';

interface UpkeepOptions {
  clock: Clock;
  /** Removes what is outdated. */
  sweep: () => Promise<void>;
  /** The last user has left. */
  ended: () => Promise<void>;
  warn: (sentence: Sentence) => void;
}

/** By then a machine without a clock of its own has been told the time. */
const FIRST = 60 * 60 * 1000;
const EVERY = 24 * 60 * 60 * 1000;

/** Sweeps the state while somebody uses it: an hour after the first came, then every day. */
export class Sweeper {
  readonly #options: UpkeepOptions;
  #users = 0;
  #disarm: (() => void) | undefined;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** The returned function says that its caller has left; it resolves when nothing is left to do for that. */
  use(): () => Promise<void> {
    if (this.#users++ === 0) this.#arm(FIRST);
    let here = true;
    return async () => {
      if (!here) return;
      here = false;
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
