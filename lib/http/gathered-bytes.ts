import { nextTurn } from '../time/concurrency';

/** Smallest and largest block for bytes of an unknown number. A block for each part would cost more than a small part has. */
const FIRST = 64 * 1024;
const BLOCK = 1024 * 1024;
/** Most memory to allocate for announced bytes, as a multiple of those that have arrived: a sender may announce any number. */
const TRUST = 64;

/** Bytes of a download that is held in memory. It may have hundreds of MiB, which are never copied in one go. */
export class GatheredBytes {
  length = 0;
  #blocks: Buffer[] = [];
  /** Free bytes of the last block. */
  #free = 0;

  /** @param announced number of bytes; null if unknown */
  constructor(private readonly announced: number | null) {}

  add(part: Buffer): void {
    for (let at = 0; at < part.length;) {
      if (this.#free === 0) this.#allocate();
      const block = this.#blocks.at(-1) as Buffer;
      const copied = part.copy(block, block.length - this.#free, at);
      this.#free -= copied;
      this.length += copied;
      at += copied;
    }
  }

  /** All bytes, in one buffer. */
  async all(): Promise<Buffer> {
    const [first, ...others] = this.#blocks;
    if (first && others.length === 0 && this.#free === 0) return first;
    const last = this.#blocks.at(-1);
    return joined([...this.#blocks.slice(0, -1), ...(last ? [last.subarray(0, last.length - this.#free)] : [])]);
  }

  #allocate(): void {
    const { announced, length } = this;
    if (announced !== null && announced > length && announced <= Math.max(BLOCK, TRUST * length)) {
      const whole = Buffer.allocUnsafeSlow(announced);
      let at = 0;
      for (const block of this.#blocks) at += block.copy(whole, at);
      this.#blocks = [whole];
      this.#free = announced - length;
    } else {
      this.#free = Math.min(BLOCK, Math.max(FIRST, length));
      this.#blocks.push(Buffer.allocUnsafeSlow(this.#free));
    }
  }
}

/** A new buffer with the bytes of all parts, copied in turns of the event loop. */
export async function joined(parts: readonly Buffer[]): Promise<Buffer> {
  const all = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let length = 0;
  for (const part of parts)
    for (let at = 0; at < part.length; at += BLOCK) {
      await nextTurn();
      length += part.copy(all, length, at, at + BLOCK);
    }
  return all;
}
