import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import sinon from 'sinon';
import { FlushedFolder } from '../../../lib/files/target-file';
import { settle } from '../../helpers/manual-clock';

describe('files/flushed-folder', () => {
  /** Flushes in the order of their beginning; the test ends each of them. */
  let flushes: { end: (error?: Error) => void }[];
  let folder: FlushedFolder;
  const changed = () => Promise.resolve();

  beforeEach(() => {
    flushes = [];
    folder = new FlushedFolder('/a/folder');
    const sync = () =>
      new Promise<void>((resolve, reject) => {
        flushes.push({ end: (error) => (error ? reject(error) : resolve()) });
      });
    sinon.stub(fs, 'open').resolves({ sync, close: changed } as unknown as fs.FileHandle);
  });
  afterEach(() => sinon.restore());

  /** Makes a change; the returned object shows whether it has ended. */
  function change(work: () => Promise<void> = changed) {
    const state = { ended: '' };
    folder.change(work).then(
      () => (state.ended = 'durable'),
      (error: unknown) => (state.ended = (error as Error).message),
    );
    return state;
  }

  it('flushes after a change, before the change ends', async () => {
    let make = () => {};
    const one = change(() => new Promise((resolve) => (make = resolve)));
    await settle();
    assert.equal(flushes.length, 0);
    make();
    await settle();
    assert.deepEqual([flushes.length, one.ended], [1, '']);
    flushes[0]!.end();
    await settle();
    assert.equal(one.ended, 'durable');
  });

  it('flushes once for all changes that wait for a flush', async () => {
    const changes = Array.from({ length: 20 }, () => change());
    await settle();
    assert.equal(flushes.length, 1);
    flushes[0]!.end();
    await settle();
    assert.ok(changes.every(({ ended }) => ended === 'durable'));
    assert.equal(flushes.length, 1);
  });

  it('ends no change with a flush that began before it', async () => {
    const first = change();
    await settle();
    const later = [change(), change()];
    await settle();
    assert.equal(flushes.length, 1, 'one at a time');
    flushes[0]!.end();
    await settle();
    assert.deepEqual([first.ended, later.map(({ ended }) => ended)], ['durable', ['', '']]);
    assert.equal(flushes.length, 2);
    const last = change();
    flushes[1]!.end();
    await settle();
    assert.deepEqual([later.map(({ ended }) => ended), last.ended], [['durable', 'durable'], '']);
    flushes[2]!.end();
    await settle();
    assert.equal(last.ended, 'durable');
  });

  it('rejects all changes of a failed flush, and flushes again for the next one', async () => {
    const failed = [change(), change()];
    await settle();
    const next = change();
    await settle();
    flushes[0]!.end(Object.assign(new Error('broken disk'), { code: 'EIO' }));
    await settle();
    assert.deepEqual(failed.map(({ ended }) => ended), ['broken disk', 'broken disk']); // oxfmt-ignore
    assert.equal(next.ended, '');
    flushes[1]!.end();
    await settle();
    assert.equal(next.ended, 'durable');
  });

  it('rejects a change that fails, without a flush', async () => {
    const failed = change(() => Promise.reject(new Error('no space')));
    await settle();
    assert.deepEqual([failed.ended, flushes.length], ['no space', 0]);
  });

  it('makes at most 32 changes at a time', async () => {
    const made: (() => void)[] = [];
    const changes = Array.from({ length: 40 }, () => change(() => new Promise((resolve) => made.push(resolve))));
    await settle();
    assert.equal(made.length, 32);
    while (changes.some(({ ended }) => ended === '')) {
      made.splice(0).forEach((make) => make());
      flushes.splice(0).forEach(({ end }) => end());
      await settle();
    }
  });
});
