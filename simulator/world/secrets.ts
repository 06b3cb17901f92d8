import { randomBytes, timingSafeEqual } from 'node:crypto';

/** Creates a random URL-safe string of 43 characters. */
export const secret = (): string => randomBytes(32).toString('base64url');

/** Compares texts in constant time. */
export function same(a: string, b: string): boolean {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  return x.length === y.length && timingSafeEqual(x, y);
}
