import { trimmed, webAddress } from './text';

/** Whether a value is exactly a web origin, such as `https://example.org`. */
export function isOrigin(value: unknown): boolean {
  const given = trimmed(value);
  return webAddress(given)?.origin === given;
}
