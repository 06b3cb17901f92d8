import { LONGEST_LIFETIME } from '../rules/limits';

/** 10 minutes, as documented (wire facts 3), for an answer that does not say. */
const UNSAID = 600_000;
/** The last moment that a date can hold, ms since 1970. */
const LAST = 8.64e15;

/**
 * The lifetime (ms) that the first sensible one of these statements gives an access token, with an upper limit; the
 * documented lifetime where none is sensible.
 */
export function lifetimeOf(...statements: (number | null | undefined)[]): number {
  const said = statements.find((one) => typeof one === 'number' && one >= 0);
  return Math.min(said ?? UNSAID, LONGEST_LIFETIME);
}

/** A moment (ms since 1970) that a date can hold, whatever was stored. */
export const showable = (ms: number): number => (Math.abs(ms) <= LAST ? ms : LAST);
