import { guard } from './guard';

/**
 * The one source of time. Everything that waits or dates something is handed a Clock, so that tests turn it by hand.
 */
export interface Clock {
  /** Wall time, milliseconds since 1970. For dates that people or the service see. */
  now(): number;
  /** Milliseconds that only ever grow, whatever is done to the wall clock. For lifetimes and rates. */
  monotonic(): number;
  /** Runs `action` once after `ms`; the returned function calls it off. A throw ends with the action. */
  after(ms: number, action: () => void): () => void;
}

/** Longer waits overflow Node's timer and would fire at once. */
const LONGEST = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, action) => {
    const timer = setTimeout(guard(action), Math.min(Math.max(0, ms), LONGEST));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`; rejects with the signal's reason as soon as `signal` aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const abort = () => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** ISO 8601 UTC with milliseconds, as in every message (reference 3). */
export const isoTime = (ms: number): string => new Date(ms).toISOString();
