import { PrintingError } from '../service/errors';
import { unsafePart } from '../rules/paths';
import { withoutSlashes } from '../rules/text';
import type { Target } from '../service/paths';
import { phrase, type Sentence } from '../words/sentence';

/** The two hosts of an account, without a trailing slash; `authUrl` may be blank (a static token needs none). */
export interface Hosts {
  apiUrl: string;
  authUrl: string;
}

const ON_ACCOUNT_HOST = '{auth_url}';

/**
 * Reads the destination of a user's own request (reference 3.5, request): a path under the API host, `{auth_url}/…`
 * under the account host, or an absolute URL on one of the two. The bearer is sent there, so any other destination
 * throws INVALID_INPUT, as does a URL that two parsers could interpret differently.
 */
export function readAddress(given: string, hosts: Hosts): Omit<Target, 'method'> {
  if (given.startsWith(ON_ACCOUNT_HOST)) return { host: 'auth', path: safe(given.slice(ON_ACCOUNT_HOST.length)) };
  const [, start, rest = ''] = /^(https?:\/\/[^/?#]*)(.*)$/is.exec(given) ?? [];
  if (start !== undefined) return onOwnHost(start, rest, hosts);
  if (/^[a-z][a-z\d+.-]*:/i.test(given)) throw refused(phrase`it is neither a path nor an address of the service`);
  return { host: 'api', path: safe(given.startsWith('/') ? given : `/${given}`) };
}

/**
 * Checks an absolute URL, cut behind its host. It must be under a host of the account: same origin, same path prefix.
 */
function onOwnHost(start: string, rest: string, { apiUrl, authUrl }: Hosts): Omit<Target, 'method'> {
  // Rejects user names and characters that a URL parser would silently repair.
  const origin = /[@\\%]|[^\x21-\x7e]/.test(start) || !URL.canParse(start) ? null : new URL(start).origin;
  for (const [host, url] of [
    ['api', apiUrl],
    ['auth', authUrl],
  ] as const) {
    if (!url || new URL(url).origin !== origin) continue;
    const prefix = withoutSlashes(new URL(url).pathname);
    const path = rest.slice(prefix.length);
    if (rest.startsWith(prefix) && /^([/?]|$)/.test(path))
      return { host, path: safe(path.startsWith('/') ? path : `/${path}`) };
  }
  throw refused(phrase`it is not on a host of the account`);
}

function safe(path: string): string {
  if (!path.startsWith('/')) throw refused(phrase`${ON_ACCOUNT_HOST} must be followed by a slash`);
  const unsafe = unsafePart(path);
  if (unsafe) throw refused(phrase`it contains ${unsafe}`);
  return path;
}

const refused = (reason: Sentence): PrintingError =>
  new PrintingError(
    'INVALID_INPUT',
    phrase`The request was not sent because of its path: ${reason}; write it like /connect/v1/clusters.`,
    { outcome: 'not-sent' },
  );
