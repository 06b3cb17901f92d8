import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { replaceFile } from '../files/target-file';
import { codeOf } from '../http/retry';
import { makeFolder, readText } from './file-system';

/** Holds the folder's id. Its name is no kind of value. */
export const ID_FILE = 'folder-id';
const ID = /^[\da-f-]{36}$/;

/** Code of the failure if the folder is not the one of the start. */
export const AWAY = 'AWAY';

/**
 * The folder of the state. It may go away while the process runs: a share, a stick or a volume leaves an empty mount
 * point. A missing value would then be taken for one that was never written, and a new value would be written below the
 * mount point. So the folder holds a random id, written at the start that finds none. From then on another id, or none,
 * means that the folder is away. Device and inode don't identify it: they may change when it is mounted again.
 */
export class StateFolder {
  /** The id at the start; undefined before. */
  #id: string | undefined;
  #preparing: Promise<void> | undefined;
  #checking: Promise<void> | undefined;

  constructor(readonly path: string) {}

  /**
   * Resolves if the folder is the one of the start. Reads the id after this call, so that a value that was missing before
   * the call is missing for certain. Rejects with the code AWAY, or with that of the file system.
   */
  check(): Promise<void> {
    // Calls in one turn of the event loop share a read.
    return (this.#checking ??= Promise.resolve().then(() => {
      this.#checking = undefined;
      return this.#compare();
    }));
  }

  /**
   * At the start, makes the folder and its id if they are missing; later, only checks. Makes no parent folder: a missing
   * one is a mount point that is not there yet.
   */
  async prepare(): Promise<void> {
    if (this.#id !== undefined) return this.check();
    await (this.#preparing ??= this.#begin().finally(() => (this.#preparing = undefined)));
  }

  async #begin(): Promise<void> {
    await makeFolder(this.path);
    if ((await this.#read()) !== undefined) return;
    await replaceFile(join(this.path, ID_FILE), `${randomUUID()}\n`);
    // Another process may have written its own id at the same time: the last one counts.
    await this.#read();
  }

  async #compare(): Promise<void> {
    const id = await this.#read();
    if (id !== this.#id) throw Object.assign(new Error('The folder is not the one of the start.'), { code: AWAY });
  }

  /** Reads the id, which becomes that of the start if there is none yet; undefined if the folder has none. */
  async #read(): Promise<string | undefined> {
    try {
      const id = (await readText(join(this.path, ID_FILE))).trim();
      // A crash during the write may have left an empty file.
      if (!ID.test(id)) return undefined;
      return (this.#id ??= id) && id;
    } catch (error) {
      if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return undefined;
      throw error;
    }
  }
}
