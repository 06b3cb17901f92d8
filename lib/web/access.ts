import { isIP } from 'node:net';
import type { IncomingHttpHeaders } from 'node:http';
import { hostnameOf, readHostNames } from '../rules/web';
import { TEXT } from '../rules/limits';
import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

/** Suffixes that nobody can register, so that no stranger's page can be reached by such a name. */
const PRIVATE = ['local', 'lan', 'home', 'home.arpa', 'internal', 'localhost'];

/** Reads the setting `hosts`. Throws NOT_CONFIGURED. */
export function readHosts(setting: string): string[] {
  const names = readHostNames(setting);
  if (names) return names;
  throw new PrintingError(
    'NOT_CONFIGURED',
    phrase`The hosts must be host names separated by blanks: correct them in the node.`,
  );
}

/** Rules of access to a node that answers requests. */
export interface Access {
  /** Further names by which Node-RED is reached. */
  hosts: readonly string[];
  /** Names of this machine. */
  machine: readonly string[];
  /** Whether a token or Node-RED itself decides who gets in. */
  isGuarded: boolean;
}

/**
 * Why a request is refused, whatever it asks for; null if it is not. A name that is unknown, at a node that nothing
 * guards, may be a stranger's name for this machine (DNS rebinding), and another origin is a stranger's page.
 */
export function refusalOf(headers: IncomingHttpHeaders, access: Access): 'host' | 'origin' | null {
  const { host = '', origin } = headers;
  if (host.length > TEXT.matched) return 'host';
  if ((origin?.length ?? 0) > TEXT.matched) return 'origin';
  if (!access.isGuarded && !isKnownHost(host, access)) return 'host';
  return origin === undefined || isOwnOrigin(origin, host, access.hosts) ? null : 'origin';
}

/** The name in the header `Host`, for a sentence. */
export const nameIn = (host: string): string => hostnameOf(`http://${host}`) ?? host;

export function isKnownHost(host: string, { hosts, machine }: Pick<Access, 'hosts' | 'machine'>): boolean {
  const name = host.length > TEXT.matched || /[\s/@?#\\]/.test(host) ? null : hostnameOf(`http://${host}`);
  if (!name) return false;
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0 || !name.includes('.')) return true;
  if (PRIVATE.some((suffix) => name.endsWith(`.${suffix}`))) return true;
  return [...hosts, ...machine.map((own) => own.toLowerCase())].includes(name);
}

/** `null`, the origin of a sandboxed or local page, is foreign. */
function isOwnOrigin(origin: string, host: string, hosts: readonly string[]): boolean {
  const from = URL.canParse(origin) ? new URL(origin) : null;
  if (!from || !/^https?:$/.test(from.protocol)) return false;
  if (hosts.includes(from.hostname.replace(/\.$/, ''))) return true;
  // The scheme decides which port may be left out. A proxy may have ended TLS, so the request's own scheme is unknown.
  const own = `${from.protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === from.host;
}

/** Policy of the page: nothing from elsewhere, nothing inline, and frames only under the same name or a known one. */
export function contentPolicy(hosts: readonly string[]): string {
  const ancestors = ["'self'", ...hosts.flatMap((name) => [`http://${name}:*`, `https://${name}:*`])];
  return [
    "default-src 'none'",
    ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
    ...["base-uri 'none'", "form-action 'none'"],
    `frame-ancestors ${ancestors.join(' ')}`,
  ].join('; ');
}
