import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { installNodeVersions } from './node-versions.mjs';

/**
 * `npm ci` in each folder, unless its node_modules is already what the lockfile says: npm itself writes
 * node_modules/.package-lock.json when it is done, so a younger package-lock.json means a new install. Installs the
 * versions of Node.js that a folder asks for, too.
 * @param {string[]} folders
 */
export async function ensureInstalled(...folders) {
  refuseLinks(...folders);
  await Promise.all(folders.map(install));
  if (folders.some((folder) => existsSync(join(folder, 'node-versions.json')))) await installNodeVersions(npm);
}

/** Throws if a node_modules is a link: npm ci empties the linked folder. @param {string[]} folders */
export function refuseLinks(...folders) {
  for (const folder of folders) {
    const modules = join(folder, 'node_modules');
    if (lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new Error(`${modules} is a link, and an install would empty the folder behind it: remove the link first.`);
  }
}

/** Installs as `ensureInstalled` does; on failure, prints one sentence and exits. @param {string[]} folders */
export async function ensureInstalledOrExit(...folders) {
  try {
    await ensureInstalled(...folders);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}

/** @param {string} folder */
async function install(folder) {
  const done = join(folder, 'node_modules', '.package-lock.json');
  if (existsSync(done) && statSync(done).mtimeMs >= statSync(join(folder, 'package-lock.json')).mtimeMs) return;
  await npm(['ci', '--no-fund', '--no-audit', '--loglevel=error'], folder);
}

/** @param {string[]} args @param {string} folder */
async function npm(args, folder) {
  // The npm on the PATH is unsuitable: in npm scripts it is node-red's own, in the folder that ci removes.
  const program = process.env['npm_execpath'];
  const child = program
    ? spawn(process.execPath, [program, ...args], { cwd: folder, stdio: 'inherit' })
    : spawn('npm', args, { cwd: folder, stdio: 'inherit', shell: process.platform === 'win32' });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`npm ${args[0]} failed in ${folder}`);
}
