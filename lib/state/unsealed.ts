import { createHash } from 'node:crypto';
import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Key } from './store';

/** Which values this runtime has saved in the clear, for want of a secret. */
export interface Unsealed {
  add(key: Key): Promise<void>;
  has(key: Key): Promise<boolean>;
  remove(key: Key): Promise<void>;
}

/**
 * A small file for each of them, in the runtime's own folder: a database could not be believed about it, since whoever
 * replaces a value there replaces a mark too.
 */
export class UnsealedFiles implements Unsealed {
  readonly #folder: string;

  /** @param folder the state folder in the user directory */
  constructor(folder: string) {
    this.#folder = join(folder, 'unsealed');
  }

  /** Never rejects: without the mark, a secret that is set later makes a new sign-in necessary, and nothing worse. */
  async add(key: Key): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      .then(() => writeFile(this.#path(key), JSON.stringify(key), { mode: 0o600 }))
      .catch(() => undefined);
  }

  has(key: Key): Promise<boolean> {
    return access(this.#path(key)).then(
      () => true,
      () => false,
    );
  }

  async remove(key: Key): Promise<void> {
    await rm(this.#path(key), { force: true }).catch(() => undefined);
  }

  #path(key: Key): string {
    const name = createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 40);
    return join(this.#folder, `${name}.json`);
  }
}
