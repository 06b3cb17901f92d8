import { open } from 'node:fs/promises';
import { codeOf } from '../http/retry';

/** Codes of a passing shortage or a failing disk, as opposed to a system that can't flush folders at all. */
const SHORTAGES = ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOSPC', 'EIO'];

/**
 * Makes a rename or removal in a folder survive a power cut. Rejects on a shortage. On systems that can't flush a folder,
 * it does nothing, and the rename alone must suffice.
 */
export async function flushFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (SHORTAGES.includes(codeOf(error))) throw error;
  }
}
