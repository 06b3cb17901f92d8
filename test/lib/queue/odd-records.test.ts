import assert from 'node:assert/strict';
import { readHours } from '../../../lib/queue/model/rules';
import { PrintingError } from '../../../lib/service/errors';
import type { Key, ListOptions } from '../../../lib/state/store';
import { phrase } from '../../../lib/words/sentence';
import { pluck } from '../../helpers/pluck';
import { QueueFarm, type Runtime, SCOPE } from '../../helpers/queue-farm';

type Stored = Record<string, unknown>;

describe('queue: odd records', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const store = () => all.shared.runtime().store;
  const itemKey = (itemId: string): Key => ['queue-item', ...SCOPE, 'queue', itemId];
  const STATE: Key = ['queue-state', ...SCOPE, 'queue'];
  const begin = async () => (one = await all.begin());
  const restart = () => {
    all.kill(one);
    return begin();
  };
  const jobs = () => all.farm.sent.map((sent) => sent.slice(3)).sort();
  const keys = async () => (await one.list()).map(({ queueKey }) => queueKey).sort();

  /** A queue that keeps three items from printing, and has ended. Returns the ids of the items. */
  const stored = async () => {
    await begin();
    await one.add('printed');
    await all.pass(100);
    await one.pause();
    for (const key of ['a', 'b']) await one.add(key, { jobId: `job of ${key}` });
    const ids = Object.fromEntries((await one.list()).map(({ queueKey, itemId }) => [queueKey, itemId]));
    all.kill(one);
    await store().update<Stored>(STATE, (state) => state && { ...state, paused: null });
    return ids as Record<'printed' | 'a' | 'b', string>;
  };
  const change = (key: Key, changed: (value: Stored) => unknown) =>
    store().update<unknown>(key, (value) => changed(value as Stored));

  /** Answers of the queue, none of which may fail. */
  const asked = async () => {
    for (const { itemId } of await one.list()) await one.ask((queue) => queue.explain({ itemId }));
    await one.ask((queue) => queue.explainQueue());
    await one.ask((queue) => queue.forecast());
    return keys();
  };

  const WRONG: readonly unknown[] = [undefined, 'text', -1.5, { odd: [] }, [null]];
  const MEMBERS = [
    ...['files', 'priority', 'rank', 'createdAt', 'waitsSince', 'copies', 'touched', 'front', 'prints', 'ends'],
    ...['blocked', 'outbox', 'isHeld', 'itemId', 'notBefore', 'deadline', 'endedAt', 'require', 'queueKey'],
  ];
  it('lists, foresees and shows what older records date to the end of time', async () => {
    const FAR = 8.64e15;
    one = await all.begin({ gate: 'printer', staffed: readHours('Mon-Fri 08:00-17:00') });
    await one.pause('C1', null, FAR);
    await one.pause(null, null, FAR - 1);
    await one.add('begins', { notBefore: FAR });
    await one.add('is due', { deadlineAt: FAR });
    all.kill(one);
    one = await all.begin({ gate: 'printer', staffed: readHours('Mon-Fri 08:00-17:00') });
    await all.pass(80);
    const etas = (await one.list()).map(({ queueKey, eta }) => [queueKey, eta]);
    assert.deepEqual(etas.sort(), [
      ['begins', null],
      ['is due', null],
    ]);
    const { items } = await one.ask((queue) => queue.forecast());
    assert.deepEqual(pluck(items, 'startAt'), [null, null]);
    assert.equal((await one.ask((queue) => queue.board())).items.length, 2);
    await one.resume();
    await all.pass(100);
    assert.equal(await one.outcome('is due'), 'finished: finished; 1 good');
  });

  for (const member of MEMBERS)
    it(`sets an item aside whose ${member} has another shape, and goes on with the others`, async () => {
      for (const wrong of WRONG) {
        await all.close();
        all = new QueueFarm();
        const { a } = await stored();
        await change(itemKey(a), (value) => ({ ...value, [member]: wrong }));
        await begin();
        const shown = await asked();
        // A few of these values are right ones, or nearly: a text as key, or an end long ago.
        if (one.warnings.length > 0) {
          assert.deepEqual(shown, ['b', 'printed'], `${member} ${JSON.stringify(wrong)}`);
          assert.match(one.warnings[0] ?? '', /^The saved queue-item is damaged; it was set aside/);
          assert.deepEqual([one.warnings.length, all.shared.values('set-aside').size], [1, 1]);
        }
        await all.pass(200);
        assert.ok(jobs().includes('job of b'), `${member} ${JSON.stringify(wrong)}`);
      }
    });

  it('plans nothing of a removed item that owes a copy, and removes it anew', async () => {
    const { a } = await stored();
    await change(itemKey(a), (value) => ({ ...value, isRemoved: true }));
    await begin();
    await all.pass(200);
    assert.deepEqual(jobs(), ['job', 'job of b']);
    const { statements } = one.memory;
    await all.pass(100);
    assert.ok(one.memory.statements - statements < 100, `${one.memory.statements - statements} statements`);
    await one.does('remove', 'a');
    assert.equal((await one.item('a')).state, 'cancelled');
  });

  it('sets an item aside that is no object, whose prints have another shape, or which is too large', async () => {
    const { a } = await stored();
    const odd: unknown[] = [
      ...['text', 7, []],
      { copies: 1e9 },
      { touched: { 1: 'lost' } },
      { prints: [{ copy: 1, attempt: 1, state: 'printing' }] },
      { outbox: [{ id: 'x', type: 'item.queued', at: 1e300, print: null }] },
    ];
    for (const value of odd) {
      const given = typeof value === 'object' && !Array.isArray(value);
      await change(itemKey(a), (now) => (given ? { ...now, ...(value as Stored) } : value));
      await begin();
      assert.deepEqual(await asked(), ['b', 'printed'], JSON.stringify(value));
      all.kill(one);
    }
    await begin();
  });

  it('keeps what was printed of an item that it has set aside, and deletes it with an item that is gone', async () => {
    await begin();
    await one.add('a', { copies: 3 });
    await all.pass(200);
    const { itemId } = await one.item('a');
    const past = () => all.shared.values('queue-past').size;
    const before = past();
    assert.ok(before > 0);
    all.kill(one);
    await change(itemKey(itemId), () => 'odd');
    for (let restarts = 0; restarts < 2; restarts++) {
      await begin();
      assert.deepEqual([await keys(), past()], [[], before]);
      all.kill(one);
    }
    await store().delete(['set-aside', ...itemKey(itemId)]);
    await begin();
    assert.equal(past(), 0);
  });

  it('leaves an item of a newer version alone, says so once, and refuses its key', async () => {
    const { a, b } = await stored();
    for (const id of [a, b]) await change(itemKey(id), (value) => ({ ...value, version: 99, prints: 'of the future' }));
    const before = all.shared.values('queue-item');
    await begin();
    assert.deepEqual(await asked(), ['printed']);
    assert.deepEqual(one.warnings, [
      'The saved queue-item is of a newer version of the pack: install that version again.',
    ]);
    await assert.rejects(one.add('a'), { code: 'FILE_NOT_READABLE' });
    await one.add('c', { jobId: 'job of c' });
    await all.pass(100);
    assert.deepEqual(jobs(), ['job', 'job of c']);
    for (const id of [a, b]) {
      const name = JSON.stringify(itemKey(id));
      assert.deepEqual(all.shared.values('queue-item').get(name), before.get(name));
    }
  });

  it('reports no order as finished that has an open item of a newer version', async () => {
    await begin();
    await one.pause();
    for (const [key, orderId] of [
      ['a', 'order'],
      ['b', 'order'],
      ['c', 'other'],
    ] as const)
      await one.add(key, { orderId });
    const { itemId } = await one.item('b');
    all.kill(one);
    await change(itemKey(itemId), (value) => ({ ...value, version: 99 }));
    await begin();
    await one.resume();
    await all.pass(200);
    const ended = () => one.events.flatMap(({ type, value }) => (type === 'order.finished' ? [value] : []));
    assert.deepEqual(ended(), [{ orderId: 'other', good: 1, wanted: 1, cost: null, currency: null }]);
    // The newer version is back.
    await store().update<Stored>(itemKey(itemId), (value) => value && { ...value, version: 2 }, { notify: true });
    await all.pass(200);
    assert.deepEqual(ended().slice(1), [{ orderId: 'order', good: 2, wanted: 2, cost: null, currency: null }]);
  });

  it('drops an item alone that another runtime has replaced by one of another shape or of a newer version', async () => {
    const { a, b } = await stored();
    await begin();
    await one.pause();
    const other = store();
    await other.update<Stored>(itemKey(a), (value) => ({ ...value, prints: null }), { notify: true });
    await other.update<Stored>(itemKey(b), (value) => ({ ...value, version: 99 }), { notify: true });
    await all.pass(20);
    assert.deepEqual(await asked(), ['printed']);
    await one.resume();
    await one.add('c', { jobId: 'job of c' });
    await all.pass(100);
    assert.ok(jobs().includes('job of c'));
  });

  it('prints with a state of another shape, of which it uses what it can read', async () => {
    const values: unknown[] = ['text', 7, [], {}, { version: 1 }, { version: 1, outbox: [null, 7, { id: 1 }] }];
    values.push({
      version: 1,
      plates: { x: null },
      orders: [7],
      isBusy: 'yes',
      pausedPrinters: null,
      oldBefore: 1e300,
    });
    await stored();
    for (const [at, value] of values.entries()) {
      await change(STATE, () => value);
      await begin();
      assert.deepEqual((await asked()).slice(0, 2), ['a', 'b']);
      await one.add(`more ${at}`, { jobId: `job ${at}` });
      await all.pass(200);
      assert.ok(jobs().includes(`job ${at}`), JSON.stringify(value));
      all.kill(one);
    }
    await begin();
  });

  it('counts a pause of another shape as one, until a person resumes', async () => {
    await stored();
    await change(STATE, (value) => ({ ...value, paused: { until: 'tomorrow', reason: 'maintenance' } }));
    await begin();
    await all.pass(100);
    const { paused } = await one.ask((queue) => queue.explainQueue());
    assert.deepEqual([jobs(), paused], [['job'], { until: null, reason: 'maintenance' }]);
    await one.resume();
    await all.pass(100);
    assert.deepEqual(jobs(), ['job', 'job of a', 'job of b']);
  });

  it('lists, explains and sends nothing while its own record is of a newer version, which it leaves alone', async () => {
    await stored();
    await change(STATE, (value) => ({ ...value, version: 99, paused: { forEver: true } }));
    const before = all.shared.values('queue-state');
    await begin();
    assert.deepEqual(await asked(), ['a', 'b', 'printed']);
    await all.pass(200);
    assert.deepEqual(jobs(), ['job']);
    assert.deepEqual(all.shared.values('queue-state'), before);
    assert.ok((await one.codes('a')).includes('NO_STORE'));
    let text = '';
    one.queue.watchState(({ error }) => (text = String(error)));
    assert.match(text, /of a newer version of the pack/);
  });

  it('goes on beside a reservation of another shape', async () => {
    await stored();
    for (const [clusterId, value] of [
      ['C1', { clusterId: 'C1', holders: ['not JSON', 'null'] }],
      ['C2', 'text'],
    ] as const)
      await store().put(['queue-printer', ...SCOPE, clusterId], value);
    await begin();
    await all.pass(200);
    assert.deepEqual(jobs(), ['job', 'job of a', 'job of b']);
    await restart();
  });

  describe('of which one can’t be read now', () => {
    const unreadable = () => new PrintingError('FILE_NOT_READABLE', phrase`A bad sector.`);
    let bad: Key | null;

    /** Begins a queue whose store can't read `bad`. */
    const beginBeside = async (key: Key) => {
      bad = key;
      one = all.start();
      const store = one.memory.store;
      const [list, get] = [store.list.bind(store), store.get.bind(store)];
      const isBad = (other: Key) => JSON.stringify(other) === JSON.stringify(bad);
      store.get = (other) => (isBad(other) ? Promise.reject(unreadable()) : get(other));
      store.list = async <T>(prefix: Key, options: ListOptions) => {
        const page = await list<T>(prefix, options);
        const entries = page.entries.filter((entry) => !isBad(entry.key));
        if (entries.length < page.entries.length) {
          if (!options.unread) throw unreadable();
          options.unread(unreadable());
        }
        return { ...page, entries };
      };
      one.beforeUpdates((other) => {
        if (isBad(other)) throw unreadable();
      });
      await all.pass(20);
    };

    it('prints the other items, and that one once it can be read', async () => {
      const { a } = await stored();
      await beginBeside(itemKey(a));
      assert.deepEqual(await asked(), ['b', 'printed']);
      await all.pass(200);
      assert.deepEqual(jobs(), ['job', 'job of b']);
      const ended = one.events.filter(({ type }) => type === 'item.finished').map(({ item }) => item?.queueKey);
      assert.deepEqual(ended, ['b']);
      await assert.rejects(one.add('a'), { code: 'FILE_NOT_READABLE' });
      bad = null;
      await all.pass(300);
      assert.deepEqual(jobs(), ['job', 'job of a', 'job of b']);
      assert.deepEqual(one.warnings, []);
    });

    it('tells no order as finished while one of its items can’t be read', async () => {
      await begin();
      await one.pause();
      for (const key of ['a', 'b']) await one.add(key, { orderId: 'order' });
      const { itemId } = await one.item('a');
      await one.resume();
      all.kill(one);
      await beginBeside(itemKey(itemId));
      await all.pass(200);
      assert.equal(await one.outcome('b'), 'finished: finished; 1 good');
      assert.deepEqual(one.types('order.'), []);
      bad = null;
      await all.pass(300);
      assert.deepEqual(one.types('order.'), ['order.finished']);
    });

    it('lists the items and sends nothing while the queue’s own record can’t be read', async () => {
      await stored();
      await beginBeside(STATE);
      assert.deepEqual(await asked(), ['a', 'b', 'printed']);
      await all.pass(200);
      assert.deepEqual(jobs(), ['job']);
      bad = null;
      await all.pass(200);
      assert.deepEqual(jobs(), ['job', 'job of a', 'job of b']);
    });

    it('uses the other printers while the gate of one can’t be read', async () => {
      await stored();
      const [gate] = [...all.shared.values('queue-plate').keys()].map((key) => JSON.parse(key) as Key);
      await beginBeside(gate as Key);
      await all.pass(300);
      assert.deepEqual(jobs(), ['job', 'job of a', 'job of b']);
      const clusterOf = (sent: string) => sent.slice(0, 2);
      assert.equal(new Set(all.farm.sent.slice(1).map(clusterOf)).size, 1);
    });
  });
});
