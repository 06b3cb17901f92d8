import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(__dirname, '../..');

/** A checkout of its own, to build anew while others may be reading this one's dist. */
export async function ownCheckout(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'checkout-'));
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');
  for (const file of tracked.filter((name) => name !== '' && !/^(test|docs|matrix)\//.test(name)))
    cpSync(join(root, file), join(folder, file));
  // Each package by a link of its own, so that nothing done to the folder reaches the real one; up to date, as it stands.
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== '.package-lock.json') symlinkSync(join(root, 'node_modules', name), join(modules, name));
  writeFileSync(join(modules, '.package-lock.json'), '{}');
  return folder;
}
