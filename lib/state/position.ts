import { createHash } from 'node:crypto';
import type { Key } from './store';

/** Length of a position. */
export const POSITION = 40;

/**
 * Place of a key in every listing, of 40 hexadecimal digits: a hash, because a key may hold any character and be longer
 * than a file name or an index entry.
 */
export const positionOf = (key: Key): string =>
  createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, POSITION);

/** Whether the first words of a key are those of `prefix`. */
export const beginsWith = (key: Key, prefix: Key): boolean => prefix.every((word, at) => key[at] === word);

/** One page of positions after `after`, in order; `next` is the last one if others follow. */
export function pageOf(
  positions: Iterable<string>,
  { after = '', limit }: { after?: string | undefined; limit: number },
): { page: string[]; next: string | null } {
  const left = [...positions].filter((position) => position > after).sort();
  const page = left.slice(0, limit);
  return { page, next: left.length > limit ? (page.at(-1) ?? null) : null };
}
