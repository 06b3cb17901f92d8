/**
 * Where everything durable lives: grants, print keys, uploads, event positions (reference 6).
 * Values are plain JSON. A key is a list of words, the first of which is the kind, such as
 * `['grant', accountId]`; words may hold any character.
 *
 * Rules that every implementation keeps:
 * - what `put`, `update` and `delete` resolved is durable and survives a crash; before that, old or new is there, whole;
 * - `update` holds the key's lock while `change` runs, against everybody who shares the store, so that `change` may
 *   take its time (a token refresh, a print's dispatch). Locks are not re-entrant: `change` must leave its own key alone,
 *   other keys it may read and write;
 * - a value that can't be read back is set aside with a warning and counts as missing.
 */
export interface StateStore {
  get<T>(key: Key): Promise<T | undefined>;
  put<T>(key: Key, value: T, options?: PutOptions): Promise<void>;
  delete(key: Key): Promise<void>;
  /** Replaces the value by what `change` makes of it; `undefined` deletes. Resolves with the new value. */
  update<T>(
    key: Key,
    change: (current: T | undefined) => Promise<T | undefined> | T | undefined,
    options?: PutOptions,
  ): Promise<T | undefined>;
}

export type Key = readonly [kind: string, ...words: string[]];

export interface PutOptions {
  /** Milliseconds for which the value must be kept; after that the store may forget it. Default: for ever. */
  keepFor?: number;
}
