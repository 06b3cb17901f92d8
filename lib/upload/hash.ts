import { createHash } from 'node:crypto';
import { changedMeanwhile, type Content } from './content';

/**
 * SHA-256 of all the bytes, hexadecimal; the event loop turns between the chunks. It is read once, however often
 * it is asked for. Throws FILE_CHANGED for what was written to since it was opened.
 */
export function hashOf(content: Content): () => Promise<string> {
  let hash: Promise<string> | undefined;
  return () => (hash ??= sha256(content));
}

async function sha256(content: Content): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of content.chunks()) hash.update(chunk);
  if (!(await content.unchanged())) throw changedMeanwhile();
  return hash.digest('hex');
}
