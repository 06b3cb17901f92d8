import { constants, type BigIntStats } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FileCalls } from '../files/file-calls';
import { codeOf } from '../http/retry';
import { PrintingError } from '../service/errors';
import type { Deadline } from '../time/deadline';
import { nextTurn } from '../time/concurrency';
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

export function bytesContent(bytes: Buffer, name: string): Content {
  const size = bytes.length;
  if (size === 0) throw empty(name);
  return {
    size,
    repeatable: true,
    isFile: false,
    has: () => true,
    chunks: (from = 0) => exactly(size, from, slices(bytes, from)),
    stamp: () => Promise.resolve(null),
    unchanged: () => Promise.resolve(true),
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
  const file = await calls
    .run(
      () => open(path, FOR_READING),
      (late) => late.close(),
    )
    .catch(unreadable);
  const close = () => calls.release(() => file.close());
  const stamp = () => calls.run(() => file.stat({ bigint: true })).catch(unreadable);
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
      chunks: (from = 0) =>
        exactly(
          size,
          from,
          chunksOf(file, from, (read) => calls.run(read).catch(unreadable)),
        ),
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
