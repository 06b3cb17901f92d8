import assert from 'node:assert/strict';
import type { PlateJudgement, QueueItem } from '../../../lib/queue/model/types';
import { asPrintingError } from '../../../lib/service/errors';
import { Deadline } from '../../../lib/time/deadline';
import { type Life, QueueFarm, type Runtime } from '../../helpers/queue-farm';

const endsAs = (word: string): Life => [
  [0, 'printing'],
  [5, word],
];

describe('queue/parts', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const begin = async (rules: Parameters<QueueFarm['start']>[0] = {}) =>
    (one = await all.begin({ printers: ['C1'], gate: 'automatic', ...rules }));
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (thrown: unknown) => asPrintingError(thrown).code,
    );
  /** Parts of an item, in short form, and its copies. */
  const shown = async (key = 'a') => {
    const { state, parts, copies, prints } = await one.item(key);
    const { good, rejected, owed } = parts ?? assert.fail('no parts');
    const made = prints.map((print) => `${print.copy}.${print.attempt} ${print.state} ${print.goodParts ?? '-'}`);
    return `${state}: ${good} good, ${rejected} rejected, ${owed} owed; ${copies.waiting}/${copies.total}: ${made.join(', ')}`;
  };
  const judge = (good: boolean, about: PlateJudgement = {}, clusterId = 'C1') =>
    codeOf(one.judge(good, about, clusterId));
  const types = () => one.types('item.').slice(1);

  it('decide the number of copies, and are good when enough prints have finished', async () => {
    await begin();
    const { item } = await one.add('a', { wanted: 10, perPrint: 4 });
    assert.deepEqual(item.parts, { wanted: 10, perPrint: 4, good: 0, rejected: 0, owed: 10 });
    assert.equal(item.copies.total, 3);
    await all.pass(80);
    assert.equal(await shown(), 'active: 4 good, 0 rejected, 2 owed; 1/3: 1.1 finished 4, 2.1 printing -');
    await all.pass(150);
    assert.equal(
      await shown(),
      'finished: 12 good, 0 rejected, 0 owed; 0/3: 1.1 finished 4, 2.1 finished 4, 3.1 finished 4',
    );
    assert.equal(all.farm.sent.length, 3);
    assert.deepEqual(
      (await one.item('a')).prints.map(({ perPrint }) => perPrint),
      [4, 4, 4],
    );
  });

  it('are null for an item of copies, whose prints make one', async () => {
    await begin({ gate: 'confirm' });
    await one.add('a', {});
    await all.pass(80);
    const { parts, prints } = await one.item('a');
    assert.deepEqual([parts, prints[0]?.perPrint, prints[0]?.goodParts], [null, 1, null]);
    await one.clear(true);
    assert.equal((await one.item('a')).prints[0]?.goodParts, 1);
  });

  it('beside copies, without a number, or of an item of copies are refused', async () => {
    await begin();
    await one.pause();
    assert.equal(await codeOf(one.add('x', { wanted: 2, copies: 2 })), 'INVALID_INPUT');
    assert.equal(await codeOf(one.add('x', { perPrint: 2 })), 'INVALID_INPUT');
    assert.equal(await codeOf(one.add('x', { alternatives: [{ jobId: 'other', perPrint: 2 }] })), 'INVALID_INPUT');
    await one.add('parts', { wanted: 4, perPrint: 2 });
    await one.add('copies', { copies: 2 });
    assert.equal(await codeOf(one.update('parts', { copies: 3 })), 'INVALID_INPUT');
    for (const changes of [{ wanted: 3 }, { perPrint: 3 }, { alternatives: [{ jobId: 'other', perPrint: 2 }] }])
      assert.equal(await codeOf(one.update('copies', changes)), 'INVALID_INPUT');
    assert.equal((await one.item('parts')).copies.total, 2);
    assert.equal((await one.item('copies')).copies.total, 2);
  });

  it('on a plate that awaits its verdict are covered, and the verdict counts them', async () => {
    await begin({ gate: 'confirm', printers: ['C1', 'C2'] });
    await one.add('a', { wanted: 6, perPrint: 4 });
    await all.pass(80);
    assert.equal(await shown(), 'active: 0 good, 0 rejected, 0 owed; 0/2: 1.1 finished -, 2.1 finished -');
    await one.pause();
    assert.equal(await judge(true, { goodParts: 3 }), 'done');
    assert.equal(await shown(), 'active: 3 good, 1 rejected, 0 owed; 0/2: 1.1 finished 3, 2.1 finished -');
    assert.equal(await judge(true, { goodParts: 2 }, 'C2'), 'done');
    assert.equal(await shown(), 'waiting: 5 good, 3 rejected, 1 owed; 1/3: 1.1 finished 3, 2.1 finished 2');
    assert.deepEqual((await one.item('a')).copies.good, 2);
    await one.resume();
    await all.pass(80);
    assert.equal(await judge(true, {}, 'C1'), 'done');
    assert.equal((await one.item('a')).state, 'finished');
    assert.equal((await one.item('a')).parts?.good, 9);
  });

  it('that are short go first among the items of their priority, as a new copy', async () => {
    await begin({ gate: 'confirm' });
    await one.add('a', { wanted: 4, perPrint: 4 });
    await one.add('b', { wanted: 1 });
    await all.pass(80);
    await judge(true, { goodParts: 1 });
    await all.pass(20);
    assert.equal(await shown(), 'active: 1 good, 3 rejected, 0 owed; 0/2: 1.1 finished 1, 2.1 printing -');
    assert.equal((await one.item('b')).state, 'waiting');
    assert.ok(!one.types('print.').includes('print.rejected'));
  });

  it('of which none is good are rejected: the copy is owed again, or not if nothing is short', async () => {
    await begin({ gate: 'confirm', printers: ['C1', 'C2'] });
    await one.add('a', { wanted: 2, perPrint: 2 });
    await all.pass(80);
    await one.pause();
    await judge(true, { goodParts: 0 });
    assert.equal(await shown(), 'waiting: 0 good, 2 rejected, 2 owed; 1/1: 1.1 rejected 0');
    assert.equal(one.types('print.').at(-1), 'print.rejected');
    await one.resume();
    await all.pass(80);
    // It prefers another printer.
    await judge(true, {}, 'C2');
    await all.pass(10);
    assert.equal((await one.item('a')).state, 'finished');
    // Nothing is short without this print.
    await one.add('b', { wanted: 4, perPrint: 2 });
    await all.pass(80);
    await one.update('b', { wanted: 2 });
    for (const clusterId of ['C1', 'C2']) await judge(clusterId === 'C2', {}, clusterId);
    await all.pass(30);
    assert.equal(await shown('b'), 'finished: 2 good, 2 rejected, 0 owed; 0/2: 1.1 rejected 0, 2.1 finished 2');
  });

  it('are corrected downwards and upwards until the next print begins, in every mode', async () => {
    for (const gate of ['automatic', 'printer', 'confirm'] as const) {
      all = new QueueFarm();
      await begin({ gate });
      await one.add('a', { wanted: 4, perPrint: 4 });
      await all.pass(80);
      await one.pause();
      const steps: [about: PlateJudgement, good: boolean, result: string][] = [
        [{ goodParts: 3 }, true, 'waiting: 3 good, 1 rejected, 1 owed; 1/2: 1.1 finished 3'],
        [{ goodParts: 4 }, true, 'finished: 4 good, 0 rejected, 0 owed; 0/1: 1.1 finished 4'],
        [{}, false, 'waiting: 0 good, 4 rejected, 4 owed; 1/1: 1.1 rejected 0'],
        [{ goodParts: 1 }, true, 'waiting: 1 good, 3 rejected, 3 owed; 1/2: 1.1 finished 1'],
        [{}, true, 'finished: 4 good, 0 rejected, 0 owed; 0/1: 1.1 finished 4'],
      ];
      for (const [about, good, result] of steps) {
        assert.equal(await judge(good, about), 'done');
        assert.equal(await shown(), result, gate);
      }
      all.kill(one);
      await begin({ gate });
      assert.equal(await shown(), steps.at(-1)?.[2]);
      if (gate !== 'confirm') await all.close();
    }
  });

  it('counted beyond the print, or on a bad plate, are refused', async () => {
    await begin({ gate: 'confirm' });
    await one.add('a', { wanted: 4, perPrint: 4 });
    await all.pass(80);
    assert.equal(await judge(true, { goodParts: 5 }), 'INVALID_INPUT');
    assert.equal(await judge(false, { goodParts: 1 }), 'INVALID_INPUT');
    assert.equal((await one.printers())[0]?.plate, 'awaiting');
    await one.does('remove', 'a');
    await judge(true);
    await one.add('b', {});
    await all.pass(80);
    assert.equal(await judge(true, { goodParts: 2 }), 'INVALID_INPUT');
    assert.equal(await judge(true, { goodParts: 0 }), 'done');
    assert.equal((await one.item('b')).copies.rejected, 1);
  });

  it('of a print that is not of the queue count nothing', async () => {
    await begin({ gate: 'confirm' });
    all.farm.printByHand('C1');
    await all.pass(80);
    assert.equal(await judge(true, { goodParts: 9_000 }), 'done');
    assert.equal((await one.printers())[0]?.plate, 'clear');
  });

  it('of a failed print are none unless somebody counts some: its copy stays failed', async () => {
    await begin({ gate: 'confirm' });
    all.farm.lives.push(endsAs('failed'));
    await one.add('a', { wanted: 4, perPrint: 4 });
    await all.pass(30);
    assert.equal(await shown(), 'failed: 0 good, 0 rejected, 4 owed; 0/1: 1.1 failed -');
    await judge(true);
    assert.equal(await shown(), 'failed: 0 good, 0 rejected, 4 owed; 0/1: 1.1 failed 0');
    await judge(true, { goodParts: 3 });
    assert.equal(await shown(), 'failed: 3 good, 0 rejected, 1 owed; 0/1: 1.1 failed 3');
    assert.deepEqual(types(), ['item.failed']);
    await judge(true, { goodParts: 4 });
    assert.equal(await shown(), 'finished: 4 good, 0 rejected, 0 owed; 0/1: 1.1 failed 4');
    assert.deepEqual(types(), ['item.failed', 'item.finished']);
  });

  it('of a print that vanished are none unless somebody counts some, and stay unless it is settled as not printed', async () => {
    for (const outcome of ['printed', 'not-printed'] as const) {
      all = new QueueFarm();
      await begin({ gate: 'confirm' });
      all.farm.lives.push([
        [0, 'printing'],
        [15, ''],
      ]);
      await one.add('a', { wanted: 4, perPrint: 4 });
      await all.pass(120);
      assert.equal(await shown(), 'blocked: 0 good, 0 rejected, 4 owed; 0/1: 1.1 unknown -');
      assert.equal(await judge(true), 'done');
      assert.equal(await shown(), 'blocked: 0 good, 0 rejected, 4 owed; 0/1: 1.1 unknown -');
      assert.equal(await judge(true, { goodParts: 3 }), 'done');
      assert.equal(await shown(), 'blocked: 3 good, 0 rejected, 1 owed; 0/1: 1.1 unknown 3');
      await one.pause();
      await one.settle('a', outcome, 1, 1);
      await all.pass(20);
      const result = {
        printed: 'waiting: 3 good, 1 rejected, 1 owed; 1/2: 1.1 finished 3',
        'not-printed': 'waiting: 0 good, 0 rejected, 4 owed; 1/1: 1.1 recalled -',
      };
      assert.equal(await shown(), result[outcome]);
      if (outcome === 'printed') await all.close();
    }
  });

  it('count once where one print has closed the plates of all members of a group', async () => {
    const member = (uuid: string) => ({ uuid, status: 'idle', enabled: true });
    all.farm.changes.set('C1', { printers: [member('M1'), member('M2')] });
    await begin({ gate: 'confirm' });
    Object.assign(all.farm, { dispatch: 'lost', isHidden: true });
    await one.add('a', { wanted: 2, perPrint: 4 });
    await all.pass(300);
    await one.settle('a', 'printed');
    const { itemId } = await one.item('a');
    const about = { print: { itemId, copy: 1, attempt: 1 }, goodParts: 2 };
    await one.judge(true, about, 'C1', 'M1');
    await one.judge(true, about, 'C1', 'M2');
    await all.pass(20);
    assert.equal(await shown(), 'finished: 2 good, 2 rejected, 0 owed; 0/1: 1.1 finished 2');
    assert.deepEqual(
      (await one.printers()).map(({ plate }) => plate),
      ['clear', 'clear'],
    );
  });

  it('are stored so that an older version of the pack, which would print copies, leaves them alone', async () => {
    await begin();
    await one.pause();
    await one.add('parts', { wanted: 2 });
    await one.add('copies', { copies: 2 });
    const stored = [...all.shared.values('queue-item').values()] as { queueKey: string; version: number }[];
    assert.deepEqual(Object.fromEntries(stored.map(({ queueKey, version }) => [queueKey, version])), {
      parts: 3,
      copies: 2,
    });
  });

  it('of a failed print are owed again by its retries and by a retry, and by nothing else', async () => {
    await begin({ retries: 1 });
    all.farm.lives.push(endsAs('failed'), endsAs('failed'));
    await one.add('a', { wanted: 2, perPrint: 2 });
    await all.pass(20);
    await one.clear(true);
    await all.pass(30);
    await one.clear(true);
    await all.pass(60);
    assert.equal(await shown(), 'failed: 0 good, 0 rejected, 2 owed; 0/1: 1.1 failed 0, 1.2 failed 0');
    await one.retry('a', { copy: 1, attempt: 2 });
    await all.pass(90);
    assert.equal((await one.item('a')).state, 'finished');
    assert.deepEqual(types(), ['item.failed', 'item.reopened', 'item.finished']);
  });

  it('finish the item once enough are good, whatever has failed or is held', async () => {
    await begin({ printers: ['C1', 'C2'] });
    all.farm.lives.push(endsAs('failed'), endsAs('aborted'));
    await one.add('a', { wanted: 6, perPrint: 2 });
    await all.pass(20);
    for (const clusterId of ['C1', 'C2']) await one.clear(true, clusterId);
    await all.pass(90);
    assert.equal(await shown(), 'held: 2 good, 0 rejected, 4 owed; 0/3: 1.1 failed 0, 2.1 aborted 0, 3.1 finished 2');
    await one.update('a', { wanted: 2 });
    assert.equal((await one.item('a')).state, 'finished');
    const { copies } = await one.item('a');
    assert.deepEqual([copies.failed, copies.held, copies.good], [0, 0, 1]);
    assert.deepEqual(types(), ['item.finished']);
    // Dropped copies cover nothing any more.
    await one.update('a', { wanted: 3 });
    await all.pass(80);
    assert.equal((await one.item('a')).parts?.good, 4);
    assert.deepEqual(types(), ['item.finished', 'item.reopened', 'item.finished']);
  });

  it('that are wanted may become fewer than are under way, and more on an ended item', async () => {
    await begin();
    await one.add('a', { wanted: 10, perPrint: 2 });
    await all.pass(20);
    await one.update('a', { wanted: 1 });
    assert.equal(await shown(), 'active: 0 good, 0 rejected, 0 owed; 0/1: 1.1 printing -');
    await all.pass(70);
    assert.equal(await shown(), 'finished: 2 good, 0 rejected, 0 owed; 0/1: 1.1 finished 2');
    await one.update('a', { wanted: 2 });
    assert.deepEqual(types(), ['item.finished']);
    await one.update('a', { wanted: 5 });
    assert.deepEqual(types(), ['item.finished', 'item.reopened']);
    await all.pass(150);
    assert.equal((await one.item('a')).parts?.good, 6);
  });

  it('per print change for the prints that are not sent yet', async () => {
    await begin();
    await one.add('a', { wanted: 10, perPrint: 2 });
    await all.pass(20);
    await one.update('a', { perPrint: 4 });
    assert.equal(await shown(), 'active: 0 good, 0 rejected, 8 owed; 2/3: 1.1 printing -');
    await all.pass(220);
    assert.equal(
      await shown(),
      'finished: 10 good, 0 rejected, 0 owed; 0/3: 1.1 finished 2, 2.1 finished 4, 3.1 finished 4',
    );
  });

  it('of alternatives count as their own files make', async () => {
    all.farm.metadata.set('job', { machine_variant: 'Large' }).set('small', { machine_variant: 'Small' });
    for (const [clusterId, model] of [
      ['C1', 'Small'],
      ['C2', 'Small'],
    ] as const)
      all.farm.changes.set(clusterId, {
        printers: [{ uuid: `P of ${clusterId}`, status: 'idle', enabled: true, machine_variant: model }],
      });
    await begin({ printers: ['C1', 'C2'], match: 'strict' });
    const { item } = await one.add('a', { wanted: 3, perPrint: 4, alternatives: [{ jobId: 'small', perPrint: 1 }] });
    assert.equal(item.copies.total, 1);
    for (const clusterId of ['C1', 'C2']) all.farm.changes.delete(clusterId);
    await all.pass(20);
    assert.deepEqual(all.farm.sent, ['C1 small', 'C2 small']);
    assert.equal(await shown(), 'active: 0 good, 0 rejected, 1 owed; 1/3: 1.1 printing -, 2.1 printing -');
  });

  it('that a removed item still wanted are cancelled: a verdict owes only what it rejects', async () => {
    await begin({ gate: 'confirm' });
    await one.add('a', { wanted: 10, perPrint: 2, orderId: 'o' });
    await all.pass(80);
    await one.does('remove', 'a');
    await judge(true, { goodParts: 1 });
    await all.pass(20);
    assert.equal((await one.item('a')).state, 'cancelled');
    assert.equal(all.farm.sent.length, 1);
    const finished = one.events.find(({ type }) => type === 'order.finished');
    assert.deepEqual(finished?.value, { orderId: 'o', good: 1, wanted: 1, cost: null, currency: null });
    await judge(false);
    await all.pass(20);
    assert.equal(all.farm.sent.length, 2);
    assert.equal((await one.item('a')).copies.waiting, 0);
  });

  it('of an order are counted where an item has them', async () => {
    await begin({ printers: ['C1', 'C2'] });
    await one.add('a', { wanted: 3, perPrint: 2, orderId: 'o' });
    await one.add('b', { copies: 1, orderId: 'o' });
    await all.pass(200);
    const finished = one.events.find(({ type }) => type === 'order.finished');
    assert.deepEqual(finished?.value, { orderId: 'o', good: 5, wanted: 4, cost: null, currency: null });
  });

  it('that are not needed any more are not sent, although their print was assigned', async () => {
    await begin({ printers: ['C1', 'C2'] });
    let asked: Promise<QueueItem[]> | undefined;
    // The last read before a print is sent.
    all.farm.onRead = () => {
      asked ??= one.queue.update({ queueKey: 'a' }, { wanted: 2 }, new Deadline(one.memory.clock, { ms: 60_000 }));
      return asked;
    };
    await one.add('a', { wanted: 4, perPrint: 2 });
    await all.pass(20);
    assert.equal(all.farm.sent.length, 1);
    assert.equal(await shown(), 'active: 0 good, 0 rejected, 0 owed; 0/1: 1.1 printing -');
  });

  for (const gate of ['confirm', 'printer'] as const)
    it(`are all there after a restart with the gate ${gate}`, async () => {
      await begin({ gate });
      await one.add('a', { wanted: 9, perPrint: 3, alternatives: [{ jobId: 'other', perPrint: 5 }] });
      for (const goodParts of [3, 1]) {
        await all.pass(80);
        await judge(true, { goodParts });
      }
      await all.pass(80);
      const before = await one.item('a');
      all.kill(one);
      await begin({ gate });
      const after = await one.item('a');
      assert.deepEqual([after.parts, after.copies, after.prints], [before.parts, before.copies, before.prints]);
    });
});
