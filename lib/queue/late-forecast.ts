import type { Clock } from '../time/clock';

/** Least time between two forecasts, ms, and the share of the time that they may occupy. */
const CHECK_EVERY = 60_000;
const SHARE = 0.05;

interface LateForecastDeps {
  clock: Clock;
  /** Whether an item has a deadline that it may still meet. */
  isNeeded: () => boolean;
  /** Items that the forecast expects to end after their deadlines. */
  lateItems: () => Promise<readonly string[]>;
  /** Records that an item will be late. */
  found: (itemId: string) => Promise<void>;
  failed: (thrown: unknown) => void;
}

/** Finds the items whose deadlines can't be met by the forecast, now and then, beside the rounds of the planner. */
export class LateForecast {
  readonly #deps: LateForecastDeps;
  #isRunning = false;
  /** Monotonic, ms. */
  #dueAt = -Infinity;

  constructor(deps: LateForecastDeps) {
    this.#deps = deps;
  }

  /** Time until the next forecast, ms; Infinity if none is needed. */
  get wait(): number {
    const { clock, isNeeded } = this.#deps;
    if (this.#isRunning) return CHECK_EVERY;
    return isNeeded() ? Math.max(0, this.#dueAt - clock.monotonic()) : Infinity;
  }

  /** Never rejects. */
  async look(): Promise<void> {
    if (this.wait > 0) return;
    const { clock, lateItems, found, failed } = this.#deps;
    this.#isRunning = true;
    const startedAt = clock.monotonic();
    try {
      for (const itemId of await lateItems()) await found(itemId);
    } catch (thrown) {
      failed(thrown);
    }
    const took = clock.monotonic() - startedAt;
    this.#dueAt = clock.monotonic() + Math.max(CHECK_EVERY, took / SHARE);
    this.#isRunning = false;
  }
}
