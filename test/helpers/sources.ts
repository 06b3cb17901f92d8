import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

export const root = resolve(__dirname, '../..');

/** What npm, the build and the demo make. */
const MADE = new Set(['node_modules', 'dist', 'coverage', '.git', '.demo', '.dev', '.cache', 'package-lock.json']);

/** The text files of the repository, as paths from its root. */
export function sources(extension: RegExp, folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (MADE.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(extension, path);
    return entry.isFile() && extension.test(entry.name) ? [path.replaceAll('\\', '/')] : [];
  });
}

export const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

export const fromRoot = (path: string): string => relative(root, path).replaceAll('\\', '/');
