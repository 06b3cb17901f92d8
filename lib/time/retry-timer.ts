import { waitBefore, type Backoff } from './backoff';
import type { Clock } from './clock';

/** Timer of background work that failed: the next attempt comes after a wait that grows with the failures in a row. */
export class RetryTimer {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  #failures = 0;
  #disarm: (() => void) | undefined;

  constructor(clock: Clock, backoff: Backoff) {
    this.#clock = clock;
    this.#backoff = backoff;
  }

  /** Whether an attempt is planned. */
  get isArmed(): boolean {
    return this.#disarm !== undefined;
  }

  /** Plans the next attempt after a failure, unless one is planned already. `attempt` reports its own errors. */
  plan(attempt: () => void): void {
    this.#disarm ??= this.#clock.after(waitBefore(this.#failures++, this.#backoff), () => {
      this.#disarm = undefined;
      attempt();
    });
  }

  /** Starts the waits from the first one again. */
  succeeded(): void {
    this.#failures = 0;
  }

  stop(): void {
    this.#disarm?.();
    this.#disarm = undefined;
  }
}
