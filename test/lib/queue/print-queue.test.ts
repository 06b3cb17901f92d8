import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { itemEnd } from '../../../lib/queue/model/types';
import { asPrintingError, PrintingError } from '../../../lib/service/errors';
import { Deadline } from '../../../lib/time/deadline';
import { phrase } from '../../../lib/words/sentence';
import { held } from '../../helpers/held';
import { settle } from '../../helpers/manual-clock';
import { OFFLINE, QueueFarm, type Runtime } from '../../helpers/queue-farm';
import { answer, at, job, type Wire } from '../events/observations';

const MINUTE = 60_000;

describe('queue/print-queue', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const begin = async (...given: Parameters<QueueFarm['start']>) => (one = await all.begin(...given));

  it('reacts to polls that show nothing new no more than once in a poll interval', async () => {
    await begin();
    let changes = 0;
    one.queue.watchState(() => changes++);
    await all.pass(300);
    assert.ok(changes > 2 && changes < 8, `${changes} reactions to 60 polls`);
  });

  it('shows in an event the newest prints of an item of many copies, and in a message all', async () => {
    await begin();
    await one.add('a', { copies: 30 });
    await all.pass(30 * 90);
    assert.equal((await one.item('a')).prints.length, 30);
    const ends = one.events.filter(({ print, type }) => print !== null && type !== 'item.queued');
    assert.ok(ends.length >= 30);
    for (const event of one.events) {
      assert.ok((event.item?.prints.length ?? 0) <= 20, `${event.type}: ${event.item?.prints.length} prints`);
      assert.ok(JSON.stringify(event).length < 20_000);
    }
  });

  describe('blocks', () => {
    const stateOf = async () => [(await one.item('a')).state, await one.codes('a')];

    it('an item whose model no printer has, unless one has been offline since the start', async () => {
      for (const clusterId of ['C1', 'C2']) all.farm.changes.set(clusterId, OFFLINE);
      await begin({ match: 'strict' });
      await one.add('a', { require: { models: ['Maker'] } });
      await all.pass(30);
      assert.deepEqual([await stateOf(), one.types('item.')], [['waiting', ['MODEL']], ['item.queued']]);
      all.farm.changes.clear();
      await all.pass(30);
      assert.deepEqual(await stateOf(), ['blocked', ['NO_PRINTER', 'MODEL']]);
    });

    it('no item while the service may still name the model of its file, which it is asked 12 times', async () => {
      await begin({ match: 'strict' });
      await one.add('a');
      await all.pass(30);
      assert.deepEqual(await stateOf(), ['waiting', ['MODEL_UNKNOWN']]);
      await all.pass(900);
      assert.equal((await stateOf())[0], 'blocked');
      assert.equal(all.farm.count('storedJob'), 1 + 12);
    });

    it('an item over a restart, until a printer that could take it was seen', async () => {
      const loaded = (guid: string, uuid: string) => ({
        ...{ uuid, status: 'idle', enabled: true },
        configuration: [{ extruder_index: 0, material: { guid, material: 'PLA' } }],
      });
      all.farm.metadata.set('job', {
        machine_variant: 'Maker',
        extruders: [{ extruder_index: 0, material: { guid: 'blue' }, material_volume: 9 }],
      });
      for (const clusterId of ['C1', 'C2'])
        all.farm.changes.set(clusterId, { printers: [loaded('red', `P of ${clusterId}`)] });
      await begin({ material: 'guid' });
      await one.add('a');
      await all.pass(20);
      assert.deepEqual([(await stateOf())[0], one.types('item.')], ['blocked', ['item.queued', 'item.blocked']]);
      all.kill(one);
      one = all.start({ material: 'guid' });
      await all.clock.advance(MINUTE);
      assert.equal((await stateOf())[0], 'blocked');
      all.poll('C1');
      await all.clock.advance(MINUTE);
      assert.deepEqual([(await stateOf())[0], one.types('item.')], ['blocked', []]);
      all.farm.changes.set('C1', { printers: [loaded('blue', 'P of C1')] });
      all.poll('C1');
      await all.clock.advance(1000);
      assert.deepEqual([(await stateOf())[0], one.types('item.')], ['active', ['item.unblocked']]);
    });

    for (const match of ['strict', 'lenient'] as const)
      for (const [what, odd] of [
        ['is unreachable', { status: 'unreachable' }],
        ['is under maintenance', { status: 'maintenance' }],
        ['is offline', { status: 'unreachable', is_online: false }],
      ] as const)
        it(`no item for a printer that ${what}, and whose status lacks its configuration, if the match is ${match}`, async () => {
          const material = { guid: 'red', material: 'PLA' };
          const configuration = [{ extruder_index: 0, print_core_id: 'AA 0.4', material }];
          const shows = (more: object, status: object = {}) => {
            const shown = { uuid: 'P', machine_variant: 'Maker', enabled: true, ...more };
            all.farm.changes.set('C1', { printers: [shown], ...status });
          };
          all.farm.metadata.set('job', {
            machine_variant: 'Maker',
            extruders: [{ extruder_index: 0, print_core_id: 'AA 0.4', material: { guid: 'red' }, material_volume: 9 }],
          });
          shows({ status: 'maintenance', configuration });
          await begin({ printers: ['C1'], match, material: 'guid' });
          await one.add('a');
          const { status, ...more } = odd;
          shows({ status }, more);
          await all.pass(30);
          assert.equal((await stateOf())[0], 'waiting');
          assert.deepEqual([one.types('item.'), all.farm.sent], [['item.queued'], []]);
          shows({ status: 'maintenance', configuration: [] });
          await all.pass(30);
          assert.deepEqual(await stateOf(), ['blocked', ['NO_PRINTER', 'PRINT_CORE']]);
        });

    it('an item whose file is gone from the service, and no printer', async () => {
      await begin({ printers: ['C1'] });
      await one.add('a', { held: true });
      all.farm.gone.add('job');
      await one.does('release', 'a');
      await all.pass(30);
      assert.deepEqual(await stateOf(), ['blocked', ['UPLOAD']]);
      assert.deepEqual(one.types('item.'), ['item.queued', 'item.blocked']);
      assert.deepEqual([(await one.printers())[0]?.code, all.farm.sent], [null, []]);
      all.farm.gone.clear();
      await one.does('retry', 'a');
      await all.pass(20);
      assert.deepEqual(all.farm.sent, ['C1 job']);
    });

    it('an item until the service has its file again, which it asks ever more rarely', async () => {
      await begin({ printers: ['C1'] });
      await one.add('a', { held: true });
      all.farm.gone.add('job');
      await one.does('release', 'a');
      await all.pass(30);
      assert.equal((await stateOf())[0], 'blocked');
      const asked = all.farm.count('storedJob');
      await all.pass(1_200);
      assert.ok(all.farm.count('storedJob') < asked + 8);
      assert.equal((await stateOf())[0], 'blocked');
      all.farm.gone.clear();
      await all.pass(1_000);
      assert.deepEqual(all.farm.sent, ['C1 job']);
      assert.deepEqual(one.types('item.').slice(0, 3), ['item.queued', 'item.blocked', 'item.unblocked']);
    });
  });

  it('uses a printer that is connected later, where it may use every printer of the account', async () => {
    all.farm.clusters.clear();
    await begin({ printers: [] });
    await one.add('a');
    await all.pass(30);
    all.farm.clusters.set('C7', {});
    await all.pass(180);
    assert.deepEqual([[...one.held], all.farm.sent], [['C7'], ['C7 job']]);
    all.farm.clusters.delete('C7');
    await all.pass(130);
    assert.deepEqual([...one.held], []);
  });

  it('blocks no item because a single list lacks a printer, where it may use every printer of the account', async () => {
    all.farm.metadata.set('job', { machine_variant: 'Maker' });
    await begin({ printers: [] });
    await one.pause('C2');
    await one.add('a', { require: { printers: ['C2'] } });
    const lists = async (...lacking: boolean[]) => {
      for (const isLacking of lacking) {
        if (isLacking) all.farm.unlisted.add('C2');
        else all.farm.unlisted.clear();
        await all.pass(120);
      }
      return one.types('item.');
    };
    assert.deepEqual(await lists(true, false, true, false), ['item.queued']);
    assert.deepEqual(await lists(true, true), ['item.queued', 'item.blocked']);
    assert.deepEqual(await lists(false), ['item.queued', 'item.blocked', 'item.unblocked']);
  });

  it('prefers what the service states about a file to what the file states, for every item of it', async () => {
    all.farm.changes.set('C1', { printers: [{ uuid: 'P', status: 'idle', machine_variant: 'Maker' }] });
    await begin({ printers: ['C1'], match: 'strict' });
    const head = ';START_OF_HEADER\n;HEADER_VERSION:0.1\n;FLAVOR:Griffin\n;TARGET_MACHINE.NAME:Other\n;END_OF_HEADER\n';
    const source = () => Promise.resolve({ kind: 'bytes' as const, bytes: Buffer.from(head), name: 'a.gcode' });
    for (const key of ['a', 'b']) await one.add(key, { source, jobId: null });
    const models = async (key: string) => (await one.item(key)).requires.models;
    assert.deepEqual([await models('a'), await one.codes('a')], [['Other'], ['NO_PRINTER', 'MODEL']]);
    all.farm.metadata.set('job', { machine_variant: 'Maker' });
    await all.pass(70);
    assert.deepEqual([await models('a'), await models('b'), all.farm.count('storedJob')], [['Maker'], ['Maker'], 1]);
    assert.deepEqual(all.farm.sent, ['C1 job']);
  });

  it('begins to print a stream within seconds after the service has found its model', async () => {
    all.farm.changes.set('C1', { printers: [{ uuid: 'P', status: 'idle', machine_variant: 'Maker' }] });
    await begin({ printers: ['C1'], match: 'strict' });
    const source = () =>
      Promise.resolve({ kind: 'stream' as const, stream: Readable.from(['G28']), size: 3, name: 'a.gcode' });
    await one.add('a', { source, jobId: null });
    assert.deepEqual([await one.codes('a'), all.farm.sent], [['MODEL_UNKNOWN'], []]);
    all.farm.metadata.set('job', { machine_variant: 'Maker' });
    await all.pass(20);
    assert.deepEqual(all.farm.sent, ['C1 job']);
  });

  it('goes on printing when a file that somebody adds can’t be read', async () => {
    await begin({ printers: ['C1'] });
    await one.add('a', { copies: 2 });
    const source = () => Promise.reject(new PrintingError('FILE_NOT_READABLE', phrase`Empty.`));
    const errors = new Set<unknown>();
    one.queue.watchState(({ error }) => errors.add(error));
    await assert.rejects(one.add('b', { source }), { code: 'FILE_NOT_READABLE' });
    await all.pass(70);
    assert.equal(all.farm.sent.length, 2);
    assert.deepEqual([...errors], [null]);
  });

  it('states when each listed item begins and ends', async () => {
    await begin({ printers: ['C1'] });
    await one.add('a', { copies: 2 });
    await one.add('b', { held: true });
    await all.pass(20);
    const { eta } = await one.item('a');
    assert.ok(eta, 'no forecast');
    const wait = (text: string) => Date.parse(text) - all.clock.now();
    assert.ok(wait(eta.startAt) <= 0 && wait(eta.endAt) > MINUTE, JSON.stringify(eta));
    assert.equal((await one.item('b')).eta, null);
  });

  it('states no times of an item that has ended, is held or was removed', async () => {
    await begin({ printers: ['C1'] });
    for (const queueKey of ['a', 'b', 'c']) await one.add(queueKey);
    await all.pass(20);
    for (const queueKey of ['a', 'b', 'c']) assert.ok((await one.item(queueKey)).eta, queueKey);
    const [held] = await one.does('hold', 'b');
    const [removed] = await one.does('remove', 'c');
    assert.deepEqual([held?.state, held?.eta, removed?.state, removed?.eta], ['held', null, 'cancelled', null]);
    await all.pass(50);
    const ends = one.events.filter(({ type }) => ['item.finished', 'item.cancelled'].includes(type));
    assert.deepEqual(
      ends.map(({ type, item }) => [type, item?.eta]),
      [
        ['item.cancelled', null],
        ['item.finished', null],
      ],
    );
  });

  it('says that a print waits for the beginning of the one before', async () => {
    await begin({ stagger: MINUTE });
    all.farm.lives.push([
      [0, 'queued'],
      [30, 'printing'],
    ]);
    await one.add('a');
    await one.add('b');
    await all.pass(10);
    const texts = async () => (await one.item('b')).waitingFor.map(({ code, text }) => [code, String(text)]);
    assert.deepEqual((await texts())[0], ['STAGGER', 'The next print has to wait: the last one has not begun yet.']);
    await all.pass(30);
    assert.match(String((await texts())[0]), /^STAGGER,The next print may start at 2/);
  });

  it('names the copy whose part waits on a plate, and none once a foreign print has followed it', async () => {
    await begin({ gate: 'confirm', printers: ['C1'] });
    const { item } = await one.add('a', { copies: 2 });
    const shown = async () => (await one.printers()).map(({ plate, current }) => [plate, current]);
    await all.pass(30);
    const current = { itemId: item.itemId, copy: 1, attempt: 1, clusterJobId: 'print-1' };
    assert.deepEqual(await shown(), [['clear', current]]);
    await all.pass(40);
    assert.deepEqual(await shown(), [['awaiting', current]]);
    const [explained] = await one.ask((queue) => queue.explain({ queueKey: 'a' }));
    const [{ clusterId, code } = assert.fail()] = explained?.waitingFor ?? [];
    assert.deepEqual([clusterId, code], ['C1', 'PLATE_NOT_CLEARED']);
    all.farm.printByHand('C1', [[0, 'finished']]);
    await all.pass(10);
    assert.deepEqual(await shown(), [['awaiting', null]]);
  });

  it('sends nothing to a printer whose firmware is being written', async () => {
    const showing = (word: string) => ({ printers: [{ uuid: 'P', status: 'idle', firmware_update_status: word }] });
    all.farm.changes.set('C1', showing('update_in_progress'));
    await begin({ printers: ['C1'] });
    await one.add('a');
    await all.pass(60);
    const [printer] = await one.printers();
    assert.deepEqual([printer?.code, await one.codes('a'), all.farm.sent], ['MAINTENANCE', ['MAINTENANCE'], []]);
    all.farm.changes.set('C1', showing('update_available'));
    await all.pass(20);
    assert.deepEqual(all.farm.sent, ['C1 job']);
  });

  it('lists from memory and starts nothing while the store can’t be written, and says so', async () => {
    await begin();
    await one.add('a', { held: true });
    one.memory.cutOff();
    await assert.rejects(one.does('release', 'a'));
    await all.pass(60);
    assert.deepEqual([(await one.item('a')).state, await one.codes('a')], ['held', ['HELD', 'NO_STORE']]);
    one.memory.reconnect();
    await all.pass(60);
    await one.does('release', 'a');
    await all.pass(70);
    assert.equal((await one.item('a')).state, 'finished');
  });

  it('starts a print a stagger after the start before it was seen, and expects the same', async () => {
    await begin({ stagger: 3 * MINUTE });
    all.farm.lives.push([
      [0, 'queued'],
      [200, 'printing'],
    ]);
    await one.add('a', { copies: 2 });
    const { items } = await one.ask((queue) => queue.forecast());
    assert.ok(items[0]?.endAt);
    await all.pass(360);
    assert.equal(all.farm.sent.length, 1, 'it may begin at any moment');
    await all.pass(60);
    const [first, second] = all.farm.prints.map((print) => print.at / 1000);
    const seenAt = (first ?? 0) + 200;
    assert.ok((second ?? 0) >= seenAt + 180 && (second ?? 0) < seenAt + 210, `${first} ${second}`);
  });

  it('lists ended items for their time, also after a restart, and knows their keys for at least 90 days', async () => {
    const rules = { keepFor: 60 * MINUTE };
    await begin(rules);
    /** Times for which the store keeps items, days; 0: for ever. */
    const kept = new Set<number>();
    one.beforeUpdates(([kind], { keepFor = 0 } = {}) => kind === 'queue-item' && kept.add(keepFor / MINUTE / 1440));
    for (const queueKey of ['old', null]) await one.add('', { queueKey, orderId: 'order' });
    await all.pass(90);
    assert.deepEqual([...kept].sort(), [0, 1 / 24, 90]);
    await all.clock.stall(25 * 60 * MINUTE);
    await all.pass(70);
    await one.add('new', { orderId: 'order' });
    await all.pass(90);
    const ids = one.events.filter(({ type }) => type === 'order.finished').map(({ id }) => id);
    assert.deepEqual([ids.length, new Set(ids).size], [2, 2]);
    const listed = async () => (await one.list()).map(({ queueKey }) => queueKey);
    assert.deepEqual(await listed(), ['new']);
    await one.queue.close();
    all.kill(one);
    await begin(rules);
    assert.deepEqual(await listed(), ['new']);
    assert.equal((await one.add('old')).duplicate, true);
    await one.update('old', { priority: 1 });
    await all.pass(60);
    assert.deepEqual([await listed(), one.types('order.')], [['new'], []]);
  });

  it('hides no item that has just ended because the clock was set ahead', async () => {
    await begin({ keepFor: 60 * MINUTE });
    await one.add('a');
    await all.pass(80);
    all.clock.set(all.clock.now() + 200 * 1440 * MINUTE);
    await all.pass(60);
    assert.equal((await one.list()).length, 1);
  });

  it('lists what is open before what has ended, and of that the newest first, over all pages', async () => {
    await begin();
    for (const key of ['first', 'second', 'third', 'blocked', 'active', 'later', 'sooner']) {
      const require = key === 'blocked' ? { tags: ['none'] } : {};
      await one.add(key, { require, held: key !== 'first' });
      await all.pass(1);
    }
    await all.pass(90);
    await one.does('release', 'blocked');
    for (const key of ['third', 'second']) {
      await one.does('remove', key);
      await all.pass(5);
    }
    await one.does('release', 'active');
    await all.pass(10);
    await one.pause();
    await one.update('sooner', { priority: 5 });
    for (const key of ['later', 'sooner']) await one.does('release', key);
    await all.pass(5);
    const page = async (from: number, limit: number) =>
      (await one.queue.list({ from, limit })).map(({ queueKey }) => queueKey);
    const open = ['sooner', 'later', 'blocked', 'active'];
    assert.deepEqual(await page(0, 100), [...open, 'second', 'third', 'first']);
    assert.deepEqual(await page(0, 4), open);
    assert.deepEqual(await page(4, 2), ['second', 'third']);
  });

  it('keeps what is changed, added or removed while all records are read again', async () => {
    await begin();
    await one.pause();
    for (const key of ['changed', 'same']) await one.add(key);
    const { store } = one.memory;
    const list = store.list.bind(store);
    const read: (() => void)[] = [];
    store.list = async (...given) => {
      const page = await list(...given);
      await new Promise<void>((resolve) => read.push(resolve));
      return page as never;
    };
    one.memory.cutOff();
    one.memory.reconnect();
    await all.pass(10);
    await one.does('hold', 'changed');
    await one.add('added');
    assert.ok(read.length > 0);
    store.list = list;
    for (const go of read) go();
    await all.pass(10);
    const held = (await one.list()).map(({ queueKey, held }) => [queueKey, held]);
    assert.deepEqual(held.sort(), [
      ['added', false],
      ['changed', true],
      ['same', false],
    ]);
  });

  it('says that an item may have been added when the time ends while it is saved, unless its key adds it once', async () => {
    await begin();
    const saving = held();
    one.beforeUpdates((key) => (key.includes('queue-item') ? saving.promise : undefined));
    const add = (queueKey: string | null) =>
      one.ask((queue) => {
        const deadline = new Deadline(one.memory.clock, { ms: 1_000 });
        return queue.add({ source: null, jobId: 'job', jobName: '', queueKey, onProgress: () => undefined, deadline });
      });
    await assert.rejects(add(null), { code: 'TIMEOUT', message: /not known whether the item was added/ });
    await assert.rejects(add('a'), { code: 'TIMEOUT', message: /try again/ });
    saving.release();
    await settle();
    assert.equal((await one.list()).length, 2);
    assert.equal((await one.add('a')).duplicate, true);
  });

  describe('answers a wait for the end of an item', () => {
    const results: unknown[] = [];
    let node: AbortController;
    const wait = (itemId: string) =>
      void one.queue.endOf(itemId, node.signal).then(
        (item) => results.push(item?.state ?? null),
        (thrown: unknown) => results.push(asPrintingError(thrown).code),
      );
    beforeEach(() => {
      results.length = 0;
      node = new AbortController();
    });

    it('once it has ended, at once when it had, and not again', async () => {
      await begin();
      const { item } = await one.add('a');
      wait(item.itemId);
      await all.pass(20);
      assert.deepEqual(results, []);
      await all.pass(60);
      wait(item.itemId);
      await settle();
      assert.deepEqual(results, ['finished', 'finished']);
      const { item: other } = await one.add('b', { held: true });
      await one.does('remove', 'b');
      const errorOf = async ({ itemId }: typeof item) =>
        (await itemEnd(one.queue, { itemId, duplicate: false }, node.signal))?.error?.code;
      assert.deepEqual([await errorOf(item), await errorOf(other)], [undefined, 'PRINT_FAILED']);
    });

    it('that does not exist, but not while it can’t be read', async () => {
      await begin();
      one.memory.cutOff();
      wait('unknown');
      await all.pass(20);
      assert.deepEqual(results, []);
      one.memory.reconnect();
      await all.pass(20);
      assert.deepEqual(results, ['QUEUE_ITEM_NOT_FOUND']);
    });

    it('with nothing when the node or the queue closes', async () => {
      await begin();
      const { item } = await one.add('a', { held: true });
      wait(item.itemId);
      node.abort();
      node = new AbortController();
      wait(item.itemId);
      void one.queue.close();
      await settle();
      assert.deepEqual(results, [null, null]);
    });
  });

  describe('gives the reason of a printer', () => {
    const idle = { uuid: 'P1', machine_variant: 'Maker', status: 'idle', enabled: true };
    const like = (more: Wire) => ({ printers: [{ ...idle, ...more }] });
    const group = (...states: Wire[]) => ({
      printers: states.map((state, nth) => ({ ...idle, uuid: `P${nth + 1}`, ...state })),
    });
    const jobs = (...print_jobs: Wire[]) => ({ print_jobs });
    const failed = { recently_completed: [at('x', 'failed', 50, { printer_uuid: 'P2' })] };
    const cleanup = jobs(at('z', 'wait_cleanup', 100, { printer_uuid: 'P2' }));
    const [BUSY, OFFLINE, FAULT, PLATE] = ['BUSY', 'OFFLINE', 'FAULT', 'PLATE_NOT_CLEARED'];

    const REASONS: [wire: Wire, codes: string, text?: RegExp][] = [
      [{}, 'free'],
      [{ ...like({ status: 'printing' }), ...jobs(at('x', 'printing', 10)) }, BUSY, /is printing/],
      [{ is_online: false, ...jobs(at('x', 'printing', 10)) }, BUSY, /had a print when it went offline/],
      [{ recently_completed: [at('x', 'failed', 50)] }, PLATE, /^Nobody has confirmed yet/],
      [jobs(job('y', 'sent_to_printer', { printer_uuid: 'P1' })), BUSY],
      [jobs(job('y', 'queued')), 'FOREIGN_JOB'],
      [{ is_online: false, printers: [] }, OFFLINE],
      [like({ status: 'unreachable' }), OFFLINE],
      [like({ enabled: false }), 'DISABLED'],
      [like({ status: 'error' }), FAULT],
      [like({ errors: [{ code: 'E1' }] }), FAULT, /E1/],
      [like({ faults: [{ code: 'F1', severity: 'critical' }] }), FAULT, /F1/],
      [like({ faults: [{ code: 'F1', severity: 'info' }] }), 'free'],
      [like({ status: 'maintenance' }), 'MAINTENANCE'],
      [like({ maintenance_required: true }), 'MAINTENANCE'],
      [like({ status: 'printing' }), BUSY],
      [jobs(at('z', 'wait_cleanup', 100)), PLATE, /asks for a clear plate/],
      [{ is_online: false, ...jobs(at('z', 'wait_cleanup', 100)) }, OFFLINE],
      [group({}, {}, {}), 'free free free'],
      [{ ...group({}, {}), ...jobs(job('x', 'queued')) }, 'FOREIGN_JOB FOREIGN_JOB'],
      [{ ...group({}, {}), ...jobs(at('x', 'printing', 10, { printer_uuid: 'P2' })) }, `free ${BUSY}`],
      [{ ...group({}, {}), ...failed }, `${PLATE} ${PLATE}`],
      [{ ...group({}, { status: 'error' }), ...failed }, `free ${PLATE}`],
      [{ ...group({}, {}), ...failed, ...cleanup }, `free ${PLATE}`],
    ];

    it('by its status, whatever was seen before', async () => {
      all.farm.changes.set('C1', answer(like({})));
      await begin({ printers: ['C1'] });
      for (const [wire, codes, text = /^/] of REASONS) {
        all.farm.changes.set('C1', answer({ printers: [idle], ...wire }));
        await all.pass(10);
        const printers = await one.printers();
        assert.equal(printers.map(({ code }) => code ?? 'free').join(' '), codes, JSON.stringify(wire));
        const [first] = printers;
        assert.match(String(first?.text), text);
        if (first?.plate === 'awaiting') await one.clear(true, 'C1', first.printerId);
      }
    });

    it('with its own name, which tells the members of a group apart', async () => {
      const named = group({ friendly_name: 'Left' }, { friendly_name: 'Right' });
      all.farm.changes.set('C1', answer(named));
      await begin({ printers: ['C1'] });
      const names = (await one.printers()).map(({ clusterName, printerName }) => [clusterName, printerName]);
      assert.deepEqual(names, [
        ['C1', 'Left'],
        ['C1', 'Right'],
      ]);
    });

    it('that was not polled for two intervals, or is not authorised', async () => {
      await begin();
      all.farm.clusters.set('C2', { status: 'inactive', authorized: false });
      await all.pass(10);
      const codes = async () => (await one.printers()).map(({ code }) => code);
      assert.deepEqual(await codes(), [null, 'INACTIVE']);
      all.farm.unreadable.add('C1');
      await all.pass(130);
      assert.deepEqual(await codes(), ['STALE', 'INACTIVE']);
    });

    it('of a group that has got as many prints as members suit it', async () => {
      all.farm.changes.set('C1', answer(group({}, {}, { machine_variant: 'Other' })));
      all.farm.isHidden = true;
      await begin({ printers: ['C1'] });
      await one.add('a', { copies: 5, require: { models: ['Maker'] } });
      await all.pass(20);
      assert.equal(all.farm.sent.length, 2);
      assert.deepEqual(await one.codes('a'), ['BUSY', 'MODEL']);
    });
  });
});
