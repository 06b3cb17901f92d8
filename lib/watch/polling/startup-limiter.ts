import type { Clock } from '../../time/clock';

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
