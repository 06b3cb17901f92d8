// npm test: all checks for a release, even on a fresh clone. The last line is the sum of all tests and checks.
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { ensureChromium, ensureMosquitto, ensurePostgres, ensurePrometheus, NO_PROMETHEUS } from './debian.mjs';
import { ensureInstalled, refuseLinks } from './install.mjs';
import { stepsOf } from './layers.mjs';
import { Steps } from './steps.mjs';
import { unlessUnchanged } from './unchanged.mjs';

const root = resolve(import.meta.dirname, '..');
/** Temporary folder of everything that runs here, so that nothing is left behind unnoticed. */
const scratch = mkdtempSync(join(tmpdir(), 'npm-test-'));
// PostgreSQL runs as another user.
chmodSync(scratch, 0o711);

/** Folders with the floors that ESLint checks. */
const LINTED = ['lib', 'nodes', 'editor', 'board', 'simulator'];

const node = process.execPath;
const bin = (/** @type {string} */ file) => join(root, 'node_modules', file);
const steps = new Steps(root);

/** Checks that read the sources alone, so a result holds until one of them changes. @type {import('./steps.mjs').Step[]} */
const CHECKS = [
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
];

/** Installs all prerequisites. Resolves once the checkout's own dependencies are there; `matrix` when all are. */
async function setUp() {
  const folder = join(root, 'matrix');
  refuseLinks(root, folder);
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
  process.env['TMPDIR'] = scratch;
  return { matrix };
}

try {
  const { matrix } = await setUp();
  const checks = () =>
    Promise.all(
      CHECKS.map(async (check) => {
        const end = await unlessUnchanged(root, check.name, () => steps.all(check));
        if (end === 'unchanged') steps.repeat(check);
      }),
    );
  const built = await steps.all({ name: 'build', commands: [[node, 'scripts/build.mjs', '--if-changed']] });
  await checks();
  await matrix;
  if (built) {
    // The fault layer runs before the others: beside them, its longest file took eight times as long.
    await steps.all(...stepsOf('faults'));
    // Layers that wait most run first, beside the computing ones, so that the cores are busy to the end.
    const layers = [
      'runtime',
      'unit',
      'examples',
      'editor',
      'nodes',
      'board',
      'page',
      'site',
      'simulator',
      'repository',
    ];
    const pack = { name: 'pack', commands: [[node, 'scripts/check-pack.mjs']], tests: true };
    await steps.all(...layers.flatMap((name) => stepsOf(name)), pack);
  }
} catch (error) {
  steps.fail('npm test', error instanceof Error ? error.message : String(error));
}
// A browser that ends may leave its shared memory, which goes with the folder.
const left = readdirSync(scratch).filter((name) => !name.startsWith('.org.chromium.'));
if (left.length > 0) steps.fail('temporary folder', `left behind: ${left.join(', ')}`);
rmSync(scratch, { recursive: true, force: true });
if (steps.failed > 0) process.exitCode = 1;
steps.summary();
