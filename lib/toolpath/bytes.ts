import { createGunzip, createInflateRaw } from 'node:zlib';
import { TOOLPATH } from '../rules/limits';
import type { Content } from '../upload/content';

/** Reads at most TOOLPATH.bytes from `from` on. Throws the errors of `content.chunks`. */
export async function bytesAt(content: Content, from: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of content.chunks(from)) {
    parts.push(part);
    size += part.length;
    if (size >= TOOLPATH.bytes) break;
  }
  return Buffer.concat(parts).subarray(0, TOOLPATH.bytes);
}

const INFLATE_OPTIONS = { chunkSize: 64 * 1024 };

/** Inflates at most TOOLPATH.bytes, in a thread. Of damaged or truncated bytes, it returns what precedes the damage. */
export async function inflateHead(bytes: Buffer, format: 'gzip' | 'deflate'): Promise<Buffer> {
  const inflater = format === 'gzip' ? createGunzip(INFLATE_OPTIONS) : createInflateRaw(INFLATE_OPTIONS);
  const parts: Buffer[] = [];
  let size = 0;
  inflater.end(bytes);
  try {
    for await (const part of inflater as AsyncIterable<Buffer>) {
      parts.push(part);
      size += part.length;
      if (size >= TOOLPATH.bytes) break;
    }
  } catch {
    // The parts before the damage suffice.
  }
  return Buffer.concat(parts).subarray(0, TOOLPATH.bytes);
}
