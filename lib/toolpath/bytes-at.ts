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
