import type { Clock } from '../../time/clock';

/** So many clusters may be polled at once at a deploy, and one more each so often (ms); others begin in their turn. */
const AT_ONCE = 5;
const ONE_MORE = 2_000;

/** Lets a few clusters begin at once, and many spread over their interval. */
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
