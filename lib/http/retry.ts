import { asPrintingError, PrintingError, type RequestOutcome, withOutcome } from '../service/errors';
import type { Deadline } from '../time/deadline';
import { type Backoff, retryUntil, waitBefore } from '../time/retry';
import { phrase, type Sentence } from '../words/sentence';

/** Number and timing of the retries after transient failures. */
export interface RetryPolicy extends Backoff {
  /** Attempts after the first one. */
  repeats: number;
  /** Latest begin of a repeat after the first attempt, ms. Default: only the deadline limits repeats. */
  within?: number;
}

/** Policy for reads and other idempotent calls: three repeats within 30 s (reference 4, SERVICE_ERROR). */
export const READS: RetryPolicy = { repeats: 3, within: 30_000, first: 1_000, longest: 15_000, factor: 3, jitter: 0.2 };
/** Policy for transfers of whole files (wire facts 4.2). */
export const TRANSFERS: RetryPolicy = { repeats: 4, first: 1_000, longest: 30_000, jitter: 0.2 };
/** Policy for calls that must not run twice. A 429 is still retried, because it means that nothing was done. */
export const ONCE: RetryPolicy = { repeats: 0, first: 1_000, longest: 1_000 };

/** Minimum wait after a 429, whatever the service says. It grows with each 429 in a row. */
const FLOOR: Backoff = { first: 1_000, longest: 30_000 };
/** Pause after a 429 without a time (wire facts 1), ms. */
const DEFAULT_PAUSE = 30_000;
/** Longest wait after a 429 for work without its own limit (reference 4, RATE_LIMITED), ms. */
const PATIENCE = 60_000;

/**
 * Whether a failure is transient: a network failure, a 5xx, or a broken answer. A refusal isn't, nor is a fault of our
 * own code, which has no outcome.
 */
export const isTransient = ({ code, outcome }: PrintingError): boolean =>
  (code === 'NETWORK' || code === 'SERVICE_ERROR') && (outcome === 'unknown' || outcome === 'not-sent');

const passesOrLimited = (error: PrintingError): boolean => error.code === 'RATE_LIMITED' || isTransient(error);

interface RetryOptions {
  /** Failures worth another attempt. Default: `isTransient`, and a 429. */
  passes?: (error: PrintingError) => boolean;
  random?: () => number;
}

/**
 * Runs `work`, and repeats it if that may help and the deadline allows the wait. `attempt` counts from 0. Throws the
 * error of the last attempt. If the deadline ends a wait, throws its reason with the outcome `not-sent`.
 */
export function retry<T>(
  deadline: Deadline,
  policy: RetryPolicy,
  work: (attempt: number) => Promise<T>,
  { passes = passesOrLimited, random = Math.random }: RetryOptions = {},
): Promise<T> {
  const began = deadline.clock.monotonic();
  let repeats = 0;
  let limited = 0;
  const waitAfter = (thrown: unknown): number | null => {
    const error = asPrintingError(thrown);
    if (!passes(error)) return null;
    let wait: number;
    let within: number;
    if (error.code === 'RATE_LIMITED') {
      wait = Math.max(waitBefore(limited++, FLOOR), pauseAfter(error));
      within = Number.isFinite(deadline.until) ? Infinity : PATIENCE;
    } else {
      if (repeats >= policy.repeats) return null;
      wait = Math.max(waitBefore(repeats++, policy, random), error.retryAfter ?? 0);
      within = policy.within ?? Infinity;
    }
    return deadline.clock.monotonic() - began + wait > within ? null : wait;
  };
  return retryUntil(deadline, policy, work, { waitAfter });
}

/** Pause that a failure asks for, ms: after a 429 the service's Retry-After, or 30 s without one; otherwise 0. */
export const pauseAfter = (error: PrintingError | null): number =>
  error?.code === 'RATE_LIMITED' ? (error.retryAfter ?? DEFAULT_PAUSE) : 0;

/**
 * Converts a failed exchange to NETWORK, or returns an abort's own reason. Names only the host of the address, because
 * the rest may be signed. `outcome`: state of the request at that moment.
 */
export function networkError(
  thrown: unknown,
  outcome: RequestOutcome,
  ended?: Pick<AbortSignal, 'aborted' | 'reason'>,
  url = '',
): PrintingError {
  if (ended?.aborted && ended.reason instanceof PrintingError) return withOutcome(ended.reason, outcome);
  if (thrown instanceof PrintingError) return thrown;
  const code = codeOf(thrown);
  return new PrintingError('NETWORK', sentence(code, hostIn(url)), { cause: new Error(code), outcome });
}

const sentence = (code: string, host: string | Sentence): Sentence =>
  code === 'ENOTFOUND'
    ? phrase`The host ${host} was not found (${code}): check the address and the network.`
    : phrase`The connection to ${host} failed (${code}): check the network and try again.`;

const hostIn = (url: string): string | Sentence => (URL.canParse(url) ? new URL(url).host : phrase`the service`);

/** Short code of a network failure, such as `ECONNRESET`. The first of several failed addresses represents all. */
export function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown';
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code;
  if (thrown instanceof AggregateError && thrown.errors.length > 0) return codeOf(thrown.errors[0]);
  return thrown.cause instanceof Error ? codeOf(thrown.cause) : thrown.name;
}
