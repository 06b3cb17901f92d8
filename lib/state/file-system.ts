import { promises as files } from 'node:fs';
import { inTurn } from '../files/file-calls';
import { codeOf } from '../http/retry';

/** The calls of the state store to the file system. Each takes its turn, so that they never occupy all threads. */

export const access = (path: string, mode?: number): Promise<void> => inTurn(() => files.access(path, mode));

export const readText = (path: string): Promise<string> => inTurn(() => files.readFile(path, 'utf8'));

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
