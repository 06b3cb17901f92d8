import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { unlessUnchanged } from '../../scripts/unchanged.mjs';

describe('a check of the sources in npm test', () => {
  let root: string;
  let runs: number;
  let passes: boolean;
  const check = (during = () => Promise.resolve()) =>
    unlessUnchanged(root, 'lint', async () => {
      runs += 1;
      await during();
      return passes;
    });
  const write = (file: string, text: string) => writeFile(join(root, file), text);

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'unchanged-'));
    [runs, passes] = [0, true];
    execFileSync('git', ['init', '-q'], { cwd: root });
    await write('.gitignore', '.cache/\n');
    await write('source.ts', 'one');
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  it('runs once on the same sources, and again after each change and each new file', async () => {
    assert.deepEqual([await check(), await check(), runs], [true, 'unchanged', 1]);
    await write('source.ts', 'two');
    assert.deepEqual([await check(), await check(), runs], [true, 'unchanged', 2]);
    await write('new.ts', '');
    assert.deepEqual([await check(), await check(), runs], [true, 'unchanged', 3]);
    await rm(join(root, 'new.ts'));
    assert.deepEqual([await check(), runs], [true, 4]);
  });

  it('runs again after it has failed', async () => {
    passes = false;
    assert.deepEqual([await check(), await check(), runs], [false, false, 2]);
  });

  it('runs again if a source changed while it ran', async () => {
    assert.equal(await check(() => write('source.ts', 'two')), true);
    assert.deepEqual([await check(), runs], [true, 2]);
  });

  it('always runs where git does not know the sources', async () => {
    await rm(join(root, '.git'), { recursive: true });
    assert.deepEqual([await check(), await check(), runs], [true, true, 2]);
  });
});
