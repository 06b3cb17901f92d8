import { createHash } from 'node:crypto';
import type { Content } from './source';

/** The same chunks, each looked at as it passes. */
export async function* tap(chunks: AsyncIterable<Buffer>, look: (chunk: Buffer) => void): AsyncGenerator<Buffer, void> {
  for await (const chunk of chunks) {
    look(chunk);
    yield chunk;
  }
}

/** SHA-256 of all the bytes, hexadecimal; the event loop turns between the chunks. */
export async function sha256(content: Content, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of content.chunks()) {
    signal.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest('hex');
}
