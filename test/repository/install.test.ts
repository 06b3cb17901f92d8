import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../helpers/sources';

/** Every script that installs packages, with its arguments. */
const INSTALLING = [
  ['scripts/start.mjs'],
  ['scripts/dev.mjs'],
  ['scripts/test.mjs'],
  ['scripts/replicas.mjs'],
  ['scripts/layer.mjs', 'unit'],
  ['scripts/layer.mjs', 'runtime'],
  ['scripts/coverage.mjs'],
  ['scripts/bench.mjs'],
  ['scripts/torture.mjs'],
  ['scripts/screenshots.mjs'],
  ['scripts/site.mjs'],
];
const WITH_MATRIX = INSTALLING.filter((script) => /test|layer|coverage|screenshots|torture/.test(script.join(' ')));

describe('an install', () => {
  let base: string;
  let clone: string;
  let precious: string;
  let npm: string;

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'linked-modules-'));
    clone = join(base, 'clone');
    mkdirSync(join(clone, 'matrix'), { recursive: true });
    cpSync(join(root, 'scripts'), join(clone, 'scripts'), { recursive: true });
    for (const file of ['package.json', 'package-lock.json', 'matrix/package-lock.json', 'matrix/node-versions.json'])
      cpSync(join(root, file), join(clone, file));
    mkdirSync(join(base, 'shared'));
    precious = join(base, 'shared/precious');
    writeFileSync(precious, '');
    // Empties node_modules as npm ci does, and installs nothing.
    npm = join(base, 'npm.cjs');
    writeFileSync(
      npm,
      `const fs = require('node:fs');
       fs.mkdirSync('node_modules', { recursive: true });
       for (const name of fs.readdirSync('node_modules')) fs.rmSync('node_modules/' + name, { recursive: true });
       fs.writeFileSync('node_modules/.package-lock.json', '{}');`,
    );
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  const run = (script: string[]) =>
    spawnSync(process.execPath, script, { cwd: clone, env: { ...process.env, npm_execpath: npm }, encoding: 'utf8' });

  function assertRefused(script: string[], modules: string): void {
    const { status, stdout, stderr } = run(script);
    const output = `${script.join(' ')}: ${stdout}${stderr}`;
    assert.ok(existsSync(precious), output);
    assert.equal(status, 1, output);
    assert.ok(output.includes(`${modules} is a link, and an install would empty the folder behind it`), output);
    assert.doesNotMatch(output, /^ +at /m);
  }

  it('fails with a message if node_modules is a link, and leaves the linked folder unchanged', () => {
    const modules = join(clone, 'node_modules');
    symlinkSync(join(base, 'shared'), modules);
    for (const script of INSTALLING) assertRefused(script, modules);
  });

  it('fails with a message if matrix/node_modules is a link, before it installs anything else', () => {
    const modules = join(clone, 'matrix/node_modules');
    symlinkSync(join(base, 'shared'), modules);
    for (const script of WITH_MATRIX) {
      assertRefused(script, modules);
      assert.ok(!existsSync(join(clone, 'node_modules')), script.join(' '));
    }
  });
});
