import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

/**
 * Work that several runtimes of one store divide among themselves (ADR 12). The work consists of items, each a string.
 * The runtimes themselves agree on the meaning of the items and on the share of each, by the wishes that all of them
 * see.
 *
 * A runtime is a member while its lease lasts. Until then no other member gets its items. If it loses the lease, it
 * loses all items; after it rejoins, it owns no items. It keeps its id.
 */
export interface Membership {
  /** Id of this runtime, the same in all memberships. */
  readonly id: string;
  /**
   * The current members, including this runtime, ordered by id; must not be modified. Empty while this runtime isn't a
   * member: before it has reached the store, or after it lost its lease.
   */
  readonly members: readonly Member[];
  /**
   * Lease of this runtime; null exactly while `members` is empty. A value that names it in `under` is written only
   * while this runtime is a member, and `secure` makes sure of that. A new object after each loss.
   */
  readonly lock: Lock | null;
  /** Time since the last renewal of the lease, ms; null while `members` is empty. */
  readonly leaseAge: number | null;
  /** Publishes the wishes of this runtime to the other members: plain JSON. */
  want(wants: unknown): void;
  /**
   * Claims up to `most` free items of `items`, in any order. Never rejects: claims none while this runtime isn't a
   * member. If the store can't be asked, it gives the lease up, and `onChange` reports when to continue.
   */
  take(items: readonly string[], most: number): Promise<Assigned[]>;
  /**
   * Releases items, each with a note (plain JSON) for its next holder. They belong to this runtime no longer from the
   * call on. Items that it doesn't hold are left alone. Never rejects: if the store can't be asked, it gives up the
   * lease and with it all items.
   */
  release(notes: ReadonlyMap<string, unknown>): Promise<void>;
  /** Items of each member, by member id, for diagnostics. Rejects while the store can't be read. */
  holders(): Promise<ReadonlyMap<string, Holding>>;
  /**
   * Leaves and releases all items with their notes. Resolves when that is done, or after some seconds; then the lease
   * expires. Never rejects, and `onChange` is no longer called.
   */
  leave(notes: ReadonlyMap<string, unknown>): Promise<void>;
}

/** A member, as the others see it. */
export interface Member {
  id: string;
  name: string;
  /** When it joined, ms since 1970 by its own clock. */
  since: number;
  wants: unknown;
}

/** The items of a member. */
export interface Holding {
  items: readonly string[];
  /** Time since its lease was last renewed, ms. */
  leaseAge: number;
}

/** An item that this runtime has just claimed. */
export interface Assigned {
  item: string;
  /** Note of the previous holder; null if there is none. */
  note: unknown;
  /** How long the item was free, ms; Infinity if it isn't known ever to have had a holder. */
  idle: number;
}

export interface JoinOptions {
  /** Name of this runtime for people. */
  name: string;
  wants: unknown;
  /**
   * Called after a possible change of the members, their wishes, the free items, or this runtime's own membership.
   * Never called before `join` has returned; must not throw.
   */
  onChange: () => void;
}

/** A held lock on a key. */
export interface Lock {
  /**
   * The previous holder never released it: its runtime ended, or was cut off, in the middle of its work. A write of
   * that holder may still arrive.
   */
  readonly inherited?: boolean;
  /** Distinguishes it from all others on the shared state; undefined if it can't be lost. */
  readonly number?: string;
  /** Aborts when the lock is no longer reliable; undefined if it can't be lost. */
  readonly signal?: AbortSignal;
  /**
   * Secures the lock for `ms` more, before an irreversible step. Call the returned check at the very last moment: it
   * throws, with the outcome `not-sent`, if too much time has passed since. Rejects with a LockLostError, or with the
   * failure of the store.
   */
  secure(ms: number): Promise<() => void>;
  /**
   * Keeps the lock beyond the work, for a value that couldn't be written under it yet. No other runtime gets the lock
   * until the returned function is called, or until this runtime has ended or was cut off for the lock's lifetime.
   */
  keep?(): () => void;
}

/** Another runtime may hold the lock by now. */
export class LockLostError extends PrintingError {
  constructor() {
    const sentence = phrase`This Node-RED has lost its hold on the shared state (it stood still, or was cut off): try again.`;
    super('TIMEOUT', sentence, { outcome: 'not-sent' });
  }
}
