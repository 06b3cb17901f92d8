import { UNLOSABLE_LOCK } from '../../state/locks';
import type { Lock } from '../../state/store';

/** Which regular polls, of clusters and of the list, are this runtime's: those alone advance what is known (ADR 12). */
export interface Ownership {
  /** Whether polls of an item begin here; another runtime makes them where not, or nobody can. */
  isOurs(item: string): boolean;
  /** Under which an item's polls go on here, and what they bring is written; null: not any more. */
  lockOf(item: string): Lock | null;
  /** Whether other runtimes wait for what the polls of a cluster bring. */
  isAwaited(clusterId: string): boolean;
  /** Somebody wants something else of an item. */
  changed(): void;
}

/** Where there are no other runtimes. */
export const SOLE_OWNER: Ownership = {
  isOurs: () => true,
  lockOf: () => UNLOSABLE_LOCK,
  isAwaited: () => false,
  changed: () => undefined,
};

/** Whether what was begun under a lock may go on. */
export const isStillOwned = (tenure: Ownership, item: string, lock: Lock | null): boolean =>
  lock !== null && tenure.lockOf(item) === lock;

/** Whether events may be handed over, at this very moment, that were found under a lock: nobody else has told them. */
export async function isSecured(tenure: Ownership, item: string, lock: Lock | null): Promise<boolean> {
  if (lock === null) return false;
  try {
    const check = await lock.secure(0);
    check();
    return isStillOwned(tenure, item, lock);
  } catch {
    return false;
  }
}
