import { TEXT } from '../rules/limits';
import { extensionOf } from './image-type';

const LONGEST = 60;

/**
 * `<printer>-<time>.<ext>` (reference 3.5), of letters, digits, `-` and `_` that every file system, mail and header takes.
 * `names` of the printer, best first: the first of which something is left is used. `takenAt` is ISO 8601.
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
