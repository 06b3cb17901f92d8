import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { FileStore } from '../../../lib/state/file-store';
import type { Key } from '../../../lib/state/store';
import { ManualClock } from '../../helpers/manual-clock';

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
      warn: (sentence) => warnings.push(sentence),
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

  it('gives back what another instance put', async () => {
    await open().put(['position', 'a', 'b'], { seen: [1, 'zwei', null] });
    assert.deepEqual(await open().get(['position', 'a', 'b']), { seen: [1, 'zwei', null] });
    assert.equal(await open().get(['position', 'a', 'c']), undefined);
  });

  it('keeps keys of any characters apart', async () => {
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

  it('deletes by delete and by an update that gives undefined', async () => {
    const store = open();
    await store.put(['position', 'a'], 1);
    await store.delete(['position', 'a']);
    assert.equal(await store.get(['position', 'a']), undefined);
    await store.put(['position', 'a'], 2);
    assert.equal(await store.update(['position', 'a'], () => undefined), undefined);
    assert.equal(await store.get(['position', 'a']), undefined);
  });

  it('holds a key while it changes, and others not', async () => {
    const store = open();
    let let_go = () => {};
    const slow = store.update<number[]>(
      ['position', 'a'],
      (list = []) => new Promise((resolve) => (let_go = () => resolve([...list, 1]))),
    );
    const after = store.update<number[]>(['position', 'a'], (list = []) => [...list, 2]);
    await store.put(['position', 'b'], 'free');
    let_go();
    assert.deepEqual(await slow, [1]);
    assert.deepEqual(await after, [1, 2]);
  });

  it('goes on after a change that throws', async () => {
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

  it('forgets after keepFor, and sweeps what is past it', async () => {
    const store = open();
    await store.put(['print-key', 'short'], 1, { keepFor: 1000 });
    await store.put(['print-key', 'long'], 2, { keepFor: 5000 });
    await store.put(['print-key', 'ever'], 3);
    await clock.advance(1000);
    assert.equal(await store.get(['print-key', 'short']), undefined);
    assert.equal(await store.get(['print-key', 'long']), 2);
    await store.sweep();
    assert.equal((await files('print-key')).length, 2);
    await clock.advance(1e9);
    assert.equal(await store.get(['print-key', 'ever']), 3);
  });

  it('is readable by its owner only', async () => {
    await open().put(['grant', 'a'], 'x');
    assert.equal((await stat(await only('grant'))).mode & 0o777, 0o600);
    assert.equal((await stat(join(folder, 'grant'))).mode & 0o777, 0o700);
  });

  it('seals grants and leaves the rest readable', async () => {
    const store = open();
    await store.put(['grant', 'a'], { accessToken: 'very-secret-token' });
    await store.put(['position', 'a'], { note: 'plain-note' });
    assert.ok(!(await readFile(await only('grant'), 'utf8')).includes('very-secret-token'));
    assert.ok((await readFile(await only('position'), 'utf8')).includes('plain-note'));
    assert.deepEqual(await open().get(['grant', 'a']), { accessToken: 'very-secret-token' });
  });

  it('reads what an older secret sealed, and seals anew with the first', async () => {
    await open().put(['grant', 'a'], 'token');
    secrets = ['chosen by the user', 'a secret'];
    assert.equal(await open().update(['grant', 'a'], (grant) => grant), 'token');
    secrets = ['chosen by the user'];
    assert.equal(await open().get(['grant', 'a']), 'token');
  });

  it('stores grants in the clear where there is no secret, and seals them once there is one', async () => {
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
    it(`sets a file aside that is ${name}`, async () => {
      await open().put(['grant', 'a'], 'token');
      await damage(await only('grant'));
      assert.equal(await open().get(['grant', 'a']), undefined);
      assert.equal(warnings.length, 1);
      assert.match(await only('grant'), /\.damaged-/);
      await open().put(['grant', 'a'], 'again');
      assert.equal(await open().get(['grant', 'a']), 'again');
    });

  it('sets a grant aside that was sealed with a secret it does not have, or for another key', async () => {
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

  it('sweeps leftovers of a crash once they are old, and nothing else', async () => {
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

  it('sweeps a folder that is not there', async () => {
    await rm(folder, { recursive: true });
    await open().sweep();
  });

  it('warns and goes on where a value is unreadable for other reasons', async () => {
    const store = open();
    const key: Key = ['position', 'a'];
    await store.put(key, 1);
    const path = await only('position');
    await rm(path);
    await import('node:fs/promises').then(({ mkdir }) => mkdir(path));
    assert.equal(await store.get(key), undefined);
    assert.match(warnings[0] ?? '', /EISDIR/);
  });

  it('rejects a put that can not be written', async () => {
    await writeFile(join(folder, 'position'), 'a file where a folder must be');
    await assert.rejects(open().put(['position', 'a'], 1));
    await chmod(folder, 0o700);
  });
});
