import { PrintingError, withOutcome, type RequestOutcome } from '../service/errors';
import { phrase, type Sentence } from '../words/sentence';

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
