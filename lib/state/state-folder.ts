import { randomUUID } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { inTurn } from '../files/file-calls';
import { replaceFile } from '../files/target-file';
import { codeOf } from '../http/retry';
import { makeFolder, readText } from './file-system';

/** Holds the folder's id. Its name is no kind of value. */
export const ID_FILE = 'folder-id';
const ID = /^[\da-f-]{36}$/;

/** Id of this process among those that use a folder. */
const SELF = randomUUID();

/** A process that uses the folder. */
interface FolderUser {
  id: string;
  host: string;
  pid: string;
}

/** Code of the failure if the folder is not the one of the start. */
const AWAY = 'AWAY';

/** Whether a failure means that the folder or its parent is not there, or another one in its place. */
export const isAway = (error: unknown): boolean => [AWAY, 'ENOENT'].includes(codeOf(error));

/**
 * The folder of the state. It may go away while the process runs: a share, a stick or a volume leaves an empty mount
 * point. A missing value would then be taken for one that was never written, and a new value would be written below the
 * mount point. So the folder holds a random id, written at the start that finds none. From then on another id, or none,
 * means that the folder is away. Device and inode don't identify it: they may change when it is mounted again.
 */
export class StateFolder {
  /** The id at the start; undefined before. */
  #id: string | undefined;
  #preparing: Promise<Error | undefined> | undefined;
  #checking: Promise<void> | undefined;
  #signing: Promise<void> | undefined;
  /** Whether this process has signed, so that whoever signs later uses the folder at the same time. */
  #isSigned = false;
  /** Marks of the id's file when it was last read: the file is read again only after they have changed. */
  #marks = '';
  /** Ids of the other processes that were met. */
  readonly #others = new Set<string>();

  /** @param onOther called once for each other process that uses the folder at the same time */
  constructor(
    readonly path: string,
    private readonly onOther: (host: string, pid: string) => void = () => undefined,
  ) {}

  /**
   * Runs a read of the folder of the start, so that a value that it misses is missing for certain. Rejects with the code
   * AWAY, or with that of the file system.
   */
  async read<T>(read: () => Promise<T>): Promise<T> {
    if (this.#id === undefined) await this.#begin();
    const id = this.#id;
    const found = await read();
    await this.check();
    // Another folder may have been mounted over one without an id.
    return this.#id === id ? found : this.read(read);
  }

  /** Resolves if the folder is the one of the start. Rejects as `read` does. */
  async check(): Promise<void> {
    if (this.#id === undefined) await this.#begin();
    // All calls before the check begins share it. It begins later than this call.
    else await (this.#checking ??= Promise.resolve().then(() => this.#compare()));
  }

  /**
   * At the start, makes the folder and its id if they are missing; later, only checks. Makes no parent folder: a missing
   * one is a mount point that is not there yet.
   */
  async prepare(): Promise<void> {
    if (this.#id !== undefined) return this.check();
    const refusal = await this.#begin();
    if (refusal) throw refusal;
  }

  /**
   * Resolves with the error that keeps the id from a folder without one; such a folder can be read, but not written. Rejects
   * if the folder is not there.
   */
  #begin(): Promise<Error | undefined> {
    return (this.#preparing ??= this.#adopt().finally(() => (this.#preparing = undefined)));
  }

  async #adopt(): Promise<Error | undefined> {
    await makeFolder(this.path);
    const { id } = await this.#read();
    if (id !== undefined) {
      this.#id = id;
      await this.#signBeside(id);
      return undefined;
    }
    try {
      await this.#sign(randomUUID());
    } catch (error) {
      if (!(error instanceof Error) || isMissing(error)) throw error;
      return error;
    }
    this.#isSigned = true;
    // Another process may have written its own id at the same time: the last one counts.
    this.#id = (await this.#read()).id;
    return undefined;
  }

  /** Writes this process beside the id, so that another one that uses the folder meets it. */
  #sign(id: string): Promise<void> {
    return replaceFile(join(this.path, ID_FILE), `${id}\n${SELF} ${process.pid} ${hostname()}\n`);
  }

  /** Never rejects: a folder that can't be written is reported by whoever writes a value. */
  async #signBeside(id: string): Promise<void> {
    this.#signing ??= this.#sign(id)
      .then(() => void (this.#isSigned = true))
      .catch(() => undefined)
      .finally(() => (this.#signing = undefined));
    await this.#signing;
  }

  /** Reports a process that has signed after this one, and signs once more, so that it meets this one too. */
  async #meet(id: string, user: FolderUser | undefined): Promise<void> {
    if (!user || user.id === SELF || this.#others.has(user.id)) return;
    this.#others.add(user.id);
    this.onOther(user.host, user.pid);
    await this.#signBeside(id);
  }

  async #compare(): Promise<void> {
    const { isSigned, found } = await inTurn(async () => {
      this.#checking = undefined;
      // A change that is seen from now on came after this process has signed.
      const isSigned = this.#isSigned;
      return { isSigned, found: await stat(join(this.path, ID_FILE), { bigint: true }).catch(() => null) };
    });
    const marks = found ? marksOf(found) : '';
    if (marks !== '' && marks === this.#marks) return;
    const { id, user } = await this.#read();
    if (id === undefined || id !== this.#id)
      throw Object.assign(new Error('The folder is not the one of the start.'), { code: AWAY });
    // A process that signed before may have ended since.
    if (!isSigned) return this.#signBeside(id);
    await this.#meet(id, user);
    this.#marks = marks;
  }

  /** Reads the id and the process that signed last; no id if the folder has none. */
  async #read(): Promise<{ id?: string; user?: FolderUser | undefined }> {
    try {
      const [id = '', signed = ''] = (await readText(join(this.path, ID_FILE))).split('\n');
      // A crash during the write may have left an empty file.
      if (!ID.test(id.trim())) return {};
      const [, user = '', pid = '', host = ''] = /^([\da-f-]{36}) (\d{1,10}) (\S{1,255})$/.exec(signed.trim()) ?? [];
      return { id: id.trim(), user: user === '' ? undefined : { id: user, host, pid } };
    } catch (error) {
      if (isMissing(error)) return {};
      throw error;
    }
  }
}

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(error));

/** Marks of a file, at least one of which changes with each change of the file. */
const marksOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join('/');
