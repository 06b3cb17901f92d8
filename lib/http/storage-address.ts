import { isLoopback } from '../rules/loopback';

/** An address that files may go to and come from: https, or plain http on this very machine. Null for any other. */
export function storageAddress(given: unknown): string | null {
  const parsed = typeof given === 'string' && URL.canParse(given) ? new URL(given) : null;
  const isSafe = parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopback(parsed.href));
  return isSafe ? parsed.href : null;
}
