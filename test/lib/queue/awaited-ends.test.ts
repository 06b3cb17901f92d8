import assert from 'node:assert/strict';
import { AwaitedEnds } from '../../../lib/queue/print-queue';
import { itemEnd, type ItemRecord } from '../../../lib/queue/model/types';
import type { QueueContext } from '../../../lib/queue/run/context';
import { settle } from '../../helpers/manual-clock';
import { queueItem } from '../../helpers/scripted-queue';

type Record = Pick<ItemRecord, 'itemId' | 'endedAt'>;

/** Records in memory, and in the store behind it. */
class Records {
  readonly memory = new Map<string, Record>();
  readonly stored = new Map<string, Record>();
  reads = 0;
  isUnreadable = false;

  get loaded(): QueueContext {
    const find = async (itemId: string) => {
      this.reads++;
      if (this.isUnreadable) throw new Error('away');
      return Promise.resolve(this.memory.get(itemId) ?? this.stored.get(itemId));
    };
    const items = { get: (itemId: string) => this.memory.get(itemId), find };
    const item = ({ itemId }: Record) => queueItem({ itemId, state: 'finished' });
    return { data: { items }, view: { item } } as unknown as QueueContext;
  }
}

describe('queue/awaited-ends', () => {
  let records: Records;
  let isLoaded: boolean;
  let ends: AwaitedEnds;
  let node: AbortController;
  const now = () => (isLoaded ? records.loaded : null);
  const begin = (itemId = 'a') => {
    const results: unknown[] = [];
    ends.endOf(itemId, node.signal, now()).then(
      (item) => results.push(item?.itemId ?? null),
      (error: unknown) => results.push((error as { code: string }).code),
    );
    return results;
  };
  const look = async () => {
    ends.check(now());
    await settle();
  };

  beforeEach(() => {
    records = new Records();
    isLoaded = true;
    ends = new AwaitedEnds();
    node = new AbortController();
  });

  it('resolves at once for an item that has ended, and for one that ended long ago', async () => {
    records.memory.set('a', { itemId: 'a', endedAt: 1 });
    records.stored.set('b', { itemId: 'b', endedAt: 1 });
    const [here, old] = [begin('a'), begin('b')];
    await settle();
    assert.deepEqual([here, old], [['a'], ['b']]);
  });

  it('resolves once the item ends, also while it waits for the records', async () => {
    isLoaded = false;
    const results = begin();
    await look();
    isLoaded = true;
    records.memory.set('a', { itemId: 'a', endedAt: null });
    await look();
    assert.deepEqual([results, records.reads], [[], 0]);
    records.memory.set('a', { itemId: 'a', endedAt: 5 });
    await look();
    await look();
    assert.deepEqual(results, ['a']);
  });

  it('fails for an item that does not exist, but not for one that can’t be read now', async () => {
    records.isUnreadable = true;
    const results = begin();
    await look();
    assert.deepEqual(results, []);
    records.isUnreadable = false;
    await look();
    assert.deepEqual(results, ['QUEUE_ITEM_NOT_FOUND']);
  });

  it('resolves with null when the node or the queue closes', async () => {
    records.memory.set('a', { itemId: 'a', endedAt: null });
    const aborted = begin();
    node.abort();
    await settle();
    node = new AbortController();
    const closed = begin();
    ends.close();
    await settle();
    assert.deepEqual([aborted, closed], [[null], [null]]);
  });
});

describe('queue/item-ends', () => {
  const endOf = (state: 'finished' | 'failed' | 'cancelled', name: string | null = 'part') =>
    itemEnd(
      { endOf: () => Promise.resolve(queueItem({ state, name })) },
      { itemId: 'item-1', duplicate: false },
      new AbortController().signal,
    );

  it('is no failure for a finished item alone', async () => {
    assert.equal((await endOf('finished'))?.error, null);
    for (const state of ['failed', 'cancelled'] as const) {
      const error = (await endOf(state, null))?.error;
      assert.deepEqual([error?.code, error?.ids.itemId], ['PRINT_FAILED', 'item-1']);
      assert.match(String(error), /item-1/);
    }
  });
});
