import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inTurn } from '../files/file-calls';
import { access, remove } from './file-system';
import type { Key } from './store';

/** A value that only the holder of the secret can read or change; all parts base64. */
export interface Sealed {
  salt: string;
  iv: string;
  tag: string;
  data: string;
}

const ALGORITHM = 'aes-256-gcm';
const PURPOSE = 'remote-printing state 1';

const derive = (secret: string, salt: Buffer): Buffer => Buffer.from(hkdfSync('sha256', secret, salt, PURPOSE, 32));

/** Encrypts `plain` and binds `label` to it, so that a record can't be moved to another key. */
export function seal(plain: string, secret: string, label: string): Sealed {
  const salt = randomBytes(16);
  const iv = randomBytes(12);
  const cipher = createCipheriv(ALGORITHM, derive(secret, salt), iv).setAAD(Buffer.from(label));
  const data = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  const base64 = (part: Buffer) => part.toString('base64');
  return { salt: base64(salt), iv: base64(iv), tag: base64(cipher.getAuthTag()), data: base64(data) };
}

/** Decrypts a value. Returns undefined if the secret is wrong or the record was changed. */
export function unseal(sealed: Sealed, secret: string, label: string): string | undefined {
  const bytes = (part: string) => Buffer.from(part, 'base64');
  try {
    const decipher = createDecipheriv(ALGORITHM, derive(secret, bytes(sealed.salt)), bytes(sealed.iv))
      .setAAD(Buffer.from(label))
      .setAuthTag(bytes(sealed.tag));
    return Buffer.concat([decipher.update(bytes(sealed.data)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/** Folder of the marks among those of the kinds. Its files are no records. */
export const UNSEALED = 'unsealed';

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
    this.#folder = join(folder, UNSEALED);
  }

  /**
   * Marks a value. Never rejects: without the marker, a secret that is set later only makes a new sign-in necessary.
   */
  async add(key: Key): Promise<void> {
    const mark = async () => {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await writeFile(this.#path(key), JSON.stringify(key), { mode: 0o600 });
    };
    await inTurn(mark).catch(() => undefined);
  }

  has(key: Key): Promise<boolean> {
    return access(this.#path(key)).then(
      () => true,
      () => false,
    );
  }

  async remove(key: Key): Promise<void> {
    await remove(this.#path(key)).catch(() => undefined);
  }

  #path(key: Key): string {
    const name = createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 40);
    return join(this.#folder, `${name}.json`);
  }
}
