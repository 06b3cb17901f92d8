import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { ItemRecord } from '../../../lib/queue/model/types';
import { sleep } from '../../../lib/time/clock';
import { type Life, OFFLINE, QueueFarm, refusal, type Runtime, SCOPE } from '../../helpers/queue-farm';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Time in which a lost print is searched for, and then some, s. */
const SEARCH = 200;
/** Longest time from the moment at which a print may start to its call, s: the next poll, and a read of the printer. */
const DELAY = 40;

const LATE: Life = [
  [0, 'queued'],
  [400, 'printing'],
  [460, 'finished'],
];

describe('queue: its limits after a dispatch whose answer is lost', () => {
  let all: QueueFarm;
  let one: Runtime;
  /** When the calls that print have left, s since the first of them. */
  let calls: number[];

  beforeEach(() => {
    all = new QueueFarm();
    calls = [];
    let first = 0;
    const { call } = all.farm;
    all.farm.call = (endpoint, options) => {
      if (endpoint === 'print') {
        if (calls.length === 0) first = all.clock.monotonic();
        calls.push((all.clock.monotonic() - first) / SECOND);
      }
      return call.call(all.farm, endpoint, options);
    };
  });
  afterEach(() => all.close());

  /** Loses the print of one item out of sight; another item waits, and the service answers from then on. */
  const lose = async (
    rules: Parameters<QueueFarm['start']>[0],
    dispatch: 'lost' | 'absent' | 'unanswered' = 'lost',
  ) => {
    one = await all.begin(rules);
    Object.assign(all.farm, { dispatch, isHidden: true });
    await one.add('a');
    await all.pass(10);
    assert.equal(calls.length, 1);
    all.farm.dispatch = 'accepted';
    await one.add('b');
  };
  const searched = async () => {
    await all.pass(SEARCH);
    assert.equal(await one.outcome('a'), 'blocked: unknown; 1 unknown');
  };
  const show = () => (all.farm.isHidden = false);
  const takeOver = async (rules: Parameters<QueueFarm['start']>[0], lead = 0) => {
    const next = all.start(rules);
    next.memory.lead = lead;
    await all.pass(30);
    all.kill(one);
    one = next;
    await all.pass(60);
  };
  const restart = async (rules: Parameters<QueueFarm['start']>[0]) => {
    all.kill(one);
    one = await all.begin(rules);
  };
  const assertApart = (seconds: number, longest = seconds + DELAY) => {
    const [, second = Infinity] = calls;
    assert.equal(calls.length, 2);
    assert.ok(second >= seconds && second <= longest, `${second} s after the first`);
  };

  describe('the stagger', () => {
    const rules = { stagger: 10 * MINUTE };

    for (const dispatch of ['lost', 'absent'] as const)
      it(`is kept from the departure of a print that is ${dispatch}`, async () => {
        await lose(rules, dispatch);
        await searched();
        assert.equal(calls.length, 1);
        const [reason] = (await one.item('b')).waitingFor;
        assert.match(`${reason?.code}: ${String(reason?.text)}`, /^STAGGER: The next print may start at 2/);
        await all.pass(500);
        assertApart(600);
      });

    it('is kept from the departure of a repeated call that is lost', async () => {
      one = await all.begin(rules);
      Object.assign(all.farm, { dispatch: 'lost', isHidden: true });
      const { call } = all.farm;
      all.farm.call = async (endpoint, options) => {
        if (endpoint === 'print' && calls.length === 0) {
          (await options.lock?.secure(SECOND))?.();
          await sleep(all.clock, 20 * SECOND);
        }
        return call.call(all.farm, endpoint, options);
      };
      await one.add('a');
      await all.pass(30);
      all.farm.dispatch = 'accepted';
      await one.add('b');
      await searched();
      await all.pass(500);
      assertApart(600);
    });

    for (const lead of [0, 20 * MINUTE, -20 * MINUTE])
      it(`is kept over a takeover by a planner whose clock is ${lead / MINUTE} minutes ahead`, async () => {
        await lose(rules);
        await searched();
        await takeOver(rules, lead);
        assert.equal(calls.length, 1);
        await all.pass(600);
        // The time that only the killed planner had lived counts anew.
        assertApart(600, 600 + SEARCH + DELAY);
      });

    it('is kept over restarts', async () => {
      await lose(rules);
      await searched();
      for (let n = 0; n < 3; n++) await restart(rules);
      assert.equal(calls.length, 1);
      await all.pass(700);
      assertApart(600, 600 + SEARCH + 100 + DELAY);
    });

    it('is kept where the planner dies before the answer', async () => {
      await lose(rules, 'unanswered');
      await restart(rules);
      await searched();
      assert.equal(calls.length, 1);
      await all.pass(700);
      assertApart(600, 600 + 100 + DELAY);
    });

    it('is kept from the beginning of the print, once a poll shows it', async () => {
      all.farm.lives.push(LATE);
      await lose(rules);
      await searched();
      show();
      await all.pass(100);
      assert.equal(await one.outcome('a'), 'active: dispatched; 1 active');
      await all.pass(600);
      assert.equal(calls.length, 1);
      await all.pass(200);
      assertApart(1000);
    });

    it('is kept after an upgrade from a version that recorded no departure', async () => {
      await lose(rules);
      await searched();
      await forget('dispatchedLived');
      one = await all.begin(rules);
      await all.pass(500);
      assert.equal(calls.length, 1);
      await all.pass(200);
      assertApart(600, 600 + SEARCH + 100);
    });

    it('is not kept after a call that the service refused', async () => {
      one = await all.begin(rules);
      all.farm.refusing.set('C1', refusal(409));
      await one.add('a');
      await all.pass(30);
      assert.deepEqual(all.farm.sent, ['C2 job']);
    });
  });

  describe('the number of prints at a time', () => {
    const rules = { maxPrinting: 1 };
    const texts = async (key: string) =>
      (await one.item(key)).waitingFor.map(({ code, text }) => `${code}: ${String(text)}`);

    for (const dispatch of ['lost', 'absent'] as const)
      it(`counts a print that is ${dispatch} until a person settles it`, async () => {
        await lose(rules, dispatch);
        await searched();
        await all.pass(1800);
        assert.equal(calls.length, 1);
        const [reason = ''] = await texts('b');
        assert.match(reason, /^LIMIT: Prints at a time: 1, .* of unknown outcome among them, to be settled: 1\.$/);
        await one.settle('a', 'not-printed');
        await all.pass(20);
        assert.equal(calls.length, 2);
      });

    it('counts a print that is lost until a poll shows its end', async () => {
      await lose(rules);
      await searched();
      show();
      await all.pass(20);
      assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
      assert.equal(calls.length, 2);
    });

    it('counts a print that is lost once, although a poll shows that it goes on', async () => {
      all.farm.clusters.set('C3', {});
      all.farm.lives.push(LATE);
      await lose({ maxPrinting: 2 });
      await searched();
      show();
      all.farm.lives.push(LATE);
      await one.add('c');
      await one.add('d');
      await all.pass(60);
      assert.deepEqual([await one.outcome('a'), calls.length], ['active: dispatched; 1 active', 3]);
      assert.match(
        String(await texts('d')),
        /^LIMIT: Prints at a time: 2, which is the most that the queue allows\.,BUSY/,
      );
    });

    for (const [what, hide] of [
      ['is offline', () => void all.farm.changes.set('C1', OFFLINE)],
      ['can’t be read', () => void all.farm.unreadable.add('C1')],
      ['is gone from the account', () => void all.farm.clusters.delete('C1')],
    ] as const)
      it(`counts a print at a printer that ${what}`, async () => {
        await lose(rules);
        await searched();
        hide();
        await all.pass(600);
        assert.equal(calls.length, 1);
      });

    it('counts a print that is lost after a restart, a takeover and an upgrade', async () => {
      await lose(rules);
      await searched();
      await restart(rules);
      await all.pass(60);
      await takeOver(rules);
      await forget('hasLeft', 'dispatchedLived');
      one = await all.begin(rules);
      await all.pass(120);
      assert.equal(calls.length, 1);
      assert.match(String(await texts('b')), /^LIMIT/);
    });

    it('counts a print whose end nobody saw', async () => {
      one = await all.begin(rules);
      all.farm.lives.push([
        [0, 'printing'],
        [30, ''],
      ]);
      await one.add('a');
      await all.pass(100);
      assert.equal(await one.outcome('a'), 'blocked: unknown; 1 unknown');
      await one.add('b');
      await all.pass(300);
      assert.equal(calls.length, 1);
    });

    it('lets nobody foresee a print before a person has settled the one that is lost', async () => {
      await lose(rules);
      await searched();
      const forecast = async () => (await one.ask((queue) => queue.forecast())).items.at(-1);
      const none = await forecast();
      assert.deepEqual([none?.startAt, none?.endAt], [null, null]);
      await one.settle('a', 'printed');
      assert.ok((await forecast())?.endAt);
    });

    it('shows no print that is lost as one under way', async () => {
      await lose(rules);
      await searched();
      let active = -1;
      one.queue.watchState((state) => (active = state.active))();
      assert.equal(active, 0);
    });
  });

  it('never starts prints closer together, or more of them, than its rules say, whatever is lost', async function () {
    this.timeout(60_000);
    const fates = fc.record({
      dispatch: fc.constantFrom('accepted' as const, 'lost' as const, 'absent' as const),
      isHidden: fc.boolean(),
    });
    const courses = fc.record({
      fates: fc.array(fates, { minLength: 1, maxLength: 3 }),
      stagger: fc.constantFrom(0, 5 * MINUTE),
      maxPrinting: fc.constantFrom(0, 1, 2),
      restartAt: fc.nat({ max: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(courses, async ({ fates: left, restartAt, ...limits }) => {
        const farm = new QueueFarm();
        for (const id of ['C3', 'C4']) farm.farm.clusters.set(id, {});
        let runtime = farm.start(limits);
        const departures: number[] = [];
        const { call } = farm.farm;
        const queue = [...left];
        farm.farm.call = (endpoint, options) => {
          if (endpoint === 'print') {
            departures.push(farm.clock.monotonic());
            Object.assign(farm.farm, queue.shift() ?? { dispatch: 'accepted' });
          }
          return call.call(farm.farm, endpoint, options);
        };
        await farm.pass(20);
        await runtime.add('a', { copies: 6 });
        for (let step = 0; step < 60; step++) {
          if (step === restartAt) {
            farm.kill(runtime);
            runtime = farm.start(limits);
          }
          await farm.pass(10);
          const { prints } = await runtime.item('a');
          const open = prints.filter(({ state }) => ['assigned', 'dispatched', 'printing', 'unknown'].includes(state));
          assert.ok(limits.maxPrinting === 0 || open.length <= limits.maxPrinting, `${open.length} prints`);
        }
        for (const [at, departure] of departures.entries())
          assert.ok(at === 0 || departure - (departures[at - 1] ?? 0) >= limits.stagger, departures.join());
        await farm.close();
      }),
      { numRuns: 12, seed: 7 },
    );
  });

  /** Ends the runtime, and takes members out of the attempts that it has stored, as older versions did not write them. */
  async function forget(...members: string[]): Promise<void> {
    const { itemId } = await one.item('a');
    all.kill(one);
    await all.shared.runtime().store.update<ItemRecord>(['queue-item', ...SCOPE, 'queue', itemId], (record) => {
      assert.ok(record);
      const older = (attempt: object) =>
        Object.fromEntries(Object.entries(attempt).filter(([name]) => !members.includes(name)));
      return { ...record, prints: record.prints.map(older) as never };
    });
  }
});
