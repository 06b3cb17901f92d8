import type { Readable } from 'node:stream';
import { codeOf } from '../http/network-error';
import { PrintingError } from '../service/errors';
import type { Deadline } from '../time/deadline';
import { empty, exactly, type Content } from './content';
import { phrase } from '../words/sentence';

/** So much of what a stream gave stays in hand, bytes: about what a connection that breaks may have swallowed. */
const IN_HAND = 8 * 1024 * 1024;
/** And in not more parts than this: each costs memory of its own, however small it is. */
const MOST_PARTS = 4096;

/** A stream gives its bytes once; the newest of them can be read again. */
export function streamContent(stream: Readable, size: number, name: string, deadline: Deadline): Content {
  if (!Number.isSafeInteger(size) || size < 0) {
    const sentence = phrase`The size of the stream "${name}" is missing: give it as a whole number of bytes.`;
    throw new PrintingError('INVALID_INPUT', sentence);
  }
  if (size === 0) throw empty(name);
  const tail = new StreamTail(stream, name, deadline);
  return {
    size,
    repeatable: false,
    isFile: false,
    has: (from) => from >= tail.start,
    chunks: (from = 0) => exactly(size, from, tail.chunks(from)),
    stamp: () => Promise.resolve(null),
    unchanged: () => Promise.resolve(true),
    close: () => Promise.resolve(),
  };
}

/** The end, so far, of what a stream gives. */
class StreamTail {
  readonly #stream: Readable;
  readonly #name: string;
  readonly #deadline: Deadline;
  #iterator: AsyncIterator<unknown> | undefined;
  #parts: Buffer[] = [];
  /** Of the first byte in hand, and behind the last. */
  #start = 0;
  #end = 0;
  #pulling: Promise<boolean> | undefined;

  constructor(stream: Readable, name: string, deadline: Deadline) {
    this.#stream = stream;
    this.#name = name;
    this.#deadline = deadline;
  }

  get start(): number {
    return this.#start;
  }

  /** Goes on where an earlier reading was given up, or before. */
  async *chunks(from: number): AsyncGenerator<Buffer, void> {
    for (let at = from; ;) {
      const part = this.#partAt(at);
      if (part) {
        at += part.length;
        yield part;
      } else if (!(await this.#deadline.wait(this.#pull()))) return;
    }
  }

  #partAt(at: number): Buffer | undefined {
    // From the newest on, which is mostly the wanted one.
    let start = this.#end;
    for (let index = this.#parts.length - 1; index >= 0 && at < start; index--) {
      const part = this.#parts[index] as Buffer;
      start -= part.length;
      if (at >= start) return part.subarray(at - start);
    }
    return undefined;
  }

  /** Takes one more part from the stream; false at its end. Who reads meanwhile waits for the same part. */
  #pull(): Promise<boolean> {
    this.#pulling ??= this.#next().then((more) => {
      // A failed or ended stream stays so.
      if (more) this.#pulling = undefined;
      return more;
    });
    return this.#pulling;
  }

  async #next(): Promise<boolean> {
    try {
      this.#iterator ??= (this.#stream as AsyncIterable<unknown>)[Symbol.asyncIterator]();
      const next = await this.#iterator.next();
      if (next.done) return false;
      const part = bytesOf(next.value, this.#stream.readableEncoding);
      if (part.length > 0) this.#parts.push(part);
      this.#end += part.length;
      this.#forget();
      return true;
    } catch (cause) {
      if (cause instanceof PrintingError) throw cause;
      const sentence = phrase`The stream "${this.#name}" was interrupted (${codeOf(cause)}): send it again.`;
      throw new PrintingError('FILE_NOT_READABLE', sentence, { cause });
    }
  }

  #forget(): void {
    for (;;) {
      const [oldest] = this.#parts;
      const isSpare = oldest && this.#end - this.#start - oldest.length >= IN_HAND;
      if (!oldest || !(isSpare || this.#parts.length > MOST_PARTS)) return;
      this.#parts.shift();
      this.#start += oldest.length;
    }
  }
}

function bytesOf(chunk: unknown, encoding: BufferEncoding | null): Buffer {
  if (typeof chunk === 'string') return Buffer.from(chunk, encoding ?? 'utf8');
  if (chunk instanceof Uint8Array) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  throw new PrintingError(
    'INVALID_INPUT',
    phrase`The stream contains objects instead of bytes: send the stream of a file.`,
  );
}
