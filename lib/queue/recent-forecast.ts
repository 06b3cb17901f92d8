import type { Clock } from '../time/clock';
import type { QueueForecast } from './forecast';

/** Age up to which a forecast still gives the `eta` of items, ms. */
const KEPT = 60_000;
/** Least time between two forecasts for the `eta` of items, ms, and the share of the time that they may occupy. */
const SHORTEST_AGE = 1_000;
const SHARE = 0.05;
/** Most items for which a forecast is made without being asked for. */
const ITEMS = 1_000;

interface RecentForecastDeps {
  clock: Clock;
  /** Number of items of a forecast. */
  items: () => number;
  run: () => Promise<QueueForecast>;
}

/** The last forecast of a queue, from which its items have their `eta`. */
export class RecentForecast {
  readonly #deps: RecentForecastDeps;
  #last: QueueForecast | null = null;
  /** Monotonic, ms. */
  #madeAt = -Infinity;
  #took = 0;
  #isCurrent = false;

  constructor(deps: RecentForecastDeps) {
    this.#deps = deps;
  }

  /** Call after anything has changed. */
  invalidate(): void {
    this.#isCurrent = false;
  }

  async make(): Promise<QueueForecast> {
    const { clock, run } = this.#deps;
    const startedAt = clock.monotonic();
    this.#isCurrent = true;
    this.#last = await run();
    this.#madeAt = clock.monotonic();
    this.#took = this.#madeAt - startedAt;
    return this.#last;
  }

  /** Makes a forecast if anything has changed since the last one, unless that costs too much. */
  async renew(): Promise<void> {
    const { clock, items } = this.#deps;
    const age = clock.monotonic() - this.#madeAt;
    if (this.#isCurrent || items() > ITEMS || age < Math.max(SHORTEST_AGE, this.#took / SHARE)) return;
    await this.make();
  }

  /** When an item begins and ends, ms since 1970; null: unknown. */
  etaOf(itemId: string): { startAt: number; endAt: number } | null {
    if (this.#deps.clock.monotonic() - this.#madeAt > KEPT) return null;
    const { startAt = null, endAt = null } = this.#last?.items.get(itemId) ?? {};
    return startAt === null || endAt === null ? null : { startAt, endAt };
  }
}
