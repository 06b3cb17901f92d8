import { TEXT } from '../rules/limits';
import { extensionOf } from './image-type';

const LONGEST = 60;

/**
 * Builds `<printer>-<time>.<ext>` (reference 3.5) from letters, digits, `-` and `_`, which every file system, mail and
 * header accepts. Uses the first of `names` that is not empty after the removal of other characters. `takenAt` is ISO
 * 8601.
 */
export function fileName(names: (string | null)[], takenAt: string, contentType: string): string {
  const printer = names.map(plain).find((name) => name !== '') ?? 'printer';
  return `${printer}-${takenAt.replace(/[:.]/g, '-')}.${extensionOf(contentType)}`;
}

const plain = (name: string | null): string =>
  (name ?? '')
    .slice(0, TEXT.matched)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z\d_]+/gi, '-')
    .slice(0, LONGEST)
    .replace(/^-+|-+$/g, '');
