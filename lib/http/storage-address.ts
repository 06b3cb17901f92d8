import { isLoopback } from '../rules/loopback';
import { isForeignHost } from './foreign-hosts';

/**
 * An address that files may go to and come from: https, but not to this machine, its local link or a cloud's metadata. Where
 * the account's own hosts are on this machine (`isLocal`), also what is on it, by plain http too. Null for any other.
 */
export function storageAddress(given: unknown, isLocal = true): string | null {
  const parsed = typeof given === 'string' && URL.canParse(given) ? new URL(given) : null;
  if (!parsed || !isForeignHost(parsed.hostname, isLocal)) return null;
  const isSafe = parsed.protocol === 'https:' || (isLocal && parsed.protocol === 'http:' && isLoopback(parsed.href));
  return isSafe ? parsed.href : null;
}
