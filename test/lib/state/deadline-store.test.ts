import assert from 'node:assert/strict';
import { PrintingError } from '../../../lib/service/errors';
import { DeadlineStore } from '../../../lib/state/memory-store';
import type { Key, ListOptions, StateStore } from '../../../lib/state/store';
import { sleep } from '../../../lib/time/clock';
import { Deadline } from '../../../lib/time/deadline';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';

const KEY = ['print-key', 'a'] as const;

/** A store on a disk on which every call takes a minute. */
function slow(inner: StateStore, clock: ManualClock): StateStore {
  const later = <T>(work: () => Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      clock.after(60_000, () => void work().then(resolve, reject));
    });
  return {
    get: <T>(key: Key) => later(() => inner.get<T>(key)),
    list: <T>(prefix: Key, options: ListOptions) => later(() => inner.list<T>(prefix, options)),
    put: (key, value, options) => later(() => inner.put(key, value, options)),
    delete: (key, options) => later(() => inner.delete(key, options)),
    update: (key, change, options) => later(() => inner.update(key, change, options)),
    waitForLock: (key, work, wait) => later(() => inner.waitForLock(key, work, wait)),
  };
}

describe('state/deadline-store', () => {
  let clock: ManualClock;
  let inner: MemoryStore;
  let deadline: Deadline;
  let store: DeadlineStore;

  beforeEach(() => {
    clock = new ManualClock();
    inner = new MemoryStore();
    deadline = new Deadline(clock, { ms: 5_000 });
    store = new DeadlineStore(slow(inner, clock), deadline);
  });
  afterEach(() => deadline.end());

  it('ends each wait at the deadline and completes the underlying operation', async () => {
    const ends = [store.get(KEY), store.put(KEY, 1), store.delete(['other']), store.update(['third'], () => 3)];
    const ended = Promise.allSettled(ends);
    await clock.advance(5_000);
    for (const end of await ended) {
      assert.ok(end.status === 'rejected' && end.reason instanceof PrintingError);
      assert.deepEqual([end.reason.code, end.reason.outcome], ['TIMEOUT', 'not-sent']);
    }
    await clock.advance(60_000);
    await settle();
    assert.equal(await inner.get(KEY), 1);
    assert.equal(await inner.get(['third']), 3);
  });

  it('stops waiting for a page when the deadline ends', async () => {
    await assert.rejects(clock.during(5_000, store.list(['print-key'], { limit: 1 })), {
      code: 'TIMEOUT',
      outcome: 'not-sent',
    });
    await clock.advance(60_000);
  });

  it('lets work under a lock run to its end', async () => {
    const work = async () => {
      await sleep(clock, 60_000);
      return 2;
    };
    assert.equal(await clock.during(60_000, new DeadlineStore(inner, deadline).waitForLock(KEY, work)), 2);
  });

  it('passes on results that arrive in time', async () => {
    const quick = new DeadlineStore(inner, deadline);
    await quick.put(KEY, 1);
    assert.equal(await quick.update<number>(KEY, (value = 0) => value + 1), 2);
    assert.equal(await quick.get(KEY), 2);
    assert.deepEqual(await quick.list(['print-key'], { limit: 1 }), { entries: [{ key: KEY, value: 2 }], next: null });
    await quick.delete(KEY);
    assert.equal(await quick.get(KEY), undefined);
  });
});
