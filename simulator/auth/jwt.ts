import { createHmac } from 'node:crypto';
import { same } from '../world/secrets';

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const signature = (text: string, key: string): string => createHmac('sha256', key).update(text).digest('base64url');

/** Creates an HS256 token with these claims. */
export function signJwt(claims: Record<string, unknown>, key: string): string {
  const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${text}.${signature(text, key)}`;
}

/** Returns the claims of a token if the key signed it. */
export function verifyJwt(token: string, key: string): Record<string, unknown> | undefined {
  const [head, body, signed, ...rest] = token.split('.');
  if (head === undefined || body === undefined || signed === undefined || rest.length > 0) return undefined;
  if (!same(signed, signature(`${head}.${body}`, key))) return undefined;
  return JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as Record<string, unknown>;
}
