import { LONGEST_LIFETIME } from '../rules/limits';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Grant } from './grant';

/** Documented lifetime (wire facts 3), for an answer without a lifetime: 10 minutes. */
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

/**
 * Remaining lifetime of a token that was read, ms. `expiresAt` uses the wall clock of the runtime that wrote it, so it
 * means nothing here if several runtimes share the store. Each of them follows renewals at once, and an expired token
 * costs one refused call.
 */
export function remainingLifetime(
  grant: Grant | undefined,
  { store, clock }: { store: StateStore; clock: Clock },
): number {
  if (!grant) return 0;
  const lifetime = lifetimeOf(grant.lifetime);
  return store.join ? lifetime : Math.min(lifetime, grant.expiresAt - clock.now());
}
