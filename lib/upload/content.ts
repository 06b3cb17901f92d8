import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { codeOf } from '../http/network-error';
import { PrintingError } from '../service/errors';
import { say } from '../words/say';

/** Bytes of a known number, to be read in chunks. */
export interface Content {
  /** In bytes, at least 1. */
  readonly size: number;
  /** Whether the bytes can be read more than once. */
  readonly repeatable: boolean;
  /** Whether the bytes stand in a file, which nobody changes without a trace. */
  readonly isFile: boolean;
  /** Whether `chunks` can begin at this byte (again). */
  has(from: number): boolean;
  /**
   * The bytes from `from` on up to the end, which is at `size` exactly: the last chunk is only given when no more follows.
   * Throws FILE_CHANGED for any other number, FILE_NOT_READABLE where the source fails.
   */
  chunks(from?: number): AsyncGenerator<Buffer, void>;
  /** Whether nobody wrote to the bytes since they were opened, as far as can be told. */
  unchanged(): Promise<boolean>;
  /** Nothing is read any more. */
  close(): Promise<void>;
}

/** Big enough to keep a fast line busy, small enough not to hold up the event loop and to keep a slow line's reports coming. */
const CHUNK = 512 * 1024;

export function bytesContent(bytes: Buffer, name: string): Content {
  const size = bytes.length;
  if (size === 0) throw empty(name);
  return {
    size,
    repeatable: true,
    isFile: false,
    has: () => true,
    chunks: (from = 0) => exactly(size, from, slices(bytes, from)),
    unchanged: () => Promise.resolve(true),
    close: () => Promise.resolve(),
  };
}

/** The file stays open until `close`: what is read is what was found first, even if another takes its name. */
export async function fileContent(named: string): Promise<Content> {
  // As messages say it: what a relative path is relative to is what people don't know.
  const path = resolve(named);
  const unreadable = (cause: unknown): never => {
    throw notReadable(path, cause);
  };
  // First, for opening a pipe would wait for its writer.
  const found = await stat(path).catch(unreadable);
  if (!found.isFile()) {
    const sentence = say`${path} is not a file but a folder or device: choose a file.`;
    throw new PrintingError('FILE_NOT_READABLE', sentence);
  }
  const file = await open(path).catch(unreadable);
  const close = () => file.close().catch(() => undefined);
  const { size, mtimeNs } = await file.stat({ bigint: true }).catch(async (cause: unknown) => {
    await close();
    return unreadable(cause);
  });
  if (size === 0n) {
    await close();
    throw empty(path);
  }
  const parts = async function* (from: number): AsyncGenerator<Buffer, void> {
    for (let at = from; ;) {
      const buffer = Buffer.allocUnsafeSlow(CHUNK);
      const { bytesRead } = await file.read(buffer, 0, CHUNK, at).catch(unreadable);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  };
  return {
    size: Number(size),
    repeatable: true,
    isFile: true,
    has: () => true,
    chunks: (from = 0) => exactly(Number(size), from, parts(from)),
    unchanged: async () => {
      const now = await file.stat({ bigint: true }).catch(() => null);
      return now?.size === size && now.mtimeNs === mtimeNs;
    },
    close,
  };
}

async function* slices(bytes: Buffer, from: number): AsyncGenerator<Buffer, void> {
  for (let at = from; at < bytes.length; at += CHUNK) {
    // Nothing else here waits for anything, and the event loop must turn.
    await setImmediate();
    yield bytes.subarray(at, at + CHUNK);
  }
}

/** The store takes an upload as complete with its last byte: that one is held back until the source has ended. */
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
    say`The file was announced with ${size} bytes, but has ${count}: send it again once it is complete.`,
  );

export const empty = (name: string) =>
  new PrintingError('FILE_NOT_READABLE', say`The file ${name} is empty: send one with content.`);

function notReadable(path: string, cause: unknown): PrintingError {
  const code = codeOf(cause);
  const reason =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? say`There is no file ${path}: check the path.`
      : code === 'EACCES' || code === 'EPERM'
        ? say`The file ${path} may not be read: give the user that runs Node-RED permission to read it.`
        : say`The file ${path} can't be read (${code}): check the path and the disk.`;
  return new PrintingError('FILE_NOT_READABLE', reason, { cause });
}
