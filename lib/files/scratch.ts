import { constants } from 'node:fs';
import { mkdtemp, open, rmdir, unlink, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Deadline } from '../time/deadline';
import { FileCalls } from './file-calls';

/** A temporary file for one piece of work, inaccessible to other users. */
interface ScratchFile {
  readonly calls: FileCalls;
  readonly handle: FileHandle;
  /** Closes and removes the file. Never throws. */
  close: () => Promise<void>;
}

/**
 * Creates a file in its own owner-only folder below the temporary folder, and removes both names at once. The file
 * lives only as long as it is open, so a crash leaves nothing behind and no other process finds it. If the system keeps
 * the names of open files, `close` removes them.
 */
export async function openScratch(deadline: Deadline): Promise<ScratchFile> {
  const calls = new FileCalls(join(tmpdir(), 'file'), deadline);
  const folder = await calls.run(
    () => mkdtemp(join(tmpdir(), 'remote-printing-')),
    (late) => rmdir(late),
  );
  const path = join(folder, 'compressed');
  const removeNames = async () => {
    await unlink(path).catch(() => undefined);
    await rmdir(folder).catch(() => undefined);
  };
  const closeAndRemove = async (file: FileHandle) => {
    try {
      await file.close();
    } finally {
      await removeNames();
    }
  };
  // A flag that the system doesn't have is undefined and adds nothing.
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const opened = calls.run(() => open(path, flags, 0o600), closeAndRemove);
  const handle = await opened.catch(async (error: unknown) => {
    await calls.release(removeNames);
    throw error;
  });
  await calls.release(removeNames);
  const close = () => calls.release(() => closeAndRemove(handle));
  return { calls, handle, close };
}
