import assert from 'node:assert/strict';
import callbacks, { promises as fs } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import sinon from 'sinon';
import { codeOf } from '../../../lib/http/retry';
import { FileStore } from '../../../lib/state/file-store';
import { WriteBehindStore } from '../../../lib/state/write-behind-store';
import { UnsealedFiles } from '../../../lib/state/seal';
import { ManualClock } from '../../helpers/manual-clock';

/** Behaviour of files; `state-store.test.ts` covers that of every store. */
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

  describe('whose folder goes away while the process runs', () => {
    const isAway = { code: 'FILE_NOT_READABLE', message: /is away or was replaced/ };
    const mount = () => fs.rename(`${folder}-away`, folder);
    /** Leaves an empty folder, as an unmounted share does. */
    const unmount = async () => {
      await fs.rename(folder, `${folder}-away`);
      await mkdir(folder);
    };
    afterEach(() => rm(`${folder}-away`, { recursive: true, force: true }));

    it('treats no value as missing, and returns it when the folder is back', async () => {
      const store = open();
      await store.put(['print', 'a'], 1);
      await unmount();
      await assert.rejects(store.get(['print', 'a']), isAway);
      await assert.rejects(store.get(['print', 'never written']), isAway);
      await assert.rejects(store.list(['print'], { limit: 10 }), isAway);
      await assert.rejects(
        store.update(['print', 'a'], () => 2),
        isAway,
      );
      await fs.rmdir(folder);
      await assert.rejects(store.get(['print', 'a']), isAway, 'no mount point either');
      await mount();
      assert.equal(await store.get(['print', 'a']), 1);
    });

    it('writes nothing below the mount point, and writes again when the folder is back', async () => {
      const store = open();
      await store.put(['print', 'a'], 1);
      await unmount();
      const refused = { code: 'FILE_NOT_WRITABLE', message: /is away or was replaced/ };
      await assert.rejects(store.put(['print', 'b'], 2), refused);
      await assert.rejects(store.delete(['print', 'a']), refused);
      assert.match(String(await store.fault()), /is away or was replaced/);
      assert.deepEqual(await readdir(folder), []);
      await fs.rmdir(folder);
      await assert.rejects(store.put(['print', 'b'], 2), refused);
      await mount();
      assert.equal(await store.fault(), null);
      await store.put(['print', 'b'], 2);
      assert.equal(await open().get(['print', 'b']), 2);
    });

    it('reports a value as unsaved if the folder goes away during the write', async () => {
      const store = open();
      await store.put(['print', 'a'], 1);
      const stub = sinon.stub(fs, 'rename').callsFake(async () => {
        stub.restore();
        await unmount();
      });
      await assert.rejects(store.put(['print', 'a'], 2), { code: 'FILE_NOT_WRITABLE' });
      await fs.rmdir(folder);
      await mount();
      assert.equal(await store.get(['print', 'a']), 1);
    });

    it('reads no value of another folder in its place', async () => {
      const store = open();
      await store.put(['print', 'a'], 1);
      await fs.rename(folder, `${folder}-away`);
      await open().put(['print', 'a'], 'of the other');
      await assert.rejects(store.get(['print', 'a']), isAway);
    });

    it('identifies the folder by what it holds, so that a copy of it is the same', async () => {
      const store = open();
      await store.put(['print', 'a'], 1);
      await fs.rename(folder, `${folder}-away`);
      await fs.cp(`${folder}-away`, folder, { recursive: true });
      assert.equal(await store.get(['print', 'a']), 1);
    });
  });

  describe('whose parent folder is missing at the start', () => {
    const KEY = ['print', 'a'] as const;
    const isUnreadable = { code: 'FILE_NOT_READABLE', message: /the state folder is away/ };
    let parent: string;
    let store: FileStore;

    const mount = () => fs.rename(`${parent}-away`, parent);

    /** Stores a value, and starts anew without the parent. */
    beforeEach(async () => {
      parent = join(folder, 'mounted');
      folder = join(parent, 'state');
      await mkdir(parent);
      await open().put(KEY, 'stored');
      await fs.rename(parent, `${parent}-away`);
      store = open();
    });
    afterEach(() => void (folder = dirname(parent)));

    it('treats no value as missing', async () => {
      await assert.rejects(store.get(KEY), isUnreadable);
      await assert.rejects(store.get(['print', 'never written']), isUnreadable);
      await assert.rejects(store.list(['print'], { limit: 10 }), isUnreadable);
      await assert.rejects(
        store.update(KEY, () => 'new'),
        isUnreadable,
      );
      await assert.rejects(store.put(KEY, 'new'), { code: 'FILE_NOT_WRITABLE', message: /the state folder is away/ });
      assert.deepEqual(await readdir(dirname(parent)), ['mounted-away']);
    });

    it('returns every value once the parent is there', async () => {
      await assert.rejects(store.get(KEY), isUnreadable);
      await mount();
      assert.equal(await store.get(KEY), 'stored');
      assert.equal(await store.get(['print', 'never written']), undefined);
      const { entries } = await store.list(['print'], { limit: 10 });
      assert.deepEqual(entries, [{ key: KEY, value: 'stored' }]);
    });

    it('shows the stored value to an update that was refused before', async () => {
      const behind = new WriteBehindStore(store, clock);
      const add = () => behind.update<string>(KEY, (stored) => `${stored} and more`, { insist: true });
      await assert.rejects(add(), isUnreadable);
      await mount();
      assert.equal(await add(), 'stored and more');
      assert.equal(await open().get(KEY), 'stored and more');
    });

    it('treats no value as missing if the parent is mounted while it is read', async () => {
      const { readFile } = fs;
      const stub = sinon.stub(fs, 'readFile').callsFake(async (...all) => {
        const found = readFile(...all);
        await found.catch(() => undefined);
        if (String(all[0]).includes('/print/')) await mount().catch(() => undefined);
        return found;
      });
      try {
        const found = await store.get<string>(KEY).catch((error: unknown) => codeOf(error));
        assert.ok(found === 'FILE_NOT_READABLE' || found === 'stored', `${found}`);
      } finally {
        stub.restore();
      }
    });
  });

  describe('whose folder has no id and can’t be written', () => {
    const MISSING = ['print', 'never written'] as const;

    beforeEach(async () => {
      await open().put(['print', 'a'], 1);
      await rm(join(folder, 'folder-id'));
      const open_ = fs.open;
      sinon.stub(fs, 'open').callsFake(async (path, flags, mode) => {
        if (flags === 'wx') throw Object.assign(new Error('read-only'), { code: 'EROFS' });
        return open_(path, flags, mode);
      });
    });
    afterEach(() => sinon.restore());

    it('reads what it holds', async () => {
      const store = open();
      assert.equal(await store.get(['print', 'a']), 1);
      assert.equal(await store.get(MISSING), undefined);
      await assert.rejects(store.put(MISSING, 1), { code: 'FILE_NOT_WRITABLE', message: /EROFS/ });
    });

    it('reads again what another folder holds that is mounted over it meanwhile', async () => {
      const mounted = `${folder}-mounted`;
      const { readFile } = fs;
      const store = open();
      const path = await only('print');
      await fs.rename(path, `${folder}-value`);
      const stub = sinon.stub(fs, 'readFile').callsFake(async (...all) => {
        const found = readFile(...all);
        if (all[0] !== path) return found;
        stub.restore();
        await found.catch(() => undefined);
        await fs.rename(folder, mounted);
        await mkdir(dirname(path), { recursive: true });
        await fs.rename(`${folder}-value`, path);
        await writeFile(join(folder, 'folder-id'), `${crypto.randomUUID()}\n`);
        return found;
      });
      assert.equal(await store.get(['print', 'a']), 1);
      await rm(mounted, { recursive: true });
    });
  });

  it('sets no value aside that is written while a damaged one is read', async () => {
    const store = open();
    await store.put(['item', 'a'], 'old');
    await writeFile(await only('item'), '{"version":1,"key":["ite');
    const read = fs.readFile;
    const stub = sinon.stub(fs, 'readFile').callsFake(async (...args) => {
      const content = await read(...args);
      stub.restore();
      await store.put(['item', 'a'], 'new');
      return content;
    });
    assert.equal(await store.get(['item', 'a']), 'new');
    assert.equal(await open().get(['item', 'a']), 'new');
    assert.deepEqual(warnings, []);
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

  it('keeps print keys that were written while the clock was behind, for their keepFor from the next start', async () => {
    const day = 24 * 3600_000;
    const start = (now: number) => {
      const clock = new ManualClock(now);
      return {
        clock,
        store: new FileStore({ folder, clock, sealedKinds: [], secrets: () => [], warn: () => undefined }),
      };
    };
    const right = Date.parse('2026-01-01');
    await start(right - 200 * day).store.put(['print-key', 'a'], 1, { keepFor: 100 * day });
    const { clock, store } = start(right);
    await store.sweep();
    assert.equal(await store.get(['print-key', 'a']), 1);
    for (let days = 0; days < 99; days++) {
      await clock.advance(day);
      await store.sweep();
    }
    assert.equal(await store.get(['print-key', 'a']), 1);
    await clock.advance(2 * day);
    await store.sweep();
    assert.equal(await store.get(['print-key', 'a']), undefined);
  });

  it('counts short times without a runtime, and no long ones, towards the keepFor of print keys', async () => {
    const day = 24 * 3600_000;
    let now = Date.parse('2026-01-01');
    const later = async (days: number) => {
      now += days * day;
      const clock = new ManualClock(now);
      const store = new FileStore({ folder, clock, sealedKinds: [], secrets: () => [], warn: () => undefined });
      await store.sweep();
      return store;
    };
    await (await later(0)).put(['print-key', 'a'], 1, { keepFor: 100 * day });
    for (let weekends = 0; weekends < 24; weekends++) await later(4);
    assert.equal(await (await later(3)).get(['print-key', 'a']), 1);
    assert.equal(await (await later(2)).get(['print-key', 'a']), undefined);
    await (await later(0)).put(['print-key', 'b'], 1, { keepFor: 100 * day });
    assert.equal(await (await later(200)).get(['print-key', 'b']), 1);
  });

  it('makes files readable by their owner only', async () => {
    await open().put(['grant', 'a'], 'x');
    assert.equal((await stat(await only('grant'))).mode & 0o777, 0o600);
    assert.equal((await stat(join(folder, 'grant'))).mode & 0o777, 0o700);
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

  it('writes on a file system that refuses to change the mode of a file', async () => {
    const refuse = Object.assign(new Error('chmod'), { code: 'EPERM' });
    const stubs = [
      sinon.stub(fs, 'chmod').rejects(refuse),
      sinon.stub(callbacks, 'chmod').callsFake((...args: unknown[]) => (args.at(-1) as (error: Error) => void)(refuse)),
    ];
    try {
      await open().put(['item', 'a'], 1);
      await open().put(['item', 'a'], 2);
    } finally {
      for (const stub of stubs) stub.restore();
    }
    assert.equal(await open().get(['item', 'a']), 2);
  });

  for (const [what, content] of [
    ['not JSON', 'hello'],
    ['sealed nonsense', '{"version":1,"sealed":{"data":5}}'],
  ] as const)
    it(`renames a file that is ${what}, with a warning`, async () => {
      await open().put(['grant', 'a'], 'token');
      await writeFile(await only('grant'), content);
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
    const leftovers = [`${await only('position')}.0123456789ab`, join(folder, 'folder-id.0123456789ab')];
    for (const leftover of leftovers) await writeFile(leftover, 'half');
    await store.sweep();
    assert.equal((await files('position')).length, 2);
    const long = new Date(clock.now() - 2 * 60 * 60 * 1000);
    for (const leftover of leftovers) await utimes(leftover, long, long);
    await store.sweep();
    assert.deepEqual(await store.get(['position', 'a']), 1);
    assert.equal((await files('position')).length, 1);
    assert.deepEqual((await readdir(folder)).sort(), ['folder-id', 'position', 'swept']);
  });

  it('sweeps nothing that is not its own, although it lies in the state folder', async () => {
    const store = open();
    await store.put(['position', 'a'], 1);
    const value = basename(await only('position'));
    const others = [
      ...['photos/holiday.jpg', 'certs/key.pem', '.ssh/id_ed25519', `unfinished/${'a'.repeat(32)}.note`],
      ...[`position/${value}.bak`, `position/${value}.damaged-1`, `.backup/${value}.0123456789ab`, 'folder-id.txt'],
    ].map((name) => join(folder, name));
    const long = new Date(clock.now() - 2 * 60 * 60 * 1000);
    for (const path of others) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, 'mine');
      await utimes(path, long, long);
    }
    await store.sweep();
    for (const path of others) assert.equal(await readFile(path, 'utf8').catch(() => 'gone'), 'mine', path);
  });

  it('sweeps a missing folder without an error', async () => {
    await rm(folder, { recursive: true });
    await open().sweep();
  });

  it('rejects a listing with an unreadable file', async () => {
    const store = open();
    await store.put(['position', 'a'], 1);
    const path = await only('position');
    await rm(path);
    await mkdir(path);
    const refused = { code: 'FILE_NOT_READABLE', message: /EISDIR/ };
    await assert.rejects(store.list(['position'], { limit: 9 }), refused);
  });

  it('sets a copy under another name aside, so that a listing returns no value twice', async () => {
    const store = open();
    await store.put(['position', 'a'], 1);
    const path = await only('position');
    await copyFile(path, join(dirname(path), `${'0'.repeat(40)}.json`));
    const { entries } = await store.list(['position'], { limit: 9 });
    assert.deepEqual(entries, [{ key: ['position', 'a'], value: 1 }]);
    assert.equal(warnings.length, 1);
  });

  it('lists a value that replaces a damaged one just now, and sets nothing aside', async () => {
    const store = open();
    await store.put(['position', 'a'], 1);
    await writeFile(await only('position'), 'damaged');
    const put = store.put(['position', 'a'], 2);
    const { entries } = await store.list(['position'], { limit: 9 });
    await put;
    assert.deepEqual(entries, [{ key: ['position', 'a'], value: 2 }]);
    assert.deepEqual(warnings, []);
  });

  it('lists a value whose name the file system skips because it is replaced just now', async () => {
    const store = open();
    await store.put(['position', 'a'], 1);
    const stub = sinon.stub(fs, 'readdir').callsFake(async () => {
      await store.put(['position', 'a'], 2);
      await store.put(['other', 'a'], 2);
      return [];
    });
    try {
      const { entries } = await store.list(['position'], { limit: 9 });
      assert.deepEqual(entries, [{ key: ['position', 'a'], value: 2 }]);
    } finally {
      stub.restore();
    }
  });

  it('names the fault of an unreadable file', async () => {
    await open().put(['position', 'a'], 1);
    const path = await only('position');
    await rm(path);
    await mkdir(path);
    await assert.rejects(open().get(['position', 'a']), { code: 'FILE_NOT_READABLE', message: /EISDIR/ });
    assert.deepEqual(warnings, []);
  });
});
