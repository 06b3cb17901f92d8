import { PrintingError } from '../service/errors';
import { waitBefore, type Backoff } from './backoff';
import type { Deadline } from './deadline';

/** Result of work that has to be repeated, though it didn't fail. */
export const AGAIN = Symbol('again');

/** Work to repeat. `attempt` counts from 0. */
export type RepeatedWork<T> = (attempt: number) => T | typeof AGAIN | Promise<T | typeof AGAIN>;

export interface RepeatOptions {
  /**
   * Wait after a failure, ms; null: no repeat can help. Default: the wait of the backoff, or the longer one that the
   * error demands (`retryAfter`), also for undefined.
   */
  waitAfter?: (error: unknown, attempt: number) => number | null | undefined;
  random?: () => number;
}

/**
 * Repeats `work` with growing waits until it returns a result other than AGAIN. Begins the first attempt at once.
 * Rethrows an error that no repeat can help, or whose wait exceeds the deadline. If the deadline ends a wait, throws its
 * reason with the outcome `not-sent`.
 */
export async function retryUntil<T>(
  deadline: Deadline,
  backoff: Backoff,
  work: RepeatedWork<T>,
  { waitAfter, random = Math.random }: RepeatOptions = {},
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    let wait: number;
    try {
      const result = await work(attempt);
      if (result !== AGAIN) return result;
      wait = waitBefore(attempt, backoff, random);
    } catch (error) {
      const wanted = waitAfter?.(error, attempt);
      wait = wanted ?? Math.max(waitBefore(attempt, backoff, random), demandOf(error));
      if (wanted === null || !deadline.allows(wait)) throw error;
    }
    await deadline.sleep(wait);
  }
}

/** Repeats `poll` with growing waits until it returns a result other than AGAIN. Rethrows its first error. */
export const pollUntil = <T>(deadline: Deadline, backoff: Backoff, poll: RepeatedWork<T>): Promise<T> =>
  retryUntil(deadline, backoff, poll, { waitAfter: () => null });

/** Wait that an error demands, ms. */
const demandOf = (error: unknown): number => (error instanceof PrintingError ? (error.retryAfter ?? 0) : 0);
