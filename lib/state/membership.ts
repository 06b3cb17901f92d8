import type { Lock } from './lock';

/**
 * Work that several runtimes of one store share out among themselves (ADR 12). It is cut into items, each a word; what
 * they are and who should have how many is for the runtimes to agree on: by what each wants, which all of them see.
 *
 * A runtime takes part for as long as its lease lasts. What it has taken is nobody else's as long as that is so; when the
 * lease is lost everything is lost with it, and the runtime, once it is let in again, begins with nothing. It keeps its id.
 */
export interface Membership {
  /** Of this runtime: the same in all that it joins. */
  readonly id: string;
  /**
   * Who takes part, this runtime among them, in the order of their ids; changed by nobody. Empty while this one is not let
   * in: it has not reached the store yet, or lost its lease.
   */
  readonly members: readonly Member[];
  /**
   * Its lease, null exactly while `members` is empty. What is written `under` it is written only while this runtime takes
   * part, and `secure` makes sure of that. Another object after each loss.
   */
  readonly lock: Lock | null;
  /** Tells the others what this runtime wants from now on: plain JSON. */
  want(wants: unknown): void;
  /**
   * Takes of the items those that nobody has, in any order, `most` of them at most.
   * Never rejects: nothing is taken while this runtime is not let in. Where the store could not be asked, the lease is given
   * up, and `onChange` tells when to go on.
   */
  take(items: readonly string[], most: number): Promise<Assigned[]>;
  /**
   * Gives items back, each with a note, plain JSON, for who has it next; they are this runtime's no more from the call on.
   * What it does not have is left alone. Never rejects: where the store could not be asked, the lease is given up, and all
   * with it.
   */
  release(notes: ReadonlyMap<string, unknown>): Promise<void>;
  /** What each member has, by its id, for diagnostics. Rejects while the store can't be read. */
  holders(): Promise<ReadonlyMap<string, Holding>>;
  /**
   * Takes part no more: everything goes back, with the notes. Resolves when that is done, or after some seconds: what could
   * not be given back then runs out. Never rejects; `onChange` is not called any more.
   */
  leave(notes: ReadonlyMap<string, unknown>): Promise<void>;
}

/** A runtime that takes part, as the others see it. */
export interface Member {
  id: string;
  name: string;
  /** When it joined, ms since 1970 by its own clock. */
  since: number;
  wants: unknown;
}

/** What a member has. */
export interface Holding {
  items: readonly string[];
  /** For how long its lease was not renewed, ms. */
  leaseAge: number;
}

/** An item that is newly this runtime's. */
export interface Assigned {
  item: string;
  /** What the one before left with it; null where it left nothing. */
  note: unknown;
  /** For how long nobody had it, ms; Infinity where it is not known that anybody ever had. */
  idle: number;
}

export interface JoinOptions {
  /** What people call this runtime. */
  name: string;
  wants: unknown;
  /**
   * Called after something may have changed: the members, what they want, what nobody has, or whether this runtime is let
   * in. Not before `join` has returned; must not throw.
   */
  onChange: () => void;
}
