import { constants } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { FlushedFolder, PART, replaceFile } from '../files/target-file';
import { codeOf } from '../http/retry';
import { asPrintingError, newerValue, PrintingError } from '../service/errors';
import type { Clock } from '../time/clock';
import { Turns } from '../time/concurrency';
import type { Deadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';
import { access, changedAt, makeFolder, readNames, readText, realpath, remove, rename } from './file-system';
import { Locks, UNLOSABLE_LOCK } from './locks';
import type { Lock } from './membership';
import { type Content, MANY, ReadingThread } from './reading-thread';
import { UNSEALED } from './seal';
import { ID_FILE, isAway, StateFolder } from './state-folder';
import {
  damaged,
  isNewer,
  KIND,
  type Movable,
  parseRecord,
  Records,
  type RecordsOptions,
  setAside,
  type StoredRecord,
} from './records';
import {
  beginsWith,
  type Change,
  type Key,
  type ListOptions,
  pageOf,
  POSITION,
  positionOf,
  type PutOptions,
  type StatePage,
  type StateStore,
} from './store';

/** Why a record is set aside. */
const REASONS = {
  foreign: ([kind]: Key) => phrase`The saved ${kind} can't be decrypted (was the credential secret changed?)`,
  damaged,
  unsealed: ([kind]: Key) => phrase`The saved ${kind} is not encrypted, so anybody may have put it there`,
};

export const unreadableFile = ([kind]: Key, cause: unknown): PrintingError =>
  new PrintingError(
    'FILE_NOT_READABLE',
    isAway(cause)
      ? phrase`The saved ${kind} can't be read, because the state folder is away or was replaced: bring it back, or restart Node-RED.`
      : phrase`The saved ${kind} can't be read now (${codeOf(cause)}): check the state folder and the disk.`,
    { cause, outcome: 'not-sent' },
  );

export const unwritableFile = ([kind]: Key, cause: unknown): PrintingError =>
  new PrintingError(
    'FILE_NOT_WRITABLE',
    isAway(cause)
      ? phrase`The ${kind} can't be saved, because the state folder is away or was replaced: bring it back, or restart Node-RED.`
      : phrase`The ${kind} can't be saved (${codeOf(cause)}): make the state folder writable and free some space.`,
    { cause, outcome: 'not-sent' },
  );

interface FileStoreOptions extends RecordsOptions {
  /** The folder; made at the start if it is missing, but not its parents. */
  folder: string;
  clock: Clock;
  warn: (sentence: Sentence) => void;
}

/** Name of the file of a value. The folder may hold other things, so only exact names count. */
const VALUE = new RegExp(`^[\\da-f]{${POSITION}}\\.json$`);
/** The file that a crash during a write leaves beside the whole one, of a value and of the folder's id. */
const LEFTOVER = new RegExp(`^[\\da-f]{${POSITION}}\\.json\\.${PART}$`);
const ID_LEFTOVER = new RegExp(`^${ID_FILE}\\.${PART}$`);
const isKind = (name: string): boolean => KIND.test(name) && name !== UNSEALED;
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
 * folder, together with other writes that wait for that. The locks hold within this process; one folder belongs to one runtime.
 */
export class FileStore implements StateStore, Movable {
  readonly #locks = new Locks();
  readonly #records: Records;
  readonly #folder: StateFolder;
  readonly #thread: ReadingThread;
  /** Folders by kind. */
  readonly #folders = new Map<string, FlushedFolder>();
  /** One set for each listing that reads the names in a folder now, for those that are written meanwhile. */
  readonly #listings = new Set<Set<string>>();
  /** Kinds with a value of a newer version. */
  readonly #leftOut = new Set<string>();
  /** Monotonic time of the start. */
  readonly #startedAt: number;
  /** Wall time minus monotonic time at the start. */
  readonly #lead: number;

  constructor(private readonly options: FileStoreOptions) {
    this.#records = new Records(options);
    this.#thread = new ReadingThread(options.clock);
    const { folder, warn } = options;
    this.#folder = new StateFolder(folder, (host, pid) =>
      warn(
        phrase`Another Node-RED (host ${host}, process ${pid}) uses the state folder ${folder} at the same time, which can end sign-ins and print twice: give each its own folder or a shared database in the setting stateStore.`,
      ),
    );
    this.#startedAt = options.clock.monotonic();
    this.#lead = options.clock.now() - this.#startedAt;
  }

  get<T>(key: Key): Promise<T | undefined> {
    return this.#get(key);
  }

  async #get<T>(key: Key, isLocked = false): Promise<T | undefined> {
    const path = this.#path(key);
    const content = await this.#contentOf(path, key);
    if (content === undefined) return undefined;
    const found = await this.#records.read<T>(key, content);
    if (typeof found === 'object') return found.value;
    // Read again under the lock, so that a value that is written just now isn't set aside.
    if (!isLocked) return this.#locks.waitFor(path, () => this.#get<T>(key, true));
    return this.#setAside(path, key, found);
  }

  async put<T>(key: Key, value: T, options: PutOptions = {}): Promise<void> {
    // The current value, readable or not, doesn't matter.
    await this.#locks.waitFor(this.#path(key), () => this.#write(key, value, options), options.deadline);
  }

  async delete(key: Key, { deadline }: PutOptions = {}): Promise<void> {
    await this.#locks.waitFor(this.#path(key), () => this.#remove(key), deadline);
  }

  update<T>(key: Key, change: Change<T>, options: PutOptions = {}): Promise<T | undefined> {
    const work = async () => {
      const read = this.#get<T>(key, true);
      const current = await (options.deadline?.wait(read) ?? read);
      const next = await change(current, UNLOSABLE_LOCK);
      if (next === undefined) {
        if (current !== undefined) await this.#remove(key);
      } else if (next !== current || typeof next !== 'object') await this.#write(key, next, options);
      return next;
    };
    return this.#locks.waitFor(this.#path(key), work, options.deadline);
  }

  waitForLock<T>(key: Key, work: (lock: Lock) => Promise<T>, deadline?: Deadline): Promise<T> {
    return this.#locks.waitFor(this.#path(key), () => work(UNLOSABLE_LOCK), deadline);
  }

  list<T>(prefix: Key, options: ListOptions): Promise<StatePage<T>> {
    const page = this.#list<T>(prefix, options);
    return options.deadline?.wait(page) ?? page;
  }

  async #list<T>(prefix: Key, options: ListOptions): Promise<StatePage<T>> {
    const { page, next } = pageOf(await this.#positions(prefix), options);
    const turns = new Turns(this.options.clock);
    const entries: StatePage<T>['entries'] = [];
    for (let at = 0; at < page.length; at += MANY) {
      const positions = page.slice(at, at + MANY);
      const contents = await this.#contentsOf(prefix, positions);
      for (const [nth, position] of positions.entries()) {
        await turns.next();
        try {
          const entry = await this.#listed<T>(prefix, position, contents[nth]);
          if (entry) entries.push(entry);
        } catch (thrown) {
          if (!options.unread) throw thrown;
          options.unread(asPrintingError(thrown));
        }
      }
    }
    return { entries, next };
  }

  /** Contents of the files at some positions; undefined where there is none. */
  async #contentsOf(prefix: Key, positions: readonly string[]): Promise<(Content | undefined)[]> {
    const paths = positions.map((position) => this.#pathOf(prefix, position));
    try {
      const contents = await this.#folder.read(() => this.#thread.read(paths));
      return contents.map((content) => (codeOf(content) === 'ENOENT' ? undefined : content));
    } catch (cause) {
      return positions.map(() => cause as Error);
    }
  }

  /** Positions of the values of a kind. Some file systems skip the name of a file that is replaced just now. */
  async #positions(prefix: Key): Promise<Set<string>> {
    const folder = join(this.options.folder, prefix[0]);
    const written = new Set<string>();
    this.#listings.add(written);
    try {
      const names = [...(await this.#folder.read(() => namesIn(folder))), ...written];
      return new Set(names.filter((name) => VALUE.test(name)).map((name) => basename(name, '.json')));
    } catch (cause) {
      throw unreadableFile(prefix, cause);
    } finally {
      this.#listings.delete(written);
    }
  }

  /** The value of a file that was read; undefined if there is none or its key doesn't begin with `prefix`. */
  async #listed<T>(
    prefix: Key,
    position: string,
    content: Content | undefined,
    isLocked = false,
  ): Promise<StatePage<T>['entries'][number] | undefined> {
    if (content === undefined) return undefined;
    if (typeof content !== 'string') throw unreadableFile(prefix, content);
    const parsed = parseRecord(content);
    if (!parsed && isNewer(content)) return this.#leaveOut(prefix);
    const record = parsed && positionOf(parsed.key) === position ? parsed : undefined;
    const { key } = record ?? { key: prefix };
    if (!beginsWith(key, prefix)) return undefined;
    const found = await this.#records.open<T>(key, record);
    if (typeof found === 'object') return { key, value: found.value };
    const path = this.#pathOf(prefix, position);
    // As `#get` does.
    const again = async () => this.#listed<T>(prefix, position, await this.#contentOf(path, prefix), true);
    return isLocked ? this.#setAside(path, prefix, found) : this.#locks.waitFor(path, again);
  }

  /**
   * Removes expired values and the leftovers of crashes. Don't call it at the start of a runtime: the clock may still
   * be wrong then. Values whose own time contradicts the clock are kept.
   */
  async sweep(): Promise<void> {
    const { clock, folder: root } = this.options;
    await this.#folder.prepare();
    const now = clock.now();
    const wasSet = Math.abs(now - clock.monotonic() - this.#lead) > SET_BY;
    const since = wasSet ? Infinity : await this.#followedSince(now);
    const removeOld = async (path: string) => {
      const at = await changedAt(path).catch(() => now);
      if (now - at > LEFTOVER_AGE) await remove(path).catch(() => undefined);
    };
    const names = await entries(root);
    for (const name of names) if (ID_LEFTOVER.test(name)) await removeOld(join(root, name));
    for (const kind of names.filter(isKind)) {
      const folder = join(root, kind);
      for (const name of await entries(folder)) {
        const path = join(folder, name);
        if (LEFTOVER.test(name)) await removeOld(path);
        else if (VALUE.test(name) && !wasSet) {
          const found = await readText(path).then(parseRecord, () => undefined);
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
    const start = now - (this.options.clock.monotonic() - this.#startedAt);
    const swept = await this.update<Swept>(SWEPT, (last) => {
      const isGap = !last || now < last.at || start - last.at > SET_BY;
      return { at: now, since: isGap ? start : last.since };
    });
    return swept?.since ?? start;
  }

  /** Removes an expired value, unless it has been written again meanwhile. */
  async #forget(key: Key, now: number, since: number): Promise<void> {
    const path = this.#path(key);
    await this.#locks.waitFor(path, async () => {
      const found = await readText(path).then(parseRecord, () => undefined);
      if (found && isExpired(found, now, since)) await remove(path).catch(() => undefined);
    });
  }

  async *records(): AsyncGenerator<string> {
    const root = this.options.folder;
    for (const kind of (await namesIn(root)).filter(isKind))
      for (const name of await entries(join(root, kind)))
        if (VALUE.test(name)) yield await readText(join(root, kind, name));
  }

  async add(record: string): Promise<void> {
    const key = parseRecord(record)?.key;
    if (key) await this.#locks.waitFor(this.#path(key), () => this.#keep(key, record));
  }

  /** Why nothing can be saved; null if the folder is writable. Never rejects. */
  async fault(): Promise<Sentence | null> {
    const { folder } = this.options;
    try {
      await this.#folder.prepare();
      await access(folder, constants.W_OK | constants.X_OK);
      return null;
    } catch (error) {
      if (codeOf(error) === 'ENOENT')
        return phrase`The parent folder of the state folder ${folder} is missing, so nothing saved can be read or written: mount it, make it, or name another place in the setting stateStore.`;
      return isAway(error)
        ? phrase`The state folder ${folder} is away or was replaced: bring it back, or restart Node-RED.`
        : phrase`The state folder ${folder} can't be written (${codeOf(error)}), so sign-ins and print keys can't be saved: make it writable, or name another place in the setting stateStore.`;
    }
  }

  #path(key: Key): string {
    return this.#pathOf(key, positionOf(key));
  }

  #pathOf([kind]: Key, position: string): string {
    return join(this.options.folder, kind, `${position}.json`);
  }

  async #write(key: Key, value: unknown, { keepFor }: PutOptions): Promise<void> {
    await this.#keep(key, await this.#records.write(key, value, this.options.clock.now(), keepFor));
    await this.#records.written(key);
  }

  #keep(key: Key, content: string): Promise<void> {
    const path = this.#path(key);
    return this.#change(key, async () => {
      await replaceFile(path, content).catch(async (error: unknown) => {
        if (codeOf(error) !== 'ENOENT') throw error;
        // The first value of its kind.
        await makeFolder(dirname(path));
        await replaceFile(path, content);
      });
      for (const written of this.#listings) written.add(basename(path));
    });
  }

  #remove(key: Key): Promise<void> {
    return this.#change(key, () => remove(this.#path(key)));
  }

  /** Changes the file of a key durably. */
  async #change(key: Key, work: () => Promise<void>): Promise<void> {
    const [kind] = key;
    const folder = this.#folders.get(kind) ?? new FlushedFolder(join(this.options.folder, kind));
    this.#folders.set(kind, folder);
    try {
      await this.#folder.prepare();
      await folder.change(work);
      // What was written after the folder went away lies below its mount point.
      await this.#folder.check();
    } catch (cause) {
      throw unwritableFile(key, cause);
    }
  }

  /** Content of the file of a value; undefined if there is none. */
  async #contentOf(path: string, key: Key): Promise<string | undefined> {
    try {
      return await this.#folder.read(() =>
        readText(path).catch((cause: unknown) => {
          if (codeOf(cause) !== 'ENOENT') throw cause;
          return undefined;
        }),
      );
    } catch (cause) {
      throw unreadableFile(key, cause);
    }
  }

  /** Leaves a value of a newer version out of a listing. Says so once for each kind. */
  #leaveOut([kind]: Key): undefined {
    if (!this.#leftOut.has(kind)) this.options.warn(newerValue(kind).sentence);
    this.#leftOut.add(kind);
  }

  async #setAside(path: string, key: Key, reason: keyof typeof REASONS): Promise<undefined> {
    try {
      await rename(path, `${path}.damaged-${this.options.clock.now()}`);
    } catch (cause) {
      // A concurrent reader of the same file may have set it aside already; otherwise it is still there.
      if (codeOf(cause) !== 'ENOENT') throw unreadableFile(key, cause);
    }
    this.options.warn(setAside(REASONS[reason](key)));
  }
}

/** `since`: start of the time that counts for values from before it, ms since 1970. */
function isExpired({ at, until }: StoredRecord, now: number, since: number): boolean {
  if (until === undefined || until > now) return false;
  if (at === undefined) return true;
  if (now < at || now - at >= NOT_BELIEVED) return false;
  return at >= since || now - since >= until - at;
}

/** Names in a folder; none if it doesn't exist. */
const namesIn = (folder: string): Promise<string[]> =>
  readNames(folder).catch((cause: unknown) => {
    if (codeOf(cause) !== 'ENOENT') throw cause;
    return [];
  });

/** Names in a folder; none if it doesn't exist or isn't a folder. */
const entries = (folder: string): Promise<string[]> => readNames(folder).catch(() => []);

/** File systems that last no longer than a container or a machine's uptime. */
const PASSING = ['overlay', 'aufs', 'tmpfs', 'ramfs'];

/** Why a folder would be lost with its container or at a restart; null if no reason is known. Never rejects. */
export async function notLasting(folder: string): Promise<Sentence | null> {
  const [mounts, path] = await Promise.all([readText('/proc/self/mountinfo'), realpath(folder)]).catch(
    // Only Linux has this list.
    () => ['', folder] as const,
  );
  if (!isVolatile(mounts, path)) return null;
  return phrase`The state folder ${folder} lies inside the container or in memory, so sign-ins and print keys will go with it: name a lasting folder or a database in the setting stateStore.`;
}

/** Whether a folder lies on a temporary file system, by the system's list of mounts (`/proc/self/mountinfo`). */
export function isVolatile(mounts: string, folder: string): boolean {
  let deepest = { point: '', type: '' };
  for (const line of mounts.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const point = unescape(before.split(' ')[4] ?? '');
    const [type = ''] = after.split(' ');
    // Of two mounts on one point, the later hides the earlier.
    if (point !== '' && isWithin(folder, point) && point.length >= deepest.point.length) deepest = { point, type };
  }
  return PASSING.includes(deepest.type);
}

const isWithin = (path: string, folder: string): boolean =>
  folder === '/' || path === folder || path.startsWith(`${folder}/`);

/** Decodes the octal escapes of blanks and other characters. */
const unescape = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));

interface SweeperOptions {
  clock: Clock;
  /** Removes expired state. */
  sweep: () => Promise<void>;
  /** Called when the last user has left; `isInUse`: whether another one has come since. */
  ended: (isInUse: () => boolean) => Promise<void>;
  warn: (sentence: Sentence) => void;
}

/** Delay of the first sweep, ms: by then, a machine without a battery-backed clock has set its time. */
const FIRST = 60 * 60 * 1000;
const EVERY = 24 * 60 * 60 * 1000;

/** Sweeps the state while it has users: an hour after the first one begins, then daily. */
export class Sweeper {
  #users = 0;
  #disarm: (() => void) | undefined;

  constructor(private readonly options: SweeperOptions) {}

  /** Registers a user. The returned function unregisters it, and resolves when the cleanup is done. */
  use(): () => Promise<void> {
    if (this.#users++ === 0) this.#arm(FIRST);
    let isActive = true;
    return async () => {
      if (!isActive) return;
      isActive = false;
      if (--this.#users > 0) return;
      this.#disarm?.();
      await this.options.ended(() => this.#users > 0);
    };
  }

  #arm(wait: number): void {
    const { clock, sweep, warn } = this.options;
    this.#disarm = clock.after(wait, () => {
      this.#arm(EVERY);
      sweep().catch(() => warn(phrase`The saved state could not be tidied.`));
    });
  }
}
