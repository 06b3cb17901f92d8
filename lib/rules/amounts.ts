/** Reads a finite number above 0, or its text from an input field of the editor; null for anything else. */
export function readAmount(value: unknown): number | null {
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof given === 'number' && Number.isFinite(given) && given > 0 ? given : null;
}

/** Shortest interval between two polls of a cluster status node, seconds (reference 2.2). */
export const SHORTEST_INTERVAL = 10;
