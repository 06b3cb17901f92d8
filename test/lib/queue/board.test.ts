import assert from 'node:assert/strict';
import type { Answer, Board, BoardEvent, Need } from '../../../lib/queue/model/types';
import { asPrintingError } from '../../../lib/service/errors';
import { type Life, QueueFarm, type Runtime } from '../../helpers/queue-farm';

const endsAs = (word: string): Life => [
  [0, 'printing'],
  [5, word],
];
const printer = (clusterId: string, more: object = {}) => ({
  printers: [{ uuid: `P of ${clusterId}`, status: 'idle', enabled: true, ...more }],
});

describe('queue/board', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const begin = async (rules: Parameters<QueueFarm['start']>[0] = {}) =>
    (one = await all.begin({ printers: ['C1', 'C2'], gate: 'confirm', ...rules }));
  const board = () => one.ask((queue) => queue.board());
  const needs = async (kind: Need['kind']) => (await board()).todo.filter((need) => need.kind === kind);
  const the = async (kind: Need['kind']): Promise<Need> => {
    const [need, ...others] = await needs(kind);
    assert.ok(need && others.length === 0, `${others.length + (need ? 1 : 0)} needs of the kind ${kind}`);
    return need;
  };
  const labels = ({ answers }: Need) => answers.map(({ label }) => String(label));
  /** Sends an answer back, as a page does. */
  const press = (need: Need | undefined, label: string) => {
    assert.ok(need);
    const answer = need.answers.find((one_) => String(one_.label) === label) ?? assert.fail(labels(need).join());
    return send(answer);
  };
  const send = ({ action, properties }: Answer): Promise<unknown> => {
    const { itemId, clusterId, printerId = null, copy, attempt, ...rest } = properties as Record<string, never>;
    const target = { itemId: itemId ?? '' };
    return one.ask((queue, deadline): Promise<unknown> => {
      if (action === 'settle')
        return queue.settle(target, { outcome: rest.outcome!, copy: copy!, attempt: attempt! }, deadline);
      if (action === 'retry') return queue.retry(target, deadline, { copy: copy!, attempt: attempt! });
      if (action === 'update') return queue.update(target, { require: rest.require }, deadline);
      if (action === 'remove') return queue.remove(target, deadline);
      const print = itemId === undefined ? undefined : { itemId, copy: copy!, attempt: attempt! };
      const about = { print, judges: rest.judges, goodParts: rest.goodParts };
      return queue.plateCleared({ clusterId: clusterId!, printerId }, rest.good!, deadline, about);
    });
  };
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (thrown: unknown) => asPrintingError(thrown).code,
    );

  it('shows printers with their jobs, what comes next and what is loaded, items with a sentence, orders and counts', async () => {
    const configuration = [
      {
        ...{
          extruder_index: 0,
          print_core_id: 'AA 0.4',
          estimated_material_volume: 250,
          original_material_volume: 1000,
        },
        material: { guid: 'g', brand: 'B', material: 'PLA', color: 'Red' },
      },
    ];
    all.farm.changes.set('C2', printer('C2', { configuration }));
    await begin({ printers: ['C1', 'C2'] });
    await one.pause('C2');
    await one.add('a', { orderId: 'o' });
    await one.add('b', { orderId: 'o', copies: 2 });
    await all.pass(20);
    const shown = await board();
    const [first, second] = shown.printers;
    assert.deepEqual([first?.state, first?.progress !== null, first?.job?.clusterJobId], ['printing', true, 'print-1']);
    assert.equal(first?.next?.itemId, (await one.item('b')).itemId);
    assert.deepEqual([second?.state, String(second?.sentence).slice(0, 13)], ['paused', 'No new prints']);
    assert.deepEqual(second?.materials, [
      {
        ...{ extruder: 0, slot: null, left: 0.25, volume: 250 },
        material: { guid: 'g', brand: 'B', name: 'PLA', color: 'Red' },
      },
    ]);
    assert.deepEqual(
      shown.items.map(({ queueKey, sentence }) => [queueKey, String(sentence)]),
      [
        ['b', (await one.item('b')).waitingFor[0]?.text.toString()],
        ['a', 'It prints on C1.'],
      ],
    );
    assert.deepEqual(
      shown.orders.map(({ orderId, good, wanted, late }) => [orderId, good, wanted, late]),
      [['o', 0, 3, false]],
    );
    assert.deepEqual([shown.counts.active, shown.counts.waiting], [1, 1]);
    assert.equal(shown.forecast.items.length, 2);
    assert.deepEqual(shown.todo, []);
  });

  it('shows every printer, and forecasts, although one names a time that no print takes', async () => {
    const foreign = { uuid: 'foreign', status: 'printing', time_total: 60, time_elapsed: 6, time_remaining: 1e15 };
    all.farm.changes.set('C2', { ...printer('C2', {}), print_jobs: [foreign] });
    all.farm.metadata.set('slow', { print: { estimated_time: 1e15 } });
    await begin();
    await one.add('a');
    await one.add('b', { jobId: 'slow' });
    await all.pass(20);
    const { printers, items, forecast } = await board();
    assert.deepEqual(
      printers.map(({ state, endAt }) => [state, endAt]),
      [
        ['printing', null],
        ['printing', null],
      ],
    );
    assert.deepEqual([items.length, forecast.items.length], [2, 2]);
  });

  it('shows the items as list does, and the last that have ended', async () => {
    await begin({ gate: 'automatic' });
    for (const key of ['a', 'b', 'c']) await one.add(key);
    await all.pass(150);
    await one.pause();
    await one.add('d');
    const shown = await board();
    assert.deepEqual(
      shown.items.map(({ sentence: _, ...item }) => item),
      await one.list(),
    );
  });

  it('shows when items end until it may have another forecast, however long that took', async () => {
    all.farm.lives.push([[0, 'printing']]);
    await begin({ gate: 'automatic', printers: ['C1'] });
    for (const key of ['a', 'b']) await one.add(key);
    const monotonic = all.clock.monotonic;
    let late = 0;
    all.clock.monotonic = () => monotonic() + (late += 500);
    const ends = async () => (await board()).items.map(({ eta }) => eta?.endAt);
    const known = await ends();
    all.clock.monotonic = () => monotonic() + late;
    await one.pause();
    await all.pass(70);
    assert.ok(known.every(Boolean), String(known));
    assert.deepEqual(await ends(), known);
  });

  it('offers the verdicts on a plate, each of which names its print', async () => {
    await begin({ printers: ['C1'] });
    await one.add('a', { copies: 2 });
    await all.pass(80);
    const need = await the('plate');
    assert.deepEqual(
      [need.clusterId, need.itemId, labels(need)],
      ['C1', (await one.item('a')).itemId, ['Good', 'Bad']],
    );
    assert.ok(need.since);
    assert.equal((await the('plate')).id, need.id);
    await press(need, 'Good');
    assert.equal((await board()).todo.length, 0);
    await all.pass(90);
    // An answer that lay in a phone for an hour never judges the next plate.
    const next = await the('plate');
    assert.notEqual(next.id, need.id);
    for (const label of ['Good', 'Bad']) assert.equal(await codeOf(press(need, label)), 'NOT_ACCEPTED');
    await press(next, 'Bad');
    await press(next, 'Bad');
    await all.pass(10);
    assert.equal((await one.item('a')).copies.rejected, 1);
  });

  it('offers the verdict that a copy waits for, also once the printer with its part has left the account', async () => {
    await begin({ printers: [] });
    await one.add('a', { require: { printers: ['C1'] } });
    await all.pass(80);
    const { id } = await the('plate');
    all.farm.clusters.delete('C1');
    await all.pass(400);
    assert.deepEqual(
      (await one.printers()).map(({ clusterId }) => clusterId),
      ['C2'],
    );
    const need = await the('plate');
    assert.deepEqual([need.id, need.clusterId, labels(need)], [id, 'C1', ['Good', 'Bad']]);
    await press(need, 'Good');
    assert.equal((await board()).todo.length, 0);
    assert.equal((await one.item('a')).state, 'finished');
  });

  it('offers the verdict that a copy waits for once the printer with its part has left its group', async () => {
    const member = (uuid: string) => ({ uuid, status: 'idle', enabled: true });
    const show = (uuids: string[], more = {}) =>
      all.farm.changes.set('C1', { printers: uuids.map((uuid) => member(uuid)), ...more });
    show(['P1', 'P2', 'P3']);
    await begin({ printers: ['C1'] });
    await one.add('a');
    await all.pass(20);
    const ended = { uuid: all.farm.prints[0]?.uuid, status: 'finished', started: true, printer_uuid: 'P1' };
    const past = { print_jobs: [], recently_completed: [ended] };
    show(['P1', 'P2', 'P3'], past);
    await all.pass(20);
    const { id } = await the('plate');
    for (const left of [['P2', 'P3'], ['P2']]) {
      show(left, past);
      await all.pass(20);
      assert.deepEqual(
        (await one.printers()).map(({ plate }) => plate),
        left.map(() => 'clear'),
      );
      const need = await the('plate');
      assert.deepEqual([need.id, need.clusterId, need.printerId, labels(need)], [id, 'C1', 'P1', ['Good', 'Bad']]);
    }
    await press(await the('plate'), 'Good');
    assert.equal((await board()).todo.length, 0);
    assert.equal((await one.item('a')).state, 'finished');
  });

  it('says how many parts are good at most, and clears the plate of a print that made none or is not known', async () => {
    await begin({ printers: ['C1'] });
    await one.add('a', { wanted: 8, perPrint: 4 });
    await all.pass(80);
    const need = await the('plate');
    assert.deepEqual(
      need.answers.map(({ properties }) => [properties.good, properties.goodParts]),
      [
        [true, 4],
        [false, undefined],
      ],
    );
    all.farm.lives.push(endsAs('failed'));
    await press(need, 'Good');
    await all.pass(40);
    assert.deepEqual(labels(await the('plate')), ['Clear']);
    await press(await the('plate'), 'Clear');
    assert.equal((await needs('plate')).length, 0);
    await one.pause();
    all.farm.printByHand('C1');
    await all.pass(80);
    const foreign = await the('plate');
    assert.deepEqual([labels(foreign), foreign.itemId], [['Clear'], null]);
    await press(foreign, 'Clear');
    assert.equal((await needs('plate')).length, 0);
  });

  it('offers what settles a copy in doubt, and what revives a failed one, by copy and attempt', async () => {
    await begin({ gate: 'automatic', printers: ['C1'] });
    Object.assign(all.farm, { dispatch: 'lost', isHidden: true });
    await one.add('a');
    await all.pass(200);
    const doubt = await the('unknown');
    assert.deepEqual(labels(doubt), ['It printed', 'It did not print']);
    assert.deepEqual(await needs('blocked'), []);
    Object.assign(all.farm, { dispatch: 'accepted', isHidden: false });
    all.farm.become(all.farm.prints[0], '');
    all.farm.lives.push(endsAs('failed'));
    await press(doubt, 'It did not print');
    await all.pass(40);
    assert.equal(await codeOf(press(doubt, 'It printed')), 'NOT_ACCEPTED');
    const failed = await the('failed');
    assert.deepEqual(labels(failed), ['Again']);
    await press(await the('plate'), 'Clear');
    await press(failed, 'Again');
    assert.equal(await codeOf(press(failed, 'Again')), 'NOT_ACCEPTED');
    await all.pass(80);
    assert.equal((await one.item('a')).state, 'finished');
  });

  it('offers the printers for an item of which nobody knows the model', async () => {
    for (const id of ['C1', 'C2'])
      all.farm.changes.set(id, printer(id, { machine_variant: id === 'C1' ? 'Maker' : 'Other' }));
    await begin({ match: 'strict', gate: 'automatic' });
    await one.add('a', { require: { tags: [], printCores: [] } });
    await all.pass(900);
    const need = await the('blocked');
    assert.deepEqual(labels(need), ['Print on C1', 'Print on C2', 'Remove']);
    assert.match(String(need.text), /does not name its printer model\. Choose a printer/);
    assert.deepEqual(need.answers[1]?.properties.require, {
      ...{ tags: [], printCores: [], printers: ['C2'], models: ['Other'] },
    });
    await press(need, 'Print on C2');
    await all.pass(20);
    assert.deepEqual(all.farm.sent, ['C2 job']);
  });

  it('offers to print without a material that no printer has, never without the model', async () => {
    const configuration = [{ extruder_index: 0, print_core_id: 'AA 0.4', material: { guid: 'red', material: 'PLA' } }];
    for (const id of ['C1', 'C2']) all.farm.changes.set(id, printer(id, { machine_variant: 'Maker', configuration }));
    const extruders = [{ extruder_index: 0, print_core_id: 'AA 0.4', material: { guid: 'blue' } }];
    all.farm.metadata.set('job', { machine_variant: 'Maker', extruders });
    all.farm.metadata.set('other', { machine_variant: 'Another', extruders });
    await begin({ match: 'strict', material: 'guid', gate: 'automatic' });
    await one.add('a');
    await one.add('b', { jobId: 'other' });
    await all.pass(30);
    const blocked = await needs('blocked');
    assert.deepEqual(blocked.map(labels), [['Print anyway', 'Remove'], ['Remove']]);
    assert.deepEqual(
      blocked.map(({ text }) => String(text).replace(/^.*?: /, '')),
      [
        'no printer of the queue could take it. For example: Extruder 1 needs the material blue; it has PLA red.',
        'no printer of the queue could take it. For example: It needs the model Another; the printer is Maker.',
      ],
    );
    assert.deepEqual(blocked[0]?.answers[0]?.properties.require, { materials: [null] });
    const [short] = await needs('material');
    assert.deepEqual(short?.answers, []);
    await press(blocked[0], 'Print anyway');
    await all.pass(10);
    assert.deepEqual((await one.item('a')).requires.materials, [null]);
    assert.notEqual((await one.item('a')).state, 'blocked');
  });

  it('names no material as short after a restart before it has seen every printer', async () => {
    const configuration = [{ extruder_index: 0, material: { guid: 'red', material: 'PLA' } }];
    for (const id of ['C1', 'C2']) all.farm.changes.set(id, printer(id, { configuration }));
    all.farm.metadata.set('job', { extruders: [{ extruder_index: 0, material: { guid: 'red' }, material_volume: 9 }] });
    await begin({ match: 'lenient', material: 'guid' });
    await one.add('a', { copies: 9 });
    assert.deepEqual(await needs('material'), []);
    all.kill(one);
    for (const id of ['C1', 'C2']) all.farm.unreadable.add(id);
    one = all.start({ printers: ['C1', 'C2'], gate: 'confirm', match: 'lenient', material: 'guid' });
    assert.deepEqual(await needs('material'), []);
    assert.equal((await board()).items.length, 1);
  });

  it('lists printers that are offline, and an account that is not signed in', async () => {
    await begin();
    all.farm.changes.set('C2', { is_online: false, printers: [], print_jobs: [], recently_completed: [] });
    await all.pass(20);
    const offline = await the('offline');
    assert.deepEqual([offline.clusterId, offline.answers], ['C2', []]);
    await all.pass(30);
    assert.deepEqual(await the('offline'), offline);
    all.account.become('sign-in-needed');
    await all.pass(5);
    assert.equal((await the('sign-in')).id, 'sign-in');
  });

  it('is sent at once and after changes, at most once a second, and not without one', async () => {
    await begin({ gate: 'automatic' });
    const sent: { event: BoardEvent; at: number }[] = [];
    const stop = one.queue.watchBoard((event) => sent.push({ event, at: all.clock.monotonic() }));
    await all.clock.advance(100);
    assert.deepEqual(
      sent.map(({ event }) => [event.type, 'id' in event, event.queueName]),
      [['queue.board', false, 'Queue']],
    );
    await all.pass(60);
    // Idle printers are polled, and show nothing new.
    assert.equal(sent.length, 1);
    await one.add('a');
    await all.pass(40);
    assert.ok(sent.length > 3, String(sent.length));
    for (const [at, { at: time }] of sent.entries()) if (at > 0) assert.ok(time - (sent[at - 1]?.at ?? 0) >= 1_000);
    const progress = sent.map(({ event }) => event.value.printers[0]?.progress);
    assert.ok(new Set(progress).size > 2, progress.join());
    stop();
    const before = sent.length;
    await one.add('b');
    await all.pass(30);
    assert.equal(sent.length, before);
  });

  it('keeps the objects of entries that did not change', async () => {
    await begin({ gate: 'automatic', printers: ['C1'] });
    await one.pause();
    for (const key of ['a', 'b']) await one.add(key);
    const boards: Board[] = [];
    one.queue.watchBoard(({ value }) => boards.push(value));
    await all.pass(5);
    await one.update('b', { owner: 'somebody' });
    await all.pass(5);
    const [first, last] = [boards[0], boards.at(-1)];
    assert.notEqual(first, last);
    assert.equal(first?.items[0], last?.items[0]);
    assert.notEqual(first?.items[1], last?.items[1]);
    assert.equal(first?.printers, last?.printers);
  });

  it('is made of what is known while the store can’t be written', async () => {
    await begin({ gate: 'automatic' });
    await one.add('a', { held: true });
    one.memory.cutOff();
    await all.pass(30);
    const shown = await board();
    assert.deepEqual([shown.items.map(({ queueKey }) => queueKey), shown.counts.held], [['a'], 1]);
    one.memory.reconnect();
  });

  it('is made of what is stored after a restart', async () => {
    await begin({ printers: ['C1'] });
    await one.add('a', { wanted: 2, perPrint: 2 });
    await all.pass(80);
    const before = await the('plate');
    all.kill(one);
    await begin({ printers: ['C1'] });
    assert.deepEqual(await the('plate'), before);
  });
});
