import { isLoopback } from './loopback';
import { trimmed, webAddress } from './text';

/** `missing`; `unsafe`: no https address, nor http to this very machine; `more`: more than a host and a path. */
export type HostFault = 'missing' | 'unsafe' | 'more';

/** What is wrong with a host of the service (reference 2.1), if anything. Tokens travel to it. */
export function hostFault(value: unknown): HostFault | null {
  const given = trimmed(value);
  if (!given) return 'missing';
  const url = webAddress(given);
  if (!url || !(url.protocol === 'https:' || isLoopback(given))) return 'unsafe';
  return /[@?#]/.test(given) ? 'more' : null;
}
