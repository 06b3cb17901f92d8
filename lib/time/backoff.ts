/** Growing waits between attempts. */
export interface Backoff {
  /** First wait, ms. */
  first: number;
  /** Upper limit of every wait, ms. */
  longest: number;
  /** Growth factor from one wait to the next. Default 2. */
  factor?: number;
  /**
   * Largest random addition as a share of a wait (0.2 = up to a fifth), so that many clients don't retry at once.
   * Default 0.
   */
  jitter?: number;
}

/** Wait before repeat number `attempt` (0 = the first), ms. */
export function waitBefore(attempt: number, backoff: Backoff, random: () => number = Math.random): number {
  const plain = Math.min(backoff.longest, backoff.first * (backoff.factor ?? 2) ** attempt);
  return plain * (1 + (backoff.jitter ?? 0) * random());
}

/** Polling of work in progress starts at 0.5 s and slows down to 5 s (reference 7). */
export const WORK_IN_PROGRESS: Backoff = { first: 500, longest: 5_000, factor: 1.5 };
