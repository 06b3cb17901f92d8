// npm test: all checks for a release, even on a fresh clone. The last line is the sum of all tests and checks.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { ensureChromium, ensureMosquitto, ensurePostgres, ensurePrometheus, NO_PROMETHEUS } from './debian.mjs';
import { ensureInstalled, refuseLinks } from './install.mjs';
import { LAYERS, mocha, parts, runtimesOf } from './layers.mjs';
import { Steps } from './steps.mjs';

const root = resolve(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'npm-test-'));
/** Folder of V8's coverage data. */
const counts = join(scratch, 'coverage');

/** Folders with the floors that ESLint checks. */
const LINTED = ['lib', 'nodes', 'editor', 'simulator'];

// Otherwise tsx leaves a cache in the system's temporary folder.
process.env['TSX_DISABLE_CACHE'] = '1';

const node = process.execPath;
const bin = (/** @type {string} */ file) => join(root, 'node_modules', file);
const steps = new Steps(root);

/** Installs all prerequisites. Resolves once the checkout's own dependencies are there; `matrix` when all are. */
async function setUp() {
  const folder = join(root, 'matrix');
  refuseLinks(root, folder);
  mkdirSync(counts);
  process.env['REPORT_LINES'] = 'yes';
  const own = ensureInstalled(root);
  const matrix = ensureInstalled(folder);
  matrix.catch(() => undefined);
  // Installs one after another, before anything runs: the package manager allows only one at a time.
  process.env['CHROMIUM_PATH'] = ensureChromium();
  ensureMosquitto();
  ensurePostgres();
  if (ensurePrometheus() === null) console.log(NO_PROMETHEUS);
  await own;
  return { matrix };
}

/** Steps of a layer, one for each runtime; none if its folder is missing. @param {string} name @returns {import('./steps.mjs').Step[]} */
function layer(name) {
  const wanted = LAYERS[name];
  if (!wanted || !existsSync(join(root, wanted.folder))) return [];
  const coverage = wanted.covers ? { [wanted.covers]: counts } : {};
  const runtimes = runtimesOf(wanted);
  return runtimes.map(({ name: runtime, node: on, env }, index) => ({
    name: runtime === '' ? name : `${name}, ${runtime}`,
    commands: parts(wanted, wanted.dealt ? { index, of: runtimes.length } : undefined).map((files) => mocha(on, files)),
    tests: true,
    env: { ...env, ...coverage },
  }));
}

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
    commands: [[node, bin('c8/bin/c8.js'), 'report', '--temp-directory', counts, ...excluded]],
  };
}

try {
  const { matrix } = await setUp();
  const checks = () =>
    steps.all(
      {
        name: 'lint',
        commands: [
          [node, bin('oxlint/bin/oxlint'), '--report-unused-disable-directives'],
          // Each rule reads only the file itself, so the results of unchanged files hold.
          [node, bin('eslint/bin/eslint.js'), '--cache', '--cache-location', '.cache/eslint', ...LINTED],
        ],
      },
      { name: 'types', commands: [[node, bin('typescript-7/bin/tsc'), '-p', 'tsconfig.json']] },
      { name: 'format', commands: [[node, bin('oxfmt/bin/oxfmt'), '--check']] },
    );
  if (await steps.all({ name: 'build', commands: [[node, 'scripts/build.mjs']] })) {
    // The fault layer runs before the others: beside them, its longest file took eight times as long.
    await Promise.all([steps.all(...layer('faults')), checks()]);
    await matrix;
    // The longest steps run first, so that all cores are busy at the end.
    const longest = steps.all(...layer('runtime'));
    const counted = steps.all(...layer('editor'), ...layer('nodes'), ...layer('unit'));
    const others = steps.all(...layer('examples'), ...layer('page'), ...layer('simulator'), ...layer('repository'), {
      name: 'pack',
      commands: [[node, 'scripts/check-pack.mjs']],
      tests: true,
    });
    // A failed test lowers the coverage, so report only the test.
    if (await counted) await steps.all(coverage());
    await Promise.all([longest, others]);
  } else {
    await checks();
    await matrix;
  }
} catch (error) {
  steps.fail('npm test', error instanceof Error ? error.message : String(error));
}
rmSync(scratch, { recursive: true, force: true });
if (steps.failed > 0) process.exitCode = 1;
steps.summary();
