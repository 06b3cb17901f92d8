/** Smallest buffer for bytes that arrive in more than one part. */
const FIRST = 16_384;
/** Growth of a full buffer: at most a fifth of it stays unused, since most answers arrive in two parts. */
const GROWTH = 1.25;

/**
 * Bytes that arrive in parts, in one buffer that grows. A buffer for each part would cost more than a hundred bytes of
 * memory for every byte of a sender that sends them one at a time.
 */
export class GrowingBytes {
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Adds a part. The first one is not copied, because most answers have only one: its bytes must not change. */
  add(part: Buffer): void {
    const length = this.#length + part.length;
    if (this.#length === 0) this.#buffer = part;
    else {
      // The first part has no room behind it.
      if (length > this.#buffer.length) this.#grow(Math.max(Math.ceil(length * GROWTH), FIRST));
      part.copy(this.#buffer, this.#length);
    }
    this.#length = length;
  }

  /** All bytes so far. They share the memory of this object. */
  get all(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #grow(room: number): void {
    const grown = Buffer.allocUnsafeSlow(room);
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}
