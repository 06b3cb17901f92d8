import { promises as files } from 'node:fs';
import { inTurn } from '../files/file-calls';
import { codeOf } from '../http/retry';

/** The calls of the state store to the file system. Each takes its turn, so that they never occupy all threads. */

export const access = (path: string, mode?: number): Promise<void> => inTurn(() => files.access(path, mode));

export const readText = (path: string): Promise<string> => inTurn(() => files.readFile(path, 'utf8'));

/** Most bytes of a small file. Less than half of the pool from which Node.js takes small buffers. */
const SMALL = 4_000;

/**
 * Content of a file that is probably small, by a single read, which takes half the time of `readText`. A file system that
 * returns files in parts may cut it off.
 */
export const readSmall = (path: string): Promise<string> =>
  inTurn(async () => {
    const file = await files.open(path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(SMALL), 0, SMALL, 0);
      return bytesRead < SMALL ? buffer.toString('utf8', 0, bytesRead) : await file.readFile('utf8');
    } finally {
      await file.close();
    }
  });

export const readNames = (path: string): Promise<string[]> => inTurn(() => files.readdir(path));

export const realpath = (path: string): Promise<string> => inTurn(() => files.realpath(path));

export const rename = (from: string, to: string): Promise<void> => inTurn(() => files.rename(from, to));

/** Removes a file, if it is there. */
export const remove = (path: string): Promise<void> => inTurn(() => files.rm(path, { force: true }));

/** Time of a file's last change, ms since 1970. */
export const changedAt = async (path: string): Promise<number> => (await inTurn(() => files.stat(path))).mtimeMs;

/** Makes a folder for its owner only, but not its parents. */
export const makeFolder = (path: string): Promise<void> =>
  inTurn(() =>
    files.mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    }),
  );
