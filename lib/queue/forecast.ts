import { systemClock, type Clock } from '../time/clock';
import { nextTurn } from '../time/concurrency';
import { SimulatedQueue } from './simulated-queue';
import { Planner } from './plan';
import type { ForecastInput, QueueForecast } from './forecast-types';

export type { ActivePrint, ForecastInput, ItemForecast, QueueForecast } from './forecast-types';

/** Time for which a forecast may occupy the event loop at a stretch, ms. */
const STRETCH = 4;

/**
 * Runs the plan forward in simulated time. The first step is the present plan; the forecast ends after 3,000 plans. Each of
 * the first 1,000 assigns the printers that become free at one moment. Each later one also assigns the printers that
 * become free within the next hundredth of the time from now, at their own moments. Materials never run out, and a
 * printer that waits for a person stays unavailable, unless it waits for its plate to be cleared.
 */
export async function forecast(
  input: ForecastInput,
  { clock = systemClock, planner = new Planner() }: { clock?: Clock; planner?: Planner } = {},
): Promise<QueueForecast> {
  const queue = new SimulatedQueue(input, planner);
  let since = clock.monotonic();
  while (queue.step()) {
    if (clock.monotonic() - since < STRETCH) continue;
    await nextTurn();
    since = clock.monotonic();
  }
  return queue.result();
}
