// npm test: everything that must hold before a release, from a fresh clone on. The last line is the sum of all tests and checks.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { ensureChromium } from './chromium.mjs';
import { ensureInstalled } from './install.mjs';

const root = resolve(import.meta.dirname, '..');
const matrix = join(root, 'matrix');
const bin = (/** @type {string} */ file) => join(root, 'node_modules', file);
const matrixNode = (/** @type {string} */ name) => join(matrix, 'node_modules', name, 'bin', 'node');

const began = performance.now();
const sum = { passed: 0, failed: 0 };
/** Every test that passed in any of the runs, for the README's table of what is covered. */
const titles = join(mkdtempSync(join(tmpdir(), 'titles-')), 'passed.jsonl');

/**
 * A command that holds or does not. One that runs tests says how many in its output ('N passed, N failed'); else it counts as one.
 * @typedef {{ name: string, command: string[], tests?: boolean, env?: Record<string, string> }} Step
 */

/** @param {Step} step @returns {Promise<boolean>} */
async function run({ name, command: [program = '', ...args], tests = false, env }) {
  const start = performance.now();
  const child = spawn(program, args, { cwd: root, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const read = (/** @type {Buffer} */ chunk) => {
    output += chunk;
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const code = await new Promise((ended) => {
    child.on('error', (error) => {
      output += error.message;
      ended(1);
    });
    child.on('close', ended);
  });

  const [, passed = '0', failed = '0'] = [...output.matchAll(/^(\d+) passed, (\d+) failed/gm)].at(-1) ?? [];
  const good = code === 0 && (!tests || (Number(passed) > 0 && failed === '0'));
  sum.passed += tests ? Number(passed) : Number(good);
  // A run that breaks without naming a failed test (too little coverage, a crash) is one failure.
  sum.failed += good ? 0 : Math.max(1, Number(failed));
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`\n=== ${name}: ${good ? 'good' : 'FAILED'} in ${seconds} s ===\n${output.trim()}`);
  return good;
}

/** Runs the steps two at a time; throws once those under way have ended, if any of them is not good. @param {Step[]} steps */
async function all(...steps) {
  const waiting = [...steps];
  let good = true;
  const worker = async () => {
    for (let step = waiting.shift(); step && good; step = waiting.shift()) good = (await run(step)) && good;
  };
  await Promise.all([worker(), worker()]);
  if (!good) throw new Error('a step failed');
}

/** @param {{ node?: string, timeout: number, specs: string }} options */
const mocha = ({ node = process.execPath, timeout, specs }) => [
  ...[node, bin('mocha/bin/mocha.js'), '--no-config', '--node-option', 'import=tsx', '--forbid-only'],
  ...['--reporter', './test/reporter.cjs', '--timeout', String(timeout), specs],
];

function setUp() {
  writeFileSync(titles, '');
  process.env['REPORT_TITLES'] = titles;
  ensureInstalled(root);
  ensureInstalled(matrix);
  process.env['CHROMIUM_PATH'] = ensureChromium();
}

/** Sources that hold nothing but types: no test can run a line of them, so they are no part of the coverage. */
function typesOnly() {
  const boilerplate =
    /"use strict";|Object\.defineProperty\(exports, "__esModule", \{ value: true \}\);|\/\*[\s\S]*?\*\/|\/\/.*/g;
  const sources = ['lib', 'nodes'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  );
  return sources.filter((file) => {
    if (!file.endsWith('.ts')) return false;
    const built = readFileSync(join(root, 'dist', file.replace(/\.ts$/, '.js')), 'utf8');
    return built.replace(boilerplate, '').trim() === '';
  });
}

function unit() {
  const excluded = typesOnly().flatMap((file) => ['--exclude', file]);
  const command = [process.execPath, bin('c8/bin/c8.js'), ...excluded, process.execPath, bin('mocha/bin/mocha.js')];
  return { name: 'unit and nodes, with coverage', command, tests: true };
}

/** @returns {Step[]} */
function nodeRed5() {
  const env = { NODE_RED_PATH: join(matrix, 'node_modules/node-red/lib/red.js') };
  const specs = 'test/nodes/**/*.test.ts';
  return ['22', '24'].map((version) => ({
    name: `nodes on Node-RED 5 and Node ${version}`,
    command: mocha({ node: matrixNode(`node${version}`), timeout: 5000, specs }),
    tests: true,
    env,
  }));
}

try {
  setUp();
  const node = process.execPath;
  await all(
    { name: 'lint', command: [node, bin('eslint/bin/eslint.js'), '.', '--max-warnings', '0'] },
    { name: 'types', command: [node, bin('typescript/bin/tsc'), '-p', 'tsconfig.json'] },
    { name: 'format', command: [node, bin('prettier/bin/prettier.cjs'), '--check', '.'] },
  );
  await all({ name: 'build', command: [node, 'scripts/build.mjs'] });
  await all(
    { name: 'pack', command: [node, 'scripts/check-pack.mjs'], tests: true },
    unit(),
    {
      name: 'packed and in real processes',
      command: mocha({ timeout: 60_000, specs: 'test/runtime/**/*.test.ts' }),
      tests: true,
    },
    {
      name: 'repository',
      command: mocha({ timeout: 20_000, specs: 'test/repository/**/*.test.ts' }),
      tests: true,
    },
    { name: 'editor', command: mocha({ timeout: 60_000, specs: 'test/editor/**/*.test.ts' }), tests: true },
    {
      name: "the simulator's page",
      command: mocha({ timeout: 60_000, specs: 'test/simulator-page/**/*.test.ts' }),
      tests: true,
    },
    ...nodeRed5(),
  );
  await all({ name: 'what is covered', command: [node, 'scripts/check-coverage-table.mjs', titles] });
} catch (error) {
  if (sum.failed === 0) {
    console.error(String(error));
    sum.failed = 1;
  }
  process.exitCode = 1;
}
rmSync(resolve(titles, '..'), { recursive: true, force: true });
console.log(`\n${((performance.now() - began) / 1000).toFixed(0)} s in all`);
console.log(`${sum.passed} passed, ${sum.failed} failed`);
