import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { IncomingMessage } from 'node:http';
import { basename, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { FileCalls } from '../files/file-calls';
import { openScratch } from '../files/scratch';
import { codeOf } from '../http/retry';
import { PrintingError } from '../service/errors';
import { nextTurn, Turns } from '../time/concurrency';
import type { Deadline } from '../time/deadline';
import { guard } from '../time/guard';
import { phrase } from '../words/sentence';

/** A known number of bytes, read in chunks. */
export interface Content {
  /** In bytes, at least 1. */
  readonly size: number;
  /** Whether the bytes can be read more than once. */
  readonly repeatable: boolean;
  /** Whether the bytes are in a file, whose changes the file system shows. */
  readonly isFile: boolean;
  /** Whether `chunks` can (still) start at this byte. */
  has(from: number): boolean;
  /**
   * The bytes from `from` to the end, which is at `size` exactly: the last chunk follows only once the source has
   * ended. Throws FILE_CHANGED for any other number of bytes, FILE_NOT_READABLE if the source fails.
   */
  chunks(from?: number): AsyncGenerator<Buffer, void>;
  /** The present state of the bytes, for `unchanged`. */
  stamp(): Promise<Stamp>;
  /** Whether the bytes are unchanged since the stamp, or since they were opened, as far as the file system shows. */
  unchanged(since?: Stamp): Promise<boolean>;
  /** Releases the source. */
  close(): Promise<void>;
}

/** State of the bytes; null for content that nothing else can write to. */
export type Stamp = Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs' | 'nlink' | 'dev' | 'ino'> | null;

/**
 * Large enough for a fast connection; small enough for the event loop, and for frequent reports on a slow connection.
 */
const CHUNK = 512 * 1024;

/** Of content that nothing else can write to. */
const UNCHANGING = { stamp: () => Promise.resolve(null), unchanged: () => Promise.resolve(true) };

export function bytesContent(bytes: Buffer, name: string): Content {
  const size = bytes.length;
  if (size === 0) throw empty(name);
  return {
    size,
    repeatable: true,
    isFile: false,
    has: () => true,
    chunks: (from = 0) => exactly(size, from, slices(bytes, from)),
    ...UNCHANGING,
    close: () => Promise.resolve(),
  };
}

/** Non-blocking, as opening a pipe would wait for its writer. */
const FOR_READING = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Opens a file until `close`: even if another file replaces it, this one is read. Everything but `close` throws
 * FILE_NOT_READABLE, and the deadline's reason.
 */
export async function fileContent(named: string, deadline: Deadline): Promise<Content> {
  // Messages show the absolute path, as users don't know the base of a relative one.
  const path = resolve(named);
  const calls = new FileCalls(path, deadline);
  const unreadable = (cause: unknown): never => {
    throw cause instanceof PrintingError ? cause : notReadable(path, cause);
  };
  const mustBeFile = (found: { isFile(): boolean }) => {
    if (found.isFile()) return;
    const sentence = phrase`${path} is not a file but a folder or device: choose a file.`;
    throw new PrintingError('FILE_NOT_READABLE', sentence);
  };
  // Checked before opening, as opening some devices has an effect.
  mustBeFile(await calls.run(() => stat(path)).catch(unreadable));
  const opening = calls.run(
    () => open(path, FOR_READING),
    (late) => late.close(),
  );
  const file = await opening.catch(unreadable);
  const close = () => calls.release(() => file.close());
  const stamp = () => calls.run(() => file.stat({ bigint: true })).catch(unreadable);
  const reading = (read: () => Promise<Read>) => calls.run(read).catch(unreadable);
  try {
    const opened = await stamp();
    mustBeFile(opened);
    if (opened.size === 0n) throw empty(path);
    const size = Number(opened.size);
    return {
      size,
      repeatable: true,
      isFile: true,
      has: () => true,
      chunks: (from = 0) => exactly(size, from, chunksOf(file, from, reading)),
      stamp,
      unchanged: async (since: Stamp = opened) => {
        const now = await stamp();
        if (now.size !== since?.size || now.mtimeNs !== since.mtimeNs) return false;
        // A file that was deleted or replaced by name keeps its bytes although its status changes.
        if (now.ctimeNs === since.ctimeNs || now.nlink !== since.nlink) return true;
        const named = await calls.run(() => stat(path, { bigint: true })).catch(() => null);
        return named?.ino !== now.ino || named.dev !== now.dev;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Read {
  bytesRead: number;
}

/** The bytes of an open file from `from` to its end; `run` makes each call. */
export async function* chunksOf(
  file: FileHandle,
  from: number,
  run: (read: () => Promise<Read>) => Promise<Read>,
): AsyncGenerator<Buffer, void> {
  for (let at = from; ;) {
    const buffer = Buffer.allocUnsafeSlow(CHUNK);
    const position = at;
    const { bytesRead } = await run(() => file.read(buffer, 0, CHUNK, position));
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function* slices(bytes: Buffer, from: number): AsyncGenerator<Buffer, void> {
  for (let at = from; at < bytes.length; at += CHUNK) {
    // Lets the event loop turn, as nothing else in this loop waits.
    await nextTurn();
    yield bytes.subarray(at, at + CHUNK);
  }
}

/**
 * Holds back the last byte until the source has ended, as the store considers an upload with its last byte complete.
 */
export async function* exactly(
  size: number,
  from: number,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void> {
  let count = from;
  let held: Buffer | undefined;
  for await (const chunk of chunks) {
    count += chunk.length;
    if (count > size) throw changed(size, 'more');
    if (held?.length) yield held;
    held = chunk;
  }
  if (count < size) throw changed(size, count);
  if (held?.length) yield held;
}

const changed = (size: number, count: number | 'more') =>
  new PrintingError(
    'FILE_CHANGED',
    phrase`The file was announced with ${size} bytes, but has ${count}: send it again once it is complete.`,
  );

export const changedMeanwhile = () =>
  new PrintingError('FILE_CHANGED', phrase`The file was changed while it was read: send it again once it is complete.`);

export const empty = (name: string) =>
  new PrintingError('FILE_NOT_READABLE', phrase`The file ${name} is empty: send one with content.`);

function notReadable(path: string, cause: unknown): PrintingError {
  const code = codeOf(cause);
  const reason =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? phrase`There is no file ${path}: check the path.`
      : code === 'EACCES' || code === 'EPERM'
        ? phrase`The file ${path} may not be read: give the user that runs Node-RED permission to read it.`
        : phrase`The file ${path} can't be read (${code}): check the path and the disk.`;
  return new PrintingError('FILE_NOT_READABLE', reason, { cause });
}

/**
 * Compresses the content into a private temporary file, as its size must be known before the first byte is sent.
 * Closing deletes the file. `onRead` receives the chunks before compression; `check` throws if so many compressed bytes are
 * too many, as a stream may not end before the disk is full.
 */
export async function compress(
  content: Content,
  onRead: (chunk: Buffer) => void,
  check: (size: number) => void,
  deadline: Deadline,
): Promise<Content> {
  const { calls, handle, close } = await openScratch(deadline).catch(unwritable);
  const reading = (read: () => Promise<Read>) => calls.run(read).catch(unwritable);
  let size = 0;
  const read = async function* () {
    for await (const chunk of content.chunks()) {
      onRead(chunk);
      yield chunk;
    }
  };
  const write = async (parts: AsyncIterable<Buffer>) => {
    for await (const part of parts) {
      size += part.length;
      check(size);
      await calls.run(() => handle.writeFile(part));
    }
  };
  try {
    const gzip = createGzip({ chunkSize: 256 * 1024 });
    await pipeline(read(), gzip, write, { signal: deadline.signal }).catch(unwritable);
    if (!(await content.unchanged())) throw changedMeanwhile();
    return {
      size,
      repeatable: true,
      isFile: true,
      has: () => true,
      chunks: (from = 0) => exactly(size, from, chunksOf(handle, from, reading)),
      ...UNCHANGING,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function unwritable(cause: unknown): never {
  if (cause instanceof PrintingError) throw cause;
  const sentence = phrase`The compressed file can't be written to the temporary folder (${codeOf(cause)}): free some space or send it uncompressed.`;
  throw new PrintingError('FILE_NOT_WRITABLE', sentence, { cause });
}

/** Most bytes of a stream that are kept for a resend: about the number that a broken connection may have swallowed. */
const MOST_BYTES_KEPT = 8 * 1024 * 1024;
/** Least bytes of a part, except for the last one: each part costs time and memory of its own. */
const LEAST_PART = 64 * 1024;

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
    ...UNCHANGING,
    close: () => Promise.resolve(),
  };
}

/** The latest bytes read from a stream. */
class StreamTail {
  #iterator: AsyncIterator<unknown> | undefined;
  #parts: Buffer[] = [];
  /** Positions of the first kept byte and behind the last. */
  #start = 0;
  #end = 0;
  #pulling: Promise<boolean> | undefined;
  readonly #turns: Turns;

  constructor(
    private readonly stream: Readable,
    private readonly name: string,
    private readonly deadline: Deadline,
  ) {
    this.#turns = new Turns(deadline.clock);
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
      } else if (!(await this.deadline.wait(this.#pull()))) return;
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
      this.#iterator ??= (this.stream as AsyncIterable<unknown>)[Symbol.asyncIterator]();
      const pieces: Buffer[] = [];
      for (let size = 0; size < LEAST_PART;) {
        // The pieces may be single bytes or lines.
        await this.#turns.next();
        const next = await this.#iterator.next();
        if (next.done) break;
        const piece = bytesOf(next.value, this.stream.readableEncoding);
        size += piece.length;
        pieces.push(piece);
      }
      const part = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
      if (!part || part.length === 0) return false;
      this.#parts.push(part);
      this.#end += part.length;
      this.#dropOldest();
      return true;
    } catch (cause) {
      if (cause instanceof PrintingError) throw cause;
      const sentence = phrase`The stream "${this.name}" was interrupted (${codeOf(cause)}): send it again.`;
      throw new PrintingError('FILE_NOT_READABLE', sentence, { cause });
    }
  }

  #dropOldest(): void {
    for (;;) {
      const [oldest] = this.#parts;
      if (!oldest || this.#end - this.#start - oldest.length < MOST_BYTES_KEPT) return;
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

/** Source of the bytes to upload. */
export type Source =
  | { kind: 'file'; path: string }
  | { kind: 'bytes'; bytes: Buffer; name: string }
  /** `size` in bytes; a stream doesn't show it. */
  | { kind: 'stream'; stream: Readable; size: number; name: string };

/** The file name, without folders. */
export const fileNameOf = (source: Source): string =>
  source.kind === 'file' ? basename(source.path) : afterSlashes(source.name);

const afterSlashes = (name: string): string => name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);

/**
 * Opens the source and checks that it is readable and not empty. The caller closes it. The deadline ends every wait.
 */
export async function openContent(source: Source, deadline: Deadline): Promise<Content> {
  switch (source.kind) {
    case 'file':
      return fileContent(source.path, deadline);
    case 'bytes':
      return bytesContent(source.bytes, source.name);
    case 'stream':
      return streamContent(source.stream, source.size, source.name, deadline);
  }
}

/** Guards a stream that has no reader yet; the returned function lets go of it, as an abort does. */
export function holdStream(stream: Readable, signal: AbortSignal): () => void {
  // The flow owns the stream, so its methods may do anything.
  const letGo = guard(() => void (isRequest(stream) ? drain(stream) : stream.destroy()));
  // An unhandled error event would end the whole process.
  stream.on('error', () => undefined);
  signal.addEventListener('abort', letGo, { once: true });
  return () => {
    signal.removeEventListener('abort', letGo);
    letGo();
  };
}

/** Whether a stream is a request to this server, such as of an http-in node. Only the answer to a request has a status. */
const isRequest = (stream: Readable): boolean => stream instanceof IncomingMessage && !stream.statusCode;

/** Discards the rest. To destroy a request would break the connection, which its answer needs. The server limits its time. */
function drain(stream: Readable): void {
  // A stream with such a listener does not flow.
  stream.removeAllListeners('readable');
  stream.resume();
}
