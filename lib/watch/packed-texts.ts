/** For numbers that get longer. */
const SPARE = 64;

/** A few texts in one piece of memory outside of the heap, those first that change least. */
export class PackedTexts {
  #bytes = Buffer.alloc(0);
  readonly #ends: number[] = [];

  get(index: number): string {
    return this.#bytes.toString('utf8', this.#ends[index - 1] ?? 0, this.#ends[index]);
  }

  /** Those from `index` on; what stood there is gone. */
  set(index: number, ...texts: string[]): void {
    const begin = this.#ends[index - 1] ?? 0;
    const length = texts.reduce((sum, text) => sum + Buffer.byteLength(text), begin);
    // In the place of what was there: an answer of a cluster is as long as the one before.
    if (length > this.#bytes.length || length < this.#bytes.length / 2) {
      // Not from the pool that buffers share: it would be kept whole.
      const bytes = Buffer.allocUnsafeSlow(length + SPARE);
      this.#bytes.copy(bytes, 0, 0, begin);
      this.#bytes = bytes;
    }
    this.#ends.length = index;
    let at = begin;
    for (const text of texts) this.#ends.push((at += this.#bytes.write(text, at)));
  }
}
