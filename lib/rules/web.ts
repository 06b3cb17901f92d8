import { TEXT } from './limits';

/**
 * Reads the path of a node, below Node-RED's own: with one slash before it and none after. Null for an empty one, and for
 * one with a part that a browser would resolve or read otherwise.
 */
export function readWebPath(setting: string): string | null {
  if (setting.length > TEXT.matched) return null;
  const parts = setting
    .trim()
    .split('/')
    .filter((part) => part !== '');
  const isWrong = parts.some((part) => part === '.' || part === '..' || /[?#\\%\s:]/.test(part));
  return parts.length === 0 || isWrong ? null : `/${parts.join('/')}`;
}

/**
 * Reads host names separated by blanks or commas, in lower case; an address such as `https://farm.example.org:8443/` counts
 * as its name. Null if a word is no host name.
 */
export function readHostNames(setting: string): string[] | null {
  if (setting.length > TEXT.setting) return null;
  const words = setting.split(/[\s,]+/).filter((word) => word !== '');
  const names = words.map((word) => hostnameOf(/^https?:\/\//i.test(word) ? word : `http://${word}`));
  // They go into a header, where a wildcard or a semicolon would have a meaning.
  return names.every((name) => name !== null && /^(\[[\da-f:.]+\]|[\w.-]+)$/.test(name)) ? (names as string[]) : null;
}

/** Host name of a web address, in lower case and without the last dot; null if it is none. */
export function hostnameOf(address: string): string | null {
  try {
    return new URL(address).hostname.replace(/\.$/, '').toLowerCase();
  } catch {
    return null;
  }
}
