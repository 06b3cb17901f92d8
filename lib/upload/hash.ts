import { createHash } from 'node:crypto';
import type { Content } from './content';

/** SHA-256 of all the bytes, hexadecimal; the event loop turns between the chunks. It is read once, however often it is asked for. */
export function hashOf(content: Content): () => Promise<string> {
  let hash: Promise<string> | undefined;
  return () => (hash ??= sha256(content));
}

async function sha256(content: Content): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of content.chunks()) hash.update(chunk);
  return hash.digest('hex');
}
