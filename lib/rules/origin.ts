import { trimmed, webAddress } from './text';

/** Whether it is a web origin, letter for letter, such as `https://example.org`. */
export function isOrigin(value: unknown): boolean {
  const given = trimmed(value);
  return webAddress(given)?.origin === given;
}
