import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

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
