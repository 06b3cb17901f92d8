import { systemClock, type Clock } from '../time/clock';
import { nextTurn } from '../time/next-turn';
import { SimulatedQueue } from './simulated-queue';
import { Planner } from './plan';
import type { ForecastInput, QueueForecast } from './forecast-types';

export type { ActivePrint, ForecastInput, ItemForecast, QueueForecast } from './forecast-types';

/** Time for which a forecast may occupy the event loop at a stretch, ms. */
const STRETCH = 4;

/**
 * Runs the plan forward in simulated time; its first step is the plan of now. It ends after 3,000 plans: the first 1,000
 * are made at the very moments at which printers become free; of the later ones each also gives away the printers that
 * become free within the next hundredth of the time from now, at their own moments. Materials do not run out in it, and
 * printers that wait for a person, other than for a cleared plate, stay unavailable.
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
