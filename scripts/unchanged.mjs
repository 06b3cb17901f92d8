import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { digest } from './digest.mjs';

/** List of the installed packages. */
const INSTALLED = 'node_modules/.package-lock.json';

/** Digest of all that a check of the sources can read; null without git, which knows the files that are no sources. @param {string} root */
export function stateOf(root) {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  try {
    const files = execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return `${process.version} ${digest(root, [...files.split('\0').filter(Boolean), INSTALLED])}`;
  } catch {
    return null;
  }
}

/**
 * Runs a check of the sources, unless it has passed on just these. Returns whether it passed, or 'unchanged'.
 * @param {string} root @param {string} name @param {() => Promise<boolean>} check @returns {Promise<boolean | 'unchanged'>}
 */
export async function unlessUnchanged(root, name, check) {
  const mark = join(root, '.cache/passed', name);
  const state = stateOf(root);
  if (state !== null && existsSync(mark) && readFileSync(mark, 'utf8') === state) return 'unchanged';
  if (!(await check())) return false;
  // A source that changed during the check must not count as checked.
  if (state !== null && stateOf(root) === state) {
    mkdirSync(dirname(mark), { recursive: true });
    writeFileSync(mark, state);
  }
  return true;
}
