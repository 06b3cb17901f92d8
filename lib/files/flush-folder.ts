import { open } from 'node:fs/promises';

/** Makes a rename survive a power cut. Some systems can't flush a folder; there the rename alone must do. */
export async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  try {
    await handle?.sync();
  } catch {
    // Not supported here.
  } finally {
    await handle?.close();
  }
}
