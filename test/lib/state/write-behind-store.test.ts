import assert from 'node:assert/strict';
import { PrintingError } from '../../../lib/service/errors';
import { WriteBehindStore } from '../../../lib/state/write-behind-store';
import { type Lock, LockLostError } from '../../../lib/state/membership';
import type { Change, Key } from '../../../lib/state/store';
import { ManualClock } from '../../helpers/manual-clock';
import { SharedMemory } from '../../helpers/shared-memory';
import { MemoryStore } from '../../helpers/memory-store';
import { phrase } from '../../../lib/words/sentence';

/** Rejects every write while `full`. */
class FullDisk extends MemoryStore {
  full = false;
  writes = 0;
  isLost = false;

  override async update<T>(key: Key, change: Change<T>): Promise<T | undefined> {
    if (this.isLost) throw new LockLostError();
    const keep = this.values.get(JSON.stringify(key));
    const next = await super.update(key, change);
    this.writes++;
    if (!this.full) return next;
    if (keep === undefined) this.values.delete(JSON.stringify(key));
    else this.values.set(JSON.stringify(key), keep);
    throw new PrintingError('FILE_NOT_WRITABLE', phrase`The disk is full.`, { outcome: 'not-sent' });
  }
}

describe('state/write-behind-store', () => {
  const key: Key = ['grant', 'a'];
  let disk: FullDisk;
  let clock: ManualClock;
  let store: WriteBehindStore;
  beforeEach(() => {
    disk = new FullDisk();
    clock = new ManualClock();
    store = new WriteBehindStore(disk, clock);
  });
  const failed = { code: 'FILE_NOT_WRITABLE' };

  it('passes calls on to its store', async () => {
    await store.put(key, { n: 1 });
    assert.deepEqual(await disk.get(key), { n: 1 });
    await store.update<{ n: number }>(key, (value) => ({ n: (value?.n ?? 0) + 1 }));
    assert.deepEqual(await store.get(key), { n: 2 });
    await store.delete(key);
    assert.equal(await disk.get(key), undefined);
    assert.equal(clock.waiting, 0);
  });

  it('continues with a value that it couldn’t write, and writes it later', async () => {
    await store.put(key, { n: 1 });
    disk.full = true;
    await assert.rejects(
      store.update<{ n: number }>(key, () => ({ n: 2 }), { insist: true }),
      failed,
    );
    assert.deepEqual(await store.get(key), { n: 2 });
    assert.deepEqual(await disk.get(key), { n: 1 });
    await assert.rejects(
      store.update<{ n: number }>(key, (value) => ({ n: (value?.n ?? 0) + 1 })),
      failed,
    );
    assert.deepEqual(await store.get(key), { n: 3 }, 'the next change builds on it');
    disk.full = false;
    await clock.advance(120_000);
    assert.deepEqual(await disk.get(key), { n: 3 });
    assert.deepEqual([store.waiting, clock.waiting], [0, 0]);
  });

  it('insists on a removal too', async () => {
    await store.put(key, 1);
    disk.full = true;
    await assert.rejects(store.delete(key, { insist: true }), failed);
    assert.equal(await store.get(key), undefined);
    disk.full = false;
    await clock.advance(120_000);
    assert.equal(await disk.get(key), undefined);
  });

  it('lists values that it couldn’t write, and no value whose removal it couldn’t write', async () => {
    await store.put(key, { n: 1 });
    await store.put(['grant', 'b'], { n: 1 });
    disk.full = true;
    await assert.rejects(store.put(key, { n: 2 }, { insist: true }), failed);
    await assert.rejects(store.put(['grant', 'c'], { n: 2 }, { insist: true }), failed);
    await assert.rejects(store.put(['position', 'c'], { n: 2 }, { insist: true }), failed);
    await assert.rejects(store.delete(['grant', 'b'], { insist: true }), failed);
    const { entries, next } = await store.list(['grant'], { limit: 9 });
    const found = new Map(entries.map((entry) => [entry.key.join(), entry.value]));
    assert.deepEqual(found, new Map(Object.entries({ 'grant,a': { n: 2 }, 'grant,c': { n: 2 } })));
    assert.equal(next, null);
    disk.full = false;
    await store.close();
  });

  it('lists a value that is written while the page is read', async () => {
    disk.full = true;
    await assert.rejects(store.put(key, { n: 2 }, { insist: true }), failed);
    disk.full = false;
    const list = disk.list.bind(disk);
    disk.list = async (prefix, options) => {
      const page = await list(prefix, options);
      await clock.advance(120_000);
      return page as never;
    };
    const { entries } = await store.list(['grant'], { limit: 9 });
    assert.deepEqual([entries, store.waiting], [[{ key, value: { n: 2 } }], 0]);
  });

  it('leaves a later value of another runtime alone', async () => {
    await store.put(key, { n: 1 });
    disk.full = true;
    await assert.rejects(
      store.update<{ n: number }>(key, () => ({ n: 2 }), { insist: true }),
      failed,
    );
    disk.values.set(JSON.stringify(key), '{"n":"newer"}');
    disk.full = false;
    await clock.advance(120_000);
    assert.deepEqual(await store.get(key), { n: 'newer' });
    assert.deepEqual([store.waiting, clock.waiting], [0, 0]);
  });

  it('recognizes its own value if the answer to the write was lost', async () => {
    disk.full = true;
    await assert.rejects(
      store.update<{ n: number }>(key, () => ({ n: 2 }), { insist: true }),
      failed,
    );
    disk.values.set(JSON.stringify(key), '{"n":2}');
    disk.full = false;
    await clock.advance(120_000);
    assert.deepEqual(await disk.get(key), { n: 2 });
    assert.equal(store.waiting, 0);
  });

  for (const [change, write] of [
    ['an update', () => store.update<{ n: number }>(key, (value) => ({ n: (value?.n ?? 0) + 1 }), { insist: true })],
    ['a put', () => store.put(key, { n: 3 }, { insist: true })],
  ] as const)
    it(`keeps the value of ${change} that follows a write whose answer was lost`, async () => {
      await store.put(key, { n: 1 });
      disk.full = true;
      await assert.rejects(
        store.update(key, () => ({ n: 2 }), { insist: true }),
        failed,
      );
      // The first write has arrived, but its answer has not.
      disk.values.set(JSON.stringify(key), '{"n":2}');
      await assert.rejects(write(), failed);
      disk.full = false;
      await clock.advance(60_000);
      assert.deepEqual(await store.get(key), { n: 3 });
      assert.deepEqual(await disk.get(key), { n: 3 });
    });

  it('drops a value whose lock was lost', async () => {
    const under: Lock[] = [{ secure: () => Promise.reject(new LockLostError()) }];
    disk.full = true;
    await assert.rejects(store.put(key, 1, { insist: true, under }), failed);
    assert.equal(await store.get(key), 1);
    disk.isLost = true;
    await clock.advance(120_000);
    assert.equal(await store.get(key), undefined);
    assert.deepEqual([store.waiting, clock.waiting], [0, 0]);
    await assert.rejects(store.put(key, 1, { insist: true, under }), LockLostError);
    assert.equal(store.waiting, 0);
  });

  it('reads what another runtime has stored since the lock of its own outcome was lost', async () => {
    const replaces = (stored: unknown) => stored === 'attempt';
    const under: Lock[] = [{ secure: () => Promise.reject(new LockLostError()) }];
    await disk.put(key, 'attempt');
    disk.isLost = true;
    await assert.rejects(store.delete(key, { insist: true, under, replaces }), LockLostError);
    assert.equal(await store.get(key), undefined);
    disk.isLost = false;
    await disk.put(key, 'newer');
    assert.equal(await store.get(key), 'newer');
    await clock.advance(120_000);
    assert.equal(await disk.get(key), 'newer');
    assert.deepEqual([store.waiting, clock.waiting], [0, 0]);
  });

  it('does not insist unless asked to', async () => {
    disk.full = true;
    await assert.rejects(store.put(key, 1), failed);
    assert.equal(await store.get(key), undefined);
    assert.equal(clock.waiting, 0);
  });

  it('does not overwrite a later value with an old one', async () => {
    disk.full = true;
    await assert.rejects(store.put(key, 1, { insist: true }), failed);
    disk.full = false;
    await store.put(key, 2);
    await clock.advance(120_000);
    assert.equal(await disk.get(key), 2);
  });

  it('retries with a growing backoff and stops on close', async () => {
    disk.full = true;
    await assert.rejects(store.put(key, 1, { insist: true }), failed);
    disk.writes = 0;
    await clock.advance(3_600_000);
    assert.ok(disk.writes > 10 && disk.writes < 80, `${disk.writes} tries in an hour`);
    disk.full = false;
    await store.close();
    assert.equal(await disk.get(key), 1);
    assert.equal(clock.waiting, 0);
  });

  it('tries for 12 s at its close to write what the end of the process would lose', async () => {
    disk.full = true;
    await assert.rejects(store.put(key, 1, { insist: true }), failed);
    const closing = store.close();
    await clock.advance(10_000);
    disk.full = false;
    await clock.advance(1_000);
    await closing;
    assert.deepEqual([await disk.get(key), clock.waiting], [1, 0]);
    disk.full = true;
    await assert.rejects(store.put(key, 2, { insist: true }), failed);
    const inVain = store.close();
    await clock.advance(12_000);
    await inVain;
    assert.equal(clock.waiting, 0);
  });

  it('joins shared work if its store does', () => {
    const clock = new ManualClock();
    assert.equal(new WriteBehindStore(new MemoryStore(), clock).join, undefined);
    const { store } = new SharedMemory(clock).runtime();
    const membership = new WriteBehindStore(store, clock).join?.(['watch'], {
      name: 'a',
      wants: 1,
      onChange: () => {},
    });
    assert.deepEqual(membership?.members, []);
    return membership?.leave(new Map());
  });
});
