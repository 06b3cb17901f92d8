import type { PrintingError } from '../service/errors';

/** The consequence of a refresh with an unknown outcome: the service may still process a request with the refresh token. */
export interface Rest {
  /** How long the refresh token is not used, ms. */
  ms: number;
  /** Whether callers that need a token wait for the end of the rest. If not, they get the error at once. */
  callersWait: boolean;
  /** Whether the token is used once more after the rest. If not, the refresh fails then. */
  isRepeated: boolean;
}

/**
 * The rests after the first lost answer of a refresh, the second, and so on (ADR 13). A second use of the refresh token
 * while the service processes the first one would end the sign-in. The first rest is shorter than the minute by which
 * refreshes are early. The token rests after its last request too.
 */
const RESTS: readonly Rest[] = [
  { ms: 45_000, callersWait: true, isRepeated: true },
  { ms: 120_000, callersWait: false, isRepeated: false },
];

/**
 * The rest if another runtime began a refresh and released none of its locks (ADR 14). That runtime may have a new pair
 * that it hasn't written yet, even after the time for which it secured its lock.
 */
export const INHERITED_REST: Rest = { ms: 120_000, callersWait: false, isRepeated: true };

/** The rest after `error`, given the number of earlier lost answers; undefined if the service has finished the request. */
export const restAfter = (error: PrintingError, lostBefore: number): Rest | undefined =>
  isLost(error) ? RESTS[lostBefore] : undefined;

/** Whether an answer was lost. Any answer shows that the service has finished, unless it only reports a timeout. */
const isLost = ({ outcome, statusCode }: PrintingError): boolean =>
  outcome === 'unknown' && (statusCode === undefined || statusCode === 408 || statusCode === 504);
