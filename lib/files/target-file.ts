import { constants, type Stats } from 'node:fs';
import { access, open, readlink, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf } from '../http/network-error';
import { PrintingError } from '../service/errors';
import { flushFolder } from './flush-folder';
import { noteScratch, scratchName, sweepScratch } from './scratch';
import { say } from '../words/say';

/** Throws FILE_NOT_WRITABLE where it is clear already that no file can be written to `path`. */
export async function checkTarget(path: string): Promise<void> {
  await locate(path);
}

/**
 * A file that a user named, written as a whole: beside its target first, then put in its place, so that nobody ever finds
 * half of it and a failure or crash leaves an earlier file as it was. End it with `finish` or `drop`.
 * Everything but `drop` throws FILE_NOT_WRITABLE.
 */
export class TargetFile {
  readonly #path: string;
  readonly #target: string;
  readonly #part: string;
  readonly #file: FileHandle;
  readonly #takeNoteBack: () => Promise<void>;

  private constructor(path: string, target: string, part: string, file: FileHandle, takeNoteBack: () => Promise<void>) {
    this.#path = path;
    this.#target = target;
    this.#part = part;
    this.#file = file;
    this.#takeNoteBack = takeNoteBack;
  }

  static async open(path: string): Promise<TargetFile> {
    const { target, found } = await locate(path);
    const folder = dirname(target);
    await sweepScratch(folder);
    // Of a short name of its own: the target's may be as long as the file system takes them.
    const part = join(folder, `.${scratchName()}`);
    const takeNoteBack = await noteScratch(part);
    try {
      const file = await open(part, 'wx', found && found.mode & 0o777);
      if (found) await likeBefore(file, found);
      return new TargetFile(path, target, part, file, takeNoteBack);
    } catch (error) {
      await takeNoteBack();
      throw notWritable(path, error);
    }
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#file.writeFile(bytes).catch(unwritable(this.#path));
  }

  /** Puts the file in its place; it is on the disk when this resolves. */
  async finish(): Promise<void> {
    try {
      await this.#file.sync();
      await this.#file.close();
      await rename(this.#part, this.#target);
    } catch (error) {
      throw notWritable(this.#path, error);
    }
    await flushFolder(dirname(this.#target));
    await this.#takeNoteBack();
  }

  /** Leaves nothing behind; after `finish`, the file. Never throws: what can't be removed must not hide why it failed. */
  async drop(): Promise<void> {
    await this.#file.close().catch(() => undefined);
    await rm(this.#part, { force: true }).catch(() => undefined);
    await this.#takeNoteBack();
  }
}

/**
 * Writes `chunks` to a file, which are not begun before the file is known to be writable. Gives the bytes written.
 * Throws FILE_NOT_WRITABLE, and what `chunks` throws.
 */
export async function saveFile(path: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const file = await TargetFile.open(path);
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

/** Where the file really goes, and what is there now: never a folder or a device. */
async function locate(path: string): Promise<{ target: string; found: Stats | undefined }> {
  const found = await stat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw notWritable(path, error);
  });
  if (found ? !found.isFile() : /[\\/]$/.test(path)) {
    const sentence = say`${path} is not a file but a folder or device: choose a file.`;
    throw new PrintingError('FILE_NOT_WRITABLE', sentence);
  }
  try {
    const target = await behindLinks(path);
    await access(found ? target : dirname(target), constants.W_OK);
    return { target, found };
  } catch (error) {
    throw notWritable(path, error);
  }
}

/** A link stays a link: what it leads to is written, also where that isn't there yet. */
async function behindLinks(path: string): Promise<string> {
  const folder = await realpath(dirname(path));
  const target = join(folder, basename(path));
  const link = await readlink(target).catch(() => undefined);
  return link === undefined ? target : behindLinks(resolve(folder, link));
}

/** Owner and rights of the file that is replaced, as far as the system lets us give them. */
async function likeBefore(file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  await file.chown(uid, gid).catch(() => undefined);
  await file.chmod(mode & 0o7777).catch(() => undefined);
}

const unwritable =
  (path: string) =>
  (cause: unknown): never => {
    throw notWritable(path, cause);
  };

function notWritable(path: string, cause: unknown): PrintingError {
  const code = codeOf(cause);
  const reason =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? say`There is no folder for the file ${path}: check the path.`
      : code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
        ? say`The file ${path} may not be written: give the user that runs Node-RED permission to write it.`
        : code === 'ENOSPC' || code === 'EDQUOT'
          ? say`The disk is full, so ${path} can't be written: free some space.`
          : say`The file ${path} can't be written (${code}): check the path and the disk.`;
  return new PrintingError('FILE_NOT_WRITABLE', reason, { cause });
}
