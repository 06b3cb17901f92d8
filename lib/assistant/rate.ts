import type { Clock } from '../time/clock';

/** Calls within any `WINDOW`, ms. */
const MOST = 60;
const WINDOW = 60_000;

/** Limits the calls of tools. A call that is refused does not count. */
export class CallRate {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #calls: number[] = [];

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Counts a call and returns 0, or returns the seconds after which one is taken again. */
  take(): number {
    const now = this.#clock.monotonic();
    this.#calls = this.#calls.filter((at) => now - at < WINDOW);
    const [oldest] = this.#calls;
    if (oldest !== undefined && this.#calls.length >= MOST)
      return Math.max(1, Math.ceil((oldest + WINDOW - now) / 1000));
    this.#calls.push(now);
    return 0;
  }
}
