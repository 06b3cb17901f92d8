import { createHash } from 'node:crypto';
import type { Challenge } from '../world/state';

/** Whether the verifier matches. S512 keeps its padding; its alphabet differs between clients (wire facts 3). */
export function fitsChallenge({ value, method }: Challenge, verifier: string): boolean {
  const plain = createHash(method === 'S256' ? 'sha256' : 'sha512')
    .update(verifier)
    .digest('base64');
  if (method === 'S256') return value === plain.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return value === plain || value === plain.replaceAll('+', '_').replaceAll('/', '-');
}
