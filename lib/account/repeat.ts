import { asPrintingError } from '../service/errors';
import { waitBefore } from '../time/backoff';
import { sleep, type Clock } from '../time/clock';

/** As reads of the service: three repeats, within 30 s (reference 4, SERVICE_ERROR). */
const REPEATS = { first: 1_000, longest: 15_000, factor: 3, jitter: 0.2 };
const MOST_REPEATS = 3;
const REPEATS_WITHIN = 30_000;

/** Does again what a fault of the network or the service ended, where doing it twice harms nobody. `until` is monotonic, ms. */
export async function repeated<T>(
  clock: Clock,
  { signal, until }: { signal: AbortSignal; until: number },
  work: () => Promise<T>,
): Promise<T> {
  const last = Math.min(until, clock.monotonic() + REPEATS_WITHIN);
  for (let repeats = 0; ; repeats++) {
    try {
      return await work();
    } catch (thrown) {
      const error = asPrintingError(thrown);
      const passes = error.code === 'NETWORK' || (error.code === 'SERVICE_ERROR' && error.outcome === 'unknown');
      const wait = waitBefore(repeats, REPEATS);
      if (!passes || repeats === MOST_REPEATS || clock.monotonic() + wait > last) throw error;
      await sleep(clock, wait, signal);
    }
  }
}
