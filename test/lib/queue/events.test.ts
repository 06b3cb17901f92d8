import assert from 'node:assert/strict';
import type { QueueEvent } from '../../../lib/queue/model/types';
import { Deadline } from '../../../lib/time/deadline';
import { QueueFarm, type Runtime } from '../../helpers/queue-farm';

const MINUTE = 60_000;

describe('queue/events', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const start = () => all.start({ gate: 'confirm', printers: ['C1'] });
  const cutOff = () => one.memory.cutOff();
  const restart = () => {
    all.kill(one);
    one = start();
  };

  interface Disturbance {
    /** What happens when the first event of a type arrives. */
    at?: [type: QueueEvent['type'], what: () => unknown];
    /** Changes between the print and its verdict. */
    between?: () => unknown;
  }
  const DISTURBANCES: Record<string, Disturbance> = {
    'without a disturbance': {},
    'after a restart': { between: restart },
    'after a close': {
      between: async () => {
        const closed = one.queue.close();
        await all.clock.advance(60_000);
        await closed;
        restart();
      },
    },
    'after another runtime has taken over': {
      between: async () => {
        const other = start();
        await all.pass(20);
        all.kill(one);
        one = other;
        await all.pass(60);
      },
    },
    'after the store could not remove an item’s event': { at: ['print.started', cutOff] },
    'after the store could not remove a plate’s event': { at: ['plate.awaiting', cutOff] },
    'after the store could not remove the first event': { at: ['item.queued', cutOff] },
  };

  for (const [title, { at: disturbed, between }] of Object.entries(DISTURBANCES))
    it(`come once each, in their order, ${title}`, async () => {
      one = start();
      await all.pass(20);
      const first = one;
      const [type, what] = disturbed ?? [];
      const end = one.queue.subscribe((events) => {
        if (!events.some((event) => event.type === type)) return;
        end();
        what?.();
      });
      await one.add('a', { orderId: 'order' });
      for (const seconds of [20, 60]) {
        await all.pass(seconds);
        one.memory.reconnect();
        await all.pass(30);
      }
      await between?.();
      await all.pass(20);
      await one.clear(true);
      await all.pass(60);
      const events = [...new Set([first, one])].flatMap((runtime) => runtime.events);
      assert.deepEqual(
        events.map((event) => event.type),
        [
          ...['item.queued', 'print.dispatched', 'print.started', 'print.finished', 'plate.awaiting'],
          ...['plate.cleared', 'item.finished', 'queue.idle', 'order.finished'],
        ],
      );
      assert.equal(new Set(events.map(({ id }) => id)).size, events.length);
      assert.deepEqual(
        events.filter(({ item }) => item !== null).map(({ item }) => item?.queueKey),
        Array.from({ length: 5 }, () => 'a'),
      );
    });

  it('come to every node, and wait for the first one, late', async () => {
    one = start();
    one.end();
    await all.pass(20);
    await one.add('a', { held: true });
    await all.pass(20);
    const [early, other]: string[][] = [[], []];
    const node = (received: string[]) =>
      one.queue.subscribe((events) => events.forEach(({ type, late }) => received.push(late ? `${type} late` : type)));
    node(early!);
    await all.pass(1);
    node(other!);
    await one.does('remove', 'a');
    await all.pass(20);
    assert.deepEqual(early, ['item.queued late', 'item.cancelled']);
    assert.deepEqual(other, ['item.cancelled']);
  });

  it('of a record stay in their order when the clock is set back between them', async () => {
    one = start();
    await all.pass(20);
    one.end();
    await one.add('a');
    all.clock.set(all.clock.now() - 3600 * MINUTE);
    await all.pass(80);
    one.queue.subscribe((events) => one.events.push(...events));
    await all.pass(1);
    assert.deepEqual(one.types('print'), ['print.dispatched', 'print.started', 'print.finished']);
  });

  it('of an idle queue, an ended order and an ended item come anew after each further end', async () => {
    one = await all.begin({ gate: 'automatic' });
    await one.add('a', { orderId: 'order' });
    await one.add('b', { orderId: 'order' });
    await all.pass(130);
    await one.update('b', { orderId: null });
    await all.pass(10);
    await one.add('c', { orderId: 'order' });
    await all.pass(90);
    await one.update('a', { copies: 2 });
    await all.pass(90);
    for (const [type, count] of Object.entries({ 'order.finished': 3, 'queue.idle': 3, 'item.finished': 4 })) {
      const ids = one.events.filter((event) => event.type === type).map(({ id }) => id);
      assert.deepEqual([ids.length, new Set(ids).size], [count, count], type);
    }
  });

  for (const orderId of ['constructor', '__proto__'])
    it(`of an ended order come whatever its id is, such as ${orderId}, also after a restart`, async () => {
      one = await all.begin();
      await one.add('a', { orderId });
      await all.pass(100);
      const { length } = one.types('order.');
      all.kill(one);
      const next = await all.begin();
      await next.add('b', { orderId });
      await all.pass(100);
      assert.deepEqual([length, next.types('order.').length], [1, 1]);
      assert.notEqual(one.events.at(-1)?.id, next.events.at(-1)?.id);
    });

  it('of an ended order come although the clock was ahead for a day, and none comes again', async () => {
    const DAY = 86_400_000;
    const rules = { printers: ['C1'], keepFor: 7 * DAY };
    one = await all.begin(rules);
    await one.add('before', { orderId: 'before' });
    await all.pass(90);
    all.kill(one);
    all.clock.set(all.clock.now() + 100 * DAY);
    one = await all.begin(rules);
    await all.clock.advance(1.1 * DAY);
    await one.add('during', { orderId: 'during' });
    await all.pass(90);
    all.clock.set(all.clock.now() - 100 * DAY);
    await one.add('after', { orderId: 'after' });
    await all.pass(90);
    const ended = () =>
      one.events.flatMap(({ type, value }) =>
        type === 'order.finished' ? [(value as { orderId: string }).orderId] : [],
      );
    assert.deepEqual(ended(), ['during', 'after']);
    all.kill(one);
    one = await all.begin(rules);
    assert.deepEqual(ended(), []);
  });

  it('report nothing of an item that a person has changed while the records before it were written', async () => {
    all.farm.metadata.set('job', { machine_variant: 'Maker', print: { estimated_time: 60 } });
    one = await all.begin({ printers: ['C1'] });
    const given = { require: { tags: ['none'] }, held: true, orderId: 'order' };
    const ids: string[] = [];
    for (const key of ['first', 'blocked', 'late'])
      ids.push((await one.add(key, key === 'late' ? { held: true } : given)).item.itemId);
    const hour = all.clock.now() + 60 * MINUTE;
    let isHeldUp = false;
    one.beforeUpdates(async ([kind, ...words]) => {
      if (!isHeldUp || kind !== 'queue-item' || words.at(-1) !== ids[0]) return;
      isHeldUp = false;
      const deadline = new Deadline(all.clock, { ms: MINUTE });
      await one.queue.remove({ queueKey: 'blocked' }, deadline);
      await one.queue.update({ queueKey: 'late' }, { deadlineAt: hour }, deadline);
      deadline.end();
    });
    await one.update('late', { deadlineAt: all.clock.now() + 20_000 });
    all.clock.set(all.clock.now() + 30_000);
    // The two of the order are blocked and the third is overdue in one round.
    await one.ask(async (queue, deadline) => {
      const released = await queue.release({ orderId: 'order' }, deadline);
      isHeldUp = true;
      return released;
    });
    await all.pass(30);
    const told = (itemKey: string) =>
      one.events.flatMap(({ type, item }) => (item?.queueKey === itemKey ? [type] : [])).slice(1);
    assert.deepEqual(['first', 'blocked', 'late'].map(told), [['item.blocked'], ['item.cancelled'], []]);
  });

  it('report no idle queue because of an item that is blocked, if another one comes before that is written', async () => {
    all.farm.metadata.set('job', { machine_variant: 'Maker', print: { estimated_time: 60 } });
    one = await all.begin({ printers: ['C1'] });
    await one.pause();
    const { itemId } = (await one.add('blocked')).item;
    await all.pass(10);
    let isHeldUp = false;
    const more = { source: null, jobId: 'job', jobName: '', queueKey: 'more', onProgress: () => undefined };
    one.beforeUpdates(async ([kind, ...words]) => {
      if (!isHeldUp || kind !== 'queue-item' || words.at(-1) !== itemId) return;
      isHeldUp = false;
      const deadline = new Deadline(all.clock, { ms: MINUTE });
      await one.queue.add({ ...more, deadline });
      deadline.end();
    });
    await one.ask(async (queue, deadline) => {
      const updated = await queue.update({ itemId }, { require: { tags: ['none'] } }, deadline);
      isHeldUp = true;
      return updated;
    });
    await all.pass(10);
    assert.deepEqual(one.types().slice(1), ['item.queued', 'item.blocked']);
  });

  it('report an item overdue whose deadline can’t be met by the forecast, or has passed', async () => {
    all.farm.metadata.set('job', { machine_variant: 'Maker', print: { estimated_time: 7200 } });
    one = await all.begin({ printers: ['C1'] });
    const { now } = all.clock;
    await one.add('late', { deadlineAt: now() + 90 * MINUTE });
    await one.add('in time', { deadlineAt: now() + 600 * MINUTE });
    await one.add('passed', { deadlineAt: now() + MINUTE, held: true });
    await all.pass(120);
    const overdue = one.events.filter(({ type }) => type === 'item.overdue');
    assert.deepEqual(
      overdue.map((event) => event.item?.queueKey),
      ['late', 'passed'],
    );
  });

  for (const [title, between] of [
    ['moved away', 60 * MINUTE],
    ['taken away', null],
  ] as const)
    it(`report an item overdue once per deadline, also if that was ${title} meanwhile`, async () => {
      one = await all.begin();
      await one.pause();
      const passed = all.clock.now() - MINUTE;
      await one.add('a', { deadlineAt: passed });
      await all.pass(20);
      await one.update('a', { deadlineAt: between });
      await all.pass(20);
      await one.update('a', { deadlineAt: passed });
      await all.pass(20);
      assert.deepEqual(one.types('item.overdue'), ['item.overdue']);
      const later = all.clock.now() + MINUTE;
      await one.update('a', { deadlineAt: later });
      await all.pass(120);
      const ids = one.events.flatMap(({ id, type }) => (type === 'item.overdue' ? [id] : []));
      assert.equal(new Set(ids).size, 2);
    });
});
