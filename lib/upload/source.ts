import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { codeOf } from '../http/network-error';
import { PrintingError } from '../service/errors';

/** Where the bytes to upload come from. */
export type Source =
  | { kind: 'file'; path: string }
  | { kind: 'bytes'; bytes: Buffer; name: string }
  /** `size` in bytes: nobody can tell it from a stream. */
  | { kind: 'stream'; stream: Readable; size: number; name: string };

/** Bytes of a known number, to be read in chunks. */
export interface Content {
  /** In bytes, at least 1. */
  readonly size: number;
  /** Whether `chunks` can be called (once more): a stream gives its bytes a single time. */
  readonly readable: boolean;
  /** Whether the bytes can be read more than once. */
  readonly repeatable: boolean;
  /**
   * All the bytes, exactly `size` of them: the last chunk is only given when no more follows.
   * Throws FILE_CHANGED for any other number, FILE_NOT_READABLE where the source fails.
   */
  chunks(): AsyncGenerator<Buffer, void>;
}

/** Big enough to keep a fast line busy, small enough not to hold up the event loop and to keep a slow line's reports coming. */
const CHUNK = 512 * 1024;

/** The file name, without folders. */
export const nameOf = (source: Source): string =>
  source.kind === 'file' ? basename(source.path) : (source.name.split(/[\\/]/).at(-1) ?? '');

/** Checks that the source is there, readable and not empty. */
export async function openContent(source: Source): Promise<Content> {
  switch (source.kind) {
    case 'file':
      return fileContent(source.path);
    case 'bytes':
      if (source.bytes.length === 0) throw empty(source.name);
      return repeatable(source.bytes.length, () => slices(source.bytes));
    case 'stream':
      return streamContent(source);
  }
}

export async function fileContent(path: string): Promise<Content> {
  const found = await stat(path).catch(unreadable(path));
  if (!found.isFile())
    throw new PrintingError(
      'FILE_NOT_READABLE',
      `${path} is not a file but a folder or device: give the path of a file.`,
    );
  await access(path, constants.R_OK).catch(unreadable(path));
  if (found.size === 0) throw empty(path);
  return repeatable(found.size, () => fileChunks(path));
}

const repeatable = (size: number, chunks: () => AsyncGenerator<Buffer, void>): Content => ({
  size,
  readable: true,
  repeatable: true,
  chunks: () => exactly(size, chunks()),
});

async function* fileChunks(path: string): AsyncGenerator<Buffer, void> {
  const file = await open(path).catch(unreadable(path));
  try {
    for (;;) {
      const buffer = Buffer.allocUnsafeSlow(CHUNK);
      const { bytesRead } = await file.read(buffer, 0, CHUNK).catch(unreadable(path));
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

async function* slices(bytes: Buffer): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += CHUNK) {
    // Nothing else here waits for anything, and the event loop must turn.
    await setImmediate();
    yield bytes.subarray(at, at + CHUNK);
  }
}

function streamContent({ stream, size, name }: Source & { kind: 'stream' }): Content {
  if (!Number.isSafeInteger(size) || size < 0) {
    const sentence = `The size of the stream "${name}" is missing: give it as a whole number of bytes.`;
    throw new PrintingError('INVALID_INPUT', sentence);
  }
  if (size === 0) throw empty(name);
  let untouched = true;
  return {
    size,
    repeatable: false,
    get readable() {
      return untouched;
    },
    chunks: () =>
      exactly(
        size,
        streamChunks(stream, name, () => (untouched = false)),
      ),
  };
}

/** Looks after a stream that nobody may be reading yet; the returned function ends it, as an abort does. */
export function holdStream(stream: Readable, signal: AbortSignal): () => void {
  const destroy = () => void stream.destroy();
  // A failure that nobody listens for would end the whole process.
  stream.on('error', () => undefined);
  signal.addEventListener('abort', destroy, { once: true });
  return () => {
    signal.removeEventListener('abort', destroy);
    destroy();
  };
}

async function* streamChunks(stream: Readable, name: string, onTouch: () => void): AsyncGenerator<Buffer, void> {
  onTouch();
  try {
    for await (const chunk of stream as AsyncIterable<unknown>) yield bytesOf(chunk, stream.readableEncoding);
  } catch (cause) {
    if (cause instanceof PrintingError) throw cause;
    throw new PrintingError('FILE_NOT_READABLE', `The stream "${name}" broke off (${codeOf(cause)}): send it again.`, {
      cause,
    });
  }
}

function bytesOf(chunk: unknown, encoding: BufferEncoding | null): Buffer {
  if (typeof chunk === 'string') return Buffer.from(chunk, encoding ?? 'utf8');
  if (chunk instanceof Uint8Array) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  throw new PrintingError('INVALID_INPUT', 'The stream gives objects instead of bytes: send a stream of a file.');
}

/** The store takes an upload as complete with its last byte: that one is held back until the source has ended. */
async function* exactly(size: number, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let count = 0;
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
    `The file was announced with ${size} bytes but has ${count}: send it again once it is complete.`,
  );

const empty = (name: string) =>
  new PrintingError('FILE_NOT_READABLE', `The file ${name} is empty: send one with content.`);

const unreadable = (path: string) => (cause: unknown) => {
  const code = codeOf(cause);
  const reason =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? `There is no file ${path}: check the path.`
      : code === 'EACCES' || code === 'EPERM'
        ? `The file ${path} may not be read: give the runtime's user the right to read it.`
        : `The file ${path} can't be read (${code}): check the path and the disk.`;
  throw new PrintingError('FILE_NOT_READABLE', reason, { cause });
};
