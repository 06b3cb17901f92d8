import { trimmed, webAddress, withoutSlashes } from './text';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether a valid URL points to this computer, the only destination for plain http. */
export const isLoopback = (url: string): boolean => LOOPBACK.test(new URL(url).hostname);

/** `unsafe`: neither https nor http to this computer; `more`: more than a host and a path. */
type HostFault = 'missing' | 'unsafe' | 'more';

/** Returns the fault of a configured host (reference 2.1), or null. Tokens are sent to it. */
export function hostFault(value: unknown): HostFault | null {
  const given = trimmed(value);
  if (!given) return 'missing';
  const url = webAddress(given);
  if (!url || !(url.protocol === 'https:' || isLoopback(given))) return 'unsafe';
  return /[@?#]/.test(given) ? 'more' : null;
}

/**
 * Returns a configured host in its one spelling, since the saved state belongs to it: without trailing slashes, capitals in
 * its name and a default port. A faulty one stays as it is.
 */
export function hostOf(value: unknown): string {
  const given = trimmed(value);
  if (hostFault(given)) return withoutSlashes(given);
  const { origin, pathname } = new URL(given);
  return `${origin}${withoutSlashes(pathname)}`;
}

/** Whether a value is exactly a web origin, such as `https://example.org`. */
export function isOrigin(value: unknown): boolean {
  const given = trimmed(value);
  return webAddress(given)?.origin === given;
}

/** Whether a value can be a redirect URI: a web address without a fragment (RFC 6749, 3.1.2) and without a user. */
export function isRedirectUri(value: unknown): boolean {
  const given = trimmed(value);
  const url = webAddress(given);
  return url !== null && !given.includes('#') && !url.username && !url.password;
}
