import { randomBytes, timingSafeEqual } from 'node:crypto';

/** A random URL-safe string, 43 characters. */
export const secret = (): string => randomBytes(32).toString('base64url');

/** Equal texts, in a time that does not tell where they differ. */
export function same(a: string, b: string): boolean {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  return x.length === y.length && timingSafeEqual(x, y);
}
