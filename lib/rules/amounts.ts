/**
 * Reads a finite number above 0, or its text from an input field of the editor; null for anything else. `least` 0 allows
 * 0, too.
 */
export function readAmount(value: unknown, least?: number): number | null {
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof given !== 'number' || !Number.isFinite(given)) return null;
  return given > 0 || (given === 0 && least === 0) ? given : null;
}

/** Shortest interval between two polls of a cluster status node, seconds (reference 2.2). */
export const SHORTEST_INTERVAL = 10;
