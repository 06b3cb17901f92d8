// npm run coverage: runs the layers that count lines, and compares their coverage with the limit in package.json.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { build } from './build.mjs';
import { ensureChromium } from './debian.mjs';
import { ensureInstalledOrExit } from './install.mjs';
import { LAYERS, stepsOf } from './layers.mjs';
import { Steps } from './steps.mjs';

const root = resolve(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'coverage-'));
/** Folder of V8's coverage data. */
const counts = join(scratch, 'coverage');
mkdirSync(counts);

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

/** @returns {import('./steps.mjs').Step} */
function coverage() {
  const excluded = typesOnly().flatMap((file) => ['--exclude', file]);
  return {
    name: 'coverage',
    commands: [
      [process.execPath, join(root, 'node_modules/c8/bin/c8.js'), 'report', '--temp-directory', counts, ...excluded],
    ],
  };
}

// Otherwise tsx leaves a cache in the system's temporary folder.
process.env['TSX_DISABLE_CACHE'] = '1';

await ensureInstalledOrExit(root, join(root, 'matrix'));
process.env['CHROMIUM_PATH'] = ensureChromium();
build();
const steps = new Steps(root);
const counted = Object.keys(LAYERS).filter((name) => LAYERS[name]?.covers);
// A failed test lowers the coverage, so report only the test.
if (await steps.all(...counted.flatMap((name) => stepsOf(name, counts)))) await steps.all(coverage());
rmSync(scratch, { recursive: true, force: true });
if (steps.failed > 0) process.exitCode = 1;
steps.summary();
