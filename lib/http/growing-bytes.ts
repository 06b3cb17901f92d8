/** Smallest buffer for bytes that arrive in more than one part. */
const FIRST = 16_384;
/** Size from which the buffer no longer doubles, so that at most a fifth of a large one stays unused. */
const LARGE = 1_048_576;

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
      if (length > this.#buffer.length)
        this.#grow(Math.max(length, Math.ceil(length * (length < LARGE ? 2 : 1.25)), FIRST));
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
