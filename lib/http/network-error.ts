import { PrintingError, type RequestOutcome } from '../service/errors';

/** Failures in which the connection never stood, so that the request can't have reached anybody. */
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** A failed exchange as NETWORK; an abort's own reason passes through. Addresses stay out of the text: they may be signed. */
export function networkError(thrown: unknown, signal?: AbortSignal, outcome?: RequestOutcome): PrintingError {
  if (signal?.aborted && signal.reason instanceof PrintingError) return signal.reason;
  if (thrown instanceof PrintingError) return thrown;
  const code = codeOf(thrown);
  return new PrintingError(
    'NETWORK',
    `The connection to the service failed (${code}): check the network and try again.`,
    {
      cause: new Error(code),
      outcome: outcome ?? (UNSENT.has(code) ? 'not-sent' : 'unknown'),
    },
  );
}

/** The short code of a network failure, such as `ECONNRESET`; one of several tried addresses stands for all. */
export function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown';
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code;
  if (thrown instanceof AggregateError && thrown.errors.length > 0) return codeOf(thrown.errors[0]);
  return thrown.cause instanceof Error ? codeOf(thrown.cause) : thrown.name;
}
