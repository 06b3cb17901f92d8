import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Database } from '../../../lib/postgres/database';
import { FileStore } from '../../../lib/state/file-store';
import { PostgresStore } from '../../../lib/postgres/postgres-store';
import type { Key, StateStore } from '../../../lib/state/store';
import { moveState } from '../../../lib/state/records';
import { UnsealedFiles } from '../../../lib/state/seal';
import { systemClock } from '../../../lib/time/clock';
import { testPostgres, type TestPostgres } from '../../helpers/postgres';

const CLI = join(__dirname, '../../../lib/state-cli.ts');
const VALUES: [Key, unknown][] = [
  [['grant', 'a'], { token: 'very secret' }],
  [['print-key', 'a', 'one'], { done: true }],
  [
    ['open-prints', 'a'],
    ['one', 'two'],
  ],
  ...Array.from({ length: 120 }, (_, n): [Key, unknown] => [['checkpoint', 'a', `${n}`], { n }]),
];

describe('remote-printing-state', () => {
  let server: TestPostgres;
  let folder: string;
  let databases: Database[];
  before(async () => (server = await testPostgres()));
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'state-'));
    databases = [];
  });
  afterEach(async () => {
    await Promise.all(databases.map((database) => database.close()));
    await rm(folder, { recursive: true, force: true });
  });

  const parts = { clock: systemClock, sealedKinds: ['grant'], secrets: () => ['a secret'], warn: () => undefined };
  const rows = (address: string) => {
    const log = { warn: () => undefined, info: () => undefined };
    const database = new Database({ address, clock: systemClock, log });
    databases.push(database);
    return new PostgresStore({ ...parts, database });
  };
  const files = (at: string) => new FileStore({ ...parts, folder: at });
  const fill = (store: StateStore) =>
    Promise.all(VALUES.map(([key, value]) => store.put(key, value, { keepFor: 1_000_000 })));
  const check = async (store: StateStore) => {
    for (const [key, value] of VALUES) assert.deepEqual(await store.get(key), value);
  };
  const move = async (...args: string[]): Promise<{ code: number; said: string }> => {
    const run = promisify(execFile)(process.execPath, ['--require', './test/typescript.cjs', CLI, ...args]);
    return run.then(
      ({ stdout }) => ({ code: 0, said: stdout }),
      (error: unknown) => {
        const { code, stderr } = error as { code: number; stderr: string };
        return { code, said: stderr };
      },
    );
  };

  it('copies the values of a folder to a database, and back to an empty folder', async () => {
    const address = await server.fresh();
    await fill(files(join(folder, 'old')));
    assert.deepEqual(await move(join(folder, 'old'), address), { code: 0, said: '123 values copied.\n' });
    await check(rows(address));
    assert.deepEqual(await move(address, join(folder, 'new')), { code: 0, said: '123 values copied.\n' });
    await check(files(join(folder, 'new')));
    const times = await server.ask<{ ms: number }>(
      address,
      'SELECT (max(extract(epoch FROM until - now())) * 1000)::int AS ms FROM remote_printing.entries',
    );
    assert.ok(times[0]!.ms > 500_000 && times[0]!.ms <= 1_000_000, 'they are kept for as long as they were');
  });

  it('continues after an interruption', async () => {
    const address = await server.fresh();
    await fill(files(folder));
    await moveState(files(folder), rows(address));
    await server.ask(address, "DELETE FROM remote_printing.entries WHERE kind = 'checkpoint'");
    assert.deepEqual(await moveState(files(folder), rows(address)), { copied: VALUES.length, leftOut: 0 });
    await check(rows(address));
  });

  it('copies every value even if the database contains an old lock', async () => {
    const address = await server.fresh();
    await fill(files(folder));
    // Killed while it held the lock, before it wrote anything.
    await rows(address).put(['grant', 'a'], 'before');
    await server.ask(address, "UPDATE remote_printing.entries SET content = NULL, holder = 'gone', ends_at = now()");
    await moveState(files(folder), rows(address));
    await check(rows(address));
  });

  it('counts what a killed Node-RED has left in a database as no value, in either place', async () => {
    const address = await server.fresh();
    await rows(address).put(['print-key', 'a'], 1);
    await server.ask(
      address,
      `INSERT INTO remote_printing.entries (name, kind, key, token, content)
         VALUES ('left', 'member', 'watching', nextval('remote_printing.tokens'), '{"name":"one"}')`,
    );
    assert.deepEqual(await move(address, join(folder, 'new')), { code: 0, said: '1 values copied.\n' });
    await server.ask(address, "DELETE FROM remote_printing.entries WHERE kind = 'print-key'");
    assert.deepEqual(await move(join(folder, 'new'), address), { code: 0, said: '1 values copied.\n' });
  });

  it('copies nothing outside its target, but everything else, and reports what it left out', async () => {
    await fill(files(join(folder, 'old')));
    const odd = [
      { version: 1, key: ['../outside', 'a'], value: 1 },
      { version: 1, key: [7, null], value: 1 },
      { version: 2, key: ['grant', 'z'], value: 1 },
    ];
    for (const [n, record] of odd.entries())
      await writeFile(join(folder, 'old', 'grant', `${String(n).padStart(40, '0')}.json`), JSON.stringify(record));
    const { code, said } = await move(join(folder, 'old'), join(folder, 'new'));
    assert.deepEqual(
      { code, said },
      { code: 1, said: '3 values were left out: they are no records of this version.\n' },
    );
    await check(files(join(folder, 'new')));
    assert.deepEqual((await readdir(folder)).sort(), ['new', 'old']);
  });

  it("copies no file that is not the store's own, and counts none in its target", async () => {
    const [from, to] = [join(folder, 'old'), join(folder, 'new')];
    await files(from).put(['print-key', 'a'], 1);
    for (const at of [from, to]) {
      await mkdir(join(at, 'config'), { recursive: true });
      await writeFile(join(at, 'config', 'settings.json'), `{"of":"${at}"}`);
    }
    assert.deepEqual(await move(from, to), { code: 0, said: '1 values copied.\n' });
  });

  it('counts the marks of sign-ins that are saved in the clear as no values, in either place', async () => {
    const [from, to] = [join(folder, 'old'), join(folder, 'new')];
    const clear = (at: string) =>
      new FileStore({ ...parts, folder: at, secrets: () => [], unsealed: new UnsealedFiles(at) });
    await clear(from).put(['grant', 'a'], { byService: {} });
    await clear(to).put(['grant', 'b'], { byService: {} });
    await clear(to).delete(['grant', 'b']);
    assert.deepEqual(await move(from, to), { code: 0, said: '1 values copied.\n' });
    assert.deepEqual(await clear(to).get(['grant', 'a']), { byService: {} });
  });

  it('reports a missing source whose name begins like the address of a database', async () => {
    const { code, said } = await move(join('postgres-state', 'none'), folder);
    assert.deepEqual({ code, said }, { code: 1, said: 'There is no folder postgres-state/none.\n' });
  });

  it('reports a source that holds no saved state, such as the user directory, or that is a file', async () => {
    const nothing = 'Nothing copied: FROM has no saved state.\n';
    const empty = await server.fresh();
    for (const from of [folder, empty])
      assert.deepEqual(await move(from, join(folder, 'new')), { code: 1, said: nothing });
    const file = join(folder, 'file');
    await writeFile(file, '');
    assert.deepEqual(await move(file, join(folder, 'new')), { code: 1, said: `There is no folder ${file}.\n` });
  });

  it('refuses a target that contains anything else', async () => {
    const address = await server.fresh();
    await fill(files(folder));
    await rows(address).put(['print-key', 'b'], 'of another one');
    const { code, said } = await move(folder, address);
    assert.equal(code, 1);
    assert.match(said, /already holds something else/);
    assert.equal(await rows(address).get(['grant', 'a']), undefined);
  });

  it('prints its usage and reports a missing folder', async () => {
    assert.match((await move()).said, /^Usage: remote-printing-state FROM TO/);
    assert.deepEqual(await move(join(folder, 'none'), folder), {
      code: 1,
      said: `There is no folder ${folder}/none.\n`,
    });
    const { code, said } = await move(`${server.address}_none`, folder);
    assert.equal(code, 1);
    assert.match(said, /3D000/);
  });
});
