import assert from 'node:assert/strict';
import { PrintingError } from '../../../lib/service/errors';
import type { Key } from '../../../lib/state/store';
import { phrase } from '../../../lib/words/sentence';
import { Account, QueueFarm, type Runtime } from '../../helpers/queue-farm';

describe('queue/events of several runtimes', () => {
  let all: QueueFarm;
  let one: Runtime;
  let two: Runtime;
  let told: string[];

  beforeEach(async () => {
    all = new QueueFarm();
    one = all.start();
    await all.pass(20);
    two = all.start();
    await all.pass(20);
    told = [];
    for (const runtime of [one, two])
      runtime.queue.subscribe((events) => {
        told.push(...events.map(({ id }) => id));
      });
  });
  afterEach(() => all.close());

  const once = (type: string) => {
    assert.deepEqual(told, [...new Set(told)], 'an event was told twice');
    assert.equal(told.filter((id) => id.includes(type)).length, 1, `${type}: ${told.join()}`);
  };
  /** Runs `action` when the first event of a type has arrived at a runtime. */
  const uponEvent = (runtime: Runtime, type: string, action: () => unknown) => {
    let isDone = false;
    runtime.queue.subscribe((events) => {
      if (isDone || !events.some((event) => event.type === type)) return;
      isDone = true;
      action();
    });
  };

  for (const type of ['item.queued', 'print.dispatched', 'print.finished', 'item.finished', 'queue.idle'])
    it(`come once although the planner stood still right after ${type}`, async () => {
      uponEvent(one, type, () => one.memory.pause());
      await two.add('a');
      await all.pass(120);
      one.memory.resume();
      await all.pass(300);
      once('item.queued');
      once('item.finished');
      once('queue.idle');
    });

  it('come once although the planner stood still after it had recorded that it tells them', async () => {
    const { store } = one.memory;
    const update = store.update.bind(store);
    let isPaused = false;
    store.update = async (key, change, options) => {
      const after = await update(key, change, options);
      if (key[0] === 'queue-telling' && !isPaused) {
        isPaused = true;
        one.memory.pause();
        await new Promise<void>((resume) => void one.memory.clock.after(0, resume));
      }
      return after;
    };
    await two.add('a');
    await all.pass(60);
    one.memory.resume();
    await all.pass(400);
    once('item.queued');
    once('item.finished');
  });

  it('are told by the next planner if the one that wanted to was killed before', async () => {
    const { store } = one.memory;
    const update = store.update.bind(store);
    store.update = async (key, change, options) => {
      const after = await update(key, change, options);
      if (key[0] === 'queue-telling') all.kill(one);
      return key[0] === 'queue-telling' ? new Promise(() => undefined) : after;
    };
    await two.add('a');
    await all.pass(400);
    once('item.queued');
    once('item.finished');
  });

  it('come once although a deploy of the planner comes while its writes are slow', async () => {
    let isSlow = false;
    one.beforeUpdates(() => isSlow && new Promise<void>((resolve) => void one.memory.clock.after(1_000, resolve)));
    uponEvent(one, 'item.queued', () => {
      isSlow = true;
      void one.queue.close();
    });
    await two.add('a');
    await all.pass(400);
    once('item.queued');
    once('item.finished');
  });

  for (const seconds of [1, 4, 9, 14, 22, 30])
    it(`come once although all are deployed ${seconds} s after the ends while each statement takes a second`, async () => {
      const slowDown = ({ memory: { line, clock } }: Runtime) => {
        const query = line.query.bind(line);
        line.query = async (text, values) => {
          await new Promise<void>((answer) => void clock.after(1_000, answer));
          return query(text, values);
        };
      };
      await two.add('a', { copies: 2 });
      for (const runtime of [one, two]) slowDown(runtime);
      await all.pass(60);
      await all.clock.advance(seconds * 1_000);
      for (const runtime of [one, two]) {
        void runtime.queue.close();
        const next = all.start();
        slowDown(next);
        next.queue.subscribe((events) => {
          told.push(...events.map(({ id }) => id));
        });
      }
      await all.pass(600);
      assert.equal(told.filter((id) => id.includes('print.finished')).length, 2, told.join());
      once('item.queued');
      once('item.finished');
    });

  for (const seconds of [20, 60])
    it(`come once from a planner that lost its lease for ${seconds} s before its first event`, async () => {
      one.memory.cutOff();
      await all.clock.advance(seconds * 1_000);
      one.memory.reconnect();
      await all.pass(20);
      void two.queue.close();
      await all.pass(30);
      await one.add('a');
      await all.pass(400);
      once('item.queued');
      once('print.finished');
      once('item.finished');
      once('queue.idle');
    });

  describe('whose next planner has not read what the one before wrote', () => {
    let next: Runtime;
    /** Called before the next planner reads a record. */
    let beforeReads: (key: Key) => unknown;

    beforeEach(async () => {
      next = all.start({}, { account: new Account() });
      await all.pass(20);
      next.queue.subscribe((events) => {
        told.push(...events.map(({ id }) => id));
      });
      beforeReads = () => undefined;
      const { store } = next.memory;
      const [get, list] = [store.get.bind(store), store.list.bind(store)];
      store.get = async (key) => {
        await beforeReads(key);
        return get(key);
      };
      store.list = async (prefix, options) => {
        await beforeReads(prefix);
        return list(prefix, options);
      };
    });

    /** The planner can plan no more right after it has told that an item is queued. */
    const takeOverAfter = async (action: () => unknown) => {
      uponEvent(one, 'item.queued', () => {
        action();
        void two.queue.close();
        all.account.become('signed-out');
      });
      await next.add('a');
      await all.pass(460);
      assert.ok(next.queue.figures(), 'the next one plans');
      once('item.queued');
      once('item.finished');
    };

    it('come once although it reads late who tells them, and that they are told', () => {
      const late = () => new Promise<void>((read) => void next.memory.clock.after(3_000, read));
      beforeReads = ([kind]) => kind === 'queue-telling' && late();
      return takeOverAfter(() => {
        beforeReads = late;
        // Another runtime's change of an item is read in an update.
        next.beforeUpdates(([kind]) => kind === 'queue-item' && late());
      });
    });

    it('come once although it can’t read the items at first, and missed all notifications', async () => {
      let failures = 0;
      await takeOverAfter(() => {
        next.memory.deafen();
        beforeReads = ([kind]) => {
          if (kind === 'queue-item' && ++failures < 3) throw new PrintingError('FILE_NOT_READABLE', phrase`Not now.`);
        };
      });
      assert.ok(failures > 2, String(failures));
    });
  });

  it('cost the runtime that planned few statements while the database is away, and come once after it', async () => {
    uponEvent(one, 'print.dispatched', () => all.shared.halt());
    await two.add('a');
    await all.pass(60);
    const before = one.memory.statements;
    await all.pass(60);
    const statements = one.memory.statements - before;
    assert.ok(statements < 30, `${statements} statements in a minute`);
    all.shared.start();
    await all.pass(300);
    once('print.dispatched');
    once('item.finished');
  });

  it('come once although the planner can’t write for a while after it told them', async () => {
    uponEvent(one, 'item.queued', () => one.memory.cutOff());
    await two.add('a');
    await all.pass(60);
    one.memory.reconnect();
    await all.pass(400);
    once('item.queued');
    once('item.finished');
  });
});
