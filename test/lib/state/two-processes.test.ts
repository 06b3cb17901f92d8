import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { FileStore } from '../../../lib/state/file-store';
import { ManualClock } from '../../helpers/manual-clock';

describe('state/file-store, a folder of two processes', () => {
  let folder: string;
  let warnings: string[];
  const open = () =>
    new FileStore({
      ...{ folder, clock: new ManualClock(), sealedKinds: [], secrets: () => [] },
      warn: (sentence) => warnings.push(String(sentence)),
    });
  const KEY = ['value', 'a'] as const;
  const idFile = () => join(folder, 'folder-id');
  const signed = async () => (await readFile(idFile(), 'utf8')).split('\n')[1] ?? '';

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'two-processes-'));
    warnings = [];
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('warns each of them once, naming the other', async () => {
    const store = open();
    await store.put(KEY, 1);
    const own = await signed();
    assert.ok(own.endsWith(` ${process.pid} ${hostname()}`), own);
    const file = JSON.stringify(join(process.cwd(), 'lib/state/file-store.ts'));
    const code = `const { FileStore } = require(${file});
      new FileStore({ folder: ${JSON.stringify(folder)}, clock: { now: () => 0, monotonic: () => 0 }, sealedKinds: [],
        secrets: () => [], warn: () => undefined }).put(['value', 'b'], 1).then(() => console.log(process.pid));`;
    const other = spawnSync(
      process.execPath,
      ['--require', './test/typescript.cjs', '--input-type=commonjs', '-e', code],
      {
        encoding: 'utf8',
      },
    );
    const pid = other.stdout.trim();
    assert.match(pid, /^\d+$/, other.stderr);
    for (let nth = 0; nth < 3; nth++) assert.equal(await store.get(KEY), 1);
    assert.equal(warnings.length, 1);
    assert.ok(warnings[0]?.includes(`process ${pid}`) && warnings[0].includes(hostname()), warnings[0]);
    // The other one finds this process, in turn.
    while ((await signed()) !== own) await new Promise(setImmediate);
    assert.equal(await store.get(['value', 'b']), 1);
  });

  it('does not warn of a process that has ended, nor of another store of its own', async () => {
    await writeFile(idFile(), `${crypto.randomUUID()}\n${crypto.randomUUID()} 12 another-host\n`);
    const first = open();
    assert.equal(await first.get(KEY), undefined);
    while (!(await signed()).includes(` ${process.pid} `)) await new Promise(setImmediate);
    await first.put(KEY, 1);
    await open().put(KEY, 2);
    assert.equal(await open().get(KEY), 2);
    assert.equal(await first.get(KEY), 2);
    assert.deepEqual(warnings, []);
  });

  it('reads the id of a folder that no process has signed', async () => {
    await writeFile(idFile(), `${crypto.randomUUID()}\n`);
    const store = open();
    await store.put(KEY, 1);
    assert.equal(await store.get(KEY), 1);
  });
});
