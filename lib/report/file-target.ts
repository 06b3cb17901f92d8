import { randomBytes } from 'node:crypto';
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { PrintingError } from '../service/errors';

/** Throws FILE_NOT_WRITABLE where it is clear that no file can come to `path`, before anything is asked of the service. */
export async function checkTarget(path: string): Promise<void> {
  const folder = await stat(dirname(path)).catch((error: unknown) => Promise.reject(notWritable(path, error)));
  if (!folder.isDirectory()) throw notWritable(path, { code: 'ENOTDIR' });
  const target = await stat(path).catch(() => null);
  if (target?.isDirectory()) throw notWritable(path, { code: 'EISDIR' });
}

/** A file written beside its place, and put there when it is whole. Throws FILE_NOT_WRITABLE. */
export class FileTarget {
  readonly #path: string;
  readonly #beside: string;
  #file: FileHandle | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#beside = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.part`);
  }

  write = (part: Buffer): Promise<void> =>
    this.#try(async () => {
      this.#file ??= await open(this.#beside, 'wx');
      await this.#file.writeFile(part);
    });

  /** Flushed to disk before it takes its name. */
  finish = (): Promise<void> =>
    this.#try(async () => {
      await this.write(Buffer.alloc(0));
      await this.#file?.sync();
      await this.#file?.close();
      await rename(this.#beside, this.#path);
      this.#file = undefined;
    });

  /** Leaves nothing behind; after `finish`, the file. Never throws. */
  async drop(): Promise<void> {
    if (!this.#file) return;
    await this.#file.close().catch(() => undefined);
    await rm(this.#beside, { force: true }).catch(() => undefined);
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw error instanceof PrintingError ? error : notWritable(this.#path, error);
    }
  }
}

const REASONS: Record<string, string> = {
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'its folder is a file',
  EISDIR: 'it is a folder',
  EACCES: 'Node-RED may not write there',
  EPERM: 'Node-RED may not write there',
  EROFS: 'that disk is read-only',
  ENOSPC: 'the disk is full',
};

function notWritable(path: string, thrown: unknown): PrintingError {
  const code = (thrown as NodeJS.ErrnoException).code ?? 'unknown';
  return new PrintingError('FILE_NOT_WRITABLE', `The report can't be written to ${path}: ${REASONS[code] ?? code}.`, {
    cause: new Error(code),
  });
}
