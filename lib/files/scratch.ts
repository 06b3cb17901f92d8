import { constants } from 'node:fs';
import { mkdtemp, open, rmdir, unlink, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Deadline } from '../time/deadline';
import { FileCalls } from './file-calls';

/** A file for one piece of work, closed to all other users. */
export interface ScratchFile {
  readonly calls: FileCalls;
  readonly handle: FileHandle;
  /** Leaves nothing behind. Never throws. */
  close: () => Promise<void>;
}

/**
 * Makes a file in an owner-only folder of its own below the temporary folder, and removes both names at once: the file lives
 * as long as it is open, so that no crash leaves it and nobody finds it. Where the system keeps the names of open files, they
 * go with the close.
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
  // Where the system has no such flag, it adds nothing.
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const opened = calls.run(
    () => open(path, flags, 0o600),
    (late) => late.close().finally(removeNames),
  );
  const handle = await opened.catch(async (error: unknown) => {
    await calls.release(removeNames);
    throw error;
  });
  await calls.release(removeNames);
  const close = () => calls.release(() => handle.close().finally(removeNames));
  return { calls, handle, close };
}
