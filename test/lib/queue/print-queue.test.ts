import assert from 'node:assert/strict';
import { PrintingError } from '../../../lib/service/errors';
import { phrase } from '../../../lib/words/sentence';
import { QueueStore } from '../../../lib/queue/records/records';
import { Reservations, reservationOf } from '../../../lib/queue/records/items';
import { QueueFarm, SCOPE, type Runtime } from '../../helpers/queue-farm';

const MINUTE = 60_000;
/** Metadata of a file whose print lasts a minute. */
const METADATA = { generator: { name: 'Cura' }, machine: { name: 'Maker' }, print: { estimated_time: 60 } };

describe('queue/print-queue', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => {
    all = new QueueFarm();
  });
  afterEach(() => all.close());

  const begin = async (...rules: Parameters<QueueFarm['start']>) => {
    one = all.start(...rules);
    await all.pass(20);
  };
  const types = (kind: string) => one.events.filter(({ type }) => type.startsWith(kind)).map(({ type }) => type);
  const offline = { is_online: false, printers: [], print_jobs: [], recently_completed: [] };
  const item = async (queueKey: string) => {
    const found = (await all.list(one)).find((other) => other.queueKey === queueKey);
    assert.ok(found);
    return found;
  };

  it('replaces the alternatives of an item by those that an update names', async () => {
    await begin();
    await all.add(one, 'a', { held: true, alternatives: [{ jobId: 'other' }] });
    const update = (changes: object) =>
      all.ask(one, (queue, deadline) => queue.update({ queueKey: 'a' }, changes, deadline));
    await update({ alternatives: [{ jobId: 'better' }], require: { models: ['Maker'] } });
    all.farm.changes.set('C1', offline);
    all.farm.metadata.set('job', METADATA);
    await all.ask(one, (queue, deadline) => queue.release({ queueKey: 'a' }, deadline));
    await all.pass(30);
    const files = (await one.memory.store.get<{ files: { jobId: string }[] }>(await keyOf('a')))?.files;
    assert.deepEqual(
      files?.map(({ jobId }) => jobId),
      ['job', 'better'],
    );
  });

  it('reacts to polls that show nothing new no more than once in a poll interval', async () => {
    await begin();
    let changes = 0;
    one.queue.watchState(() => changes++);
    await all.pass(600);
    assert.ok(changes > 5 && changes < 15, `${changes} reactions to 120 polls`);
  });

  it('is not blocked by a printer that has been offline since the start, of which nothing is known', async () => {
    for (const clusterId of ['C1', 'C2']) all.farm.changes.set(clusterId, offline);
    await begin({ match: 'strict' });
    await all.add(one, 'a', { require: { models: ['Maker'] } });
    await all.pass(30);
    const { state, waitingFor } = await item('a');
    assert.deepEqual(
      [state, waitingFor.map(({ code }) => code), types('item.')],
      ['waiting', ['MODEL'], ['item.queued']],
    );
  });

  it('is not blocked while the service may still name the model of a file', async () => {
    await begin({ match: 'strict' });
    await all.add(one, 'a');
    await all.pass(30);
    const { state, waitingFor } = await item('a');
    assert.deepEqual([state, waitingFor.map(({ code }) => code)], ['waiting', ['MODEL_UNKNOWN']]);
    await all.pass(900);
    assert.equal((await item('a')).state, 'blocked');
  });

  it('is blocked at once where no printer has the model that the message names', async () => {
    await begin({ match: 'strict' });
    await all.add(one, 'a', { require: { models: ['Unheard Of'] } });
    await all.pass(30);
    const { state, waitingFor } = await item('a');
    assert.deepEqual([state, waitingFor.map(({ code }) => code)], ['blocked', ['NO_PRINTER', 'MODEL']]);
  });

  it('names the printer at which the outcome of a copy is unknown', async () => {
    await begin({ printers: ['C1'] });
    all.farm.isLossy = true;
    all.farm.isHidden = true;
    await all.add(one, 'a');
    await all.pass(600);
    const { state, waitingFor } = await item('a');
    assert.deepEqual(
      [state, waitingFor.map(({ code, printers }) => [code, printers])],
      ['blocked', [['OUTCOME_UNKNOWN', 1]]],
    );
    const [explained] = await all.ask(one, (queue) => queue.explain({ queueKey: 'a' }));
    assert.deepEqual(
      explained?.waitingFor.map(({ clusterId, code }) => [clusterId, code]),
      [['C1', 'OUTCOME_UNKNOWN']],
    );
    assert.deepEqual(types('item.'), ['item.queued', 'item.blocked']);
  });

  it('states when each listed item begins and ends', async () => {
    await begin({ printers: ['C1'] });
    await all.add(one, 'a', { copies: 2 });
    await all.add(one, 'b', { held: true });
    await all.pass(20);
    const { eta } = await item('a');
    assert.ok(eta, 'no forecast');
    const wait = (text: string) => Date.parse(text) - all.clock.now();
    assert.ok(wait(eta.startAt) <= 0 && wait(eta.endAt) > MINUTE, JSON.stringify(eta));
    assert.equal((await item('b')).eta, null);
    const [explained] = await all.ask(one, (queue) => queue.explain({ queueKey: 'a' }));
    assert.ok(explained?.eta);
  });

  it('reports an item overdue whose deadline can’t be met by the forecast, or has passed', async () => {
    all.farm.metadata.set('job', { ...METADATA, print: { estimated_time: 7200 } });
    await begin({ printers: ['C1'] });
    const deadlineAt = all.clock.now() + 90 * MINUTE;
    await all.add(one, 'late', { deadlineAt });
    await all.add(one, 'in time', { deadlineAt: all.clock.now() + 600 * MINUTE });
    await all.pass(120);
    const overdue = one.events.filter(({ type }) => type === 'item.overdue');
    assert.deepEqual(
      overdue.map((event) => event.item?.queueKey),
      ['late'],
    );
  });

  it('ends an order anew after an item was added, although another one has left it', async () => {
    await begin();
    await all.add(one, 'a', { orderId: 'order' });
    await all.add(one, 'b', { orderId: 'order' });
    await all.pass(150);
    assert.equal(types('order.').length, 1);
    await all.ask(one, (queue, deadline) => queue.update({ queueKey: 'b' }, { orderId: null }, deadline));
    await all.pass(10);
    await all.add(one, 'c', { orderId: 'order' });
    await all.pass(150);
    const ids = one.events.filter(({ type }) => type === 'order.finished').map(({ id }) => id);
    assert.deepEqual([ids.length, new Set(ids).size], [2, 2]);
  });

  it('expects starts after one that has not been seen to begin', async () => {
    await begin({ stagger: MINUTE });
    all.farm.isHidden = true;
    await all.add(one, 'a', { copies: 2 });
    const { items } = await all.ask(one, (queue) => queue.forecast());
    assert.ok(items[0]?.endAt);
  });

  it('settles one copy or all of unknown outcome, and prints again what did not print', async () => {
    await begin({ gate: 'confirm' });
    all.farm.isLossy = true;
    all.farm.isHidden = true;
    await all.add(one, 'a', { copies: 2 });
    await all.pass(300);
    assert.equal((await item('a')).copies.unknown, 2);
    all.farm.isLossy = false;
    const settle = (outcome: 'printed' | 'not-printed', copy: number | null) =>
      all.ask(one, (queue, deadline) => queue.settle({ queueKey: 'a' }, { outcome, copy }, deadline));
    const [first] = await settle('printed', 1);
    assert.deepEqual([first?.copies.unknown, first?.copies.active], [1, 1], 'its plate decides');
    const [second] = await settle('not-printed', null);
    assert.deepEqual([second?.copies.unknown, second?.copies.total, second?.prints[1]?.state], [0, 2, 'recalled']);
    await assert.rejects(settle('printed', null), { code: 'NOT_ACCEPTED' });
    const { printers } = await all.ask(one, (queue) => queue.explainQueue());
    const awaiting = printers.filter(({ plate }) => plate === 'awaiting').map(({ clusterId }) => clusterId);
    assert.deepEqual(awaiting, [first?.prints[0]?.clusterId], '"not-printed" leaves the gate alone');
  });

  it('settles those items of an order whose outcome is unknown', async () => {
    await begin({ printers: ['C1'] });
    await all.add(one, 'done', { orderId: 'order' });
    await all.pass(120);
    all.farm.isLossy = true;
    all.farm.isHidden = true;
    await all.add(one, 'lost', { orderId: 'order' });
    await all.pass(300);
    const settle = () =>
      all.ask(one, (queue, deadline) =>
        queue.settle({ orderId: 'order' }, { outcome: 'printed', copy: null }, deadline),
      );
    assert.deepEqual(
      (await settle()).map(({ state }) => state),
      ['finished', 'finished'],
    );
    await assert.rejects(settle(), { code: 'NOT_ACCEPTED' });
  });

  it('pauses a printer whether or not it is named by its own id, or all printers of a group', async () => {
    await begin();
    const pause = async (clusterId: string, printerId: string | null, isOver = false) => {
      const printer = { clusterId, printerId };
      const { printers } = await all.ask(one, (queue, deadline) =>
        isOver ? queue.resume(printer, deadline) : queue.pause({ printer, until: null, reason: null }, deadline),
      );
      return printers.map(({ code }) => code);
    };
    assert.deepEqual(await pause('C1', 'P'), ['PAUSED', null]);
    assert.deepEqual(await pause('C1', null, true), [null, null]);
    all.farm.changes.set('C2', { printers: ['P', 'Q'].map((uuid) => ({ uuid, status: 'idle' })) });
    await all.pass(10);
    assert.deepEqual(await pause('C2', 'Q'), [null, null, 'PAUSED']);
    assert.deepEqual(await pause('C2', null), [null, 'PAUSED', 'PAUSED']);
    await assert.rejects(pause('C9', null), { code: 'NOT_FOUND' });
  });

  it('clears a plate once, also of an offline printer, and owes a rejected part again', async () => {
    await begin({ gate: 'confirm', printers: ['C1'] });
    await all.add(one, 'a', { orderId: 'order' });
    await all.pass(120);
    assert.equal((await item('a')).state, 'active');
    const clear = (good: boolean, clusterId = 'C1') =>
      all.ask(one, (queue, deadline) => queue.plateCleared({ clusterId, printerId: null }, good, deadline));
    await assert.rejects(clear(true, 'C9'), { code: 'NOT_FOUND' });
    all.farm.changes.set('C1', offline);
    await all.pass(10);
    await clear(true);
    await clear(true);
    await all.pass(10);
    assert.deepEqual([(await item('a')).state, types('plate.')], ['finished', ['plate.awaiting', 'plate.cleared']]);
    await clear(false);
    await all.pass(10);
    assert.deepEqual(
      [(await item('a')).copies.rejected, types('item.')],
      [1, ['item.queued', 'item.finished', 'item.reopened']],
    );
    all.farm.changes.delete('C1');
    await all.pass(120);
    await assert.doesNotReject(clear(true));
    await all.pass(10);
    assert.deepEqual(
      [(await item('a')).state, types('order.'), types('print.rejected')],
      ['finished', ['order.finished', 'order.finished'], ['print.rejected']],
    );
  });

  it('names the copy whose part waits on a plate, and none once a foreign print has followed it', async () => {
    await begin({ gate: 'confirm', printers: ['C1'] });
    await all.add(one, 'a', { copies: 2 });
    const shown = async () => {
      const { printers } = await all.ask(one, (queue) => queue.explainQueue());
      return printers.map(({ plate, current }) => [plate, current]);
    };
    await all.pass(30);
    const { itemId } = await item('a');
    const current = { itemId, copy: 1, attempt: 1, clusterJobId: 'print-1' };
    assert.deepEqual(await shown(), [['clear', current]]);
    await all.pass(90);
    assert.deepEqual(await shown(), [['awaiting', current]]);
    const done = { status: 'finished', time_total: 60, time_elapsed: 60 };
    const { recently_completed } = all.farm.status('C1');
    all.farm.changes.set('C1', { recently_completed: [{ uuid: 'foreign', ...done }, ...recently_completed] });
    await all.pass(10);
    assert.deepEqual(await shown(), [['awaiting', null]]);
  });

  const shown = async () => {
    const { printers } = await all.ask(one, (queue) => queue.explainQueue());
    return Object.fromEntries(
      printers.map(({ clusterId, code, text }) => [clusterId, code && `${code}: ${String(text)}`]),
    );
  };

  it('sends a copy elsewhere at once where a printer refuses it, and gives the reason until it tries again', async () => {
    await begin();
    for (const clusterId of ['C1', 'C2']) all.farm.refusing.add(clusterId);
    await all.add(one, 'a');
    await all.pass(10);
    const refused = 'BUSY: The service refused a print on the printer: Too busy.';
    assert.deepEqual(await shown(), { C1: refused, C2: refused });
    assert.deepEqual(
      (await item('a')).waitingFor.map(({ code, printers }) => [code, printers]),
      [['BUSY', 2]],
    );
    all.farm.refusing.delete('C2');
    await all.pass(55);
    assert.deepEqual(
      all.farm.prints.map(({ clusterId }) => clusterId),
      ['C2'],
    );
    all.farm.refusing.delete('C1');
    await all.pass(60);
    assert.deepEqual([(await item('a')).state, await shown()], ['finished', { C1: null, C2: null }]);
  });

  it('sends a copy elsewhere while another queue has the printer, and gives the reason', async () => {
    await begin();
    const reservations = new Reservations(new QueueStore(one.memory.store, SCOPE));
    for (const id of ['C1', 'C2']) await reservations.reserve(id, reservationOf('other', 'item', 1), 1);
    await all.add(one, 'a');
    await all.pass(10);
    const reserved = 'BUSY: Another print queue has a print at the printer.';
    assert.deepEqual(await shown(), { C1: reserved, C2: reserved });
    await reservations.release('C2', reservationOf('other', 'item', 1));
    await all.pass(60);
    assert.deepEqual(
      all.farm.prints.map(({ clusterId }) => clusterId),
      ['C2'],
    );
    assert.equal((await shown()).C1, reserved);
  });

  it('leaves its printers to other queues when it is removed, and has them again when it comes back', async () => {
    await begin({ printers: ['C1'] });
    await all.add(one, 'a');
    await all.pass(20);
    const other = reservationOf('other', 'item', 1);
    const reserve = async () => {
      const work = new Reservations(new QueueStore(one.memory.store, SCOPE)).reserve('C1', other, 1);
      await all.clock.advance(1_000);
      return work;
    };
    assert.equal(await reserve(), false, 'while the queue prints there');
    const closing = one.queue.close();
    const removing = one.queue.close(true);
    await all.clock.advance(60_000);
    await Promise.all([closing, removing]);
    assert.equal(await reserve(), true, 'after its removal');
    const release = new Reservations(new QueueStore(one.memory.store, SCOPE)).release('C1', other);
    await all.clock.advance(1_000);
    await release;
    all.runtimes = [];
    all.farm.changes.set('C1', { print_jobs: [{ uuid: 'print-1', cloud_job_id: 'job', status: 'printing' }] });
    await begin({ printers: ['C1'] });
    assert.equal(await reserve(), false, 'after its return');
  });

  it('goes on printing when a file that somebody adds can’t be read', async () => {
    await begin({ printers: ['C1'] });
    await all.add(one, 'a', { copies: 2 });
    const source = () => Promise.reject(new PrintingError('FILE_NOT_READABLE', phrase`Empty.`));
    const errors: unknown[] = [];
    one.queue.watchState(({ error }) => errors.push(error));
    await assert.rejects(all.add(one, 'b', { source }), { code: 'FILE_NOT_READABLE' });
    await all.pass(70);
    assert.equal(all.farm.prints.length, 2);
    assert.deepEqual([...new Set(errors)], [null]);
  });

  it('blocks an item whose file is gone from the service, and no printer', async () => {
    await begin({ printers: ['C1'] });
    await all.add(one, 'a', { held: true });
    all.farm.gone.add('job');
    await all.ask(one, (queue, deadline) => queue.release({ queueKey: 'a' }, deadline));
    await all.pass(30);
    const { state, waitingFor } = await item('a');
    assert.deepEqual([state, waitingFor.map(({ code }) => code)], ['blocked', ['UPLOAD']]);
    assert.deepEqual([types('item.'), await shown()], [['item.queued', 'item.blocked'], { C1: null }]);
    assert.equal(all.farm.prints.length, 0);
  });

  it('changes nothing of an item while a copy is being sent, and knows no other item', async () => {
    await begin({ printers: ['C1'] });
    all.farm.isSilent = true;
    await all.add(one, 'a', { copies: 3 });
    await all.pass(10);
    const a = { queueKey: 'a' };
    const refused: (() => Promise<unknown>)[] = [
      () => all.ask(one, (queue, deadline) => queue.remove(a, deadline)),
      () => all.ask(one, (queue, deadline) => queue.update(a, { copies: 2 }, deadline)),
      () => all.ask(one, (queue, deadline) => queue.update(a, { require: {} }, deadline)),
      () => all.ask(one, (queue, deadline) => queue.update(a, { alternatives: [] }, deadline)),
    ];
    for (const work of refused) await assert.rejects(work(), { code: 'QUEUE_ITEM_BUSY' });
    await all.ask(one, (queue, deadline) => queue.update(a, { priority: 5 }, deadline));
    for (const target of [{ queueKey: 'b' }, { itemId: 'b' }, { orderId: 'b' }])
      await assert.rejects(
        all.ask(one, (queue, deadline) => queue.hold(target, deadline)),
        { code: 'QUEUE_ITEM_NOT_FOUND' },
      );
    all.farm.answer();
    await all.pass(400);
    assert.equal((await item('a')).state, 'finished');
  });

  it('reports a plate at once, although no item changes', async () => {
    const done = { status: 'finished', time_total: 60, time_elapsed: 60 };
    for (const id of ['C1', 'C2']) all.farm.changes.set(id, { recently_completed: [{ uuid: `of ${id}`, ...done }] });
    one = all.start({ gate: 'confirm' });
    await all.pass(10);
    assert.deepEqual(
      one.events.map(({ type, clusterId }) => [type, clusterId]),
      ['C1', 'C2'].map((id) => ['plate.awaiting', id]),
    );
  });

  it('keeps everything and starts nothing while its account is not signed in', async () => {
    await begin();
    all.account.become('signed-out');
    await all.add(one, 'a');
    await all.pass(60);
    const [explained] = await all.ask(one, (queue) => queue.explain({ queueKey: 'a' }));
    assert.deepEqual(
      explained?.waitingFor.map(({ code, clusterId }) => [code, clusterId]),
      [['QUEUE_PAUSED', null]],
    );
    assert.equal(all.farm.prints.length, 0);
    all.account.become('signed-in');
    await all.pass(120);
    assert.equal((await item('a')).state, 'finished');
  });

  it('lists from memory and starts nothing while the store can’t be written, and says so', async () => {
    await begin();
    await all.add(one, 'a', { held: true });
    one.memory.cutOff();
    await assert.rejects(all.ask(one, (queue, deadline) => queue.release({ queueKey: 'a' }, deadline)));
    await all.pass(60);
    const { state, waitingFor } = await item('a');
    assert.deepEqual([state, waitingFor.map(({ code }) => code)], ['held', ['HELD', 'NO_STORE']]);
    one.memory.reconnect();
    await all.pass(120);
    await all.ask(one, (queue, deadline) => queue.release({ queueKey: 'a' }, deadline));
    await all.pass(120);
    assert.equal((await item('a')).state, 'finished');
  });

  it('starts a print a stagger after the start before it was seen', async () => {
    await begin({ stagger: 3 * MINUTE });
    all.farm.isHidden = true;
    await all.add(one, 'a', { copies: 2 });
    await all.pass(10);
    const [first] = all.farm.prints;
    assert.ok(first);
    await all.pass(400);
    assert.equal(all.farm.prints.length, 1, 'it may begin at any moment');
    const seenAt = all.clock.monotonic();
    const begun = { uuid: first.uuid, cloud_job_id: 'job', status: 'printing', time_elapsed: 1, time_total: 900 };
    all.farm.changes.set(first.clusterId, { print_jobs: [begun], printers: [{ uuid: 'P', status: 'printing' }] });
    await all.pass(400);
    const [, second] = all.farm.prints;
    const after = ((second?.at ?? 0) - seenAt) / MINUTE;
    assert.ok(after >= 3 && after < 3.5, `${after}`);
  });

  it('releases the hold, the approval and the aborted copies of all items of an order', async () => {
    await begin({ approval: true, printers: ['C1'] });
    await all.add(one, 'a', { orderId: 'order', held: true });
    await all.add(one, 'b', { orderId: 'order' });
    const release = () => all.ask(one, (queue, deadline) => queue.release({ orderId: 'order' }, deadline));
    assert.deepEqual(
      (await release()).map(({ held, state }) => [held, state]),
      [
        [false, 'waiting'],
        [false, 'waiting'],
      ],
    );
    await all.pass(10);
    const [print] = all.farm.prints;
    const aborted = { uuid: print?.uuid, cloud_job_id: 'job', status: 'aborted', time_elapsed: 5, time_total: 60 };
    all.farm.changes.set('C1', {
      print_jobs: [],
      recently_completed: [aborted],
      printers: [{ uuid: 'P', status: 'idle' }],
    });
    await all.pass(20);
    const held = await item('a');
    assert.deepEqual([held.state, held.copies.held, held.waitingFor.map(({ code }) => code)], ['held', 1, ['HELD']]);
    const [explained] = await all.ask(one, (queue) => queue.explain({ queueKey: 'a' }));
    assert.deepEqual(
      explained?.waitingFor.map(({ code, clusterId }) => [code, clusterId]),
      [['HELD', null]],
    );
    assert.equal((await release())[0]?.copies.held, 0);
    assert.deepEqual(types('item.'), ['item.queued', 'item.approval', 'item.queued', 'item.approval']);
  });

  it('lists ended items for their time, also after a restart, and knows their keys for longer', async () => {
    const rules = { keepFor: 60 * MINUTE };
    await begin(rules);
    await all.add(one, 'old', { orderId: 'order' });
    await all.pass(120);
    await all.clock.advance(25 * 60 * MINUTE);
    await all.add(one, 'new');
    await all.pass(120);
    const listed = async () => (await all.list(one)).map(({ queueKey }) => queueKey);
    assert.deepEqual(await listed(), ['new']);
    await one.queue.close();
    one.memory.kill();
    all.runtimes = [];
    await begin(rules);
    assert.deepEqual(await listed(), ['new']);
    assert.equal((await all.add(one, 'old')).duplicate, true);
    await all.ask(one, (queue, deadline) => queue.update({ queueKey: 'old' }, { priority: 1 }, deadline));
    await all.pass(120);
    assert.deepEqual([await listed(), types('order.')], [['new'], []]);
  });

  it('moves items among those of the same priority, and never past a higher one', async () => {
    await begin();
    await all.ask(one, (queue, deadline) => queue.pause({ printer: null, until: null, reason: null }, deadline));
    for (const [key, priority] of [
      ['high', 1],
      ['a', 0],
      ['b', 0],
      ['c', 0],
    ] as const)
      await all.add(one, key, { priority });
    const order = async () => (await all.list(one)).map(({ queueKey }) => queueKey);
    const move = (queueKey: string, to: { position: number } | { before: string }) =>
      all.ask(one, (queue, deadline) => queue.move({ queueKey }, to, deadline));
    await move('c', { position: 1 });
    assert.deepEqual(await order(), ['high', 'c', 'a', 'b']);
    await move('c', { before: (await item('b')).itemId });
    assert.deepEqual(await order(), ['high', 'a', 'c', 'b']);
    await move('a', { position: 9 });
    assert.deepEqual(await order(), ['high', 'c', 'b', 'a']);
    await assert.rejects(move('a', { before: (await item('high')).itemId }), { code: 'INVALID_INPUT' });
    assert.deepEqual(
      (await all.list(one)).map(({ position }) => position),
      [1, 2, 3, 4],
    );
  });

  const keyOf = async (queueKey: string) => {
    const { itemId } = await item(queueKey);
    return ['queue-item', 'account', 'service', 'workspace', 'queue', itemId] as const;
  };
});
