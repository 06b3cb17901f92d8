import assert from 'node:assert/strict';
import { Ledger } from '../../../lib/print/ledger';
import type { PrintQueue } from '../../../lib/queue/print-queue';
import type { ItemChanges, ItemRecord } from '../../../lib/queue/model/types';
import { readHours } from '../../../lib/queue/model/rules';
import { asPrintingError } from '../../../lib/service/errors';
import { sleep } from '../../../lib/time/clock';
import { type Deadline, underDeadline } from '../../../lib/time/deadline';
import { held } from '../../helpers/held';
import { settle } from '../../helpers/manual-clock';
import { type Life, OFFLINE, QueueFarm, refusal, type Runtime, SCOPE } from '../../helpers/queue-farm';

const MINUTE = 60_000;
const YEAR = 365 * 1440 * MINUTE;
const CHANGES = [{ type_of_change: 'material_change', origin_id: 'a', target_id: 'b', is_overridable: true }];
const QUEUED: Life = [[0, 'queued']];
const RULES = { printers: ['C1'], startWithin: 5 * MINUTE };

interface Course {
  /** Display of the print. Default: it prints for a minute. */
  life?: Life;
  /** Changes before the item is added, and 10 s after that. */
  before?: () => unknown;
  after?: () => unknown;
  /** Time that passes then, s. Default: 20. */
  wait?: number;
}
interface Expected {
  /** Prints that the service has made, and jobs that were to be removed. Defaults: 1, 0. */
  sent?: number;
  removals?: number;
  /** Reasons of the item. */
  codes?: string[];
  /** Words about the printer. */
  text?: RegExp;
}
/** `outcome`: states of the item, of its prints and of its copies. */
type Row = [title: string, course: Course, outcome: string, expected?: Expected];

describe('queue/attempts', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const run = (rows: readonly Row[]) => {
    for (const [title, { life, before, after, wait = 20 }, outcome, expected = {}] of rows)
      it(title, async () => {
        const { sent = 1, removals = 0, codes, text } = expected;
        one = await all.begin(RULES);
        if (life) all.farm.lives.push(life);
        await before?.();
        await one.add('a');
        await all.pass(10);
        await after?.();
        await all.pass(wait);
        assert.equal(await one.outcome('a'), outcome);
        assert.deepEqual([all.farm.sent.length, all.farm.removals], [sent, removals]);
        if (codes) assert.deepEqual(await one.codes('a'), codes);
        if (text) assert.match(String((await one.printers())[0]?.text), text);
      });
  };
  const hide = () => (all.farm.isHidden = true);
  const show = () => (all.farm.isHidden = false);
  const lose = () => (all.farm.dispatch = 'lost');
  const loseHidden = () => (hide(), lose());
  const refuse = (statusCode: number) => () => all.farm.refusing.set('C1', refusal(statusCode));
  const disconnect = () => all.farm.changes.set('C1', OFFLINE);
  const hang = () => (all.farm.dispatch = 'unanswered');
  /** Kills the runtime; another one takes over. */
  const crash = () => {
    all.kill(one);
    Object.assign(all.farm, { dispatch: 'accepted', onRead: () => undefined });
    one = all.start(RULES);
  };
  const GOOD = 'finished: finished; 1 good';
  const WAITING = 'waiting: nothing; 1 waiting';
  const UNKNOWN = 'blocked: unknown; 1 unknown';
  const NOT_SENT = { sent: 0, codes: ['BUSY'] };
  const IN_DOUBT = { codes: ['OUTCOME_UNKNOWN'] };

  describe('a dispatch', () => {
    const dies = () => (all.farm.onRead = () => new Promise(() => undefined));
    const recover = async () => (await all.pass(190), show());
    const byHand = () => all.farm.printByHand('C1');
    const loseFile = (seconds: number) => {
      all.farm.onRead = () => undefined;
      all.farm.gone.add('job');
      all.clock.after(seconds * 1000, () => all.farm.gone.clear());
    };
    run([
      ['prints what the service accepts', { wait: 60 }, GOOD],
      [
        'is owed again while the service refuses it',
        { before: refuse(409) },
        WAITING,
        { ...NOT_SENT, text: /Too busy/ },
      ],
      ['is owed again after another refusal', { before: refuse(400) }, WAITING, { sent: 0, codes: ['REFUSED'] }],
      [
        'is made although its file is not found for five seconds',
        { before: () => (all.farm.onRead = () => loseFile(5)), wait: 130 },
        GOOD,
      ],
      [
        'is not made while its file is gone for longer than ten seconds',
        { before: () => (all.farm.onRead = () => loseFile(300)), wait: 130 },
        'blocked: nothing; 1 waiting',
        { sent: 0, codes: ['UPLOAD'] },
      ],
      [
        'follows a refusal by a minute',
        { before: refuse(409), after: () => all.farm.refusing.clear(), wait: 130 },
        GOOD,
      ],
      ['is found when its answer is lost', { before: lose, wait: 80 }, GOOD],
      [
        'is left to a person when it is lost and absent',
        ...([{ before: () => (all.farm.dispatch = 'absent'), wait: 190 }, UNKNOWN, { ...IN_DOUBT, sent: 0 }] as const),
      ],
      ['is left to a person when it is lost and out of sight', { before: loseHidden, wait: 190 }, UNKNOWN, IN_DOUBT],
      ['is in doubt until a poll shows it', { before: loseHidden, after: recover }, GOOD],
      [
        'is not made at a printer that was taken since',
        { before: byHand },
        WAITING,
        { ...NOT_SENT, text: /is printing/ },
      ],
      [
        'is not made at a printer that has gone offline',
        { before: disconnect },
        WAITING,
        { sent: 0, codes: ['OFFLINE'] },
      ],
      [
        'is not made at a printer that can’t be read',
        ...([{ before: () => all.farm.unreadable.add('C1') }, WAITING, { ...NOT_SENT, text: /not be read/ }] as const),
      ],
      ['is made when the process dies before it', { before: dies, after: crash, wait: 120 }, GOOD],
      ['is found when the process dies during it', { before: hang, after: crash, wait: 120 }, GOOD],
      [
        'is left to a person when the process dies during it and no poll shows it',
        ...([{ before: () => (hide(), hang()), after: crash, wait: 260 }, UNKNOWN, IN_DOUBT] as const),
      ],
    ]);
  });

  describe('a recall', () => {
    const removal = (how: typeof all.farm.removal) => () => (all.farm.removal = how);
    const requireChanges = () => all.farm.waiting.set('C1', { configuration_changes_required: CHANGES });
    /** Keeps the copy from another dispatch. */
    const after = () => one.pause();
    const setClock = (by: number) => () => (all.clock.set(all.clock.now() + by), after());
    const remove = () => one.does('remove', 'a');
    const answerWith = (status: object) => all.farm.changes.set('C1', status);
    const begun: Life = [...QUEUED, [290, 'printing']];
    const SENT: Life = [...QUEUED, [5, 'sent_to_printer']];
    const LATE = { life: QUEUED, after, wait: 310 };
    const SOON = { life: QUEUED, after };
    const BACK = 'waiting: recalled; 1 waiting';
    const THERE = 'active: dispatched; 1 active';
    const ONE = { removals: 1 };
    const FAILED = 'failed: failed; 1 failed';
    const FAILED_PRINT = { uuid: 'print-1', cloud_job_id: 'job', status: 'failed', time_total: 60, time_elapsed: 30 };
    const REFUSED = { ...ONE, codes: ['NO_PRINTER', 'REFUSED'] };
    const stuck = () => (requireChanges(), removal('refused')());
    const overtakeUnseen = (from = 0) => {
      const life: Life = [
        [from, 'printing'],
        [from + 2, 'failed'],
      ];
      all.farm.onPrint = () => all.farm.printByHand('C1', life);
    };
    const leaveFailed = async () => {
      const life: Life = [
        [0, 'printing'],
        [5, 'error'],
      ];
      all.farm.printByHand('C1', life);
      answerWith({ printers: [{ uuid: 'P of C1', status: 'idle', enabled: true }] });
      await all.pass(20);
      await one.clear(true);
    };
    const overtake = () => (all.farm.onPrint = () => all.farm.printByHand('C1'));
    run([
      ['is not made before the time for the start is over', { ...LATE, wait: 250 }, THERE],
      ['is made of a print that does not begin in time', LATE, BACK, ONE],
      ['is not made of a print that begins in time', { ...LATE, life: begun }, 'active: printing; 1 active'],
      ['is not hastened by a clock that is set ahead', { ...LATE, after: setClock(YEAR), wait: 250 }, THERE],
      ['is not delayed by a clock that is set back', { ...LATE, after: setClock(-YEAR) }, BACK, ONE],
      [
        'is made of a print of an earlier process',
        { ...LATE, after: async () => (await after(), crash()), wait: 400 },
        BACK,
        ONE,
      ],
      ['leaves the copy to a person without a proof', { ...LATE, before: removal('lost') }, UNKNOWN, ONE],
      ['is repeated while the job stays', { ...LATE, before: removal('ignored'), wait: 500 }, UNKNOWN, { removals: 2 }],
      ...[{ print_jobs: null }, { is_online: null, print_jobs: null }].map((status): Row => [
        `is not proven by a status with ${JSON.stringify(status)}`,
        {
          ...{ ...LATE, before: removal('ignored'), wait: 30 },
          after: async () => (await after(), await all.pass(280), answerWith(status)),
        },
        THERE,
        ONE,
      ]),
      [
        'is made of a job that waits for a printer which is offline',
        ...([{ ...LATE, after: async () => (await after(), disconnect()), wait: 340 }, BACK, ONE] as const),
      ],
      [
        'leaves the copy to a person when the printer is offline and has shown the job past its queue',
        ...([
          { ...LATE, life: SENT, after: async () => (await after(), disconnect()), wait: 440 },
          UNKNOWN,
          ONE,
        ] as const),
      ],
      [
        'leaves the copy to a person when the printer is offline and the removal is not confirmed',
        ...([
          { ...LATE, before: removal('lost'), after: async () => (await after(), disconnect()), wait: 440 },
          UNKNOWN,
          ONE,
        ] as const),
      ],
      [
        'ends when the print begins after all',
        { ...LATE, before: removal('too late') },
        'active: printing; 1 active',
        ONE,
      ],
      ['is made at once where the service asks for changes', { life: QUEUED, before: requireChanges }, BACK, REFUSED],
      ['that is refused blocks the item', { ...SOON, before: stuck }, 'blocked: dispatched; 1 active', ONE],
      ['is made at once when a print by hand begins first', { ...SOON, before: overtake }, BACK, ONE],
      [
        'is made at once when a print by hand has failed first, unseen',
        ...([{ ...SOON, before: () => overtakeUnseen() }, BACK, ONE] as const),
      ],
      [
        'is made at once when a print by hand has failed first, unseen, although the clock was set back',
        ...([{ ...SOON, before: () => overtakeUnseen(37), after: setClock(-YEAR), wait: 40 }, BACK, ONE] as const),
      ],
      [
        'is not made of a print that its printer still lists as queued after its end',
        ...([{ ...SOON, after: () => answerWith({ recently_completed: [FAILED_PRINT] }) }, THERE] as const),
      ],
      [
        'is not made for a print that has failed before and stays with its printer',
        ...([{ life: [...QUEUED, [15, 'printing'], [75, 'finished']], before: leaveFailed, wait: 80 }, GOOD] as const),
      ],
      ['is made at once when the item is removed', { ...SOON, after: remove }, 'cancelled: recalled; ', ONE],
      [
        'is made of a job that fails before it begins and stays with its printer',
        ...([{ life: [...QUEUED, [20, 'error']], after, wait: 60 }, FAILED, ONE] as const),
      ],
      ['is not made of a print that fails', { life: [[0, 'failed']], after, wait: 60 }, FAILED],
      ['is not made of a print under way', { after: remove, wait: 60 }, GOOD],
      [
        'by somebody else holds the copy that left without a trace but its record',
        ...([
          {
            ...SOON,
            after: () => {
              const [print] = all.farm.prints;
              const removed = { status: 'queued', deleted_at: '2026-01-01T00:00:30Z' };
              all.farm.records.set(print?.uuid ?? '', { uuid: print?.uuid, ...removed });
              all.farm.become(print, '');
            },
            wait: 60,
          },
          'held: aborted; 1 held',
        ] as const),
      ],
      [
        'by somebody else holds the copy',
        ...([
          { ...SOON, after: () => all.farm.become(all.farm.prints[0], 'aborted') },
          'held: aborted; 1 held',
        ] as const),
      ],
    ]);

    for (const [why, before, removals] of [
      ['of a print that does not begin', () => removal('refused')(), 4],
      ['for changes', stuck, 4],
    ] as const)
      it(`${why}, if refused, is one occurrence, and asked for again after growing pauses`, async () => {
        one = await all.begin({ ...RULES, startWithin: MINUTE });
        all.farm.lives.push(QUEUED);
        before();
        await one.add('a');
        await all.pass(600);
        assert.equal(await one.outcome('a'), 'blocked: dispatched; 1 active');
        assert.equal(all.farm.removals, removals);
        const events = one.types().filter((type) => /blocked|unknown/.test(type));
        assert.deepEqual(events, ['item.blocked']);
        removal('done')();
        all.farm.waiting.clear();
        await all.pass(600);
        assert.equal((await one.item('a')).prints[0]?.state, 'recalled');
      });

    it('for changes keeps the printer from the item until its configuration is another one', async () => {
      one = await all.begin(RULES);
      all.farm.lives.push(QUEUED);
      requireChanges();
      await one.add('a');
      await all.pass(40);
      assert.equal(await one.outcome('a'), BACK);
      const configuration = [{ extruder_index: 0, print_core_id: 'AA 0.4' }];
      all.farm.changes.set('C1', { printers: [{ uuid: 'P', status: 'idle', enabled: true, configuration }] });
      await all.pass(20);
      assert.deepEqual(all.farm.sent, ['C1 job', 'C1 job']);
    });
  });

  describe('the dispatch of a copy', () => {
    it('is durable before it is made, under the print key of its attempt', async () => {
      one = await all.begin(RULES);
      const { item } = await one.add('a', { held: true });
      let seen: unknown;
      all.farm.onPrint = () => {
        const [stored] = all.shared.values('queue-item').values();
        seen = (stored as { prints: { state: string }[] }).prints.map(({ state }) => state);
      };
      await one.does('release', 'a');
      assert.deepEqual(seen, ['assigned']);
      const printKey = `queue/${item.itemId}/1/1`;
      const entry = await new Ledger(one.memory.store, SCOPE).find({ clusterId: 'C1', printKey });
      assert.equal(entry?.done?.clusterJobId, 'print-1');
    });

    it('goes to another printer at once where one refuses it', async () => {
      one = await all.begin();
      refuse(409)();
      await one.add('a');
      await all.pass(10);
      assert.deepEqual(all.farm.sent, ['C2 job']);
    });

    it('is not made of an item that a person at another runtime has put on hold a moment ago', async () => {
      one = await all.begin(RULES);
      const other = await all.begin(RULES);
      await one.pause();
      await one.add('a');
      await all.pass(10);
      one.memory.deafen();
      await other.does('hold', 'a');
      await one.resume();
      await all.pass(60);
      assert.deepEqual([all.farm.sent, (await other.item('a')).state], [[], 'held']);
    });

    it('is made although the assignment of another copy can’t be written', async () => {
      one = await all.begin();
      await one.pause();
      const { item } = await one.add('a');
      await one.add('b', { jobId: 'other' });
      one.beforeUpdates((key) => {
        if (key[0] === 'queue-item' && key.at(-1) === item.itemId) throw refusal(500);
      });
      await one.resume();
      await all.pass(10);
      assert.deepEqual(all.farm.sent, ['C2 other']);
    });

    it('is not made at a group that was taken while the copy before it was searched for', async () => {
      const members = (status: string) => ({
        printers: ['A', 'B'].map((uuid) => ({ uuid, status, enabled: true })),
      });
      all.farm.changes.set('C1', members('idle'));
      one = await all.begin(RULES);
      all.farm.dispatch = 'lost';
      all.farm.onPrint = () => {
        all.farm.dispatch = 'accepted';
        all.farm.changes.set('C1', members('printing'));
      };
      await one.add('a', { copies: 2 });
      await all.pass(60);
      assert.deepEqual(all.farm.sent, ['C1 job']);
      assert.equal((await one.item('a')).copies.waiting, 1);
    });

    it('is made no later than half a minute after the last read of its printer', async () => {
      one = await all.begin(RULES);
      // The first entry of the print key, its removal, and the second one.
      const delays = [31_000, 0, 29_000];
      one.beforeUpdates(([kind]) => (kind === 'open-prints' ? sleep(all.clock, delays.shift() ?? 0) : undefined));
      let readAt = 0;
      let age: number | undefined;
      all.farm.onRead = () => void (readAt = all.clock.monotonic());
      all.farm.onPrint = () => void (age = Math.round(all.clock.monotonic() - readAt));
      await one.add('a');
      await all.clock.advance(90_000);
      assert.deepEqual([all.farm.sent, delays, age], [['C1 job'], [], 29_000]);
    });

    it('is not made after the hours of its queue, however long the reads of its printer take', async () => {
      const end = new Date(all.clock.now() + MINUTE);
      const time = [end.getHours(), end.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':');
      one = await all.begin({ ...RULES, hours: readHours(`00:00-${time}`) });
      all.farm.onRead = () => sleep(all.clock, 13_000);
      await all.pass(20);
      await one.add('a');
      await all.pass(60);
      assert.deepEqual([all.farm.sent, await one.codes('a')], [[], ['HOURS']]);
    });

    it('is made by one of two queues where a single member of their group is free', async () => {
      const away = { uuid: 'P2', status: 'unreachable' };
      all.farm.changes.set('C1', { printers: [{ uuid: 'P1', status: 'idle' }, away] });
      one = await all.begin(RULES);
      const other = await all.begin(RULES, { queueId: 'other' });
      all.farm.onRead = () => sleep(all.clock, 2_000);
      await Promise.all([one.add('a', { jobId: 'a' }), other.add('b', { jobId: 'b' })]);
      await all.pass(30);
      assert.equal(all.farm.sent.length, 1);
    });

    it('is made by both of two queues where two members of their group are free', async () => {
      const members = ['P1', 'P2', 'P3'].map((uuid) => ({ uuid, status: uuid === 'P3' ? 'unreachable' : 'idle' }));
      all.farm.changes.set('C1', { printers: members });
      one = await all.begin(RULES);
      const other = await all.begin(RULES, { queueId: 'other' });
      await one.add('a', { jobId: 'a' });
      // The status shows that print at its member by now.
      const { uuid } = all.farm.prints[0] ?? assert.fail();
      const job = { uuid, cloud_job_id: 'a', status: 'printing', printer_uuid: 'P1', printed_on_uuid: 'P1' };
      all.farm.changes.set('C1', { printers: members, print_jobs: [job] });
      await all.pass(10);
      await other.add('b', { jobId: 'b' });
      await all.pass(10);
      assert.deepEqual(all.farm.sent, ['C1 a', 'C1 b']);
    });

    it('is not made after the close of its queue', async () => {
      one = await all.begin();
      let answer: (() => void) | undefined;
      all.farm.onRead = () => new Promise<void>((resolve) => (answer = resolve));
      await one.add('a');
      const closing = one.queue.close();
      answer?.();
      await all.clock.advance(60_000);
      await closing;
      assert.ok(answer);
      assert.deepEqual(all.farm.sent, []);
    });
  });

  describe('what a person has said just before a copy is sent', () => {
    const target = { queueKey: 'a' };
    const update = (changes: ItemChanges) => (queue: PrintQueue, deadline: Deadline) =>
      queue.update(target, changes, deadline);
    const pause = (clusterId: string | null) => (queue: PrintQueue, deadline: Deadline) => {
      const printer = clusterId === null ? null : { clusterId, printerId: null };
      return queue.pause({ printer, until: null, reason: null }, deadline);
    };
    const SAID: Record<string, (queue: PrintQueue, deadline: Deadline) => Promise<unknown>> = {
      'a hold': (queue, deadline) => queue.hold(target, deadline),
      'a hold by an update': update({ held: true }),
      'a later start': update({ notBefore: 2 * YEAR + Date.now() }),
      'another requirement': update({ require: { printers: ['C2'] } }),
      'a removal': (queue, deadline) => queue.remove(target, deadline),
      'a pause': pause(null),
      'a pause of the printer': pause('C1'),
    };
    /** Says it to a queue at the n-th read of the printer, and returns the answer. */
    const sayAt = (read: number, to: () => Runtime, what: (typeof SAID)[string]) => {
      let [reads, answer] = [0, 'nothing'];
      all.farm.onRead = async () => {
        if (++reads !== read) return;
        const asked = underDeadline(all.clock, { ms: MINUTE }, (deadline) => what(to().queue, deadline));
        answer = await asked.then(
          () => 'said',
          (thrown: unknown) => asPrintingError(thrown).code,
        );
      };
      return () => answer;
    };

    for (const [title, what] of Object.entries(SAID))
      for (const read of [1, 2])
        it(`holds: ${title}, at read ${read} of the printer`, async () => {
          one = await all.begin(RULES);
          const answer = sayAt(read, () => one, what);
          await one.add('a');
          await all.pass(90);
          assert.deepEqual([answer(), all.farm.sent], ['said', []]);
        });

    it('holds although it was said at another runtime, of which this one has noticed nothing', async () => {
      one = await all.begin(RULES);
      const other = await all.begin(RULES);
      const answer = sayAt(2, () => other, pause(null));
      one.memory.deafen();
      await one.add('a');
      await all.pass(30);
      assert.deepEqual([answer(), all.farm.sent], ['said', []]);
    });
  });

  for (const [printer, change, job] of [
    ['an offline printer', { is_online: false }, {}],
    ['a printer', {}, {}],
    ['a printer that asks for changes', {}, { configuration_changes_required: CHANGES }],
  ] as const)
    describe(`a job that ${printer} still lists after its removal`, () => {
      beforeEach(async () => {
        all.farm.lives.push(QUEUED);
        all.farm.waiting.set('C1', job);
        all.farm.removal = 'ignored';
        one = await all.begin({ printers: ['C1', 'C2'], startWithin: MINUTE });
        await one.add('a');
        all.farm.changes.set('C1', change);
        await all.pass(1_000);
      });

      it('stays in doubt, which is reported once', async () => {
        assert.equal(await one.outcome('a'), 'blocked: unknown; 1 unknown');
        assert.ok(all.farm.removals > 2);
        assert.deepEqual(one.types().slice(1), ['print.dispatched', 'print.unknown', 'item.blocked', 'queue.idle']);
      });

      it('can be settled', async () => {
        await one.settle('a', 'not-printed');
        await all.pass(20);
        assert.deepEqual(all.farm.sent, ['C1 job', 'C2 job']);
      });

      it('is printed elsewhere once a later removal is proven', async () => {
        all.farm.removal = 'done';
        await all.pass(900);
        assert.deepEqual(all.farm.sent, ['C1 job', 'C2 job']);
        assert.ok(one.types().includes('print.recalled'));
      });

      it('is recalled once its printer is back', async () => {
        all.farm.removal = 'done';
        all.farm.changes.delete('C1');
        await all.pass(900);
        assert.deepEqual(all.farm.sent, ['C1 job', 'C2 job']);
      });
    });

  it('sends nothing for an attempt that was taken back while it waited for its key', async () => {
    one = await all.begin(RULES);
    await one.pause();
    const { item } = await one.add('a');
    const key = { clusterId: 'C1', printKey: `queue/${item.itemId}/1/1` };
    const { store } = one.memory;
    const turn = held();
    const waited = underDeadline(all.clock, {}, (deadline) =>
      new Ledger(store, SCOPE).waitForKey(key, () => turn.promise, deadline),
    );
    await one.resume();
    assert.equal(await one.outcome('a'), 'active: assigned; 1 active');
    await store.update<ItemRecord>(['queue-item', ...SCOPE, 'queue', item.itemId], (record) =>
      record ? { ...record, isHeld: true, prints: [], touched: {} } : record,
    );
    turn.release();
    await waited;
    await all.pass(90);
    assert.deepEqual(all.farm.sent, []);
  });

  describe('the dispatch of a copy at a printer that queues share', () => {
    const other = () => all.begin({ printers: ['C1'] }, { queueId: 'other' });

    it('waits for the print of another queue, although no poll shows it', async () => {
      one = await all.begin(RULES);
      const two = await other();
      hide();
      await one.add('a');
      await two.add('b', { jobId: 'other' });
      await all.pass(20);
      assert.deepEqual(all.farm.sent, ['C1 job']);
      const [{ code, text } = assert.fail()] = await two.printers();
      assert.deepEqual([code, String(text)], ['BUSY', 'Another print queue has a print at the printer.']);
      show();
      await all.pass(120);
      assert.deepEqual(all.farm.sent, ['C1 job', 'C1 other']);
    });

    it('waits no longer than until the copy there has failed, although it is printed elsewhere', async () => {
      one = await all.begin({ retries: 1 });
      const two = await other();
      const lasting: Life = [[0, 'printing']];
      all.farm.lives.push(lasting, [...lasting, [30, 'finished']], lasting);
      await one.add('a');
      await one.add('b');
      await all.pass(10);
      let hasFailed = false;
      // The copy fails while the queue releases another printer, to which it goes at once.
      one.beforeUpdates(async (key) => {
        if (hasFailed || key[0] !== 'queue-printer' || key.at(-1) !== 'C2') return;
        hasFailed = true;
        all.farm.become(all.farm.prints[0], 'failed');
        all.poll('C1');
        await settle(100);
      });
      await all.pass(60);
      assert.deepEqual(all.farm.sent, ['C1 job', 'C2 job', 'C2 job']);
      await one.clear(true);
      await two.add('c', { jobId: 'other' });
      await all.pass(20);
      assert.deepEqual(all.farm.sent.slice(3), ['C1 other']);
    });

    for (const [how, leave] of [
      ['that went with its Node-RED', async (gone: Runtime) => all.kill(gone)],
      [
        'whose printer could not be released when it was removed',
        async (gone: Runtime) => {
          gone.beforeUpdates((key) => {
            if (key[0] === 'queue-printer') throw new Error('ENOSPC');
          });
          const closed = gone.queue.close(true);
          await all.clock.advance(60_000);
          await closed;
          all.kill(gone);
        },
      ],
    ] as const)
      it(`waits for the print of a queue ${how} until it has ended, and not for ever`, async () => {
        one = await all.begin({ printers: ['C1'] });
        all.farm.lives.push([
          [0, 'printing'],
          [300, 'finished'],
        ]);
        await one.add('a');
        await all.pass(20);
        await leave(one);
        const two = await other();
        await two.add('b', { jobId: 'other' });
        await all.pass(240);
        assert.deepEqual(all.farm.sent, ['C1 job']);
        await all.pass(3_600);
        assert.deepEqual(all.farm.sent, ['C1 job', 'C1 other']);
      });

    it('waits for the print of a queue that is gone as long as nobody knows whether it began', async () => {
      one = await all.begin({ printers: ['C1'] });
      all.farm.dispatch = 'lost';
      hide();
      await one.add('a');
      await all.pass(20);
      all.kill(one);
      all.farm.dispatch = 'accepted';
      const two = await other();
      await two.add('b', { jobId: 'other' });
      await all.pass(7_200);
      assert.deepEqual(all.farm.sent, ['C1 job']);
    });

    it('waits no longer than until the other queue is removed, and again once it has come back', async () => {
      one = await all.begin(RULES);
      hide();
      await one.add('a');
      await all.pass(20);
      const closing = [one.queue.close(), one.queue.close(true)];
      await all.clock.advance(60_000);
      await Promise.all(closing);
      all.kill(one);
      one = await all.begin(RULES);
      const two = await other();
      await two.add('b', { jobId: 'other' });
      await all.pass(60);
      assert.deepEqual(all.farm.sent, ['C1 job'], 'after its return');
      const removed = one.queue.close(true);
      await all.clock.advance(60_000);
      await removed;
      all.kill(one);
      await all.pass(70);
      assert.deepEqual(all.farm.sent, ['C1 job', 'C1 other'], 'after its removal');
    });
  });
});
