import assert from 'node:assert/strict';
import { WRITE } from '../../../lib/postgres/entries';
import { QueueFarm, type Runtime, SCOPE } from '../../helpers/queue-farm';

/** Most bytes that a print may write (print queue, 7). */
const MOST = 10_000;

describe('queue: bytes written per print', () => {
  let all: QueueFarm;
  let one: Runtime;
  /** Bytes of the written records, by kind. */
  let written: Map<string, number>;

  beforeEach(async () => {
    all = new QueueFarm();
    one = await all.begin();
    written = new Map();
    const { line } = one.memory;
    const query = line.query.bind(line);
    line.query = (text, values, options) => {
      if (text === WRITE)
        for (const content of values[5] as string[]) {
          const [kind] = (JSON.parse(content) as { key: [string] }).key;
          written.set(kind, (written.get(kind) ?? 0) + Buffer.byteLength(content));
        }
      return query(text, values, options);
    };
  });
  afterEach(() => all.close());

  for (const [copies, kind] of [
    [10, 'copies'],
    [100, 'copies'],
    [300, 'copies'],
    [100, 'prints of two parts'],
  ] as const)
    it(`are at most 10 kB for an item of ${copies} ${kind}`, async () => {
      await one.add('a', kind === 'copies' ? { copies } : { wanted: 2 * copies, perPrint: 2 });
      await all.pass(copies * 36 + 60);
      assert.equal((await one.item('a')).copies.good, copies);
      const perPrint = [...written.values()].reduce((sum, bytes) => sum + bytes, 0) / copies;
      assert.ok(perPrint <= MOST, `${Math.round(perPrint)} bytes: ${JSON.stringify([...written])}`);
    });

  it('name the machines of a group of 20 with its reservation, and not with each change of the item', async () => {
    const uuids = Array.from({ length: 20 }, (_, at) => `00000000-0000-4000-8000-0000000000${at + 10}`);
    all.farm.changes.set('C1', { printers: uuids.map((uuid) => ({ uuid, status: 'idle', enabled: true })) });
    await one.pause('C2');
    await all.pass(20);
    written.clear();
    all.farm.lives.push([[0, 'queued']]);
    await one.add('a');
    await all.pass(20);
    assert.equal(await one.outcome('a'), 'active: dispatched; 1 active');
    const [items = 0, reservations = 0] = ['queue-item', 'queue-printer'].map((kind) => written.get(kind));
    assert.ok(items + reservations <= 4_500, JSON.stringify([...written]));
  });

  it('carry an item over that 1.0.0-rc.1 has stored, with its prints', async () => {
    await one.pause();
    const { item } = await one.add('a', { copies: 5 });
    all.kill(one);
    const print = {
      copy: 1,
      attempt: 1,
      file: 0,
      clusterId: 'C1',
      clusterName: 'C1',
      printerId: null,
      clusterJobId: 'x',
    };
    const times = { assignedAt: 1, dispatchedAt: 2, startedAt: 3, endedAt: 4, seconds: 60, cost: null };
    const end = { told: ['print.finished'], counts: false, recall: null, settledAs: null, state: 'finished' };
    const file = { jobId: 'job', filename: 'job', size: null, facts: null, isGone: false };
    await all.shared.runtime().store.put(['queue-item', ...SCOPE, 'queue', item.itemId], {
      ...{ version: 1, itemId: item.itemId, queueKey: 'a', orderId: null, owner: null, costCode: null, name: 'job' },
      ...{ files: [file], require: null, priority: 0, rank: 'a0', createdAt: 1, waitsSince: 1, notBefore: null },
      ...{ deadline: null, isHeld: false, awaitsApproval: false, isRemoved: false, copies: 5, touched: { 1: 'good' } },
      ...{ front: [], prints: [{ ...print, ...times, ...end }], ends: 0, endedAt: null, isOverdue: false },
      ...{ blocked: { is: false, count: 0 }, outbox: [] },
    });
    one = await all.begin();
    assert.equal(await one.outcome('a'), 'waiting: finished; 1 good, 4 waiting');
    await one.resume();
    await all.pass(300);
    const prints = 'finished, finished, finished, finished, finished';
    assert.equal(await one.outcome('a'), `finished: ${prints}; 5 good`);
    assert.deepEqual(one.warnings, []);
  });

  it('leave nothing behind once the store has removed the item', async () => {
    await one.add('a', { copies: 12 });
    await all.pass(500);
    const { itemId } = await one.item('a');
    all.kill(one);
    const { store } = all.shared.runtime();
    assert.ok(all.shared.values('queue-past').size >= 12);
    await store.delete(['queue-item', ...SCOPE, 'queue', itemId]);
    one = await all.begin();
    assert.equal(all.shared.values('queue-past').size, 0);
  });

  it('are all there after a restart, in their order and with their states', async () => {
    await one.add('a', { copies: 12 });
    await all.pass(200);
    await one.add('b', { copies: 2 });
    await one.pause();
    await all.pass(100);
    const before = await one.list();
    all.kill(one);
    one = await all.begin();
    assert.deepEqual(
      (await one.list()).map(({ queueKey, state, copies, prints }) => ({ queueKey, state, copies, prints })),
      before.map(({ queueKey, state, copies, prints }) => ({ queueKey, state, copies, prints })),
    );
    await one.resume();
    await all.pass(700);
    assert.equal(all.farm.sent.length, 14);
  });
});
