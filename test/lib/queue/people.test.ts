import assert from 'node:assert/strict';
import type { ItemTarget, QueueItem } from '../../../lib/queue/model/types';
import { asPrintingError } from '../../../lib/service/errors';
import { type Life, QueueFarm, type Runtime } from '../../helpers/queue-farm';

const MINUTE = 60_000;
const CHANGES = [{ type_of_change: 'material_change', origin_id: 'a', target_id: 'b', is_overridable: true }];
const endsAs = (word: string, second = 5): Life => [
  [0, 'printing'],
  [second, word],
];

/** Events before a person's request about an item `a`. */
interface Given {
  rules?: Parameters<QueueFarm['start']>[0];
  before?: () => unknown;
  add?: Parameters<Runtime['add']>[1];
  /** Time since the item was added, s. Default: 10. */
  wait?: number;
}

describe('queue/people', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const does = (action: Parameters<Runtime['does']>[0]) => () => one.does(action, 'a');
  const after = (first: () => unknown, then: () => unknown) => async () => (await first(), then());
  const settle = (outcome: 'printed' | 'not-printed', copy?: number) => () => one.settle('a', outcome, copy);
  const update = (changes: Parameters<Runtime['update']>[1]) => () => one.update('a', changes);
  const ends = (word: string) => () => all.farm.lives.push(endsAs(word));
  const pause = () => one.pause();
  const clear = () => one.clear(true);
  /** The service asks for changes of the first print. */
  const refuse = (removal: typeof all.farm.removal) => () => {
    all.farm.lives.push([[0, 'queued']]);
    all.farm.waiting.set('C1', { configuration_changes_required: CHANGES });
    all.farm.removal = removal;
  };
  const lose = () => Object.assign(all.farm, { dispatch: 'lost', isHidden: true });
  /** The first print comes into sight, where it has just begun. */
  const show = () => {
    all.farm.isHidden = false;
    all.farm.become(all.farm.prints[0], 'printing');
  };
  /** The copy is printed again; the first print is nowhere. */
  const elsewhere = async () => {
    Object.assign(all.farm, { dispatch: 'accepted', isHidden: false });
    all.farm.become(all.farm.prints[0], '');
    all.farm.lives.push([[0, 'printing']]);
    await one.settle('a', 'not-printed');
    await all.pass(20);
  };

  const PAUSED = { before: pause };
  const HELD = { add: { held: true } };
  const UNAPPROVED = { rules: { approval: true } };
  const ABORTED = { before: ends('aborted') };
  const FAILED = { before: ends('failed') };
  const FAILING = { before: () => all.farm.lives.push(endsAs('failed', 25)) };
  const DONE = { wait: 70 };
  const SENDING = { before: () => (all.farm.dispatch = 'unanswered'), add: { copies: 2 } };
  const LOST = { before: lose, wait: 200, rules: { gate: 'confirm' } } as const;
  const LOST_TWO = { ...LOST, rules: { ...LOST.rules, printers: ['C1', 'C2'] }, add: { copies: 2 } };
  const ASKED = { before: refuse('done'), wait: 30 };
  const STUCK = { before: refuse('refused'), wait: 30 };
  const meet = () => all.farm.waiting.clear();
  const allow = () => (all.farm.removal = 'done');
  const pauseAndSettle = after(pause, settle('not-printed'));

  /** `outcome`: states of the item, its prints and its copies; or the code of an error, which changes nothing. */
  const REQUESTS: [title: string, given: Given, ask: () => unknown, outcome: string, ...events: string[]][] = [
    ['holds an item that waits', PAUSED, does('hold'), 'held: nothing; 1 waiting'],
    ['holds no item that has ended', DONE, does('hold'), 'finished: finished; 1 good'],
    ['releases a hold', HELD, does('release'), 'active: printing; 1 active'],
    ['releases a hold by an update', HELD, update({ held: false }), 'active: printing; 1 active'],
    ['releases an approval', UNAPPROVED, does('release'), 'active: printing; 1 active'],
    ['waits for an approval', UNAPPROVED, does('hold'), 'held: nothing; 1 waiting', 'item.approval'],
    ['releases aborted copies', ABORTED, after(clear, does('release')), 'active: aborted, printing; 1 active'],
    ['removes an item that waits', PAUSED, does('remove'), 'cancelled: nothing; ', 'item.cancelled'],
    ['removes an aborted copy', ABORTED, does('remove'), 'cancelled: aborted; ', 'item.cancelled'],
    ['removes a copy that has failed', FAILED, after(clear, does('remove')), 'cancelled: failed; ', 'item.cancelled'],
    [
      'removes an item of parts that has failed, and owes none of them again',
      { ...FAILED, add: { wanted: 4, perPrint: 4 } },
      after(clear, does('remove')),
      'cancelled: failed; ',
      'item.cancelled',
    ],
    ['cancels what fails after a removal', FAILING, does('remove'), 'cancelled: failed; ', 'item.cancelled'],
    [
      'adds copies to a removed item that still prints',
      {},
      after(does('remove'), update({ copies: 2 })),
      'active: printing; 1 active, 1 waiting',
    ],
    [
      'prints the copies that were added to a removed item',
      { rules: { printers: ['C1', 'C2'] } },
      after(does('remove'), update({ copies: 2 })),
      'active: printing, printing; 2 active',
    ],
    [
      'adds parts to a removed item that still prints',
      { add: { wanted: 1, perPrint: 1 }, rules: { printers: ['C1', 'C2'] } },
      after(does('remove'), update({ wanted: 2 })),
      'active: printing, printing; 2 active',
    ],
    [
      'keeps an item removed whose other properties change',
      { rules: { printers: ['C1', 'C2'] }, before: () => all.farm.lives.push(endsAs('failed', 25)) },
      after(does('remove'), update({ priority: 5, copies: 1 })),
      'cancelled: failed; ',
      'item.cancelled',
    ],
    ['removes no item that has ended', DONE, does('remove'), 'finished: finished; 1 good', 'item.finished'],
    ['removes no item while a copy is being sent', SENDING, does('remove'), 'QUEUE_ITEM_BUSY'],
    ['holds no item while a copy is being sent', SENDING, does('hold'), 'QUEUE_ITEM_BUSY'],
    ['holds no item by an update meanwhile', SENDING, update({ held: true }), 'QUEUE_ITEM_BUSY'],
    ['changes no copies while one is being sent', SENDING, update({ copies: 3 }), 'QUEUE_ITEM_BUSY'],
    ['changes no requirement while a copy is being sent', SENDING, update({ require: {} }), 'QUEUE_ITEM_BUSY'],
    ['changes no alternative while a copy is being sent', SENDING, update({ alternatives: [] }), 'QUEUE_ITEM_BUSY'],
    ['changes the priority meanwhile', SENDING, update({ priority: 5 }), 'active: assigned; 1 active, 1 waiting'],
    ['adds copies to an ended item', DONE, update({ copies: 2 }), 'active: finished, printing; 1 good, 1 active'],
    ['takes no copies off that were begun', { ...DONE, add: { copies: 2 } }, update({ copies: 1 }), 'QUEUE_ITEM_BUSY'],
    ['retries a failed copy', FAILED, after(clear, does('retry')), 'active: failed, printing; 1 active'],
    ['retries nothing of an item that waits', PAUSED, does('retry'), 'waiting: nothing; 1 waiting', 'item.queued'],
    ['retries where changes were asked for', ASKED, after(meet, does('retry')), 'active: recalled, printing; 1 active'],
    ['retries a removal that was refused', STUCK, after(allow, does('retry')), 'waiting: recalled; 1 waiting'],
    ['settles a lost copy, whose plate decides', LOST, settle('printed'), 'active: finished; 1 active'],
    ['settles a copy as not printed', LOST, pauseAndSettle, 'waiting: recalled; 1 waiting'],
    ['settles no copy but the one that is named', LOST, settle('printed', 2), 'NOT_ACCEPTED'],
    ['settles nothing that is not in doubt', DONE, settle('printed'), 'NOT_ACCEPTED'],
    ['settles one copy of two', LOST_TWO, settle('printed', 1), 'active: finished, unknown; 1 unknown, 1 active'],
    ['gets a print back that shows up before another', LOST, after(pauseAndSettle, show), 'active: printing; 1 active'],
    [
      'reports a later one as extra',
      LOST,
      after(elsewhere, show),
      'active: recalled, printing; 1 active',
      'print.extra',
    ],
  ];

  for (const [title, { rules, before, add, wait = 10 }, ask, outcome, event] of REQUESTS)
    it(title, async () => {
      one = await all.begin({ printers: ['C1'], ...rules });
      await before?.();
      await one.add('a', add);
      await all.pass(wait);
      const earlier = await one.outcome('a');
      const answer = await Promise.resolve(ask()).then(
        () => null,
        (thrown: unknown) => asPrintingError(thrown).code,
      );
      await all.pass(20);
      const found = await one.outcome('a');
      assert.equal(answer ?? found, outcome);
      if (answer) assert.equal(found, earlier);
      const last = one.types().findLast((type) => /^(item|print)/.test(type));
      if (event) assert.equal(last, event);
      all.farm.answer();
    });

  it('shows the pause of a printer beside its code while it prints, and takes it back', async () => {
    one = await all.begin({ printers: ['C1'] });
    await one.add('a');
    await all.pass(20);
    const until = all.clock.now() + 3_600_000;
    const shown = async () => (await one.printers()).map(({ code, paused }) => [code, paused]);
    await one.pause('C1', null, until);
    assert.deepEqual(await shown(), [['BUSY', { until: new Date(until).toISOString(), reason: null }]]);
    await one.resume('C1');
    assert.deepEqual(await shown(), [['BUSY', null]]);
    await one.pause('C1');
    await all.pass(80);
    assert.deepEqual(await shown(), [['PAUSED', { until: null, reason: null }]]);
    assert.match(String((await one.printers())[0]?.text), /^No new prints, as the printer is paused/);
  });

  it('finds an item by its key, its id or its order, and answers for any other that it does not exist', async () => {
    one = await all.begin({ printers: ['C1'] });
    const { item } = await one.add('a', { orderId: 'order', held: true });
    const found: ItemTarget[] = [{ queueKey: 'a' }, { itemId: item.itemId }, { orderId: 'order' }];
    for (const target of found)
      assert.deepEqual(
        (await one.ask((queue, deadline) => queue.hold(target, deadline))).map(({ queueKey }) => queueKey),
        ['a'],
      );
    for (const target of [{ queueKey: 'b' }, { itemId: 'b' }, { orderId: 'b' }])
      for (const action of ['hold', 'release', 'retry', 'remove'] as const)
        await assert.rejects(
          one.ask((queue, deadline) => queue[action](target, deadline)),
          { code: 'QUEUE_ITEM_NOT_FOUND' },
        );
  });

  it('releases and settles the items of an order that need it', async () => {
    one = await all.begin({ approval: true, printers: ['C1'] });
    await one.add('a', { orderId: 'order', held: true });
    await one.add('b', { orderId: 'order' });
    const ask = (work: Parameters<typeof one.ask<QueueItem[]>>[0]) =>
      one.ask(work).then((items) => items.map(({ state, held }) => `${state}${held ? ', held' : ''}`));
    const order = { orderId: 'order' };
    assert.deepEqual(await ask((queue, deadline) => queue.release(order, deadline)), ['waiting', 'waiting']);
    all.farm.dispatch = 'absent';
    await all.pass(270);
    const printed = { outcome: 'printed', copy: null } as const;
    assert.deepEqual(await ask((queue, deadline) => queue.settle(order, printed, deadline)), ['finished', 'finished']);
    await assert.rejects(
      ask((queue, deadline) => queue.settle(order, printed, deadline)),
      { code: 'NOT_ACCEPTED' },
    );
  });

  it('adds an item once per key, also from two runtimes at a time', async () => {
    one = await all.begin();
    const other = await all.begin();
    await one.pause();
    const added = await Promise.all([one.add('a'), other.add('a'), one.add('a')]);
    assert.equal(added.filter(({ duplicate }) => !duplicate).length, 1);
    assert.equal(new Set(added.map(({ item }) => item.itemId)).size, 1);
    assert.notEqual((await one.add('b')).item.itemId, added[0]?.item.itemId);
    assert.equal((await one.list()).length, 2);
  });

  it('prints another copy of a bad part before other items, and no more than are wanted by then', async () => {
    one = await all.begin({ gate: 'confirm', printers: ['C1'] });
    const { item } = await one.add('b', { jobId: 'b', copies: 2 });
    await one.add('a');
    await one.ask((queue, deadline) => queue.move({ queueKey: 'a' }, { before: item.itemId }, deadline));
    await all.pass(70);
    await one.clear(false);
    await all.pass(10);
    assert.deepEqual(all.farm.sent, ['C1 b', 'C1 b']);
    await one.update('b', { copies: 1 });
    await all.pass(60);
    await one.clear(true);
    await all.pass(10);
    assert.deepEqual(all.farm.sent, ['C1 b', 'C1 b', 'C1 job']);
  });

  it('prints all copies of bad parts before other items, and forecasts them so', async () => {
    one = await all.begin({ gate: 'confirm' });
    const first = await one.add('first', { jobId: 'first', held: true });
    const bad = await one.add('bad', { jobId: 'bad', copies: 2 });
    await all.pass(80);
    await one.pause(null, null, all.clock.now() + 600_000);
    await one.does('release', 'first');
    for (const clusterId of ['C1', 'C2']) await one.clear(false, clusterId);
    // One printer prints them one after the other.
    await one.pause('C2');
    const { items } = await one.ask((queue) => queue.forecast());
    const foretold = ({ item }: typeof bad) => items.find(({ itemId }) => itemId === item.itemId);
    assert.ok((foretold(bad)?.endAt ?? '') < (foretold(first)?.startAt ?? ''));
    await one.resume('C2');
    await all.pass(600);
    assert.deepEqual(all.farm.sent.slice(2).sort(), ['C1 bad', 'C2 bad']);
  });

  it('pauses the queue until it is resumed, or until a time', async () => {
    one = await all.begin({ printers: ['C1'] });
    await one.pause();
    await one.add('a');
    await all.pass(70);
    assert.deepEqual([await one.outcome('a'), await one.codes('a')], ['waiting: nothing; 1 waiting', ['QUEUE_PAUSED']]);
    await one.resume();
    await all.pass(10);
    assert.equal(await one.outcome('a'), 'active: printing; 1 active');
    await one.pause(null, null, all.clock.now() + 5 * MINUTE);
    await one.add('b');
    await all.pass(250);
    assert.deepEqual([await one.outcome('b'), await one.codes('b')], ['waiting: nothing; 1 waiting', ['QUEUE_PAUSED']]);
    await all.pass(50);
    assert.equal(await one.outcome('b'), 'active: printing; 1 active');
  });

  it('refuses a pause that would be over at once, and keeps the one that is there', async () => {
    one = await all.begin({ printers: ['C1'] });
    await one.pause();
    await one.pause('C1');
    await one.add('a');
    // Seconds since 1970 in the place of milliseconds.
    for (const until of [all.clock.now(), Math.floor(all.clock.now() / 1000)])
      for (const clusterId of [null, 'C1'])
        await assert.rejects(one.pause(clusterId, null, until), { code: 'INVALID_INPUT' });
    for (const clusterId of [null, 'C1']) {
      await all.pass(20);
      assert.deepEqual(all.farm.sent, []);
      await one.resume(clusterId);
    }
    assert.deepEqual(all.farm.sent, ['C1 job']);
  });

  it('sends the next copy after a read that is the first to show a print that a person has settled', async () => {
    one = await all.begin({ printers: ['C1'], gate: 'confirm' });
    all.farm.isHidden = true;
    all.farm.dispatch = 'lost';
    await one.add('a', { copies: 2 });
    await all.pass(200);
    assert.equal(await one.outcome('a'), 'waiting: unknown; 1 unknown, 1 waiting');
    all.farm.dispatch = 'accepted';
    await one.settle('a', 'printed');
    // Polls don't show the print yet: the read before the next copy leaves does.
    all.farm.onRead = () => (all.farm.isHidden = false);
    await one.clear(true);
    await all.pass(5);
    assert.deepEqual(all.farm.sent, ['C1 job', 'C1 job']);
    await all.pass(70);
    await one.clear(true);
    const { prints } = await one.item('a');
    assert.deepEqual(
      prints.map(({ state, clusterJobId }) => [state, clusterJobId]),
      [
        ['finished', 'print-1'],
        ['finished', 'print-2'],
      ],
    );
  });

  it('pauses a printer whether or not it is named by its own id, or all printers of a group', async () => {
    one = await all.begin();
    const codes = async (paused: ReturnType<Runtime['pause']>) => (await paused).printers.map(({ code }) => code);
    assert.deepEqual(await codes(one.pause('C1', 'P')), ['PAUSED', null]);
    assert.deepEqual(await codes(one.resume('C1')), [null, null]);
    all.farm.changes.set('C2', { printers: ['P', 'Q'].map((uuid) => ({ uuid, status: 'idle' })) });
    await all.pass(10);
    assert.deepEqual(await codes(one.pause('C2', 'Q')), [null, null, 'PAUSED']);
    assert.deepEqual(await codes(one.pause('C2')), [null, 'PAUSED', 'PAUSED']);
    await assert.rejects(one.pause('C9'), { code: 'NOT_FOUND' });
  });

  describe('a pause of a printer', () => {
    const shown = (...uuids: string[]) => ({ printers: uuids.map((uuid) => ({ uuid, status: 'idle' })) });
    const codes = async () =>
      (await one.printers()).map(({ clusterId, printerId, code }) => `${printerId ?? clusterId} ${code ?? 'free'}`);

    it('holds for every printer of a group that was not seen when it was paused', async () => {
      all.farm.changes.set('C1', shown('P', 'Q'));
      all.farm.unreadable.add('C1');
      one = await all.begin({ printers: ['C1'] });
      await one.pause('C1');
      await one.add('a');
      all.farm.unreadable.delete('C1');
      await all.pass(30);
      assert.deepEqual([await codes(), all.farm.sent], [['P PAUSED', 'Q PAUSED'], []]);
      await one.resume('C1');
      assert.deepEqual(all.farm.sent, ['C1 job']);
    });

    it('follows the printer into a group', async () => {
      all.farm.changes.set('C1', shown('P'));
      one = await all.begin({ printers: ['C1'] });
      await one.pause('C1');
      all.farm.changes.set('C1', shown('P', 'Q'));
      await all.pass(10);
      assert.deepEqual(await codes(), ['P PAUSED', 'Q free']);
    });

    it('follows the printer out of its group, under another id', async () => {
      all.farm.changes.set('C1', shown('P', 'Q'));
      one = await all.begin({ printers: ['C1', 'C2', 'C3'] });
      await one.pause('C1', 'P');
      await one.pause('C2');
      all.farm.changes.set('C1', shown('Q'));
      all.farm.clusters.set('C3', {});
      all.farm.changes.set('C3', shown('P'));
      await all.pass(20);
      assert.deepEqual(await codes(), ['C1 free', 'C2 PAUSED', 'C3 PAUSED']);
      await one.resume('C3');
      assert.deepEqual(await codes(), ['C1 free', 'C2 PAUSED', 'C3 free']);
    });

    it('ends with the group that is resumed before it is seen after a restart', async () => {
      all.farm.changes.set('C1', shown('P', 'Q'));
      one = await all.begin({ printers: ['C1'] });
      await one.pause('C1');
      all.kill(one);
      all.farm.unreadable.add('C1');
      one = await all.begin({ printers: ['C1'] });
      await one.resume('C1');
      all.farm.unreadable.delete('C1');
      await all.pass(10);
      assert.deepEqual(await codes(), ['P free', 'Q free']);
    });

    it('stays that of the other printers when one of a group is resumed', async () => {
      all.farm.changes.set('C1', shown('P', 'Q'));
      all.farm.unreadable.add('C1');
      one = await all.begin({ printers: ['C1'] });
      await one.pause('C1');
      all.farm.unreadable.delete('C1');
      await all.pass(10);
      await one.ask((queue, deadline) => queue.resume({ clusterId: 'C1', printerId: 'Q' }, deadline));
      assert.deepEqual(await codes(), ['P PAUSED', 'Q free']);
    });
  });

  it('moves items among those of the same priority, and never past a higher one', async () => {
    one = await all.begin();
    await one.pause();
    for (const key of ['high', 'a', 'b', 'c']) await one.add(key, { priority: key === 'high' ? 1 : 0 });
    const move = async (queueKey: string, to: { position: number } | { before: string }) => {
      await one.ask((queue, deadline) => queue.move({ queueKey }, to, deadline));
      return (await one.list()).map((item) => item.queueKey).join(' ');
    };
    assert.equal(await move('c', { position: 1 }), 'high c a b');
    assert.equal(await move('c', { before: (await one.item('b')).itemId }), 'high a c b');
    assert.equal(await move('a', { position: 9 }), 'high c b a');
    await assert.rejects(move('a', { before: (await one.item('high')).itemId }), { code: 'INVALID_INPUT' });
    assert.deepEqual(
      (await one.list()).map(({ position }) => position),
      [1, 2, 3, 4],
    );
  });

  it('moves items that the rule of the queue leaves equal, and refuses a move that this rule would undo', async () => {
    for (const [id, seconds] of Object.entries({ short: 60, long: 600 }))
      all.farm.metadata.set(id, { print: { estimated_time: seconds } });
    one = await all.begin({ sort: 'shortest' });
    await one.pause();
    for (const key of ['long 1', 'long 2', 'long 3', 'short']) await one.add(key, { jobId: key.split(' ')[0] ?? '' });
    const shown = async () => (await one.list()).map((item) => item.queueKey).join(', ');
    const move = async (queueKey: string, to: { position: number } | { before: string }) => {
      await one.ask((queue, deadline) => queue.move({ queueKey }, to, deadline));
      return shown();
    };
    const first = { before: (await one.item('short')).itemId };
    for (const to of [{ position: 1 }, first])
      await assert.rejects(move('long 3', to), { code: 'NOT_ACCEPTED', message: /change its priority/ });
    await assert.rejects(move('short', { position: 9 }), { code: 'NOT_ACCEPTED' });
    assert.equal(await shown(), 'short, long 1, long 2, long 3');
    assert.equal(await move('long 3', { position: 2 }), 'short, long 3, long 1, long 2');
    assert.equal(await move('long 1', { position: 9 }), 'short, long 3, long 2, long 1');
    assert.equal(await move('short', { position: 1 }), 'short, long 3, long 2, long 1');
  });

  it('moves no item in front of a copy that a verdict owes, and others to their positions behind it', async () => {
    one = await all.begin({ gate: 'confirm', printers: ['C1'] });
    for (const key of ['a', 'b', 'c']) await one.add(key);
    await one.ask((queue, deadline) => queue.move({ queueKey: 'b' }, { position: 2 }, deadline));
    await all.pass(70);
    await one.pause();
    await one.clear(false);
    const move = async (queueKey: string, position: number) => {
      await one.ask((queue, deadline) => queue.move({ queueKey }, { position }, deadline));
      return (await one.list()).map((item) => item.queueKey).join(' ');
    };
    await assert.rejects(move('b', 1), { code: 'NOT_ACCEPTED' });
    assert.equal(await move('c', 2), 'a c b');
  });

  it('moves an order to its place, whatever the order of its items among themselves', async () => {
    for (const [id, seconds] of Object.entries({ short: 60, long: 600 }))
      all.farm.metadata.set(id, { print: { estimated_time: seconds } });
    one = await all.begin({ sort: 'shortest' });
    await one.pause();
    for (const key of ['long 1', 'long 2', 'short']) {
      const orderId = key === 'long 1' ? 'other' : 'own';
      await one.add(key, { jobId: key.split(' ')[0] ?? '', orderId });
    }
    await one.ask((queue, deadline) => queue.move({ orderId: 'own' }, { position: 1 }, deadline));
    assert.deepEqual(
      (await one.list()).map((item) => item.queueKey),
      ['short', 'long 2', 'long 1'],
    );
  });

  it('replaces the alternatives of an item by those that an update names', async () => {
    for (const [id, name] of [
      ['job', 'X5'],
      ['other', 'X3'],
      ['better', 'Maker'],
    ] as const)
      all.farm.metadata.set(id, { machine_variant: name, print: { estimated_time: 60 } });
    const printers = [{ uuid: 'P', status: 'idle', enabled: true, machine_variant: 'Maker' }];
    all.farm.changes.set('C1', { printers });
    one = await all.begin({ match: 'strict', printers: ['C1'] });
    await one.add('a', { alternatives: [{ jobId: 'other' }] });
    await all.pass(20);
    assert.deepEqual(all.farm.sent, []);
    await one.update('a', { alternatives: [{ jobId: 'better' }] });
    await all.pass(20);
    assert.deepEqual(all.farm.sent, ['C1 better']);
  });

  const NOT_BEFORE = { add: { notBefore: Date.parse('2026-01-01T00:04:00.000Z') } };
  const LATE = { rules: { startWithin: 3 * MINUTE }, before: () => all.farm.lives.push([[0, 'queued']]) };

  /** Waits of the copies whose prints have begun, minutes; the item is added three minutes before the request. */
  const WAITS: [title: string, given: Given, ask: () => unknown, waits: number[]][] = [
    ['the addition of its item', PAUSED, () => one.resume(), [3]],
    ['the release of its item', HELD, does('release'), [0]],
    ['its release by an update', HELD, update({ held: false }), [0]],
    ['its release after it was aborted', ABORTED, after(clear, does('release')), [0]],
    ['its retry', FAILED, after(clear, does('retry')), [0]],
    ['the time before which it must not start', NOT_BEFORE, () => undefined, [0]],
    ['the end of the print before', { rules: { gate: 'confirm' } }, () => one.clear(false), [0, 2]],
    ['its addition, also where an attempt never began', LATE, () => undefined, [3]],
  ];
  for (const [title, { rules, add, before }, ask, waits] of WAITS)
    it(`measures the wait of a copy from ${title}`, async () => {
      one = await all.begin({ printers: ['C1'], ...rules });
      await before?.();
      await one.add('a', add);
      await all.pass(180);
      await ask();
      await all.pass(70);
      assert.deepEqual(one.waits, waits);
    });
});
