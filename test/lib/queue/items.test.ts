import assert from 'node:assert/strict';
import * as attempts from '../../../lib/queue/model/item-changes';
import { heldBack, newItem, removed } from '../../../lib/queue/model/item-changes';
import { ItemStore } from '../../../lib/queue/records/items';
import { withoutEvents } from '../../../lib/queue/model/item';
import { QueueStore } from '../../../lib/queue/records/records';
import type { ItemRecord } from '../../../lib/queue/model/types';
import type { Scope } from '../../../lib/state/store';
import { FaultyStore, type StoreFault } from '../../helpers/faulty-store';
import { ManualClock } from '../../helpers/manual-clock';
import { LateStore, MemoryStore } from '../../helpers/memory-store';
import { CONTEXT, FILE, item, PRINT } from './items';

const SCOPE: Scope = ['account', 'service', 'workspace'];
const DAY = 24 * 3_600_000;

describe('queue/items', () => {
  let clock: ManualClock;
  let memory: MemoryStore;

  beforeEach(() => {
    clock = new ManualClock(CONTEXT.now);
    memory = new MemoryStore();
  });

  function open(
    store: MemoryStore | FaultyStore = memory,
    { changed = () => undefined, keepFor = 90 * DAY }: { changed?: () => void; keepFor?: number } = {},
  ): ItemStore {
    return new ItemStore({ store: new QueueStore(store, SCOPE), queueId: 'queue', clock, keepFor, changed });
  }
  const made = (itemId: string, queueKey: string | null): ItemRecord =>
    newItem({ itemId, queueKey, name: null, files: [FILE], rank: 'm', changes: {}, awaitsApproval: false }, CONTEXT);

  it('adds an item once per queue key, also from two runtimes at a time', async () => {
    const [one, other] = [open(), open()];
    const itemId = one.idOf('order-1');
    const add = (items: ItemStore) => items.add(items.idOf('order-1'), () => made(itemId, 'order-1'));
    const added = await Promise.all([add(one), add(other), add(one)]);
    assert.deepEqual(added.map(({ isNew }) => isNew).filter(Boolean).length, 1);
    assert.equal(memory.values.size, 1);
    assert.notEqual(one.idOf('order-2'), itemId);
    assert.notEqual(one.idOf(null), one.idOf(null));
  });

  it('keeps changes that are made while all items are read', async () => {
    const late = new LateStore();
    const items = open(late);
    for (const itemId of ['changed', 'deleted']) await items.add(itemId, () => made(itemId, null));
    late.delayNext();
    const loaded = items.load();
    await items.add('new', () => made('new', null));
    await items.change('changed', heldBack);
    await late.delete(['queue-item', ...SCOPE, 'queue', 'deleted']);
    await items.reload('deleted');
    late.release();
    await loaded;
    assert.deepEqual(items.all.map(({ itemId, isHeld }) => [itemId, isHeld]).sort(), [
      ['changed', true],
      ['new', false],
    ]);
  });

  it('reads changes of another runtime that follow its own while all items are read', async () => {
    const [items, other] = [open(), open()];
    await items.add('item', () => made('item', null));
    const list = memory.list.bind(memory);
    memory.list = async (prefix, options) => {
      await items.change('item', heldBack);
      await other.change('item', (record) => ({ ...record, isHeld: false }));
      return list(prefix, options) as never;
    };
    await items.load();
    assert.equal(items.get('item')?.isHeld, false);
  });

  it('keeps what it answered over a crash at any step', async () => {
    for (const fault of ['crash-before', 'crash-after'] as const)
      for (let at = 0; at < 4; at++) {
        memory = new MemoryStore();
        let step = 0;
        const faults = (): StoreFault => (step++ === at ? fault : undefined);
        const store = new FaultyStore(memory, faults, () => undefined);
        const first = open(store);
        const itemId = first.idOf('key');
        const answered = await first
          .add(itemId, () => made(itemId, 'key'))
          .then(
            () => true,
            () => false,
          );
        const again = open(store.left ?? memory);
        await again.load();
        if (answered) assert.equal(again.all.length, 1);
        await again.add(itemId, () => made(itemId, 'key'));
        assert.equal(again.all.length, 1, `${fault} at step ${at}`);
      }
  });

  it('rebuilds its list from the records alone', async () => {
    const one = open();
    for (let number = 0; number < 450; number++) await one.add(`item-${number}`, () => made(`item-${number}`, null));
    const other = open();
    await other.load();
    assert.deepEqual(new Set(other.all.map(({ itemId }) => itemId)).size, 450);
  });

  it('leaves the list alone when a change can’t be written', async () => {
    let isFull = false;
    const store = new FaultyStore(
      memory,
      (step) => (isFull && step === 'write' ? 'unwritable' : undefined),
      () => undefined,
    );
    const items = open(store);
    await items.add('item', () => made('item', null));
    isFull = true;
    await assert.rejects(items.change('item', heldBack), /The disk is full/);
    assert.equal(items.get('item')?.isHeld, false);
  });

  it('never overwrites the change of another runtime', async () => {
    const [one, other] = [open(), open()];
    await one.add('item', () => item());
    await other.load();
    await one.change('item', heldBack);
    const after = await other.change('item', (record) => attempts.assigned(record, { ...PRINT, copy: 1 }, CONTEXT));
    assert.deepEqual([after.isHeld, after.prints.length], [true, 1]);
  });

  it('lets the store remove an ended item once its events are delivered, and a key after at least 90 days', async () => {
    /** Times for which the last write of each record keeps it, in days. */
    const kept = new Map<string, number>();
    const update: MemoryStore['update'] = (key, change, options) => {
      const noticed: typeof change = async (current, lock) => {
        const next = await change(current, lock);
        if (next !== current) kept.set(key.at(-1) ?? '', (options?.keepFor ?? Infinity) / DAY);
        return next;
      };
      return memory.update(key, noticed, options);
    };
    const store = { get: memory.get.bind(memory), list: memory.list.bind(memory), update } as unknown as MemoryStore;
    const items = open(store, { keepFor: 7 * DAY });
    for (const [itemId, queueKey] of [
      ['plain', null],
      ['keyed', 'key'],
    ] as const) {
      await items.add(itemId, () => made(itemId, queueKey));
      await items.change(itemId, (record) => removed(record, CONTEXT));
      assert.equal(kept.get(itemId), Infinity, 'its events would get lost');
      const ids = new Set(items.get(itemId)?.outbox.map(({ id }) => id));
      await items.change(itemId, (record) => withoutEvents(record, ids));
    }
    assert.deepEqual([kept.get('plain'), kept.get('keyed')], [7, 90]);
  });

  it('refuses to change an item that does not exist', async () => {
    await assert.rejects(open().change('item', heldBack), { code: 'QUEUE_ITEM_NOT_FOUND' });
  });

  it('drops ended items from memory after their time, unless the clock was set', async () => {
    const items = open();
    await items.add('item', () => ({ ...item(), endedAt: CONTEXT.now }));
    clock.set(CONTEXT.now + 200 * DAY);
    assert.equal(items.oldBefore, null);
    clock.set(CONTEXT.now);
    await clock.advance(91 * DAY);
    const { oldBefore } = items;
    assert.equal(oldBefore, CONTEXT.now + DAY);
    items.forget(CONTEXT.now);
    assert.equal(items.all.length, 1, 'it ended then');
    clock.set(CONTEXT.now);
    items.forget(CONTEXT.now + DAY);
    assert.equal(items.all.length, 1, 'the clock was set back');
    clock.set(CONTEXT.now + 91 * DAY);
    items.forget(CONTEXT.now + DAY);
    assert.equal(items.all.length, 0);
    assert.ok(await items.find('item'), 'the store decides about the record');
  });
});
