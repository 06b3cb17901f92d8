import { createHash } from 'node:crypto';
import { changedMeanwhile, type Content } from './content';

/**
 * SHA-256 of all the bytes, hexadecimal, computed once and with pauses for the event loop. Throws FILE_CHANGED if the
 * content was written to after it was opened.
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
