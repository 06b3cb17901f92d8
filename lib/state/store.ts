import { createHash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TEXT } from '../rules/limits';
import type { PrintingError } from '../service/errors';
import type { Deadline } from '../time/deadline';
import type { JoinOptions, Lock, Membership } from './membership';

/**
 * The durable state: grants, print keys, uploads, event checkpoints (reference 6). Values are plain JSON. A key is a
 * list of strings that begins with its kind, such as `['grant', accountId]`; the others may contain any character.
 *
 * Rules for every implementation:
 * - A value is present, missing (`undefined`), or temporarily unreadable. The last case rejects with FILE_NOT_READABLE;
 *   it is never treated as missing, and the value is left alone. A permanently damaged value is set aside with a
 *   warning and counts as missing.
 * - When `put`, `update` or `delete` resolves, the change is durable and survives a crash. Before that, the old or the
 *   new value is there, whole. If the change can't be made durable, the call rejects with FILE_NOT_WRITABLE.
 * - A lock under which an insisted value couldn't be written is kept until the value is written. No runtime then
 *   continues from the old value under that lock.
 * - `update` holds the key's lock while `change` runs, against all users of the store, so `change` may be slow (a token
 *   refresh, a print's dispatch). Locks are not re-entrant: `change` must not use its own key, but may read and write
 *   others. If `change` throws, the error is passed on and the value stays unchanged.
 * - A lock can be lost (ADR 12). A value made under a lost lock isn't written; the call rejects with a LockLostError.
 */
export interface StateStore {
  /** Id of this runtime among those that share the store; missing if the store can't be shared. */
  readonly runtime?: string | undefined;
  get<T>(key: Key): Promise<T | undefined>;
  put<T>(key: Key, value: T, options?: PutOptions): Promise<void>;
  delete(key: Key, options?: PutOptions): Promise<void>;
  /**
   * Replaces the value by the result of `change`; `undefined` deletes it. Resolves with the new value. If `change`
   * returns the current object itself, it isn't written again.
   */
  update<T>(key: Key, change: Change<T>, options?: PutOptions): Promise<T | undefined>;
  /**
   * Waits for the lock of a key that has no value, and runs `work` under it. `deadline` limits the wait, not the work, with the
   * outcome `not-sent`.
   */
  waitForLock<T>(key: Key, work: (lock: Lock) => Promise<T>, deadline?: Deadline): Promise<T>;
  /**
   * One page of the values whose keys begin with the words of `prefix`, in no particular order. A value that exists from
   * the first page to the last is on exactly one of them, whatever is added, changed or deleted meanwhile. A damaged
   * value is set aside; one that can't be read now rejects the whole page, unless the caller receives it (`unread`).
   */
  list<T>(prefix: Key, options: ListOptions): Promise<StatePage<T>>;
  /**
   * Calls `listener` with the key when another runtime has changed a value with `PutOptions.notify`; with null when a
   * notification may have been missed. The returned function unsubscribes. Missing if the store can't be shared.
   */
  onChange?(listener: (key: Key | null) => void): () => void;
  /**
   * Joins the work that the runtimes of this store divide under a topic; at most one membership per topic at a time.
   * Missing if the store can't be shared. Never throws; while the store is away, the membership waits for it.
   */
  join?(topic: Key, options: JoinOptions): Membership;
}

export type Change<T> = (current: T | undefined, lock: Lock) => Promise<T | undefined> | T | undefined;

export type Key = readonly [kind: string, ...words: string[]];

export interface PutOptions {
  /** Milliseconds for which the value must be kept; after that the store may delete it. Default: for ever. */
  keepFor?: number;
  /** Limits the wait for the key's lock and for the read, with the outcome `not-sent`. */
  deadline?: Deadline | undefined;
  /**
   * The value records something that has already happened, so it must not get lost. If it can't be made durable now,
   * the call still rejects, but this runtime continues with the new value and writes it as soon as it can.
   */
  insist?: boolean;
  /** Locks of other keys that must all be held when the value is written. */
  under?: readonly Lock[] | undefined;
  /**
   * After the loss of one of these locks, the value is still written if this returns true for the stored value. Only
   * with `insist`.
   */
  replaces?: (stored: unknown) => boolean;
  /** Notifies other runtimes of the change at once, through `StateStore.onChange`. */
  notify?: boolean;
}

export interface ListOptions {
  /** `next` of the previous page; missing for the first one. */
  after?: string | undefined;
  /** Number of values to read at once. A page may hold fewer, or none, although others follow. */
  limit: number;
  /** Receives the reason for each value that can't be read now, and may be one of the listed ones; the others are listed. */
  unread?: ((error: PrintingError) => void) | undefined;
  /** Limits the wait, with the outcome `not-sent`. */
  deadline?: Deadline | undefined;
}

export interface StatePage<T> {
  entries: { key: Key; value: T }[];
  /** Where the next page begins; null after the last one. */
  next: string | null;
}

/** All values below a prefix. Reads the next page while the caller handles this one. Throws like `list`. */
export async function* valuesBelow<T>(
  store: Pick<StateStore, 'list'>,
  prefix: Key,
  options: Omit<ListOptions, 'after'>,
): AsyncGenerator<StatePage<T>['entries'][number]> {
  for (let reading: Promise<StatePage<T>> | null = store.list<T>(prefix, options); reading;) {
    const { entries, next }: StatePage<T> = await reading;
    reading = next === null ? null : store.list<T>(prefix, { ...options, after: next });
    // Thrown when the caller asks for the page, if ever.
    reading?.catch(() => undefined);
    yield* entries;
  }
}

/** Length of a position. */
export const POSITION = 40;

/**
 * Place of a key in every listing, of 40 hexadecimal digits: a hash, because a key may hold any character and be longer
 * than a file name or an index entry.
 */
export const positionOf = (key: Key): string =>
  createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, POSITION);

/** Whether the first words of a key are those of `prefix`. */
export const beginsWith = (key: Key, prefix: Key): boolean => prefix.every((word, at) => key[at] === word);

/** One page of positions after `after`, in order; `next` is the last one if others follow. */
export function pageOf(
  positions: Iterable<string>,
  { after = '', limit }: { after?: string | undefined; limit: number },
): { page: string[]; next: string | null } {
  const left = [...positions].filter((position) => position > after).sort();
  const page = left.slice(0, limit);
  return { page, next: left.length > limit ? (page.at(-1) ?? null) : null };
}

/**
 * Reads the setting `stateStore` (reference 6): an absolute path or a `file:` address names a folder, anything else the
 * address of a database. A malformed setting counts as an address too: the database reports it, and nothing is saved in a
 * folder that the user did not choose.
 */
export function statePlace(setting: unknown, usual: string): { folder: string } | { address: string } {
  if (setting === undefined || setting === null || setting === '') return { folder: usual };
  const given = typeof setting === 'string' ? setting.trim() : JSON.stringify(setting);
  if (isAbsolute(given)) return { folder: given };
  try {
    if (given.length <= TEXT.setting && /^file:/i.test(given)) return { folder: fileURLToPath(given) };
  } catch {
    // It contains a host or an encoded slash, so it names no local folder.
  }
  return { address: given };
}

/**
 * Scope of stored state: an account at a service (its API host, or `simulated`), in a workspace. Another scope has its
 * own state; switching back finds the earlier one (reference 6).
 */
export type Scope = readonly [accountId: string, service: string, workspace: string];

/**
 * Current scope of an account; a sign-in can change the workspace. Rejects while the sign-in can't be read, and with
 * NOT_SIGNED_IN while none is known that would name the workspace.
 */
export type CurrentScope = () => Promise<Scope>;
