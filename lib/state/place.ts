import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TEXT } from '../rules/limits';

/** Place of the saved state: a folder of this runtime, or a database that several runtimes can share. */
export type StatePlace = { folder: string } | { address: string };

/**
 * Reads the setting `stateStore` (reference 6): an absolute path or a `file:` address names a folder, anything else the
 * address of a database. A malformed setting counts as an address too: the database reports it, and nothing is saved in a
 * folder that the user did not choose.
 */
export function statePlace(setting: unknown, usual: string): StatePlace {
  if (setting === undefined || setting === null || setting === '') return { folder: usual };
  const given = typeof setting === 'string' ? setting.trim() : JSON.stringify(setting);
  if (isAbsolute(given)) return { folder: given };
  try {
    if (given.length <= TEXT.setting && /^file:/i.test(given)) return { folder: fileURLToPath(given) };
  } catch {
    // It contains a host or an encoded slash, so it names no local folder.
  }
  return { address: given };
}
