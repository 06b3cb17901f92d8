import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { MARK, RESULTS } from '../../scripts/build.mjs';

const root = resolve(__dirname, '../..');

/**
 * Copies the tracked files into a separate checkout for a build, since other tests may read this one's dist. A `built`
 * one has this one's build, too.
 */
export async function ownCheckout({ built = false } = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'checkout-'));
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');
  for (const file of tracked.filter((name) => name !== '' && !/^(test|docs|matrix)\//.test(name)))
    cpSync(join(root, file), join(folder, file));
  if (built) for (const path of [...RESULTS, MARK]) cpSync(join(root, path), join(folder, path), { recursive: true });
  // Links each package separately, so that changes to the folder don't reach the real one, and marks the installation
  // as current.
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '.package-lock.json') symlinkSync(join(root, 'node_modules', name), join(modules, name));
  writeFileSync(join(modules, '.package-lock.json'), '{}');
  return folder;
}
