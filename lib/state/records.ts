import { seal, unseal, type Sealed } from './seal';
import type { Key } from './store';

export interface RecordsOptions {
  /** Kinds of keys whose values are encrypted. */
  sealedKinds: readonly string[];
  /** Kinds of keys whose values pass within minutes: one that can't be unsealed here is in nobody's way. */
  passingKinds?: readonly string[];
  /** Secrets to encrypt with: the first seals, all are tried to unseal. None: values stay in the clear, owner-only. */
  secrets: () => string[];
}

/** A value as it is stored: JSON, the same in a file and in a database. */
export interface StoredRecord {
  version: 1;
  key: Key;
  /** When it was written, milliseconds since 1970 by the clock of then. */
  at?: number;
  /** Milliseconds since 1970 after which a sweep may remove it. */
  until?: number;
  value?: unknown;
  sealed?: Sealed;
}

/** `damaged`: it is no record. `foreign`: it was sealed with a secret that is not here. */
export type Read<T> = { value: T } | 'damaged' | 'foreign';

/** Writes and reads records. */
export class Records {
  constructor(private readonly options: RecordsOptions) {}

  write(key: Key, value: unknown, at: number, keepFor?: number): string {
    const secret = this.options.sealedKinds.includes(key[0]) ? this.options.secrets()[0] : undefined;
    const record: StoredRecord = {
      version: 1,
      key,
      at,
      ...(keepFor === undefined ? {} : { until: at + keepFor }),
      ...(secret === undefined ? { value } : { sealed: seal(JSON.stringify(value), secret, JSON.stringify(key)) }),
    };
    return JSON.stringify(record);
  }

  isPassing([kind]: Key): boolean {
    return this.options.passingKinds?.includes(kind) ?? false;
  }

  read<T>(key: Key, content: string): Read<T> {
    const found = parseRecord(content);
    if (!found) return 'damaged';
    if (!found.sealed) return { value: found.value as T };
    for (const secret of this.options.secrets()) {
      const plain = unseal(found.sealed, secret, JSON.stringify(key));
      if (plain !== undefined) return { value: JSON.parse(plain) as T };
    }
    return 'foreign';
  }
}

export function parseRecord(content: string): StoredRecord | undefined {
  try {
    const found = JSON.parse(content) as StoredRecord | null;
    return found?.version === 1 && ('value' in found || found.sealed) ? found : undefined;
  } catch {
    return undefined;
  }
}
