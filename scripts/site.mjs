// npm run site: builds the site in docs/.vitepress/dist. `npm run site -- dev` shows it instead, and follows changes.
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';

import { ensureInstalledOrExit } from './install.mjs';

const root = resolve(import.meta.dirname, '..');
const [command = 'build', ...args] = process.argv.slice(2);

await ensureInstalledOrExit(root);
const vitepress = join(root, 'node_modules/vitepress/bin/vitepress.js');
const { status } = spawnSync(process.execPath, [vitepress, command, 'docs', ...args], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 1;
