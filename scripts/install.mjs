import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * `npm ci` in a folder, unless its node_modules is already what the lockfile says: npm itself writes
 * node_modules/.package-lock.json when it is done, so a younger package-lock.json means a new install.
 * @param {string} folder
 */
export async function ensureInstalled(folder) {
  const done = join(folder, 'node_modules', '.package-lock.json');
  if (existsSync(done) && statSync(done).mtimeMs >= statSync(join(folder, 'package-lock.json')).mtimeMs) return;
  // Not the npm on the PATH: inside npm scripts that one is node-red's own, and lies in the folder that ci removes.
  const npm = process.env['npm_execpath'];
  const args = ['ci', '--no-fund', '--no-audit', '--loglevel=error'];
  const child = npm
    ? spawn(process.execPath, [npm, ...args], { cwd: folder, stdio: 'inherit' })
    : spawn('npm', args, { cwd: folder, stdio: 'inherit', shell: process.platform === 'win32' });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`npm ci failed in ${folder}`);
}
