import { asPrintingError, type PrintingError } from '../service/errors';
import { waitBefore, type Backoff } from '../time/backoff';
import type { Deadline } from '../time/deadline';

/** How often what failed in passing is tried again. */
export interface RetryPolicy extends Backoff {
  /** Tries after the first one. */
  repeats: number;
  /** No repeat begins later than this after the first try, ms. Default: the deadline alone counts. */
  within?: number;
}

/** Reads of the service, and what does no harm when it is done twice: three repeats within 30 s (reference 4, SERVICE_ERROR). */
export const READS: RetryPolicy = { repeats: 3, within: 30_000, first: 1_000, longest: 15_000, factor: 3, jitter: 0.2 };
/** Transfers of whole files (wire facts 4.2). */
export const TRANSFERS: RetryPolicy = { repeats: 4, first: 1_000, longest: 30_000, jitter: 0.2 };
/** What must not be done twice. A 429 is waited for all the same: it means that nothing was done. */
export const ONCE: RetryPolicy = { repeats: 0, first: 1_000, longest: 1_000 };

/** Waits for a 429 never get shorter than this, and grow with each in a row, whatever the service says. */
const FLOOR: Backoff = { first: 1_000, longest: 30_000 };
/** Where a 429 doesn't say how long (wire facts 1), ms. */
const UNSAID = 30_000;
/** How long a 429 may be waited for where the work has no limit of its own (reference 4, RATE_LIMITED), ms. */
const PATIENCE = 60_000;

/**
 * Whether a failure may pass by itself: the network's, a 5xx, or a broken answer. A refusal doesn't, and neither does a
 * fault of our own code, which has no outcome.
 */
export const isPassing = ({ code, outcome }: PrintingError): boolean =>
  (code === 'NETWORK' || code === 'SERVICE_ERROR') && (outcome === 'unknown' || outcome === 'not-sent');

const passesOrLimited = (error: PrintingError): boolean => error.code === 'RATE_LIMITED' || isPassing(error);

export interface RetryOptions {
  /** Which failures are worth another try. Default: `isPassing`, and a 429. */
  passes?: (error: PrintingError) => boolean;
  random?: () => number;
}

/**
 * Does `work`, and again where that may help and the deadline allows the wait. `attempt` counts from 0.
 * Throws what the last try threw; where the deadline ends a wait, its reason with the outcome `not-sent`.
 */
export async function retry<T>(
  deadline: Deadline,
  policy: RetryPolicy,
  work: (attempt: number) => Promise<T>,
  { passes = passesOrLimited, random = Math.random }: RetryOptions = {},
): Promise<T> {
  const began = deadline.clock.monotonic();
  let repeats = 0;
  let limited = 0;
  for (let attempt = 0; ; attempt++) {
    try {
      return await work(attempt);
    } catch (thrown) {
      const error = asPrintingError(thrown);
      if (!passes(error)) throw thrown;
      let wait: number;
      let within: number;
      if (error.code === 'RATE_LIMITED') {
        wait = limitedWait(error, limited++);
        within = Number.isFinite(deadline.until) ? Infinity : PATIENCE;
      } else {
        if (repeats >= policy.repeats) throw thrown;
        wait = Math.max(waitBefore(repeats++, policy, random), error.retryAfter ?? 0);
        within = policy.within ?? Infinity;
      }
      const passed = deadline.clock.monotonic() - began;
      if (passed + wait > within || !deadline.allows(wait)) throw thrown;
      await deadline.sleep(wait);
    }
  }
}

/** The wait after a 429, the `before`th in a row (0 = the first), ms. */
const limitedWait = ({ retryAfter = UNSAID }: PrintingError, before: number): number =>
  Math.max(waitBefore(before, FLOOR), retryAfter);
