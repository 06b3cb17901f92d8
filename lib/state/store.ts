import type { Deadline } from '../time/deadline';
import type { Lock } from './lock';
import type { JoinOptions, Membership } from './membership';

export { LockLostError, type Lock } from './lock';

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
 * - a lock under which an insisted value could not be written is not given back before it is written: no runtime reads the old
 *   value under it and goes on from there;
 * - `update` holds the key's lock while `change` runs, against everybody who shares the store, so that `change` may
 *   take its time (a token refresh, a print's dispatch). Locks are not re-entrant: `change` must leave its own key alone,
 *   other keys it may read and write. What `change` throws is passed on, and nothing is changed;
 * - a lock can be lost (ADR 12). What was made under it is then not written any more: that rejects with a LockLostError.
 */
export interface StateStore {
  /** The id of this runtime among those that share the store; missing where no other one can. */
  readonly runtime?: string | undefined;
  get<T>(key: Key): Promise<T | undefined>;
  put<T>(key: Key, value: T, options?: PutOptions): Promise<void>;
  delete(key: Key, options?: PutOptions): Promise<void>;
  /**
   * Replaces the value by what `change` makes of it; `undefined` deletes. Resolves with the new value. The current value
   * itself, given back as it is, is not written again.
   */
  update<T>(key: Key, change: Change<T>, options?: PutOptions): Promise<T | undefined>;
  /**
   * Calls `listener` when another runtime has changed a value and told so (`PutOptions.notify`); with null where it may have
   * and nobody can tell. The returned function ends that. Missing where no other runtime can.
   */
  onChange?(listener: (key: Key | null) => void): () => void;
  /**
   * Takes part in what the runtimes of this store share out under a topic; once at a time for each. Missing where the store
   * is one runtime's. Never throws: a store that is away is waited for.
   */
  join?(topic: Key, options: JoinOptions): Membership;
}

export type Change<T> = (current: T | undefined, lock: Lock) => Promise<T | undefined> | T | undefined;

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
  /**
   * Where one of these locks was lost, the value is written all the same if this says that it may take the place of the
   * stored one. With `insist` only.
   */
  replaces?: (stored: unknown) => boolean;
  /** Nothing is stored under this key: its lock alone is wanted. */
  lockOnly?: boolean;
  /** Other runtimes hear of the change as soon as it is made: by `StateStore.onChange`. */
  notify?: boolean;
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
    { deadline, lockOnly: true },
  );
  return results[0] as T;
}
