import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** For numbers that get longer. */
const SPARE = 64;
/** It is a few kilobytes with a good deal of repetition. */
const DEFLATE = { level: 3, windowBits: 13, memLevel: 5 };

/** Two texts in one piece of memory outside of the heap: one that rarely changes, compressed, and one that often does. */
export class PackedTexts {
  #bytes = Buffer.alloc(0);
  #compressed = 0;
  #length = 0;

  get still(): string {
    return this.#compressed === 0 ? '' : inflateRawSync(this.#bytes.subarray(0, this.#compressed)).toString();
  }

  get moving(): string {
    return this.#bytes.toString('utf8', this.#compressed, this.#length);
  }

  set(still: string, moving: string): void {
    this.#write(deflateRawSync(still, DEFLATE), moving);
  }

  setMoving(text: string): void {
    this.#write(this.#bytes.subarray(0, this.#compressed), text);
  }

  /** In the place of what was there: a text is mostly as long as the one before. */
  #write(compressed: Buffer, moving: string): void {
    const length = compressed.length + Buffer.byteLength(moving);
    const before = this.#bytes;
    // Not from the pool that buffers share: it would be kept whole.
    if (length > before.length || length < before.length / 2) this.#bytes = Buffer.allocUnsafeSlow(length + SPARE);
    if (compressed.buffer !== this.#bytes.buffer) compressed.copy(this.#bytes);
    this.#compressed = compressed.length;
    this.#length = compressed.length + this.#bytes.write(moving, compressed.length);
  }
}
