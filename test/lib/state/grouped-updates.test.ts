import assert from 'node:assert/strict';
import { GroupedUpdates } from '../../../lib/state/grouped-updates';
import type { Key } from '../../../lib/state/store';
import { WriteBehindStore } from '../../../lib/state/write-behind-store';
import { FaultyStore, type StoreFault } from '../../helpers/faulty-store';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';

const KEY: Key = ['index', 'a'];
const UNLOSABLE = { secure: () => Promise.resolve(() => undefined) };

describe('state/grouped-updates', () => {
  let disk: MemoryStore;
  let writes: number;
  let fault: (write: number) => StoreFault;
  let faulty: FaultyStore;
  let groups: GroupedUpdates<number[]>;
  const add = (n: number, key = KEY) => groups.update(key, (current = []) => [...current, n]);
  const addAll = (numbers: number[]) => Promise.allSettled(numbers.map((n) => add(n)));
  const failures = (outcomes: PromiseSettledResult<void>[]) =>
    outcomes.flatMap((outcome, at) => (outcome.status === 'rejected' ? at : []));
  const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

  beforeEach(() => {
    disk = new MemoryStore();
    writes = 0;
    fault = () => undefined;
    const onStep = (step: 'read' | 'write') => (step === 'write' ? fault(++writes) : undefined);
    faulty = new FaultyStore(disk, onStep, () => undefined);
    groups = new GroupedUpdates(faulty, {});
  });

  it('makes all changes that arrive before a write with that write, in their order', async () => {
    await addAll(upTo(250));
    assert.deepEqual([await disk.get(KEY), writes], [upTo(250), 1]);
  });

  it('divides more changes among few writes', async () => {
    await addAll(upTo(1_001));
    assert.deepEqual([await disk.get(KEY), writes], [upTo(1_001), 5]);
  });

  it('makes a change that arrives during a write with the next one, which the caller waits for', async () => {
    let later: Promise<void> | undefined;
    await groups.update(KEY, () => {
      later = add(2);
      return [1];
    });
    await later;
    assert.deepEqual([await disk.get(KEY), writes], [[1, 2], 2]);
  });

  it('keeps the changes of different values apart', async () => {
    await Promise.all([add(1), add(2, ['index', 'b'])]);
    assert.deepEqual([await disk.get(KEY), await disk.get(['index', 'b'])], [[1], [2]]);
  });

  it('deletes the value if the last change does', async () => {
    await Promise.all([add(1), groups.update(KEY, () => undefined)]);
    assert.equal(await disk.get(KEY), undefined);
  });

  it('returns the stored object itself if no change has changed it, so that the store writes nothing', async () => {
    await add(1);
    let isSame = false;
    const update = disk.update.bind(disk);
    disk.update = (key, change, options) =>
      update(
        key,
        async (current, lock) => {
          const next = await change(current, lock);
          isSame = next === current;
          return next;
        },
        options,
      );
    groups = new GroupedUpdates(disk, {});
    const failed = groups.update(KEY, () => Promise.reject(new Error('own')));
    const outcomes = await Promise.allSettled([groups.update(KEY, (current) => current), failed]);
    assert.deepEqual([failures(outcomes), isSame], [[1], true]);
  });

  it('rejects a change that throws, without the others of its write', async () => {
    const own = new Error('own');
    const failed = groups.update(KEY, () => {
      throw own;
    });
    const outcomes = await Promise.allSettled([add(1), failed, add(2)]);
    assert.deepEqual([failures(outcomes), await disk.get(KEY), writes], [[1], [1, 2], 1]);
    assert.equal(outcomes[1].status === 'rejected' && outcomes[1].reason, own);
  });

  it('rejects a change that throws with its own error although the write fails', async () => {
    fault = () => 'unwritable';
    const failed = groups.update(KEY, () => Promise.reject(new Error('own')));
    const outcomes = await Promise.allSettled([add(1), failed]);
    const messages = outcomes.map((outcome) => outcome.status === 'rejected' && String(outcome.reason));
    assert.match(String(messages[0]), /disk is full/);
    assert.match(String(messages[1]), /own/);
  });

  it('rejects exactly the changes of a write that failed, and makes them when they are repeated', async () => {
    const numbers = upTo(1_000);
    fault = (write) => (write === 2 ? 'unwritable' : undefined);
    const failed = failures(await addAll(numbers));
    assert.deepEqual(failed, numbers.slice(250, 500));
    assert.deepEqual(await disk.get(KEY), numbers.filter((n) => !failed.includes(n))); // oxfmt-ignore
    await addAll(failed);
    assert.deepEqual(new Set(await disk.get<number[]>(KEY)), new Set(numbers));
  });

  it('rejects all waiting changes while the value can’t be read, and makes later ones', async () => {
    let isBroken = true;
    const onStep = () => (isBroken ? 'unreadable' : undefined);
    groups = new GroupedUpdates(new FaultyStore(disk, onStep, () => undefined), {});
    assert.deepEqual(failures(await addAll([1, 2])), [0, 1]);
    isBroken = false;
    await add(3);
    assert.deepEqual(await disk.get(KEY), [3]);
  });

  it('leaves nothing or everything of a write before which the process ends, and rejects its changes', async () => {
    for (const crash of ['crash-before', 'crash-after'] as const) {
      fault = (write) => (write === 2 ? crash : undefined);
      assert.deepEqual(failures(await addAll(upTo(500))), upTo(500).slice(250)); // oxfmt-ignore
      assert.deepEqual(await faulty.left?.get(KEY), upTo(crash === 'crash-before' ? 250 : 500));
      disk = new MemoryStore();
      writes = 0;
      const onStep = (step: 'read' | 'write') => (step === 'write' ? fault(++writes) : undefined);
      groups = new GroupedUpdates((faulty = new FaultyStore(disk, onStep, () => undefined)), {});
    }
  });

  it('rejects insisted changes that are not written yet, and writes them later', async () => {
    const clock = new ManualClock();
    const store = new WriteBehindStore(faulty, clock);
    groups = new GroupedUpdates(store, { insist: true });
    fault = () => 'unwritable';
    assert.deepEqual(failures(await addAll([1, 2])), [0, 1]);
    assert.deepEqual([await store.get(KEY), await disk.get(KEY)], [[1, 2], undefined]);
    fault = () => undefined;
    await clock.advance(60_000);
    assert.deepEqual(await disk.get(KEY), [1, 2]);
  });

  it('secures the lock of a write once for all its changes, and again for a longer time', async () => {
    const secured: number[] = [];
    const lock = { secure: (ms: number) => (secured.push(ms), UNLOSABLE.secure()) };
    const update = disk.update.bind(disk);
    disk.update = (key, change, options) => update(key, (current) => change(current, lock), options);
    groups = new GroupedUpdates(disk, {});
    const secure = (ms: number) =>
      groups.update(KEY, async (current, { secure }) => {
        (await secure(ms))();
        return current;
      });
    await Promise.all([secure(0), secure(0), secure(5), secure(1)]);
    assert.deepEqual(secured, [0, 5]);
  });
});
