import assert from 'node:assert/strict';
import type { PlateJudgement } from '../../../lib/queue/model/types';
import { asPrintingError } from '../../../lib/service/errors';
import { lost, QueueFarm, type Runtime, SCOPE } from '../../helpers/queue-farm';

describe('queue/verdicts', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (thrown: unknown) => asPrintingError(thrown).code,
    );
  const judge = (good: boolean, about: PlateJudgement) => codeOf(one.judge(good, about));
  const judges = async (at = 0) => (await one.printers())[at]?.judges ?? null;
  const print = async (copy = 1, attempt = 1) => ({ itemId: (await one.item('a')).itemId, copy, attempt });
  /** An item whose copy lies printed on the plate of C1. */
  const printed = async (gate: 'confirm' | 'printer' | 'automatic' = 'confirm', copies = 1) => {
    one = await all.begin({ printers: ['C1'], gate });
    await one.add('a', { copies });
    await all.pass(80);
  };

  it('name the print that lies on a plate, as explain names it, and none while the next one is under way', async () => {
    one = await all.begin({ printers: ['C1'], gate: 'confirm' });
    assert.equal(await judges(), null);
    await one.add('a', { copies: 2 });
    await all.pass(30);
    assert.equal(await judges(), null);
    await all.pass(50);
    assert.equal(await judges(), all.farm.prints[0]?.uuid);
    await one.clear(true);
    assert.equal(await judges(), all.farm.prints[0]?.uuid);
    await all.pass(20);
    assert.equal(await judges(), null);
  });

  it('judge the print that they name by item, copy and attempt, or by its job', async () => {
    await printed('confirm', 2);
    assert.equal(await judge(true, { print: await print() }), 'done');
    await all.pass(20);
    assert.equal(await one.outcome('a'), 'active: finished, printing; 1 good, 1 active');
    await all.pass(70);
    assert.equal(await judge(true, { judges: all.farm.prints[1]?.uuid }), 'done');
    assert.equal(await one.outcome('a'), 'finished: finished, finished; 2 good');
  });

  it('are refused for another print than the last one that ended there, and change nothing', async () => {
    await printed('confirm', 2);
    const first = await print();
    const id = (await judges())!;
    await one.clear(true);
    await all.pass(80);
    const before = await one.outcome('a');
    for (const about of [{ print: first }, { judges: id }, { judges: 'nothing' }, { print: { ...first, attempt: 7 } }])
      for (const good of [true, false]) assert.equal(await judge(good, about), 'NOT_ACCEPTED');
    // Both must mean the last print.
    assert.equal(await judge(true, { print: first, judges: (await judges())! }), 'NOT_ACCEPTED');
    assert.equal(await judge(true, { print: { ...first, itemId: 'unknown' } }), 'QUEUE_ITEM_NOT_FOUND');
    await all.pass(20);
    assert.equal(await one.outcome('a'), before);
    assert.equal((await one.printers())[0]?.plate, 'awaiting');
  });

  it('are refused once the next print has begun', async () => {
    await printed('confirm', 2);
    const first = await print();
    await one.clear(true);
    await all.pass(20);
    assert.equal(await judge(false, { print: first }), 'NOT_ACCEPTED');
    assert.equal(await one.outcome('a'), 'active: finished, printing; 1 good, 1 active');
  });

  it('change nothing when they are repeated, also after a restart', async () => {
    await printed();
    const named = await print();
    for (const about of [{ print: named }, { print: named }, { judges: (await judges())! }])
      assert.equal(await judge(true, about), 'done');
    all.kill(one);
    one = await all.begin({ printers: ['C1'], gate: 'confirm' });
    const written = JSON.stringify([...all.shared.values('queue-plate'), ...all.shared.values('queue-item')]);
    assert.equal(await judge(true, { print: named }), 'done');
    assert.equal(JSON.stringify([...all.shared.values('queue-plate'), ...all.shared.values('queue-item')]), written);
    assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
  });

  it('are refused where they contradict an earlier one by name, and correct it without a name', async () => {
    await printed();
    const named = await print();
    await judge(true, { print: named });
    await one.pause();
    assert.equal(await judge(false, { print: named }), 'NOT_ACCEPTED');
    assert.equal(await judge(false, { judges: (await judges())! }), 'NOT_ACCEPTED');
    assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
    assert.equal(await judge(false, {}), 'done');
    assert.equal(await one.outcome('a'), 'waiting: rejected; 1 waiting, 1 rejected');
    assert.equal(await judge(false, { print: named }), 'done');
    assert.equal(await judge(true, { print: named }), 'NOT_ACCEPTED');
    assert.equal(await one.outcome('a'), 'waiting: rejected; 1 waiting, 1 rejected');
  });

  it('that lay in a phone while the clock was set back are the later ones nevertheless', async () => {
    await printed('automatic');
    await one.clear(true);
    all.clock.set(all.clock.now() - 3_600_000);
    await one.pause();
    await one.clear(false);
    assert.equal(await one.outcome('a'), 'waiting: rejected; 1 waiting, 1 rejected');
  });

  it('name what closed a plate without a known print, anew with each closing', async () => {
    one = await all.begin({ printers: ['C1'], gate: 'confirm' });
    const seen = new Set<string>();
    for (let round = 0; round < 2; round++) {
      all.farm.changes.set('C1', { printers: [{ uuid: 'P of C1', status: 'printing' }] });
      await all.pass(200);
      assert.equal(await judges(), null);
      all.farm.changes.delete('C1');
      await all.pass(40);
      const name = (await judges())!;
      assert.ok(name && !seen.has(name), name);
      for (const earlier of seen) assert.equal(await judge(true, { judges: earlier }), 'NOT_ACCEPTED');
      seen.add(name);
      assert.equal(await judge(true, { judges: name }), 'done');
      assert.equal((await one.printers())[0]?.plate, 'clear');
    }
  });

  it('never clear the plate behind another damage of the record', async () => {
    one = await all.begin({ printers: ['C1'], gate: 'confirm' });
    const { store } = all.shared.runtime();
    const key = ['queue-plate', ...SCOPE, 'P of C1'] as const;
    const named: string[] = [];
    for (const damage of ['first', 'second']) {
      all.kill(one);
      await store.put(key, { damage });
      one = await all.begin({ printers: ['C1'], gate: 'confirm' });
      named.push((await judges())!);
    }
    assert.notEqual(named[0], named[1]);
    assert.equal(await judge(true, { judges: named[0]! }), 'NOT_ACCEPTED');
    assert.equal(await judge(true, { judges: named[1]! }), 'done');
  });

  it('clear each plate on its own where one print has closed those of all members', async () => {
    const member = (uuid: string) => ({ uuid, status: 'idle', enabled: true });
    all.farm.changes.set('C1', { printers: [member('M1'), member('M2')] });
    one = await all.begin({ printers: ['C1'], gate: 'confirm' });
    Object.assign(all.farm, { dispatch: 'lost', isHidden: true });
    await one.add('a');
    await all.pass(300);
    await one.settle('a', 'printed');
    const plates = async () => (await one.printers()).map(({ plate }) => plate);
    assert.deepEqual(await plates(), ['awaiting', 'awaiting']);
    const named = { print: await print() };
    await one.pause();
    await one.judge(true, named, 'C1', 'M1');
    assert.deepEqual(await plates(), ['clear', 'awaiting']);
    assert.equal(await codeOf(one.judge(false, named, 'C1', 'M2')), 'NOT_ACCEPTED');
    await one.judge(true, named, 'C1', 'M2');
    assert.deepEqual(await plates(), ['clear', 'clear']);
    assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
  });

  for (const gate of ['confirm', 'printer', 'automatic'] as const)
    it(`clear a plate in the mode ${gate} for a settled print that shows up under its name later`, async () => {
      one = await all.begin({ printers: ['C1'], gate });
      Object.assign(all.farm, { dispatch: 'lost', isHidden: true });
      await one.add('a');
      await all.pass(300);
      await one.pause();
      await one.settle('a', 'printed');
      await one.clear(true);
      all.farm.isHidden = false;
      await all.pass(100);
      assert.equal((await one.printers())[0]?.plate, 'clear');
      assert.equal(await judges(), all.farm.prints[0]?.uuid);
      assert.deepEqual(one.types('plate'), ['plate.awaiting', 'plate.cleared']);
      assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
      await one.clear(false);
      assert.equal(await one.outcome('a'), 'waiting: rejected; 1 waiting, 1 rejected');
    });

  for (const restarts of [false, true])
    it(`judge a late print whose next attempt has failed${restarts ? ', after a restart too' : ''}`, async () => {
      const rules = { printers: ['C1'], gate: 'confirm', retries: 1 } as const;
      one = await all.begin(rules);
      Object.assign(all.farm, { dispatch: 'lost', isHidden: true });
      await one.add('a', { copies: 2 });
      await all.pass(200);
      const [late] = all.farm.prints;
      all.farm.become(late, '');
      Object.assign(all.farm, { dispatch: 'accepted', isHidden: false });
      all.farm.lives.push([
        [0, 'printing'],
        [5, 'failed'],
      ]);
      await one.settle('a', 'not-printed');
      await all.pass(20);
      assert.equal(await one.outcome('a'), 'waiting: recalled, failed; 2 waiting');
      all.farm.become(late, 'printing');
      await all.pass(10);
      all.farm.become(late, 'finished');
      await all.pass(10);
      if (restarts) {
        all.kill(one);
        one = await all.begin(rules);
      }
      assert.equal(await one.outcome('a'), 'active: failed, finished; 1 active, 1 waiting');
      await one.clear(true);
      await all.pass(10);
      assert.equal(await one.outcome('a'), 'active: failed, finished, printing; 1 good, 1 active');
      assert.deepEqual(
        (await one.item('a')).prints.map(({ copy, attempt, goodParts }) => [copy, attempt, goodParts]),
        [
          [1, 2, 0],
          [1, 1, 1],
          [2, 1, null],
        ],
      );
    });

  it('do not concern a settled print that goes on under its name afterwards', async () => {
    one = await all.begin({ printers: ['C1'], gate: 'confirm' });
    Object.assign(all.farm, { dispatch: 'lost', isHidden: true });
    all.farm.lives.push([
      [0, 'printing'],
      [400, 'finished'],
    ]);
    await one.add('a');
    await all.pass(300);
    await one.settle('a', 'printed');
    await one.clear(true);
    all.farm.isHidden = false;
    await all.pass(150);
    assert.equal((await one.printers())[0]?.plate, 'awaiting');
  });

  it('on a copy in doubt or a failed one concern that attempt alone, and come too late once it is settled', async () => {
    one = await all.begin({ gate: 'automatic' });
    Object.assign(all.farm, { dispatch: 'lost', isHidden: true });
    await one.add('a', { copies: 2 });
    await all.pass(300);
    assert.equal(await one.outcome('a'), 'blocked: unknown, unknown; 2 unknown');
    await one.pause();
    assert.equal(await codeOf(one.settle('a', 'printed', 1, 2)), 'NOT_ACCEPTED');
    await one.settle('a', 'printed', 1, 1);
    assert.equal(await codeOf(one.settle('a', 'not-printed', 1, 1)), 'NOT_ACCEPTED');
    assert.equal(await one.outcome('a'), 'blocked: finished, unknown; 1 good, 1 unknown');
  });

  it('retry a copy on the printer where it failed the longest time ago, although both are as little used', async () => {
    one = await all.begin({ gate: 'automatic', printers: ['C1', 'C2'], choose: 'fewest-hours' });
    for (const clusterId of ['C1', 'C2']) all.farm.ended.set(clusterId, { started: false });
    for (let turn = 0; turn < 4; turn++) all.farm.lives.push([[0, 'failed']]);
    await one.add('a');
    for (let turn = 0; turn < 3; turn++) {
      await all.pass(30);
      await one.does('retry', 'a');
    }
    await all.pass(30);
    const [first, second, ...later] = (await one.item('a')).prints.map(({ clusterId }) => clusterId);
    assert.notEqual(first, second);
    assert.deepEqual(later, [first, second]);
  });

  it('retry one failed copy, and no other', async () => {
    one = await all.begin({ gate: 'automatic' });
    all.farm.lives.push(
      ...[1, 2].map(
        () =>
          [
            [0, 'printing'],
            [5, 'failed'],
          ] as const,
      ),
    );
    await one.add('a', { copies: 2 });
    await all.pass(60);
    assert.equal(await one.outcome('a'), 'failed: failed, failed; 2 failed');
    await one.pause();
    assert.equal(await codeOf(one.retry('a', { copy: 2, attempt: 2 })), 'NOT_ACCEPTED');
    assert.equal(await codeOf(one.retry('a', { copy: 3, attempt: null })), 'NOT_ACCEPTED');
    await one.retry('a', { copy: 2, attempt: 1 });
    assert.equal(await one.outcome('a'), 'waiting: failed, failed; 1 failed, 1 waiting');
    assert.equal(await codeOf(one.retry('a', { copy: 2, attempt: 1 })), 'NOT_ACCEPTED');
  });

  it('hold although the store failed for a while after them', async () => {
    await printed();
    const fail = { is: true };
    one.beforeUpdates(([kind]) => {
      if (kind === 'queue-item' && fail.is) throw lost();
    });
    await judge(true, { print: await print() });
    await all.pass(20);
    fail.is = false;
    await all.pass(90);
    assert.equal(await one.outcome('a'), 'finished: finished; 1 good');
  });
});
