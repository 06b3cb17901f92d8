import { once } from 'node:events';
import type { Transform } from 'node:stream';

/** Decodes an answer while it arrives. */
export class Decoding {
  readonly #chain: Transform[];
  readonly #first: Transform;
  readonly #last: Transform;
  #isEmpty = true;

  /**
   * @param decoders at least one, outermost first
   * @param onError called for bytes that don't match the encoding
   */
  constructor(decoders: Transform[], onPart: (part: Buffer) => void, onError: (error: Error) => void) {
    this.#chain = decoders;
    this.#first = decoders[0] as Transform;
    this.#last = decoders.at(-1) as Transform;
    for (const decoder of decoders) decoder.on('error', onError);
    decoders.reduce((from, to) => from.pipe(to));
    this.#last.on('data', onPart);
  }

  write(part: Buffer): void {
    this.#isEmpty = false;
    this.#first.write(part);
  }

  /** Resolves when all parts have been decoded. */
  async end(): Promise<void> {
    // An answer without a body, such as a 204, isn't encoded, whatever its header says.
    if (this.#isEmpty) return this.destroy();
    // A destroyed chain ends this too; its error has already been reported.
    const ended = Promise.race([once(this.#last, 'end'), once(this.#last, 'close')]);
    this.#first.end();
    await ended;
  }

  destroy(): void {
    for (const decoder of this.#chain) decoder.destroy();
  }
}
