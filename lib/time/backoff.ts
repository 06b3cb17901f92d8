/** Growing waits between tries. */
export interface Backoff {
  /** First wait, ms. */
  first: number;
  /** No wait is longer, ms. */
  longest: number;
  /** Each wait is this many times the one before. Default 2. */
  factor?: number;
  /** Share of a wait that chance may add (0.2 = up to a fifth), so that many clients don't come back at once. Default 0. */
  jitter?: number;
}

/** The wait before try number `attempt` (0 = the first repeat), ms. */
export function waitBefore(attempt: number, backoff: Backoff, random: () => number = Math.random): number {
  const plain = Math.min(backoff.longest, backoff.first * (backoff.factor ?? 2) ** attempt);
  return plain * (1 + (backoff.jitter ?? 0) * random());
}

/** Polling of work in progress starts at 0.5 s and widens to 5 s (reference 7). */
export const WORK_IN_PROGRESS: Backoff = { first: 500, longest: 5_000, factor: 1.5 };
