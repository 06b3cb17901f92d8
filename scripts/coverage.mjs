// npm run coverage: runs the layers that count lines, and compares their coverage with the limit in package.json.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { ensureBuilt } from './build.mjs';
import { ensureChromium } from './debian.mjs';
import { ensureInstalledOrExit } from './install.mjs';
import { LAYERS, stepsOf } from './layers.mjs';
import { Steps } from './steps.mjs';

const root = resolve(import.meta.dirname, '..');
/** Sources with only types. They have no executable lines, so the coverage excludes them. */
function typesOnly() {
  /** @type {typeof import('esbuild')} */
  const { transformSync } = createRequire(import.meta.url)('esbuild');
  const sources = ['lib', 'nodes', 'editor'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  );
  return sources.filter(
    (file) =>
      file.endsWith('.ts') &&
      transformSync(readFileSync(join(root, file), 'utf8'), { loader: 'ts' }).code.trim() === '',
  );
}

/** @param {string} counts folder of V8's coverage data @returns {import('./steps.mjs').Step} */
function coverage(counts) {
  const excluded = typesOnly().flatMap((file) => ['--exclude', file]);
  return {
    name: 'coverage',
    commands: [
      [process.execPath, join(root, 'node_modules/c8/bin/c8.js'), 'report', '--temp-directory', counts, ...excluded],
    ],
  };
}

await ensureInstalledOrExit(root, join(root, 'matrix'));
process.env['CHROMIUM_PATH'] = ensureChromium();
ensureBuilt();
const counts = mkdtempSync(join(tmpdir(), 'coverage-'));
const steps = new Steps(root);
const counted = Object.keys(LAYERS).filter((name) => LAYERS[name]?.covers);
// A failed test lowers the coverage, so report only the test.
if (await steps.all(...counted.flatMap((name) => stepsOf(name, counts)))) await steps.all(coverage(counts));
rmSync(counts, { recursive: true, force: true });
if (steps.failed > 0) process.exitCode = 1;
steps.summary();
