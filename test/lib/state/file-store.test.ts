import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { FileStore } from '../../../lib/state/file-store';
import { UnsealedFiles } from '../../../lib/state/unsealed';
import type { Key } from '../../../lib/state/store';
import { ManualClock } from '../../helpers/manual-clock';
import { limit } from '../../helpers/limits';

describe('state/file-store', () => {
  let folder: string;
  let clock: ManualClock;
  let warnings: string[];
  let secrets: string[];

  const open = () =>
    new FileStore({
      folder,
      clock,
      sealedKinds: ['grant'],
      secrets: () => secrets,
      unsealed: new UnsealedFiles(folder),
      warn: (sentence) => warnings.push(String(sentence)),
    });
  const files = async (kind: string) => (await readdir(join(folder, kind))).map((name) => join(folder, kind, name));
  const only = async (kind: string): Promise<string> => {
    const [first, ...more] = await files(kind);
    assert.ok(first && more.length === 0);
    return first;
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'store-'));
    clock = new ManualClock();
    warnings = [];
    secrets = ['a secret'];
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('returns a value that another instance stored', async () => {
    await open().put(['position', 'a', 'b'], { seen: [1, 'zwei', null] });
    assert.deepEqual(await open().get(['position', 'a', 'b']), { seen: [1, 'zwei', null] });
    assert.equal(await open().get(['position', 'a', 'c']), undefined);
  });

  it('keeps keys with any characters apart', async () => {
    const word = fc.string({ unit: 'binary', maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.tuple(word, word), { minLength: 2, maxLength: 5, selector: (w) => JSON.stringify(w) }),
        async (keys) => {
          const store = open();
          await Promise.all(keys.map((words, index) => store.put(['position', ...words], index)));
          const found = await Promise.all(keys.map((words) => store.get(['position', ...words])));
          assert.deepEqual(
            found,
            keys.map((_, index) => index),
          );
        },
      ),
      { numRuns: 20 },
    );
  });

  it('deletes by delete and by an update that returns undefined', async () => {
    const store = open();
    await store.put(['position', 'a'], 1);
    await store.delete(['position', 'a']);
    assert.equal(await store.get(['position', 'a']), undefined);
    await store.put(['position', 'a'], 2);
    assert.equal(await store.update(['position', 'a'], () => undefined), undefined);
    assert.equal(await store.get(['position', 'a']), undefined);
  });

  it('locks a key during its change, and no other key', async () => {
    const store = open();
    let finish = () => {};
    const slow = store.update<number[]>(
      ['position', 'a'],
      (list = []) => new Promise((resolve) => (finish = () => resolve([...list, 1]))),
    );
    const after = store.update<number[]>(['position', 'a'], (list = []) => [...list, 2]);
    await store.put(['position', 'b'], 'free');
    finish();
    assert.deepEqual(await slow, [1]);
    assert.deepEqual(await after, [1, 2]);
  });

  it('remains usable after a change that throws', async () => {
    const store = open();
    await assert.rejects(
      store.update(['position', 'a'], () => {
        throw new Error('no');
      }),
    );
    await store.put(['position', 'a'], 1);
    assert.equal(await store.get(['position', 'a']), 1);
  });

  it('counts every one of 200 concurrent updates', async () => {
    const store = open();
    await Promise.all(Array.from({ length: 200 }, () => store.update<number>(['position', 'n'], (n = 0) => n + 1)));
    assert.equal(await store.get(['position', 'n']), 200);
  });

  it('deletes a value past keepFor in a sweep, not before', async () => {
    const store = open();
    await store.put(['print-key', 'short'], 1, { keepFor: 1000 });
    await store.put(['print-key', 'long'], 2, { keepFor: 5000 });
    await store.put(['print-key', 'ever'], 3);
    await clock.advance(1000);
    assert.equal(await store.get(['print-key', 'short']), 1);
    await store.sweep();
    assert.equal(await store.get(['print-key', 'short']), undefined);
    assert.equal(await store.get(['print-key', 'long']), 2);
    assert.equal((await files('print-key')).length, 2);
    await clock.advance(1e9);
    await store.sweep();
    assert.equal(await store.get(['print-key', 'ever']), 3);
  });

  it('keeps print keys while the clock is wrong, in 1970 or years ahead', async () => {
    const year = 365 * 24 * 3600_000;
    const at = (clock: ManualClock) =>
      new FileStore({
        folder,
        clock,
        sealedKinds: [],
        secrets: () => [],
        warn: (sentence) => warnings.push(String(sentence)),
      });
    await at(new ManualClock(Date.parse('2026-01-01'))).put(['print-key', 'a'], 1, { keepFor: year / 4 });
    for (const wrong of [0, Date.parse('2026-01-01') + 30 * year]) {
      const store = at(new ManualClock(wrong));
      await store.sweep();
      assert.equal(await store.get(['print-key', 'a']), 1);
    }
    await at(new ManualClock(0)).put(['print-key', 'b'], 1, { keepFor: year / 4 });
    await at(new ManualClock(Date.parse('2026-01-01'))).sweep();
    assert.equal(await at(new ManualClock()).get(['print-key', 'b']), 1, 'written before the clock was set');
  });

  it('keeps print keys while the clock is temporarily ahead by more than their keepFor', async () => {
    const day = 24 * 3600_000;
    let ahead = 0;
    const wrong = { now: () => clock.now() + ahead, monotonic: clock.monotonic, after: clock.after };
    const store = new FileStore({ folder, clock: wrong, sealedKinds: [], secrets: () => [], warn: () => undefined });
    await store.put(['print-key', 'a'], 1, { keepFor: 100 * day });
    ahead = 400 * day;
    await store.sweep();
    assert.equal(await store.get(['print-key', 'a']), 1);
    ahead = 0;
    await clock.advance(101 * day);
    await store.sweep();
    assert.equal(await store.get(['print-key', 'a']), undefined);
  });

  it('makes files readable by their owner only', async () => {
    await open().put(['grant', 'a'], 'x');
    assert.equal((await stat(await only('grant'))).mode & 0o777, 0o600);
    assert.equal((await stat(join(folder, 'grant'))).mode & 0o777, 0o700);
  });

  it('seals grants and leaves other values readable', async () => {
    const store = open();
    await store.put(['grant', 'a'], { accessToken: 'very-secret-token' });
    await store.put(['position', 'a'], { note: 'plain-note' });
    assert.ok(!(await readFile(await only('grant'), 'utf8')).includes('very-secret-token'));
    assert.ok((await readFile(await only('position'), 'utf8')).includes('plain-note'));
    assert.deepEqual(await open().get(['grant', 'a']), { accessToken: 'very-secret-token' });
  });

  it('reads a value sealed with an older secret and reseals it with the first one', async () => {
    await open().put(['grant', 'a'], 'token');
    secrets = ['chosen by the user', 'a secret'];
    assert.equal(await open().update(['grant', 'a'], (grant) => grant), 'token');
    secrets = ['chosen by the user'];
    assert.equal(await open().get(['grant', 'a']), 'token');
  });

  it('stores grants in the clear without a secret and seals them once there is one', async () => {
    secrets = [];
    await open().put(['grant', 'a'], 'token');
    secrets = ['new'];
    assert.equal(await open().update(['grant', 'a'], (grant) => grant), 'token');
    assert.ok(!(await readFile(await only('grant'), 'utf8')).includes('"token"'));
  });

  const damages: [string, (path: string) => Promise<void>][] = [
    ['empty', (path) => writeFile(path, '')],
    ['cut off', async (path) => writeFile(path, (await readFile(path, 'utf8')).slice(0, -7))],
    ['not JSON', (path) => writeFile(path, 'hello')],
    ['of an unknown version', (path) => writeFile(path, '{"version":9,"value":1}')],
    ['null', (path) => writeFile(path, 'null')],
    ['sealed nonsense', (path) => writeFile(path, '{"version":1,"sealed":{"data":5}}')],
  ];
  for (const [name, damage] of damages)
    it(`sets aside a file that is ${name}`, async () => {
      await open().put(['grant', 'a'], 'token');
      await damage(await only('grant'));
      assert.equal(await open().get(['grant', 'a']), undefined);
      assert.equal(warnings.length, 1);
      assert.match(await only('grant'), /\.damaged-/);
      await open().put(['grant', 'a'], 'again');
      assert.equal(await open().get(['grant', 'a']), 'again');
    });

  it('sets aside a grant sealed with an unknown secret or for another key', async () => {
    await open().put(['grant', 'a'], 'token');
    await open().put(['grant', 'b'], 'other');
    const [one = '', two = ''] = await files('grant');
    await writeFile(two, await readFile(one));
    const found = [await open().get(['grant', 'a']), await open().get(['grant', 'b'])];
    assert.equal(found.filter((value) => value === undefined).length, 1);
    secrets = ['changed'];
    assert.equal(await open().get<string>(['grant', 'a']), undefined);
    assert.match(warnings.at(-1) ?? '', /credential secret/);
  });

  it('sweeps only old leftovers of a crash', async () => {
    const store = open();
    await store.put(['position', 'a'], 1);
    const leftover = `${await only('position')}.123456`;
    await writeFile(leftover, 'half');
    await store.sweep();
    assert.equal((await files('position')).length, 2);
    const long = new Date(clock.now() - 2 * 60 * 60 * 1000);
    await utimes(leftover, long, long);
    await store.sweep();
    assert.deepEqual(await store.get(['position', 'a']), 1);
    assert.equal((await files('position')).length, 1);
  });

  it('sweeps a missing folder without an error', async () => {
    await rm(folder, { recursive: true });
    await open().sweep();
  });

  it('rejects an unreadable value instead of treating it as missing, and leaves it alone', async () => {
    const store = open();
    const key: Key = ['position', 'a'];
    await store.put(key, 1);
    const path = await only('position');
    const content = await readFile(path);
    await rm(path);
    await mkdir(path);
    await assert.rejects(store.get(key), { code: 'FILE_NOT_READABLE', outcome: 'not-sent', message: /EISDIR/ });
    let asked = false;
    const change = () => {
      asked = true;
      return undefined;
    };
    await assert.rejects(store.update(key, change), { code: 'FILE_NOT_READABLE' });
    assert.equal(asked, false);
    await rm(path, { recursive: true });
    await writeFile(path, content);
    assert.equal(await store.get(key), 1);
    assert.deepEqual(warnings, []);
  });

  it('writes nothing if the value stays the same', async () => {
    const store = open();
    const key: Key = ['position', 'a'];
    await store.put(key, { n: 1 });
    const { ino } = await stat(await only('position'));
    await store.update<object>(key, (value) => value);
    assert.equal((await stat(await only('position'))).ino, ino);
    await store.update<object>(key, (value) => ({ ...value }));
    assert.notEqual((await stat(await only('position'))).ino, ino);
  });

  it('waits for a lock until the deadline and leaves its holder alone', async () => {
    const store = open();
    const key: Key = ['position', 'a'];
    let go = () => {};
    let holding: Promise<unknown> = Promise.resolve();
    await new Promise<void>((begun) => {
      holding = store.update<number>(key, async () => {
        begun();
        await new Promise<void>((resolve) => (go = resolve));
        return 1;
      });
    });
    const waiting = assert.rejects(
      store.update<number>(key, () => 2, { deadline: limit(clock, { seconds: 10 }) }),
      {
        code: 'TIMEOUT',
        outcome: 'not-sent',
      },
    );
    await clock.advance(10_000);
    await waiting;
    go();
    await holding;
    assert.equal(await store.get(key), 1);
    assert.equal(await store.update<number>(key, (n = 0) => n + 1, { deadline: limit(clock) }), 2);
  });

  it('rejects a put that can’t be written', async () => {
    await writeFile(join(folder, 'position'), 'a file in place of the folder');
    await assert.rejects(open().put(['position', 'a'], 1), { code: 'FILE_NOT_WRITABLE', outcome: 'not-sent' });
    await chmod(folder, 0o700);
  });
});
