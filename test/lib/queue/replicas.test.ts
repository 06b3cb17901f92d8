import assert from 'node:assert/strict';
import { DatabaseError } from '../../../lib/postgres/database';
import { WRITE } from '../../../lib/postgres/entries';
import { Account, OFFLINE, QueueFarm, type Runtime } from '../../helpers/queue-farm';

describe('queue/print-queue in several runtimes', () => {
  let all: QueueFarm;
  const start = () => all.start();
  const pass = (seconds: number) => all.pass(seconds);

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const add = async (runtime: Runtime, queueKey: string, copies = 1) =>
    (await runtime.add(queueKey, { copies })).duplicate;
  const states = async (runtime: Runtime) =>
    (await runtime.list()).map(({ state, copies }) => `${state} ${copies.good}`);
  const deliveries = () => all.runtimes.flatMap(({ events }) => events.map(({ id }) => id));

  it('prints each copy once, whichever runtimes add and list', async () => {
    const [one, two, three] = [start(), start(), start()];
    await pass(20);
    assert.deepEqual([await add(one, 'a', 2), await add(two, 'b'), await add(three, 'b')], [false, false, true]);
    await pass(300);
    assert.equal(all.farm.prints.length, 3);
    for (const runtime of all.runtimes) assert.deepEqual((await states(runtime)).sort(), ['finished 1', 'finished 2']);
    const ids = deliveries();
    assert.equal(new Set(ids).size, ids.length, 'of several runtimes, the one that plans delivers');
    assert.equal(ids.filter((id) => id.includes('item.finished')).length, 2);
  });

  it('answers the waits for the end of an item at every runtime, and shows figures at the one that plans', async () => {
    const [one, two] = [start(), start()];
    await pass(20);
    const { item } = await two.add('a');
    const ended: string[] = [];
    for (const [at, { queue }] of [one, two].entries())
      void queue.endOf(item.itemId, new AbortController().signal).then((end) => ended.push(`${at} ${end?.state}`));
    await pass(150);
    assert.deepEqual(ended.sort(), ['0 finished', '1 finished']);
    assert.equal([one, two].filter(({ queue }) => queue.figures() !== null).length, 1);
  });

  it('plans on at another runtime within a lease after the planner was killed', async () => {
    const first = start();
    await pass(20);
    const other = start();
    await add(other, 'a', 3);
    await pass(20);
    assert.equal(all.farm.prints.length, 2);
    all.kill(first);
    await pass(400);
    assert.deepEqual([all.farm.prints.length, await states(other)], [3, ['finished 3']]);
  });

  it('sends no statement for a poll without a change', async () => {
    const runtimes = [start(), start(), start()];
    await add(runtimes[1]!, 'a');
    await pass(300);
    /** Statements of ten minutes with so many seconds between the polls. */
    const statements = async (apart: number) => {
      const before = runtimes.reduce((sum, { memory }) => sum + memory.statements, 0);
      for (let left = 600; left > 0; left -= apart) {
        await all.clock.advance(apart * 1_000);
        for (const clusterId of all.farm.clusters.keys()) all.poll(clusterId);
      }
      return runtimes.reduce((sum, { memory }) => sum + memory.statements, 0) - before;
    };
    const [few, many] = [await statements(60), await statements(2)];
    assert.ok(Math.abs(many - few) <= 3, `${many} statements with a poll every 2 s, ${few} with one every minute`);
  });

  it('reads everything twice at most when several notifications were missed at once', async () => {
    const one = await all.begin();
    const two = await all.begin();
    await one.pause();
    await one.ask((queue, deadline) => {
      const about = { source: null, jobId: 'job', jobName: '', held: true, onProgress: () => undefined, deadline };
      return Promise.all(Array.from({ length: 200 }, (_, at) => queue.add({ ...about, queueKey: String(at) })));
    });
    await pass(60);
    const { statements } = two.memory;
    for (let missed = 0; missed < 5; missed++) two.memory.reached();
    await all.clock.advance(2_000);
    assert.ok(two.memory.statements - statements < 40, `${two.memory.statements - statements} statements`);
    assert.equal(await two.queue.count(), 200);
  });

  it('keeps its items and the waits for them while the account is signed out', async () => {
    const runtime = start();
    await pass(20);
    all.account.become('signed-out');
    await add(runtime, 'a');
    const { itemId } = (await runtime.queue.list({ from: 0, limit: 1 }))[0]!;
    let end: unknown = 'awaited';
    runtime.queue.endOf(itemId, new AbortController().signal).then(
      (item) => (end = item?.state),
      (error: unknown) => (end = error),
    );
    await pass(20);
    assert.deepEqual([end, await runtime.codes('a'), all.farm.sent], ['awaited', ['QUEUE_PAUSED'], []]);
    all.account.become('signed-in');
    await pass(120);
    assert.deepEqual([end, all.farm.prints.length], ['finished', 1]);
  });

  it('leaves the planning to a runtime whose account is signed in', async () => {
    const stranger = new Account();
    stranger.become('sign-in-needed');
    const useless = all.start({}, { account: stranger });
    await pass(20);
    const other = start();
    await add(other, 'a');
    await pass(120);
    assert.deepEqual([all.farm.prints.length, await states(other)], [1, ['finished 1']]);
    assert.deepEqual(useless.events, []);
  });

  it('sends nothing from a planner that is cut off from the database', async () => {
    const first = start();
    await pass(20);
    const other = start();
    await pass(20);
    first.memory.cutOff();
    await pass(120);
    await add(other, 'a', 2);
    await pass(200);
    assert.deepEqual([all.farm.prints.length, await states(other)], [2, ['finished 2']]);
    first.memory.reconnect();
    await pass(120);
    assert.deepEqual([all.farm.prints.length, await states(first)], [2, ['finished 2']]);
  });

  it('records nothing of a round of the planner that outlasts its lease', async () => {
    const one = start();
    await pass(20);
    const two = start();
    await pass(20);
    const { memory } = one;
    const later = (ms: number) => new Promise<void>((resume) => void memory.clock.after(ms, resume));
    let isPaused = false;
    one.beforeUpdates(async ([kind], options) => {
      if (!isPaused && kind === 'queue-printer' && options?.under) {
        isPaused = true;
        memory.pause();
        await later(0);
      }
      // After the pause, it learns the state of the queue before that of its items.
      if (isPaused && kind === 'queue-item') await later(5_000);
    });
    await add(two, 'a');
    await pass(200);
    memory.resume();
    await pass(400);
    assert.ok(two.queue.figures(), 'the other one plans');
    const ids = deliveries();
    assert.deepEqual(ids.filter((id) => id.includes('queue.idle')).length, 1, ids.join());
  });

  describe('if the answer to a write was lost', () => {
    /**
     * Loses the answer to the next write of an item, and those of the following time; `again`: the statement is repeated over
     * a new connection.
     */
    const loseAnswer = ({ memory: { line, clock } }: Runtime, again: boolean, seconds = 0) => {
      const query = line.query.bind(line);
      let isDone = false;
      let until = -Infinity;
      line.query = async (text, values, options) => {
        if (clock.monotonic() < until) throw new DatabaseError('ECONNRESET');
        const rows = await query(text, values, options);
        if (isDone || text !== WRITE || !String(values[5]).includes('"queue-item"')) return rows;
        isDone = true;
        until = clock.monotonic() + seconds * 1_000;
        if (!again) throw new DatabaseError('ECONNRESET');
        // Meanwhile the other runtime takes the lock.
        await new Promise<void>((resolve) => void clock.after(30, resolve));
        return query(text, values, options);
      };
    };
    const two = async () => {
      const planner = await all.begin();
      return { planner, other: await all.begin() };
    };

    it('adds and prints an item that another runtime has read meanwhile', async () => {
      const { planner, other } = await two();
      loseAnswer(planner, true);
      assert.equal(await add(planner, 'a'), false);
      await pass(100);
      assert.deepEqual(
        [all.farm.sent.length, await states(planner), await states(other)],
        [1, ['finished 1'], ['finished 1']],
      );
    });

    it('says that it is not known whether an item without a key was added', async () => {
      for (const again of [true, false]) {
        const { other } = await two();
        loseAnswer(other, again);
        const added = other.add('', { queueKey: null });
        await assert.rejects(added, { outcome: 'unknown', message: /^It is not known whether the item was added/ });
        await pass(100);
        assert.deepEqual(await states(other), ['finished 1']);
        await all.close();
        all = new QueueFarm();
      }
    });

    it('says that an item without a key was not added when the store can’t be written', async () => {
      const { planner } = await two();
      const { line } = planner.memory;
      const query = line.query.bind(line);
      line.query = async (text, values, options) => {
        if (text === WRITE) throw new DatabaseError('53100');
        return query(text, values, options);
      };
      await assert.rejects(planner.add('', { queueKey: null }), { code: 'FILE_NOT_WRITABLE', outcome: 'not-sent' });
    });

    it('prints an added item whose key is added again, and one that was released', async () => {
      const { planner } = await two();
      loseAnswer(planner, false);
      await assert.rejects(add(planner, 'a'), { code: 'FILE_NOT_WRITABLE' });
      await pass(100);
      assert.equal(await add(planner, 'a'), true);
      await planner.add('b', { held: true, jobId: 'job of b' });
      loseAnswer(planner, false);
      await assert.rejects(planner.does('release', 'b'), { code: 'FILE_NOT_WRITABLE' });
      await pass(100);
      assert.deepEqual(
        all.farm.sent.map((sent) => sent.slice(3)),
        ['job', 'job of b'],
      );
    });

    it('prints an item that could not be read either for some seconds', async () => {
      const { planner } = await two();
      loseAnswer(planner, false, 5);
      await assert.rejects(add(planner, 'a'), { code: 'FILE_NOT_WRITABLE' });
      await pass(100);
      assert.deepEqual([all.farm.sent.length, await states(planner)], [1, ['finished 1']]);
    });
  });

  describe('if the planner does not reach the service, but the database', () => {
    it('plans on at another runtime that reaches both', async () => {
      const first = start();
      await pass(20);
      const other = start();
      await pass(20);
      first.isCutOff = true;
      await add(other, 'a', 2);
      await pass(250);
      assert.equal(all.farm.prints.length, 2);
      first.isCutOff = false;
      await add(first, 'b');
      await pass(200);
      assert.deepEqual(await states(first), ['finished 1', 'finished 2']);
      const ids = deliveries();
      assert.equal(new Set(ids).size, ids.length);
    });

    it('keeps the planning where no other runtime can plan either', async () => {
      const first = start();
      await pass(20);
      const other = start();
      await pass(20);
      await other.add('a', { held: true });
      first.isCutOff = other.isCutOff = true;
      await other.does('release', 'a');
      await pass(600);
      assert.equal(all.farm.prints.length, 0);
      first.isCutOff = other.isCutOff = false;
      await pass(300);
      assert.deepEqual(await states(first), ['finished 1']);
      assert.equal([first, other].filter(({ queue }) => queue.figures() !== null).length, 1);
    });
  });

  describe('after the planner was killed', () => {
    let killedAt = 0;
    const kill = (runtime: Runtime) => {
      killedAt = all.clock.monotonic();
      all.kill(runtime);
    };
    /** Seconds from the kill to the next print, at most 300. */
    const untilPrint = async (): Promise<number> => {
      const next = () => all.farm.prints.find(({ at }) => at > killedAt);
      for (let n = 1; !next() && n < 300; n++) {
        await all.clock.advance(1_000);
        if (n % 10 === 0) for (const id of all.farm.clusters.keys()) all.poll(id);
      }
      return ((next()?.at ?? Infinity) - killedAt) / 1000;
    };

    /** Kills a runtime that plans while it holds the lock of a record. */
    const killUnderLock = (runtime: Runtime, kind: string) => {
      const { store } = runtime.memory;
      const update = store.update.bind(store);
      store.update = (key, change, options) =>
        update(
          key,
          async (current, lock) => {
            const next = await change(current, lock);
            if (key[0] !== kind || !options?.under || next === current) return next;
            kill(runtime);
            return new Promise<undefined>(() => undefined);
          },
          options,
        );
    };

    it('prints within 30 s if nothing was under way', async () => {
      const first = start();
      await pass(20);
      const other = start();
      await pass(60);
      await other.add('a', { held: true });
      kill(first);
      void other.does('release', 'a');
      const took = await untilPrint();
      assert.ok(took <= 30, `${took} s`);
    });

    for (const [what, at] of [
      ['sends', 'the call'],
      ['assigns', 'queue-item'],
      ['reserves a printer for', 'queue-printer'],
      ['records a plate of', 'queue-state'],
      ['tells an event of', 'queue-telling'],
    ] as const)
      it(`prints within 30 s on another printer if it ${what} a copy, at any time between two heartbeats`, async () => {
        for (let later = 0; later < 5_000; later += 700) {
          await all.close();
          all = new QueueFarm();
          const took = await untilPrintAfterKill(at, later);
          assert.ok(took <= 30, `${took} s`);
        }
      });

    const untilPrintAfterKill = async (at: string, later: number): Promise<number> => {
      const first = start();
      await pass(20);
      const other = start();
      await pass(60);
      await all.clock.advance(later);
      if (at === 'the call') {
        all.farm.dispatch = 'unanswered';
        all.farm.changes.set('C2', OFFLINE);
        all.farm.onPrint = () => {
          all.farm.onPrint = () => undefined;
          kill(first);
        };
      } else killUnderLock(first, at);
      await other.add('a', { copies: 1 });
      await pass(10);
      all.farm.dispatch = 'accepted';
      all.farm.changes.delete('C2');
      all.poll('C2');
      await other.add('b', { copies: 1 });
      return untilPrint();
    };
  });
});
