import assert from 'node:assert/strict';
import { OFFLINE, QueueFarm, type Runtime } from '../../helpers/queue-farm';

const MINUTE = 60_000;

describe('queue: several runtimes whose clocks differ', () => {
  let all: QueueFarm;
  let planner: Runtime;
  let other: Runtime;

  beforeEach(async () => {
    all = new QueueFarm();
    planner = await all.begin();
    other = await all.begin();
  });
  afterEach(() => all.close());

  for (const lead of [20 * MINUTE, -20 * MINUTE])
    describe(`by ${lead / MINUTE} minutes`, () => {
      beforeEach(() => void (other.memory.lead = lead));

      it('keep a printer for the item without another one that was added first', async () => {
        const showModel = (clusterId: string, machine_variant: string, status = 'idle') =>
          all.farm.changes.set(clusterId, {
            printers: [{ uuid: `P of ${clusterId}`, status, enabled: true, machine_variant }],
          });
        showModel('C1', 'One');
        showModel('C2', 'Two', 'maintenance');
        await all.pass(20);
        await planner.pause();
        const [first, second] = lead > 0 ? [other, planner] : [planner, other];
        await first.add('only one', { require: { models: ['One'] } });
        await second.add('either', { require: { models: ['One', 'Two'] }, jobId: 'either' });
        await planner.ask((queue, deadline) => queue.move({ queueKey: 'either' }, { position: 1 }, deadline));
        await planner.resume();
        await all.pass(20);
        assert.deepEqual(all.farm.sent, ['C1 job']);
      });

      it('answer with the items of an order as they were added', async () => {
        await planner.pause();
        const runtimes = [other, planner, other, planner];
        for (const [at, runtime] of runtimes.entries()) await runtime.add(`item ${at}`, { orderId: 'order' });
        await planner.ask((queue, deadline) => queue.move({ queueKey: 'item 3' }, { position: 1 }, deadline));
        const held = await planner.ask((queue, deadline) => queue.hold({ orderId: 'order' }, deadline));
        assert.deepEqual(
          held.map(({ queueKey }) => queueKey),
          runtimes.map((_, at) => `item ${at}`),
        );
        const listed = await other.list();
        assert.deepEqual(
          listed.map(({ queueKey }) => queueKey),
          runtimes.map((_, at) => `item ${at}`),
        );
      });

      it('add an item behind one that was moved forward', async () => {
        for (const clusterId of ['C1', 'C2']) all.farm.changes.set(clusterId, OFFLINE);
        await all.pass(20);
        for (const queueKey of ['a', 'b', 'c']) await other.add(queueKey);
        await planner.ask((queue, deadline) => queue.move({ queueKey: 'c' }, { before: itemIdOf('a') }, deadline));
        await planner.add('d');
        assert.deepEqual(
          (await other.list()).map(({ queueKey }) => queueKey),
          ['c', 'a', 'b', 'd'],
        );
      });

      it('tell no event as late that is told at once', async () => {
        await other.add('a');
        await all.pass(150);
        assert.deepEqual(
          planner.events.filter(({ late }) => late).map(({ type }) => type),
          [],
        );
        assert.ok(planner.types().includes('item.finished'));
      });

      it('tell an event as late that was left for minutes by a killed runtime', async () => {
        const { store } = planner.memory;
        const update = store.update.bind(store);
        store.update = async (key, change, options) => {
          const after = await update(key, change, options);
          if (key[0] === 'queue-telling') all.kill(planner);
          return key[0] === 'queue-telling' ? new Promise(() => undefined) : after;
        };
        await other.add('a', { held: true });
        await all.pass(400);
        assert.deepEqual(
          other.events.map(({ type, late }) => [type, late]),
          [['item.queued', true]],
        );
      });
    });

  const itemIdOf = (queueKey: string) => {
    const [found] = [...all.shared.values('queue-item').values()]
      .map((value) => value as { itemId: string; queueKey: string })
      .filter((item) => item.queueKey === queueKey);
    return found?.itemId ?? '';
  };

  it('print on the printer that was not used for the longest time, also after a clock was a year ahead', async () => {
    all.kill(other);
    planner.memory.lead = 365 * 24 * 60 * MINUTE;
    await planner.add('ahead', { copies: 2 });
    await all.pass(80);
    planner.memory.lead = 0;
    for (let nth = 0; nth < 4; nth++) {
      await planner.add(`item ${nth}`);
      await all.pass(80);
    }
    const [first, second, ...later] = all.farm.sent;
    assert.notEqual(first, second);
    assert.deepEqual(later, [first, second, first, second]);
  });

  it('tell an event as late that an earlier process has saved', async () => {
    planner.end();
    all.kill(other);
    await planner.add('a', { held: true });
    all.kill(planner);
    const next = await all.begin();
    await all.pass(30);
    assert.deepEqual(
      next.events.map(({ type, late }) => [type, late]),
      [['item.queued', true]],
    );
  });
});
