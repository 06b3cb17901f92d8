import { UNLOSABLE_LOCK } from '../../state/locks';
import type { Lock } from '../../state/membership';

/** Item that stands for the list among the clusters. */
export const LIST_ITEM = '*';

/** Assignment of the regular polls to this runtime. Only the owner of an item advances its checkpoint (ADR 12). */
export interface Ownership {
  /** Whether this runtime owns the regular polls of an item. If not, another runtime owns them, or none. */
  isOurs(item: string): boolean;
  /** Lock for polls and writes of an item; null where this runtime does not own it. */
  lockOf(item: string): Lock | null;
  /** Whether other runtimes wait for the polls of a cluster. */
  isAwaited(clusterId: string): boolean;
  /** Claims a free item, beyond any share. Returns false where another runtime holds it. */
  claim(item: string): Promise<boolean>;
  /** Call after a subscription has changed. */
  changed(): void;
}

/** Ownership where there are no other runtimes. */
export const SOLE_OWNER: Ownership = {
  isOurs: () => true,
  lockOf: () => UNLOSABLE_LOCK,
  isAwaited: () => false,
  claim: async () => true,
  changed: () => undefined,
};

/** Whether work that began under a lock may continue. */
export const isStillOwned = (ownership: Ownership, item: string, lock: Lock | null): boolean =>
  lock !== null && ownership.lockOf(item) === lock;

/** Whether events found under a lock may be delivered now: the lock still fences all other runtimes. */
export async function isSecured(ownership: Ownership, item: string, lock: Lock | null): Promise<boolean> {
  if (lock === null) return false;
  try {
    const check = await lock.secure(0);
    check();
    return isStillOwned(ownership, item, lock);
  } catch {
    return false;
  }
}
