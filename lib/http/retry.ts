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

/** Pause of an account's requests that a failure asks for, ms: after a 429 its `retryAfter`; otherwise 0. */
export const pauseAfter = (error: PrintingError | null): number =>
  error?.code === 'RATE_LIMITED' ? (error.retryAfter ?? 0) : 0;

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
  const sentence = (SENTENCES[code] ?? proxyFailure(thrown) ?? CONNECTION)(hostIn(url), code);
  return new PrintingError('NETWORK', sentence, { cause: new Error(code), outcome });
}

type Failure = (host: string | Sentence, code: string) => Sentence;

const CONNECTION: Failure = (host, code) =>
  phrase`The connection to ${host} failed (${code}): check the network and try again.`;
const AUTHORITY: Failure = (host, code) =>
  phrase`Node.js does not know the authority that issued the certificate of ${host} (${code}): name the authority's file in NODE_EXTRA_CA_CERTS and restart Node-RED.`;

/** Failures whose cure is not in the network, by the codes of Node.js and OpenSSL. */
const SENTENCES: Record<string, Failure> = {
  ENOTFOUND: (host, code) => phrase`The host ${host} was not found (${code}): check the address and the network.`,
  SELF_SIGNED_CERT_IN_CHAIN: AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: AUTHORITY,
  ERR_TLS_CERT_ALTNAME_INVALID: (host, code) =>
    phrase`The certificate that ${host} shows is for another name (${code}): check the address.`,
  CERT_NOT_YET_VALID: (host, code) =>
    phrase`The certificate of ${host} is not valid yet (${code}): check the clock of this machine.`,
  CERT_HAS_EXPIRED: (host, code) =>
    phrase`The certificate of ${host} has expired (${code}): check the clock of this machine, or have the certificate renewed.`,
  ERR_SSL_WRONG_VERSION_NUMBER: (host, code) =>
    phrase`The answer of ${host} is not encrypted (${code}): check the port, and whether the address begins with http or https.`,
};

/** The failure that undici reports only in words if a proxy opens no tunnel; undefined for any other failure. */
function proxyFailure(thrown: unknown): Failure | undefined {
  const status = thrown instanceof Error ? /^Proxy response \((\d{3})\)/.exec(thrown.message)?.[1] : undefined;
  if (status === undefined) return undefined;
  return (host) =>
    status === '407'
      ? phrase`The proxy on the way to ${host} demands a password (407): add user and password to HTTPS_PROXY, as in http://user:password@proxy:3128.`
      : phrase`The proxy on the way to ${host} opened no connection (${status}): check HTTPS_PROXY and NO_PROXY.`;
}

const hostIn = (url: string): string | Sentence => (URL.canParse(url) ? new URL(url).host : phrase`the service`);

/** Short code of a network failure, such as `ECONNRESET`. The first of several failed addresses represents all. */
export function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown';
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code;
  if (thrown instanceof AggregateError && thrown.errors.length > 0) return codeOf(thrown.errors[0]);
  return thrown.cause instanceof Error ? codeOf(thrown.cause) : thrown.name;
}
