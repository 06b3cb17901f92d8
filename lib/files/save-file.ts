import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { codeOf } from '../http/network-error';
import { PrintingError } from '../service/errors';

/**
 * Writes a file as a whole: beside its place first, then under its name, so that nobody ever finds half of it and a
 * failure leaves an earlier file as it was. `chunks` is not begun before the place is known to be writable.
 * Gives the bytes written. Throws FILE_NOT_WRITABLE, and what `chunks` throws.
 */
export async function saveFile(path: string, chunks: AsyncIterable<string | Uint8Array>): Promise<number> {
  const { target, mode } = await place(path);
  const beside = `${target}.${randomBytes(4).toString('hex')}.part`;
  const file = await open(beside, 'wx', mode).catch(unwritable(path));
  let saved = false;
  try {
    const size = await write(file, chunks, path);
    await rename(beside, target).catch(unwritable(path));
    saved = true;
    return size;
  } finally {
    // What can't be removed must not hide why it failed.
    if (!saved) await rm(beside, { force: true }).catch(() => undefined);
  }
}

async function write(file: FileHandle, chunks: AsyncIterable<string | Uint8Array>, path: string): Promise<number> {
  let size = 0;
  try {
    for await (const chunk of chunks) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      await file.writeFile(bytes).catch(unwritable(path));
      size += bytes.length;
    }
    await file.sync().catch(unwritable(path));
  } finally {
    await file.close();
  }
  return size;
}

/** Where the file really goes: behind a link, and never in the place of a folder or a device. */
async function place(path: string): Promise<{ target: string; mode?: number }> {
  const found = await stat(path).catch(missing(path));
  if (!found) return { target: path };
  if (!found.isFile())
    throw new PrintingError(
      'FILE_NOT_WRITABLE',
      `${path} is not a file but a folder or device: give the path of a file.`,
    );
  await access(path, constants.W_OK).catch(unwritable(path));
  return { target: await realpath(path).catch(unwritable(path)), mode: found.mode };
}

const missing = (path: string) => (cause: unknown) =>
  codeOf(cause) === 'ENOENT' ? undefined : unwritable(path)(cause);

const unwritable =
  (path: string) =>
  (cause: unknown): never => {
    const code = codeOf(cause);
    const reason =
      code === 'ENOENT' || code === 'ENOTDIR'
        ? `There is no folder for the file ${path}: check the path.`
        : code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
          ? `The file ${path} may not be written: give the runtime's user the right to write it.`
          : code === 'ENOSPC'
            ? `The disk is full, so ${path} can't be written: free some space.`
            : `The file ${path} can't be written (${code}): check the path and the disk.`;
    throw new PrintingError('FILE_NOT_WRITABLE', reason, { cause });
  };
