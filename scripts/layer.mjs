// npm run test:LAYER [-- FILE … -g TEXT]: one layer of the tests with its prerequisites; arguments select tests.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { ensureBuilt } from './build.mjs';
import { ensureChromium } from './debian.mjs';
import { ensureInstalledOrExit } from './install.mjs';
import { LAYERS, mocha, runtimesOf } from './layers.mjs';

const root = resolve(import.meta.dirname, '..');
const [name = '', ...args] = process.argv.slice(2);
const layer = LAYERS[name];
if (!layer) {
  console.error(`Usage: node scripts/layer.mjs ${Object.keys(LAYERS).join('|')} [FILE …] [-g TEXT]`);
  process.exit(1);
}

await ensureInstalledOrExit(root, join(root, 'matrix'));
if (layer.needs?.includes('build')) ensureBuilt();
if (layer.needs?.includes('browser')) process.env['CHROMIUM_PATH'] = ensureChromium();

const files = args.some((arg) => existsSync(resolve(root, arg))) ? [] : [`${layer.folder}/**/*.test.ts`];
for (const { name: runtime, node, env } of runtimesOf(layer)) {
  if (runtime !== '') console.log(`\n${name} on ${runtime}`);
  const [program = '', ...rest] = mocha(node, [...files, ...args]);
  const { status } = spawnSync(program, rest, { cwd: root, env: { ...process.env, ...env }, stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
