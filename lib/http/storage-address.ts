import { isLoopback } from '../rules/addresses';
import { isForeignHost } from './foreign-hosts';

/**
 * Checks an address for transfers of files; returns null for one that isn't allowed. Allowed is https, except to this
 * machine, its local link or a cloud's metadata. If the account's own hosts are on this machine (`isLocal`), addresses
 * on it are allowed as well, with plain http too.
 */
export function storageAddress(given: unknown, isLocal: boolean): string | null {
  const parsed = typeof given === 'string' && URL.canParse(given) ? new URL(given) : null;
  if (!parsed || !isForeignHost(parsed.hostname, isLocal)) return null;
  const isSafe = parsed.protocol === 'https:' || (isLocal && parsed.protocol === 'http:' && isLoopback(parsed.href));
  return isSafe ? parsed.href : null;
}
