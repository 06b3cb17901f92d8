import { newerValue, PrintingError } from '../service/errors';
import { phrase, type Sentence } from '../words/sentence';
import { seal, type Sealed, unseal, type Unsealed } from './seal';
import type { Key } from './store';

export interface RecordsOptions {
  /** Kinds of keys whose values are encrypted. */
  sealedKinds: readonly string[];
  /** Kinds of keys whose values are needed for minutes only: one that has expired, or can't be unsealed here, counts as missing. */
  passingKinds?: readonly string[];
  /**
   * Marks of sealed values that were saved in the clear here before there was a secret. Each is read once more.
   * Missing: none.
   */
  unsealed?: Unsealed;
  /** Checks of values by kind; one of another shape is damaged. Missing: any value is taken. */
  shapes?: Readonly<Record<string, (value: unknown) => boolean>>;
  /**
   * Secrets to encrypt with. The first one seals, all are tried to unseal. None: values stay in the clear, owner-only.
   */
  secrets: () => string[];
}

/** A stored value: JSON, the same in a file and in a database. */
export interface StoredRecord {
  version: 1;
  key: Key;
  /** Time of the write, milliseconds since 1970 by the clock of that time. */
  at?: number;
  /** Milliseconds since 1970 after which a sweep may remove it. */
  until?: number;
  value?: unknown;
  sealed?: Sealed;
}

/**
 * `damaged`: not a record, or of another shape. `foreign`: sealed with an unknown secret. `unsealed`: in the clear although it should be
 * sealed, so anyone may have put it there.
 */
export type Read<T> = { value: T } | 'damaged' | 'foreign' | 'unsealed';

/** Says that a value was set aside. */
export const setAside = (reason: Sentence): Sentence => phrase`${reason}; it was set aside and is treated as missing.`;

export const damaged = ([kind]: Key): Sentence => phrase`The saved ${kind} is damaged`;

/** Writes and reads records. */
export class Records {
  constructor(private readonly options: RecordsOptions) {}

  /** Builds the record to write. */
  async write(key: Key, value: unknown, at: number, keepFor?: number): Promise<string> {
    const isSealed = this.#isSealed(key);
    const secret = isSealed ? this.options.secrets()[0] : undefined;
    if (isSealed && secret === undefined) await this.options.unsealed?.add(key);
    const record: StoredRecord = {
      version: 1,
      key,
      at,
      ...(keepFor === undefined ? {} : { until: at + keepFor }),
      ...(secret === undefined ? { value } : { sealed: seal(JSON.stringify(value), secret, JSON.stringify(key)) }),
    };
    return JSON.stringify(record);
  }

  /** Call after the record was written. */
  async written(key: Key): Promise<void> {
    const { unsealed } = this.options;
    if (this.#isSealed(key) && this.options.secrets().length > 0 && (await unsealed?.has(key)))
      await unsealed?.remove(key);
  }

  #isSealed([kind]: Key): boolean {
    return this.options.sealedKinds.includes(kind);
  }

  isTemporary([kind]: Key): boolean {
    return this.options.passingKinds?.includes(kind) ?? false;
  }

  /** Throws FILE_NOT_READABLE for a record of a newer version of the pack, which stays as it is. */
  read<T>(key: Key, content: string): Promise<Read<T>> {
    const found = parseRecord(content);
    if (!found && isNewer(content)) throw newerValue(key[0]);
    return this.open<T>(key, found);
  }

  /** @param found the parsed record; undefined if it isn't one */
  async open<T>(key: Key, found: StoredRecord | undefined): Promise<Read<T>> {
    if (!found) return 'damaged';
    if (!found.sealed) return (await this.#mayBeUnsealed(key)) ? this.#checked(key, found.value) : 'unsealed';
    for (const secret of this.options.secrets()) {
      const plain = unseal(found.sealed, secret, JSON.stringify(key));
      if (plain !== undefined) return this.#checked(key, JSON.parse(plain));
    }
    return 'foreign';
  }

  #checked<T>([kind]: Key, value: unknown): Read<T> {
    return (this.options.shapes?.[kind]?.(value) ?? true) ? { value: value as T } : 'damaged';
  }

  async #mayBeUnsealed(key: Key): Promise<boolean> {
    const { secrets, unsealed } = this.options;
    if (!this.#isSealed(key) || secrets().length === 0) return true;
    return (await unsealed?.has(key)) ?? false;
  }
}

export function parseRecord(content: string): StoredRecord | undefined {
  try {
    const found = JSON.parse(content) as StoredRecord | null;
    const isRecord = found?.version === 1 && isKey(found.key) && ('value' in found || found.sealed);
    return isRecord ? found : undefined;
  } catch {
    return undefined;
  }
}

/** A kind of value: also the name of a folder, which must not lead out of the state's own. */
export const KIND = /^[a-z][a-z\d-]{0,63}$/;

const isKey = (key: unknown): key is Key =>
  Array.isArray(key) && KIND.test(String(key[0])) && key.every((word) => typeof word === 'string');

/** Whether a newer version of the pack wrote the record, in whatever form. */
export function isNewer(content: string): boolean {
  try {
    const { version } = JSON.parse(content) as { version?: unknown };
    return typeof version === 'number' && version > 1;
  } catch {
    return false;
  }
}

/** A store whose values can be copied unchanged: sealed values stay sealed. */
export interface Movable {
  /** The content of every stored value, whether it is a record or not. Rejects if it can't be read. */
  records(): AsyncIterable<string>;
  /** Adds a record whose key has none. */
  add(record: string): Promise<void>;
}

/**
 * Copies all values of a store into another one, which may hold nothing else. Resolves with the number of those copied,
 * and of those left out because they are no records of this version. Can be repeated after a failure.
 */
export async function moveState(from: Movable, to: Movable): Promise<{ copied: number; leftOut: number }> {
  const there = new Set<string>();
  for await (const record of to.records()) there.add(record);
  const wanted = new Set<string>();
  let leftOut = 0;
  for await (const record of from.records()) {
    if (parseRecord(record)) wanted.add(record);
    else leftOut++;
  }
  if ([...there].some((record) => !wanted.has(record)))
    throw new PrintingError(
      'INVALID_INPUT',
      phrase`The place to move to already holds something else: choose an empty one.`,
    );
  for (const record of wanted) if (!there.has(record)) await to.add(record);
  return { copied: wanted.size, leftOut };
}
