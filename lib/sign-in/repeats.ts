import type { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import { IncompleteAnswer } from './token-endpoint';

/** Time in which the refresh token is not used: the service may still process a request with it. */
export interface Rest {
  ms: number;
  /** Whether callers that need a token wait for the end of the rest. If not, they get the error at once. */
  callersWait: boolean;
}

/** Rest after a lost answer, ms: as long as its request was under way, within these limits. */
const REST = { shortest: 2_000, longest: 45_000 };

/**
 * The rest if another runtime began a refresh and released none of its locks (ADR 14). That runtime may have a new pair
 * that it hasn't written yet, even after the time for which it secured its lock.
 */
export const INHERITED_REST: Rest = { ms: 120_000, callersWait: false };

/** Waits after the first failures without a rest, ms. The last one repeats. */
const WAITS = [1_000, 3_000, 5_000, 15_000];
/** Wait once the renewal has lasted for `after`, ms. */
const LONG_OUTAGE = { after: 10 * 60_000, wait: 45_000 };
/** Largest share by which a wait is shortened at random, so that many accounts don't ask at once. */
const JITTER = 0.1;

/** Number of failures without a rest that callers wait through. */
const PATIENT_FAILURES = 2;
/** Longest Retry-After that callers wait through, ms. */
const PATIENCE = 5_000;

/** Statuses by which a proxy reports that it gave up, while the service may continue with the request. */
const GIVEN_UP = [408, 502, 503, 504];

/**
 * When a refresh that did not end well is repeated (ADR 28). The schedule depends on what became of the request:
 *
 * | result                                                              | the next try                                    |
 * | ------------------------------------------------------------------- | ----------------------------------------------- |
 * | lost: a reset, the limit, 408, 502, 503, 504, an unreadable success | after a rest, doubled at each further loss      |
 * | nothing sent: a refused connection, DNS, TLS, the lock, the disk    | after 1 s, 3 s, 5 s, then every 15 s, and every |
 * | any other answer: the service has finished                          | 45 s after ten minutes                          |
 *
 * A Retry-After delays each of them.
 */
export class Repeats {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #begunAt: number;
  #lost = 0;
  #others = 0;

  constructor(clock: Clock, random: () => number = Math.random) {
    this.#clock = clock;
    this.#random = random;
    this.#begunAt = clock.monotonic();
  }

  /** The wait before the first try, if `error` asked an earlier instance for a pause. */
  first(error: PrintingError): { wait: number; callersWait: boolean } {
    const wait = demandOf(error);
    return { wait, callersWait: wait <= PATIENCE };
  }

  /** The rest after `error`, whose request was written `took` ms ago; undefined if none is needed. */
  restAfter(error: PrintingError, took: number): Rest | undefined {
    if (!isLost(error)) return undefined;
    const ms = Math.min(REST.longest, Math.max(REST.shortest, took) * 2 ** this.#lost);
    return { ms, callersWait: this.#lost === 0 && demandOf(error) <= PATIENCE };
  }

  /**
   * Records a failure. Returns the wait before the next try, ms.
   * @param rested how long the token has rested since the failure, ms
   */
  next(error: PrintingError, rested: number): { wait: number; callersWait: boolean } {
    const demanded = demandOf(error);
    if (isLost(error)) {
      this.#lost++;
      return { wait: Math.max(0, demanded - rested), callersWait: true };
    }
    const isLong = this.#clock.monotonic() - this.#begunAt >= LONG_OUTAGE.after;
    const plain = isLong ? LONG_OUTAGE.wait : (WAITS[this.#others] ?? WAITS.at(-1) ?? 0);
    this.#others++;
    const callersWait = this.#lost + this.#others <= PATIENT_FAILURES && demanded <= PATIENCE;
    return { wait: Math.max(plain * (1 - JITTER * this.#random()), demanded), callersWait };
  }
}

/** Whether the answer was lost: the service may have carried the request out, or may do so later. */
const isLost = (error: PrintingError): boolean => {
  const { outcome, statusCode } = error;
  if (error instanceof IncompleteAnswer) return false;
  if (statusCode === undefined) return outcome === 'unknown';
  return statusCode < 300 || GIVEN_UP.includes(statusCode);
};

/** The wait that the service asks for, ms. */
const demandOf = (error: PrintingError): number => error.retryAfter ?? 0;
