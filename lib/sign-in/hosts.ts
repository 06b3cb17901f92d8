import { PrintingError } from '../service/errors';
import { isLoopback } from '../service/loopback';

/**
 * A host of the service without a slash at its end. Tokens travel to it, so it must be `https://…`; plain `http:` is for
 * loopback addresses only (reference 2.1). Throws NOT_CONFIGURED.
 */
export function readHost(value: unknown, name: string): string {
  const given = typeof value === 'string' ? value.trim() : '';
  if (!given) throw new PrintingError('NOT_CONFIGURED', `The account has no ${name}: open the account and fill it in.`);
  const url = URL.canParse(given) ? new URL(given) : null;
  const safe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(given));
  if (!url || !safe || url.username || url.password || /[?#]/.test(given))
    throw new PrintingError(
      'NOT_CONFIGURED',
      `The account's ${name} must be an address like https://host (http only for this machine itself).`,
    );
  return given.replace(/\/+$/, '');
}
