import { guard } from './guard';

/** The only source of time. All code that waits or dates something receives a Clock, so that tests can advance it. */
export interface Clock {
  /** Wall time, milliseconds since 1970. For dates that users or the service see. */
  now(): number;
  /** Milliseconds that only increase, whatever happens to the wall clock. For lifetimes and rates. */
  monotonic(): number;
  /** Runs `action` once after `ms`; the returned function cancels it. An error of `action` is contained. */
  after(ms: number, action: () => void): () => void;
}

/** Longest wait, ms: a longer one overflows Node's timer and would fire at once. */
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

/** Whether a time is between 1970 and 9999, where ISO 8601 has four-digit years; false for NaN. */
export const isTime = (ms: number): boolean => ms >= 0 && ms < 253_402_300_800_000;
