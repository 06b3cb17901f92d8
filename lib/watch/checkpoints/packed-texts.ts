import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** Spare bytes for numbers that grow. */
const SPARE = 64;
/** Tuned for a few kilobytes of repetitive text. */
const DEFLATE = { level: 3, windowBits: 13, memLevel: 5 };

/** Two texts in one buffer outside the heap: a stable one, compressed, and a volatile one. */
export class PackedTexts {
  #bytes = Buffer.alloc(0);
  #compressed = 0;
  #length = 0;

  get stable(): string {
    return this.#compressed === 0 ? '' : inflateRawSync(this.#bytes.subarray(0, this.#compressed)).toString();
  }

  get volatile(): string {
    return this.#bytes.toString('utf8', this.#compressed, this.#length);
  }

  set(stable: string, volatile: string): void {
    this.#write(deflateRawSync(stable, DEFLATE), volatile);
  }

  setVolatile(text: string): void {
    this.#write(this.#bytes.subarray(0, this.#compressed), text);
  }

  /** Reuses the buffer: a text is mostly as long as its predecessor. */
  #write(compressed: Buffer, volatile: string): void {
    const length = compressed.length + Buffer.byteLength(volatile);
    const before = this.#bytes;
    // A slice of the shared pool would keep the whole pool alive.
    if (length > before.length || length < before.length / 2) this.#bytes = Buffer.allocUnsafeSlow(length + SPARE);
    if (compressed.buffer !== this.#bytes.buffer) compressed.copy(this.#bytes);
    this.#compressed = compressed.length;
    this.#length = compressed.length + this.#bytes.write(volatile, compressed.length);
  }
}
