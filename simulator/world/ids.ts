import { createHash } from 'node:crypto';

/** Ids and noise, reproducible by seed and order of calls (wire facts 1). */
export class Ids {
  constructor(
    private readonly seed: number,
    private readonly counter: { nextId: number },
  ) {}

  /** Creates a cloud id: 44 characters of the URL-safe base64 alphabet, with one to three `=` at the end. */
  cloudId(): string {
    const padding = 1 + (this.counter.nextId % 3);
    return (
      this.digest()
        .toString('base64url')
        .slice(0, 44 - padding) + '='.repeat(padding)
    );
  }

  /** Creates a lower-case UUID. */
  uuid(): string {
    return asUuid(this.digest());
  }

  /** Creates `length` upper-case hex digits, as in the host id of the second printer brand. */
  upperHex(length: number): string {
    return this.digest().toString('hex').slice(0, length).toUpperCase();
  }

  /** Returns a number from -1 to 1 that depends only on the seed and the key. */
  noise(key: string): number {
    return sha256(`${this.seed}:noise:${key}`).readUInt32BE(0) / 0x7fffffff - 1;
  }

  private digest(): Buffer {
    return sha256(`${this.seed}:id:${this.counter.nextId++}`);
  }
}

/** Returns a lower-case UUID that depends only on the name. */
export const uuidOf = (name: string): string => asUuid(sha256(name));

function asUuid(digest: Buffer): string {
  const hex = digest.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

export const NIL_UUID = '00000000-0000-0000-0000-000000000000';
