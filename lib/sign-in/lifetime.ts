import { LONGEST_LIFETIME } from '../rules/limits';

/** Documented lifetime (wire facts 3), for an answer that names none: 10 minutes. */
const DEFAULT = 600_000;
/** Last moment that a date can hold, ms since 1970. */
const LAST = 8.64e15;

/**
 * Lifetime of an access token, ms: the first valid one of `candidates`, up to a limit. Without a valid one, the
 * documented lifetime.
 */
export function lifetimeOf(...candidates: (number | null | undefined)[]): number {
  const lifetime = candidates.find((one) => typeof one === 'number' && one >= 0);
  return Math.min(lifetime ?? DEFAULT, LONGEST_LIFETIME);
}

/** Clamps a stored moment (ms since 1970) to the range of a date. */
export const showable = (ms: number): number => (Math.abs(ms) <= LAST ? ms : LAST);
