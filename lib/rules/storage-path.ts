import { trimmed } from './text';

export const DEFAULT_STORAGE_PATH = '/slicer/v1';

/** Reads the prefix of the storage API, without a trailing slash; blank is the default, null an invalid one. */
export function readStoragePath(value: unknown): string | null {
  const prefix = trimmed(value) || DEFAULT_STORAGE_PATH;
  const good = /^(\/[\w.~-]+)+\/?$/.test(prefix) && !prefix.includes('..') && !/\/\.(\/|$)/.test(prefix);
  return good ? prefix.replace(/\/$/, '') : null;
}
