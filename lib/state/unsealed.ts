import { createHash } from 'node:crypto';
import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Key } from './store';

/** Marks of the values that this runtime has saved in the clear because it had no secret. */
export interface Unsealed {
  add(key: Key): Promise<void>;
  has(key: Key): Promise<boolean>;
  remove(key: Key): Promise<void>;
}

/**
 * One small marker file per value, in the runtime's own folder. A marker in the database would be worthless: an
 * intruder who can replace a value there can replace its marker too.
 */
export class UnsealedFiles implements Unsealed {
  readonly #folder: string;

  /** @param folder the state folder in the user directory */
  constructor(folder: string) {
    this.#folder = join(folder, 'unsealed');
  }

  /**
   * Marks a value. Never rejects: without the marker, a secret that is set later only makes a new sign-in necessary.
   */
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
