import { randomBytes } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { access, type FileHandle, open, readlink, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf } from '../http/retry';
import { PrintingError } from '../service/errors';
import { Semaphore } from '../time/concurrency';
import type { Deadline } from '../time/deadline';
import { phrase } from '../words/sentence';
import { FileCalls, inTurn } from './file-calls';
import { type Leftovers, partName } from './leftovers';

/** Codes of a passing shortage or a failing disk, as opposed to a system that can't flush folders at all. */
const SHORTAGES = ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOSPC', 'EIO'];

/**
 * Makes a rename or removal in a folder survive a power cut. Rejects on a shortage. On systems that can't flush a folder,
 * it does nothing, and the rename alone must suffice.
 */
export async function flushFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (SHORTAGES.includes(codeOf(error))) throw error;
  }
}

/**
 * Replaces a small file, for its owner only, by writing and flushing another one beside it. The mode is given only when
 * that one is made, because some file systems refuse to change it.
 */
export const replaceFile = (path: string, content: string): Promise<void> => inTurn(() => replace(path, content));

/** Pattern of what follows the name and a dot in the name of the file beside it. */
export const PART = '[\\da-f]{12}';

async function replace(path: string, content: string): Promise<void> {
  const part = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const handle = await open(part, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, path);
  } catch (error) {
    await unlink(part).catch(() => undefined);
    throw error;
  }
}

export interface TargetOptions {
  /** Limits every wait for the file system. */
  deadline: Deadline;
  /** Notes of unfinished files. Without them, a crash leaves the unfinished file for good. */
  leftovers?: Leftovers | undefined;
}

/** Checks in advance whether a file can be written to `path`. Throws FILE_NOT_WRITABLE, or the deadline's reason. */
export async function checkTarget(path: string, deadline: Deadline): Promise<void> {
  await locate(path, new FileCalls(resolve(path), deadline));
}

/**
 * A file at a path that the user chose. It is written beside its target and then renamed, so the target is always
 * complete, and a failure or crash leaves an earlier file unchanged. End it with `finish` or `drop`. All methods except
 * `drop` throw FILE_NOT_WRITABLE, or the deadline's reason.
 */
export class TargetFile {
  #isFinished = false;

  private constructor(
    private readonly path: string,
    private readonly target: string,
    private readonly part: string,
    private readonly file: FileHandle,
    private readonly calls: FileCalls,
    private deleteNote: (() => Promise<void>) | undefined,
  ) {}

  static async open(path: string, { deadline, leftovers }: TargetOptions): Promise<TargetFile> {
    const calls = new FileCalls(resolve(path), deadline);
    const { target, found } = await locate(path, calls);
    // The name is short, because the target's may be as long as the file system allows, and unpredictable.
    const part = join(dirname(target), partName(randomBytes(16).toString('hex')));
    const deleteNote = await leftovers?.note(part, deadline);
    const made = calls.run(
      // Exclusive: never opens an existing file, link or pipe.
      () => open(part, 'wx', found && Number(found.mode & 0o777n)),
      (late) => late.close(),
    );
    const handle = await made.catch((error: unknown) => {
      // Runs after an abandoned call returns, which may create the file.
      void calls.release(() => removePart(part).then(deleteNote));
      throw notWritable(path, error);
    });
    const file = new TargetFile(path, target, part, handle, calls, deleteNote);
    try {
      if (found) await calls.run(() => copyOwnerAndMode(handle, found));
      return file;
    } catch (error) {
      await file.drop();
      throw notWritable(path, error);
    }
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.calls.run(() => this.file.writeFile(bytes)).catch(unwritable(this.path));
  }

  /** Moves the file to its place. When this resolves, the file is on disk. */
  async finish(): Promise<void> {
    try {
      await this.calls.run(() => this.file.sync());
      await this.calls.run(() => this.file.close());
      await this.calls.run(() => rename(this.part, this.target));
      this.#isFinished = true;
    } catch (error) {
      throw notWritable(this.path, error);
    }
    // The file is complete in its place, even if its folder can't be flushed now.
    await this.calls.run(() => flushFolder(dirname(this.target)).catch(() => undefined));
    await this.#removeNote();
  }

  /**
   * Removes the unfinished file and its note; after `finish`, only a note that is left. Never throws, because a failed
   * removal must not hide the original error.
   */
  async drop(): Promise<void> {
    if (this.#isFinished && !this.deleteNote) return;
    // Runs after an abandoned call returns: until its folder is flushed, a rename may still get lost.
    await this.calls.release(async () => {
      if (!this.#isFinished) {
        await this.file.close().catch(() => undefined);
        await removePart(this.part);
      }
      // Not awaited, because the note is in another folder.
      void this.#removeNote();
    });
  }

  async #removeNote(): Promise<void> {
    const deleteNote = this.deleteNote;
    this.deleteNote = undefined;
    await deleteNote?.();
  }
}

/**
 * Writes `chunks` to a file; reads the first one only after the file has proved writable. Returns the bytes written.
 * Throws FILE_NOT_WRITABLE, or the error of `chunks`.
 */
export async function saveFile(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  options: TargetOptions,
): Promise<number> {
  const file = await TargetFile.open(path, options);
  let size = 0;
  try {
    for await (const chunk of chunks) {
      await file.write(chunk);
      size += chunk.length;
    }
    await file.finish();
    return size;
  } finally {
    await file.drop();
  }
}

/** Resolves the actual target and finds the file that exists there. Refuses a folder or a device. */
async function locate(path: string, calls: FileCalls): Promise<{ target: string; found: BigIntStats | undefined }> {
  const found = await calls
    .run(() => stat(path, { bigint: true }))
    .catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw notWritable(path, error);
    });
  if (found ? !found.isFile() : /[\\/]$/.test(path)) {
    const sentence = phrase`${path} is not a file but a folder or device: choose a file.`;
    throw new PrintingError('FILE_NOT_WRITABLE', sentence);
  }
  try {
    const target = await calls.run(() => behindLinks(path));
    await calls.run(() => access(found ? target : dirname(target), constants.W_OK));
    return { target, found };
  } catch (error) {
    throw notWritable(path, error);
  }
}

/** Resolves links. A link stays a link: its target is written, even if it doesn't exist yet. */
async function behindLinks(path: string): Promise<string> {
  const folder = await realpath(dirname(path));
  const target = join(folder, basename(path));
  const link = await readlink(target).catch(() => undefined);
  return link === undefined ? target : behindLinks(resolve(folder, link));
}

/** Removes an unfinished file. An abandoned call that returns late may have created it, or moved it to its place. */
async function removePart(part: string): Promise<void> {
  await unlink(part).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
}

/** Copies owner and mode of the replaced file, as far as the system allows. */
async function copyOwnerAndMode(file: FileHandle, { uid, gid, mode }: BigIntStats): Promise<void> {
  await file.chown(Number(uid), Number(gid)).catch(() => undefined);
  await file.chmod(Number(mode & 0o7777n)).catch(() => undefined);
}

const unwritable =
  (path: string) =>
  (cause: unknown): never => {
    throw notWritable(path, cause);
  };

function notWritable(path: string, cause: unknown): PrintingError {
  if (cause instanceof PrintingError) return cause;
  const code = codeOf(cause);
  const reason =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? phrase`There is no folder for the file ${path}: check the path.`
      : code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
        ? phrase`The file ${path} may not be written: give the user that runs Node-RED permission to write it.`
        : code === 'ENOSPC' || code === 'EDQUOT'
          ? phrase`The disk is full, so ${path} can't be written: free some space.`
          : phrase`The file ${path} can't be written (${code}): check the path and the disk.`;
  return new PrintingError('FILE_NOT_WRITABLE', reason, { cause });
}

/** Changes at a time; each has an open file. */
const CHANGES = 32;

/** A folder whose changes survive a power cut. One flush of the folder serves all changes that were made before it began. */
export class FlushedFolder {
  readonly #slots = new Semaphore(CHANGES);
  #last: Promise<unknown> = Promise.resolve();
  /** The flush that has not begun yet. */
  #next: Promise<void> | undefined;

  constructor(private readonly path: string) {}

  /** Runs `work`, which renames or removes a file, and flushes the folder. Rejects if either fails. */
  async change(work: () => Promise<void>): Promise<void> {
    await this.#slots.hold(work);
    // A flush that is under way may miss the change.
    await (this.#next ??= this.#flush());
  }

  async #flush(): Promise<void> {
    await this.#last.catch(() => undefined);
    this.#next = undefined;
    this.#last = inTurn(() => flushFolder(this.path));
    await this.#last;
  }
}
