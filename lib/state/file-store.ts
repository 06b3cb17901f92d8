import { createHash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import type { Clock } from '../time/clock';
import { Locks } from './locks';
import { seal, unseal, type Sealed } from './seal';
import type { Key, PutOptions, StateStore } from './store';

export interface FileStoreOptions {
  /** The folder; made when it is missing. */
  folder: string;
  clock: Clock;
  /** Kinds of keys whose values are encrypted. */
  sealedKinds: string[];
  /** Secrets to encrypt with: the first seals, all are tried to unseal. None: values stay in the clear, owner-only. */
  secrets: () => string[];
  warn: (sentence: string) => void;
}

/** What stands in a file. */
interface FileRecord {
  version: 1;
  key: Key;
  /** Milliseconds since 1970 after which the value counts as gone. */
  until?: number;
  value?: unknown;
  sealed?: Sealed;
}

/** Left by a crash in the middle of a write; the value itself is whole under its own name. */
const isLeftover = (name: string): boolean => !name.endsWith('.json') && !name.includes('.damaged-');
const LEFTOVER_AGE = 60 * 60 * 1000;

/**
 * A StateStore of one small JSON file per key: written beside, flushed, renamed, the folder flushed.
 * Its locks hold within this process; one folder belongs to one runtime.
 */
export class FileStore implements StateStore {
  readonly #options: FileStoreOptions;
  readonly #locks = new Locks();

  constructor(options: FileStoreOptions) {
    this.#options = options;
  }

  get<T>(key: Key): Promise<T | undefined> {
    return this.#read<T>(key);
  }

  async put<T>(key: Key, value: T, options?: PutOptions): Promise<void> {
    await this.update<T>(key, () => value, options);
  }

  async delete(key: Key): Promise<void> {
    await this.update(key, () => undefined);
  }

  update<T>(
    key: Key,
    change: (current: T | undefined) => Promise<T | undefined> | T | undefined,
    options?: PutOptions,
  ): Promise<T | undefined> {
    return this.#locks.hold(this.#path(key), async () => {
      const next = await change(await this.#read<T>(key));
      if (next === undefined) await rm(this.#path(key), { force: true });
      else await this.#write(key, next, options);
      return next;
    });
  }

  /** Removes values past their time and what crashes left behind. Meant for the start of the runtime. */
  async sweep(): Promise<void> {
    const now = this.#options.clock.now();
    for (const kind of await entries(this.#options.folder)) {
      const folder = join(this.#options.folder, kind);
      for (const name of await entries(folder)) {
        const path = join(folder, name);
        if (isLeftover(name)) {
          const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now }));
          if (now - mtimeMs > LEFTOVER_AGE) await rm(path, { force: true }).catch(() => undefined);
        } else if (name.endsWith('.json')) {
          const found = await readFile(path, 'utf8').then(parse, () => undefined);
          const until = found?.until;
          if (found && until !== undefined && until <= now) await this.#forget(found.key, until);
        }
      }
    }
  }

  /** Removes an outdated value, unless it was put anew meanwhile. */
  async #forget(key: Key, until: number): Promise<void> {
    const path = this.#path(key);
    await this.#locks.hold(path, async () => {
      const found = await readFile(path, 'utf8').then(parse, () => undefined);
      if (found?.until === until) await rm(path, { force: true });
    });
  }

  #path(key: Key): string {
    const name = createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 40);
    return join(this.#options.folder, key[0], `${name}.json`);
  }

  async #write(key: Key, value: unknown, options: PutOptions = {}): Promise<void> {
    const path = this.#path(key);
    const secret = this.#options.sealedKinds.includes(key[0]) ? this.#options.secrets()[0] : undefined;
    const found: FileRecord = {
      version: 1,
      key,
      ...(options.keepFor === undefined ? {} : { until: this.#options.clock.now() + options.keepFor }),
      ...(secret === undefined ? { value } : { sealed: seal(JSON.stringify(value), secret, JSON.stringify(key)) }),
    };
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFileAtomic(path, JSON.stringify(found), { mode: 0o600, fsync: true });
    await flushFolder(dirname(path));
  }

  async #read<T>(key: Key): Promise<T | undefined> {
    const path = this.#path(key);
    let content: string;
    try {
      content = await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      this.#options.warn(`The saved ${key[0]} can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`);
      return undefined;
    }
    const found = parse(content);
    if (found?.until !== undefined && found.until <= this.#options.clock.now()) return undefined;
    if (found && 'value' in found) return found.value as T;
    const plain = found?.sealed && this.#unseal(found.sealed, JSON.stringify(key));
    if (plain === undefined) return this.#setAside(path, key, found !== undefined);
    return JSON.parse(plain) as T;
  }

  #unseal(sealed: Sealed, label: string): string | undefined {
    for (const secret of this.#options.secrets()) {
      const plain = unseal(sealed, secret, label);
      if (plain !== undefined) return plain;
    }
    return undefined;
  }

  async #setAside(path: string, key: Key, wasSealed: boolean): Promise<undefined> {
    const aside = `${path}.damaged-${this.#options.clock.now()}`;
    await rename(path, aside).catch(() => undefined);
    const reason = wasSealed ? "can't be decrypted (was the credential secret changed?)" : 'is damaged';
    this.#options.warn(`The saved ${key[0]} ${reason}; it was set aside and counts as missing.`);
  }
}

function parse(content: string): FileRecord | undefined {
  try {
    const found = JSON.parse(content) as FileRecord | null;
    return found?.version === 1 && ('value' in found || found.sealed) ? found : undefined;
  } catch {
    return undefined;
  }
}

/** Names in a folder; none where it does not exist or is no folder. */
const entries = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** Makes a rename survive a power cut. Some systems can't flush a folder; there the rename alone must do. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  try {
    await handle?.sync();
  } catch {
    // Not supported here.
  } finally {
    await handle?.close();
  }
}
