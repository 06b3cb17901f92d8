import { PrintingError } from '../service/errors';
import type { Deadline } from '../time/deadline';
import { say } from '../words/say';

/**
 * Where everything durable lives: grants, print keys, uploads, event checkpoints (reference 6).
 * Values are plain JSON. A key is a list of words, the first of which is the kind, such as
 * `['grant', accountId]`; words may hold any character.
 *
 * Rules that every implementation keeps:
 * - a value is there, missing (`undefined`), or can't be read now: the third rejects with FILE_NOT_READABLE, is left
 *   alone, and is never taken for the second. A value that is damaged for good is set aside with a warning, and missing;
 * - what `put`, `update` and `delete` resolved is durable and survives a crash; before that, old or new is there, whole.
 *   Where that can't be had they reject with FILE_NOT_WRITABLE;
 * - `update` holds the key's lock while `change` runs, against everybody who shares the store, so that `change` may
 *   take its time (a token refresh, a print's dispatch). Locks are not re-entrant: `change` must leave its own key alone,
 *   other keys it may read and write. What `change` throws is passed on, and nothing is changed;
 * - a lock can be lost (ADR 12). What was made under it is then not written any more: that rejects with a LockLostError.
 */
export interface StateStore {
  get<T>(key: Key): Promise<T | undefined>;
  put<T>(key: Key, value: T, options?: PutOptions): Promise<void>;
  delete(key: Key, options?: PutOptions): Promise<void>;
  /**
   * Replaces the value by what `change` makes of it; `undefined` deletes. Resolves with the new value. The current value
   * itself, given back as it is, is not written again.
   */
  update<T>(key: Key, change: Change<T>, options?: PutOptions): Promise<T | undefined>;
  /**
   * Calls `listener` when another runtime has changed a sign-in; with null where it may have and nobody can tell. The
   * returned function ends that. Missing where no other runtime can.
   */
  onChange?(listener: (key: Key | null) => void): () => void;
}

export type Change<T> = (current: T | undefined, lock: Lock) => Promise<T | undefined> | T | undefined;

/** A key's lock, in the hand of who holds it. */
export interface Lock {
  /** Aborts when the lock can't be relied on any more; undefined where that can't happen. */
  readonly signal?: AbortSignal;
  /**
   * Before something that can't be taken back: makes sure of the lock for `ms` more. The check is for the very last moment:
   * it throws, with the outcome `not-sent`, where too much time has passed since. Rejects with a LockLostError, or with what
   * keeps the store from making sure.
   */
  secure(ms: number): Promise<() => void>;
}

/** Somebody else may hold the lock by now. */
export class LockLostError extends PrintingError {
  constructor() {
    const said = say`This Node-RED has lost its hold on the shared state (it stood still, or was cut off): try again.`;
    super('TIMEOUT', said, { outcome: 'not-sent' });
  }
}

export type Key = readonly [kind: string, ...words: string[]];

export interface PutOptions {
  /** Milliseconds for which the value must be kept; after that the store may forget it. Default: for ever. */
  keepFor?: number;
  /** Ends the waiting for the key's lock and for the value to be read, with the outcome `not-sent`. */
  deadline?: Deadline | undefined;
  /**
   * The value stands for something that has happened already, so it must not get lost: where it can't be made durable now
   * the call rejects all the same, but this runtime goes on with the new value and writes it as soon as it can.
   */
  insist?: boolean;
  /** Locks of other keys that the value is written under: it is not, where one of them is lost. */
  under?: readonly Lock[] | undefined;
}

/** Holds a key's lock while `work` runs; nothing is stored under it. */
export async function hold<T>(
  store: StateStore,
  key: Key,
  work: (lock: Lock) => Promise<T>,
  deadline?: Deadline,
): Promise<T> {
  const results: T[] = [];
  await store.update(
    key,
    async (_, lock) => {
      results.push(await work(lock));
      return undefined;
    },
    { deadline },
  );
  return results[0] as T;
}
