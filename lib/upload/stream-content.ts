import type { Readable } from 'node:stream';
import { codeOf } from '../http/retry';
import { PrintingError } from '../service/errors';
import type { Deadline } from '../time/deadline';
import { empty, exactly, type Content } from './content';
import { phrase } from '../words/sentence';

/** Most bytes of a stream that are kept for a resend: about the number that a broken connection may have swallowed. */
const MOST_BYTES_KEPT = 8 * 1024 * 1024;
/** Most kept parts, as each costs memory of its own, however small it is. */
const MOST_PARTS_KEPT = 4096;

/** Content of a stream, whose bytes can be read once; only the latest can be read again. */
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

/** The latest bytes read from a stream. */
class StreamTail {
  readonly #stream: Readable;
  readonly #name: string;
  readonly #deadline: Deadline;
  #iterator: AsyncIterator<unknown> | undefined;
  #parts: Buffer[] = [];
  /** Positions of the first kept byte and behind the last. */
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

  /** Continues where an earlier reader stopped, or before that. */
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
    // Searches backwards, as the newest part is mostly the wanted one.
    let start = this.#end;
    for (let index = this.#parts.length - 1; index >= 0 && at < start; index--) {
      const part = this.#parts[index] as Buffer;
      start -= part.length;
      if (at >= start) return part.subarray(at - start);
    }
    return undefined;
  }

  /** Reads one more part from the stream; false at its end. Concurrent readers share the same read. */
  #pull(): Promise<boolean> {
    this.#pulling ??= this.#next().then((more) => {
      // Keep the promise after a failure or the end: such a stream never delivers again.
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
      this.#dropOldest();
      return true;
    } catch (cause) {
      if (cause instanceof PrintingError) throw cause;
      const sentence = phrase`The stream "${this.#name}" was interrupted (${codeOf(cause)}): send it again.`;
      throw new PrintingError('FILE_NOT_READABLE', sentence, { cause });
    }
  }

  #dropOldest(): void {
    for (;;) {
      const [oldest] = this.#parts;
      const isSpare = oldest && this.#end - this.#start - oldest.length >= MOST_BYTES_KEPT;
      if (!oldest || !(isSpare || this.#parts.length > MOST_PARTS_KEPT)) return;
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
