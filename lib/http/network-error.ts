import { PrintingError, withOutcome, type RequestOutcome } from '../service/errors';
import { phrase, type Sentence } from '../words/sentence';

/**
 * A failed exchange as NETWORK; an abort's own reason passes through. Of the address the host alone is named: the rest
 * may be signed.
 * `outcome`: what is known of the request by then.
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

/** The short code of a network failure, such as `ECONNRESET`; one of several tried addresses stands for all. */
export function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown';
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code;
  if (thrown instanceof AggregateError && thrown.errors.length > 0) return codeOf(thrown.errors[0]);
  return thrown.cause instanceof Error ? codeOf(thrown.cause) : thrown.name;
}
