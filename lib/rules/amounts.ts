/** A finite number over 0, or its text as an input field of the editor gives it; null for anything else. */
export function readAmount(value: unknown): number | null {
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof given === 'number' && Number.isFinite(given) && given > 0 ? given : null;
}

/** Seconds between two polls of a cluster status node, at least (reference 2.2). */
export const SHORTEST_INTERVAL = 10;
