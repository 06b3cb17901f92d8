import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { flushFolder } from '../files/flush-folder';
import { codeOf } from '../http/network-error';
import { PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import { UNLOSABLE_LOCK, Locks } from './locks';
import { parseRecord, Records, type RecordsOptions, type StoredRecord } from './records';
import type { Change, Key, PutOptions, StateStore } from './store';
import type { Movable } from './move-state';
import { phrase, type Sentence } from '../words/sentence';

export interface FileStoreOptions extends RecordsOptions {
  /** The folder; created if it is missing. */
  folder: string;
  clock: Clock;
  warn: (sentence: Sentence) => void;
}

/** Left by a crash during a write; the value itself is whole under its own name. */
const isLeftover = (name: string): boolean => !name.endsWith('.json') && !name.includes('.damaged-');
const LEFTOVER_AGE = 60 * 60 * 1000;
/** A clock that differs from a file's own time by this much counts as wrong, ms. */
const NOT_BELIEVED = 5 * 365 * 24 * 60 * 60 * 1000;
/**
 * A clock that was set by more than this since the start counts as wrong too, and so does one that has moved by more
 * between two sweeps, ms. It is less than the extra time that values are kept beyond the promised one.
 */
const SET_BY = 5 * 24 * 60 * 60 * 1000;

/** State of the sweeps, ms since 1970. */
interface Swept {
  /** Time of the last sweep. */
  at: number;
  /** Start of the time that was followed without a gap. The age of earlier values counts from here. */
  since: number;
}
const SWEPT: Key = ['swept', 'values'];

/**
 * A StateStore with one small JSON file per key. A write creates a new file, flushes it, renames it and flushes the
 * folder. The locks hold within this process; one folder belongs to one runtime.
 */
export class FileStore implements StateStore, Movable {
  readonly #options: FileStoreOptions;
  readonly #locks = new Locks();
  readonly #records: Records;
  /** Monotonic time of the start. */
  readonly #startedAt: number;
  /** Wall time minus monotonic time at the start. */
  readonly #lead: number;

  constructor(options: FileStoreOptions) {
    this.#options = options;
    this.#records = new Records(options);
    this.#startedAt = options.clock.monotonic();
    this.#lead = options.clock.now() - this.#startedAt;
  }

  get<T>(key: Key): Promise<T | undefined> {
    return this.#read<T>(key);
  }

  async put<T>(key: Key, value: T, options: PutOptions = {}): Promise<void> {
    // The current value, readable or not, doesn't matter.
    await this.#locks.hold(this.#path(key), () => this.#write(key, value, options), options.deadline);
  }

  async delete(key: Key, { deadline }: PutOptions = {}): Promise<void> {
    await this.#locks.hold(this.#path(key), () => this.#remove(key), deadline);
  }

  update<T>(key: Key, change: Change<T>, options: PutOptions = {}): Promise<T | undefined> {
    const work = async () => {
      const read = this.#read<T>(key);
      const current = await (options.deadline?.wait(read) ?? read);
      const next = await change(current, UNLOSABLE_LOCK);
      if (next === undefined) {
        if (current !== undefined) await this.#remove(key);
      } else if (next !== current || typeof next !== 'object') await this.#write(key, next, options);
      return next;
    };
    return this.#locks.hold(this.#path(key), work, options.deadline);
  }

  /**
   * Removes expired values and the leftovers of crashes. Don't call it at the start of a runtime: the clock may still
   * be wrong then. Values whose own time contradicts the clock are kept.
   */
  async sweep(): Promise<void> {
    const { clock, folder: root } = this.#options;
    const now = clock.now();
    const wasSet = Math.abs(now - clock.monotonic() - this.#lead) > SET_BY;
    const since = wasSet ? Infinity : await this.#followedSince(now);
    for (const kind of await entries(root)) {
      const folder = join(root, kind);
      for (const name of await entries(folder)) {
        const path = join(folder, name);
        if (isLeftover(name)) {
          const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now }));
          if (now - mtimeMs > LEFTOVER_AGE) await rm(path, { force: true }).catch(() => undefined);
        } else if (name.endsWith('.json') && !wasSet) {
          const found = await readFile(path, 'utf8').then(parseRecord, () => undefined);
          if (found && isExpired(found, now, since)) await this.#forget(found.key, now, since);
        }
      }
    }
  }

  /**
   * Records a sweep at `now`. Returns since when the clock was followed without a gap. In a gap, either Node-RED was
   * off, or a wrong clock was set.
   */
  async #followedSince(now: number): Promise<number> {
    const start = now - (this.#options.clock.monotonic() - this.#startedAt);
    const swept = await this.update<Swept>(SWEPT, (last) => {
      const isGap = !last || now < last.at || start - last.at > SET_BY;
      return { at: now, since: isGap ? start : last.since };
    });
    return swept?.since ?? start;
  }

  /** Removes an expired value, unless it has been written again meanwhile. */
  async #forget(key: Key, now: number, since: number): Promise<void> {
    const path = this.#path(key);
    await this.#locks.hold(path, async () => {
      const found = await readFile(path, 'utf8').then(parseRecord, () => undefined);
      if (found && isExpired(found, now, since)) await rm(path, { force: true }).catch(() => undefined);
    });
  }

  async *records(): AsyncGenerator<string> {
    const root = this.#options.folder;
    for (const kind of await entries(root))
      for (const name of await entries(join(root, kind))) {
        const record = name.endsWith('.json') ? await readFile(join(root, kind, name), 'utf8') : '';
        if (parseRecord(record)) yield record;
      }
  }

  async add(record: string): Promise<void> {
    const key = parseRecord(record)?.key;
    if (key) await this.#locks.hold(this.#path(key), () => this.#keep(key, record));
  }

  #path(key: Key): string {
    const name = createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 40);
    return join(this.#options.folder, key[0], `${name}.json`);
  }

  async #write(key: Key, value: unknown, { keepFor }: PutOptions): Promise<void> {
    await this.#keep(key, await this.#records.write(key, value, this.#options.clock.now(), keepFor));
    await this.#records.written(key);
  }

  async #keep(key: Key, content: string): Promise<void> {
    const path = this.#path(key);
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      // Loaded with the first write.
      const writeFileAtomic = require('write-file-atomic') as typeof import('write-file-atomic');
      await writeFileAtomic(path, content, { mode: 0o600, fsync: true });
      await flushFolder(dirname(path));
    } catch (cause) {
      throw notWritable(key, cause);
    }
  }

  async #remove(key: Key): Promise<void> {
    const path = this.#path(key);
    try {
      await rm(path, { force: true });
      await flushFolder(dirname(path));
    } catch (cause) {
      throw notWritable(key, cause);
    }
  }

  async #read<T>(key: Key): Promise<T | undefined> {
    const path = this.#path(key);
    let content: string;
    try {
      content = await readFile(path, 'utf8');
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return undefined;
      throw notReadable(key, cause);
    }
    const found = await this.#records.read<T>(key, content);
    return typeof found === 'object' ? found.value : this.#setAside(path, key, REASONS[found](key));
  }

  async #setAside(path: string, key: Key, reason: Sentence): Promise<undefined> {
    try {
      await rename(path, `${path}.damaged-${this.#options.clock.now()}`);
    } catch (cause) {
      // A concurrent reader of the same file may have set it aside already; otherwise it is still there.
      if (codeOf(cause) !== 'ENOENT') throw notReadable(key, cause);
    }
    this.#options.warn(phrase`${reason}; it was set aside and is treated as missing.`);
  }
}

/** Why a record is set aside. */
const REASONS = {
  foreign: ([kind]: Key) => phrase`The saved ${kind} can't be decrypted (was the credential secret changed?)`,
  damaged: ([kind]: Key) => phrase`The saved ${kind} is damaged`,
  unsealed: ([kind]: Key) => phrase`The saved ${kind} is not encrypted, so anybody may have put it there`,
};

const notReadable = ([kind]: Key, cause: unknown): PrintingError =>
  new PrintingError(
    'FILE_NOT_READABLE',
    phrase`The saved ${kind} can't be read now (${codeOf(cause)}): check the state folder and the disk.`,
    { cause, outcome: 'not-sent' },
  );

const notWritable = ([kind]: Key, cause: unknown): PrintingError =>
  new PrintingError(
    'FILE_NOT_WRITABLE',
    phrase`The ${kind} can't be saved (${codeOf(cause)}): make the state folder writable and free some space.`,
    { cause, outcome: 'not-sent' },
  );

/** `since`: start of the time that counts for values from before it, ms since 1970. */
function isExpired({ at, until }: StoredRecord, now: number, since: number): boolean {
  if (until === undefined || until > now) return false;
  if (at === undefined) return true;
  if (now < at || now - at >= NOT_BELIEVED) return false;
  return at >= since || now - since >= until - at;
}

/** Names in a folder; none if it doesn't exist or isn't a folder. */
const entries = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
