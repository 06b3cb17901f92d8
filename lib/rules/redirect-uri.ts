import { trimmed, webAddress } from './text';

/** Whether a value can be a redirect URI: a web address without a fragment (RFC 6749, 3.1.2) and without a user. */
export function isRedirectUri(value: unknown): boolean {
  const given = trimmed(value);
  const url = webAddress(given);
  return url !== null && !given.includes('#') && !url.username && !url.password;
}
