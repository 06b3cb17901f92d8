import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, renameSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import threads, { Worker } from 'node:worker_threads';
import sinon from 'sinon';
import { FileStore } from '../../../lib/state/file-store';
import { type Key, positionOf } from '../../../lib/state/store';
import { underDeadline } from '../../../lib/time/deadline';
import { ManualClock } from '../../helpers/manual-clock';

/** Values of one kind, which are read in a thread of their own. */
const COUNT = 500;
const KEYS = Array.from({ length: COUNT }, (_, nth): Key => ['value', String(nth)]);

describe('state/file-store with many values', () => {
  let folder: string;
  let clock: ManualClock;
  let store: FileStore;
  let warnings: string[];

  const pathOf = (key: Key) => join(folder, key[0], `${positionOf(key)}.json`);
  const record = (key: Key) => JSON.stringify({ version: 1, key, value: Number(key[1]) });
  const list = async (): Promise<number[]> => {
    const { entries, next } = await store.list<number>(['value'], { limit: COUNT });
    assert.equal(next, null);
    return entries.map(({ value }) => value).sort((one, other) => one - other);
  };
  const without = (...missing: number[]) => KEYS.map((_, nth) => nth).filter((nth) => !missing.includes(nth));

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'many-'));
    clock = new ManualClock();
    warnings = [];
    const options = { clock, sealedKinds: [], secrets: () => [], warn: (said: unknown) => warnings.push(String(said)) };
    store = new FileStore({ ...options, folder });
    await store.put(['other', 'a'], 'there');
    await mkdir(join(folder, 'value'));
    for (const key of KEYS) await writeFile(pathOf(key), record(key));
  });
  afterEach(async () => {
    sinon.restore();
    await clock.advance(1_000);
    await rm(folder, { recursive: true, force: true });
  });

  it('lists each value once, in the pages that are asked for', async () => {
    assert.deepEqual(await list(), without());
    const first = await store.list<number>(['value'], { limit: 260 });
    const second = await store.list<number>(['value'], { limit: 300, after: first.next ?? '' });
    assert.equal(second.next, null);
    assert.equal(new Set([...first.entries, ...second.entries].map(({ value }) => value)).size, COUNT);
  });

  it('lists the values beside one that is damaged, which it sets aside', async () => {
    await writeFile(pathOf(KEYS[7]!), '{"version":1,"key":["val');
    assert.deepEqual(await list(), without(7));
    assert.equal(warnings.length, 1);
    const names = await readdir(join(folder, 'value'));
    assert.equal(names.filter((name) => name.includes('.damaged-')).length, 1);
  });

  it('lists the values beside one that can’t be read, and reports that one alone', async () => {
    await rm(pathOf(KEYS[7]!));
    await mkdir(pathOf(KEYS[7]!));
    await assert.rejects(list(), { code: 'FILE_NOT_READABLE', message: /EISDIR/ });
    const unread: Error[] = [];
    const { entries } = await store.list(['value'], { limit: COUNT, unread: (error) => unread.push(error) });
    assert.deepEqual([entries.length, unread.length], [COUNT - 1, 1]);
    assert.match(String(unread[0]), /EISDIR/);
  });

  it('leaves out a value that is removed before it is read', async () => {
    const post = sinon.stub(Worker.prototype, 'postMessage').callsFake(function (this: Worker, paths: unknown) {
      rmSync(pathOf(KEYS[7]!), { force: true });
      post.wrappedMethod.call(this, paths);
    });
    assert.deepEqual(await list(), without(7));
    assert.deepEqual(warnings, []);
  });

  it('takes no value for missing while the folder is away', async () => {
    // The names are read before the folder goes away, and the files after that.
    const post = sinon.stub(Worker.prototype, 'postMessage').callsFake(function (this: Worker, paths: unknown) {
      if (post.callCount === 1) renameSync(folder, `${folder}-away`);
      post.wrappedMethod.call(this, paths);
    });
    const unread: Error[] = [];
    const { entries } = await store.list(['value'], { limit: COUNT, unread: (error) => unread.push(error) });
    await rename(`${folder}-away`, folder);
    assert.ok(post.called);
    assert.deepEqual([entries.length, unread.length], [0, COUNT]);
    assert.match(String(unread[0]), /is away or was replaced/);
  });

  it('lists them where no thread can begin', async () => {
    const refused = sinon.stub(threads, 'Worker').throws(new Error('Access to this API has been restricted'));
    assert.deepEqual(await list(), without());
    assert.ok(refused.called);
  });

  it('lists them although the thread ends before its answer, and again in a new one', async () => {
    const post = sinon.stub(Worker.prototype, 'postMessage').callsFake(function (this: Worker) {
      void this.terminate();
    });
    assert.deepEqual(await list(), without());
    assert.ok(post.called);
    post.restore();
    assert.deepEqual(await list(), without());
  });

  it('ends the thread after a second without work', async () => {
    const ended = sinon.spy(Worker.prototype, 'terminate');
    await Promise.all([list(), list()]);
    await clock.advance(999);
    assert.equal(ended.callCount, 0);
    await list();
    await clock.advance(999);
    assert.equal(ended.callCount, 0);
    await clock.advance(1);
    assert.equal(ended.callCount, 1);
    assert.deepEqual(await list(), without());
  });

  it('leaves the threads of Node.js and other values alone while a file hangs', async function () {
    if (process.platform === 'win32') this.skip();
    const path = pathOf(KEYS[7]!);
    await rm(path);
    // Opening a pipe that nobody writes to hangs like a share that is away.
    execFileSync('mkfifo', [path]);
    const listed = list();
    const late = underDeadline(clock, { ms: 5_000 }, (deadline) => store.list(['value'], { limit: COUNT, deadline }));
    const refused = assert.rejects(late, { code: 'TIMEOUT' });
    await Promise.all(Array.from({ length: 4 }, () => stat(folder)));
    assert.equal(await store.get(['other', 'a']), 'there');
    await store.put(['other', 'b'], 1);
    await clock.advance(5_000);
    await refused;
    let isOver = false;
    const over = listed.then(() => (isOver = true));
    while (!isOver) {
      closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_CREAT));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await over;
    assert.deepEqual(await listed, without(7));
  });
});
