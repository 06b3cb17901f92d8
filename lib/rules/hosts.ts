import { isLoopback } from './loopback';
import { trimmed, webAddress } from './text';

/** `unsafe`: neither https nor http to this computer; `more`: more than a host and a path. */
export type HostFault = 'missing' | 'unsafe' | 'more';

/** Returns the fault of a configured host (reference 2.1), or null. Tokens are sent to it. */
export function hostFault(value: unknown): HostFault | null {
  const given = trimmed(value);
  if (!given) return 'missing';
  const url = webAddress(given);
  if (!url || !(url.protocol === 'https:' || isLoopback(given))) return 'unsafe';
  return /[@?#]/.test(given) ? 'more' : null;
}
