import assert from 'node:assert/strict';
import { QueueFarm, type Runtime } from '../../helpers/queue-farm';
import { answer, at, type Wire } from '../events/observations';

const NIL = '00000000-0000-0000-0000-000000000000';
const MODES = ['confirm', 'printer', 'automatic'] as const;

const member = (status: string): Wire => ({ uuid: NIL, friendly_name: 'Member', status });
const here = (job: Wire): Wire => ({ ...job, printer_uuid: NIL, printed_on_uuid: NIL });
const past = (...jobs: Wire[]): Wire => ({ recently_completed: jobs.map(here) });
const print = (id: string): Wire => at(id, 'printing', 50);
const cleanup = (id: string): Wire => at(id, 'wait_cleanup', 100);
const finished = (id: string): Wire => at(id, 'finished', 100);
const failed = (id: string): Wire => at(id, 'failed', 50);

describe('queue: the plates of group members without ids of their own', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => {
    all = new QueueFarm();
    all.farm.clusters.set('C1', { host_guid: 'G' });
  });
  afterEach(() => all.close());

  /** A status of both members: what each of them has on its plate, and what has ended. */
  const both = (jobs: readonly Wire[], more: Wire = {}): Wire => {
    const isPrinting = ({ status }: Wire) => status === 'printing';
    const printers = [0, 1].map((of) => member(jobs[of] && isPrinting(jobs[of]) ? 'printing' : 'idle'));
    return { printers, print_jobs: jobs.map(here), ...more };
  };
  const start = async (gate: (typeof MODES)[number]) => {
    all.farm.changes.set('C1', answer(both([])));
    one = await all.begin({ printers: ['C1'], gate });
  };
  /** Shows statuses, one poll each. Returns the state of the plates. */
  const see = async (...wires: Wire[]): Promise<string> => {
    for (const wire of wires) {
      all.farm.changes.set('C1', answer(wire));
      await all.pass(10);
    }
    const plates = new Set((await one.printers()).map(({ plate }) => plate));
    return [...plates].join();
  };

  it('open by themselves after a print whose cleanup was seen to be over, in the mode printer', async () => {
    await start('printer');
    const over = both([], past(finished('a')));
    assert.equal(await see(both([print('a')]), both([cleanup('a')]), over, over), 'clear');
  });

  for (const gate of ['printer', 'automatic'] as const)
    it(`stay closed after a failed print while another member finishes, in the mode ${gate}`, async () => {
      await start(gate);
      const over = both([], past(finished('b'), failed('a')));
      await see(both([print('a'), print('b')]), both([print('b')], past(failed('a'))));
      assert.equal(await see(both([cleanup('b')], past(failed('a'))), over, over), 'awaiting');
      await one.add('item');
      await all.pass(60);
      assert.deepEqual(all.farm.sent, []);
      await one.clear(true, 'C1', NIL);
      assert.equal(all.farm.sent.length, 1);
    });

  it('open by themselves after prints that finished one after the other, in the mode automatic', async () => {
    await start('automatic');
    const over = both([], past(finished('b'), finished('a')));
    await see(both([print('a')]), both([print('b')], past(finished('a'))));
    assert.equal(await see(over, over), 'clear');
  });

  for (const gate of MODES)
    it(`stay closed after a print that vanished beside another one, in the mode ${gate}`, async () => {
      await start(gate);
      await see(both([print('a'), print('b')]), both([print('a')]), both([print('a')]));
      const over = both([], past(finished('a')));
      assert.equal(await see(both([cleanup('a')]), over, over), 'awaiting');
    });

  it('count as one print in any order of the list', async () => {
    await start('confirm');
    await see(both([print('a'), print('b')]), both([print('b'), print('a')]), both([print('a'), print('b')]));
    assert.deepEqual(one.types('plate'), []);
  });

  it('wait for a person once, however many cleanups go on', async () => {
    await start('confirm');
    const two = both([cleanup('a'), cleanup('b')]);
    const over = both([], past(finished('b'), finished('a')));
    assert.equal(await see(both([print('a'), print('b')]), two, two, two, over), 'awaiting');
    assert.deepEqual(one.types('plate'), ['plate.awaiting']);
    await one.clear(true, 'C1', NIL);
    assert.equal(await see(over, over), 'clear');
    assert.deepEqual(one.types('plate'), ['plate.awaiting', 'plate.cleared']);
  });

  it('stay clear while cleanups go on for which a person has cleared them', async () => {
    await start('confirm');
    const two = both([cleanup('a'), cleanup('b')]);
    await see(both([print('a'), print('b')]), two, two);
    await one.clear(true, 'C1', NIL);
    await see(two, both([], past(finished('b'), finished('a'))));
    assert.deepEqual(one.types('plate'), ['plate.awaiting', 'plate.cleared']);
  });

  it('leave a copy without a verdict until a person gives one, whatever another member prints', async () => {
    await start('confirm');
    all.farm.lives.push([
      [0, 'printing'],
      [20, 'finished'],
    ]);
    await one.add('item');
    await all.pass(60);
    const { uuid } = all.farm.prints[0]!;
    const own = here(finished(uuid));
    const foreign = both([print('b')], { recently_completed: [own] });
    await see(both([], { recently_completed: [own] }));
    assert.equal((await one.item('item')).state, 'active');
    await see(foreign, foreign, both([], { recently_completed: [here(finished('b')), own] }));
    assert.equal((await one.item('item')).state, 'active');
    await one.clear(true, 'C1', NIL);
    assert.equal((await one.item('item')).state, 'finished');
  });

  it('stay closed as the plate of the member that is left', async () => {
    await start('printer');
    await see(both([print('a'), print('b')]), both([print('b')], past(failed('a'))));
    const left = (job: Wire[], more: Wire = {}): Wire => ({
      printers: [member('idle')],
      print_jobs: job.map(here),
      ...more,
    });
    const over = left([], past(finished('b'), failed('a')));
    assert.equal(await see(left([cleanup('b')], past(failed('a'))), over, over), 'awaiting');
    await one.clear(true, 'C1');
    const next = left([], past(finished('c'), finished('b'), failed('a')));
    assert.equal(await see(left([print('c')]), left([cleanup('c')]), next, next), 'clear');
  });

  it('stay closed at the next runtime after what the one before has seen', async () => {
    await start('printer');
    await see(both([print('a'), print('b')]), both([print('b')], past(failed('a'))));
    all.kill(one);
    one = await all.begin({ printers: ['C1'], gate: 'printer' });
    const over = both([], past(finished('b'), failed('a')));
    assert.equal(await see(both([cleanup('b')], past(failed('a'))), over, over), 'awaiting');
  });
});
