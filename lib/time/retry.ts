import { PrintingError } from '../service/errors';
import type { Clock } from './clock';
import type { Deadline } from './deadline';

/** Growing waits between attempts. */
export interface Backoff {
  /** First wait, ms. */
  first: number;
  /** Upper limit of every wait, ms. */
  longest: number;
  /** Growth factor from one wait to the next. Default 2. */
  factor?: number;
  /**
   * Largest random addition as a share of a wait (0.2 = up to a fifth), so that many clients don't retry at once.
   * Default 0.
   */
  jitter?: number;
}

/** Wait before repeat number `attempt` (0 = the first), ms. */
export function waitBefore(attempt: number, backoff: Backoff, random: () => number = Math.random): number {
  const plain = Math.min(backoff.longest, backoff.first * (backoff.factor ?? 2) ** attempt);
  return plain * (1 + (backoff.jitter ?? 0) * random());
}

/** Polling of work in progress starts at 0.5 s and slows down to 5 s (reference 7). */
export const WORK_IN_PROGRESS: Backoff = { first: 500, longest: 5_000, factor: 1.5 };

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

/** Longest time, ms, for which the service may not find what it has named: its parts learn of something new one by one. */
const UNFOUND = 10_000;

/**
 * As `pollUntil`, for something that the service has just made: a single answer that it is not there is no proof. Throws
 * NOT_FOUND once it was not found for ten seconds.
 */
export function pollMade<T>(deadline: Deadline, backoff: Backoff, poll: RepeatedWork<T>): Promise<T> {
  let unfoundSince: number | null = null;
  const find = async (attempt: number) => {
    const result = await poll(attempt);
    unfoundSince = null;
    return result;
  };
  const waitAfter = (thrown: unknown) => {
    if (!(thrown instanceof PrintingError) || thrown.code !== 'NOT_FOUND') return null;
    const now = deadline.clock.monotonic();
    unfoundSince ??= now;
    return now - unfoundSince < UNFOUND ? undefined : null;
  };
  return retryUntil(deadline, backoff, find, { waitAfter });
}

/** Wait that an error demands, ms. */
const demandOf = (error: unknown): number => (error instanceof PrintingError ? (error.retryAfter ?? 0) : 0);

/** Timer of background work that failed: the next attempt comes after a wait that grows with the failures in a row. */
export class RetryTimer {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  #failures = 0;
  #disarm: (() => void) | undefined;

  constructor(clock: Clock, backoff: Backoff) {
    this.#clock = clock;
    this.#backoff = backoff;
  }

  /** Whether an attempt is planned. */
  get isArmed(): boolean {
    return this.#disarm !== undefined;
  }

  /** Plans the next attempt after a failure, unless one is planned already. `attempt` reports its own errors. */
  plan(attempt: () => void): void {
    this.#disarm ??= this.#clock.after(waitBefore(this.#failures++, this.#backoff), () => {
      this.#disarm = undefined;
      attempt();
    });
  }

  /** Starts the waits from the first one again. */
  succeeded(): void {
    this.#failures = 0;
  }

  stop(): void {
    this.#disarm?.();
    this.#disarm = undefined;
  }
}
