import type { Attempt, ItemRecord } from './queue-item';

/**
 * Waits of the copies whose print has begun with a change, ms. A copy waits from the latest of these: the time when its
 * item was added, was last released or retried, or may start at the earliest, and the end of the copy's last print.
 */
export function waitsOver(before: ItemRecord, after: ItemRecord): number[] {
  const begun = new Set(before.prints.filter(hasStarted).map(nameOf));
  const fresh = after.prints.filter((attempt) => hasStarted(attempt) && !begun.has(nameOf(attempt)));
  return fresh.map((attempt) => (attempt.startedAt ?? 0) - waitsSince(after, attempt));
}

function waitsSince({ prints, waitsSince, notBefore }: ItemRecord, of: Attempt): number {
  const ends = prints
    .filter((other) => other.copy === of.copy && other.attempt < of.attempt && hasStarted(other))
    .map(({ endedAt }) => endedAt ?? 0);
  return Math.max(waitsSince, notBefore ?? 0, ...ends);
}

const hasStarted = ({ startedAt }: Attempt): boolean => startedAt !== null;
const nameOf = ({ copy, attempt }: Attempt): string => `${copy}/${attempt}`;
