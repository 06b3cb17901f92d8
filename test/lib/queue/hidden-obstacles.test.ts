import assert from 'node:assert/strict';
import { QueueFarm, type Runtime } from '../../helpers/queue-farm';

const RULES = { printers: ['C1'], gate: 'confirm', match: 'strict' } as const;
const PRINTER = { uuid: 'P of C1', status: 'idle', enabled: true };
const UNREACHABLE = { uuid: 'P of C1', status: 'unreachable', enabled: true };

describe('queue: a printer whose plate hides another obstacle', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => {
    all = new QueueFarm();
    all.farm.metadata.set('job', { machine_variant: 'Maker', print: { estimated_time: 60 } });
  });
  afterEach(() => all.close());

  const shows = (printer: object, status: object = {}) =>
    all.farm.changes.set('C1', { printers: [printer], ...status });
  /** Lets the printer print an item, after which nobody clears its plate. */
  const printOne = async () => {
    shows({ ...PRINTER, machine_variant: 'Maker' });
    one = await all.begin(RULES);
    await one.add('printed');
    await all.pass(100);
  };

  for (const [what, status] of [
    ['unreachable', {}],
    ['offline', { is_online: false }],
  ] as const)
    it(`blocks no item for what is unknown of it while it is ${what}, also after a restart`, async () => {
      await printOne();
      shows(UNREACHABLE, status);
      await all.pass(60);
      await one.add('a');
      await all.pass(20);
      const restarted = one;
      await restarted.queue.close();
      all.kill(restarted);
      one = await all.begin(RULES);
      assert.deepEqual((await one.printers())[0]?.code, 'PLATE_NOT_CLEARED');
      assert.deepEqual([(await one.item('a')).state, await one.codes('a')], ['waiting', ['MODEL']]);
      assert.deepEqual([...restarted.types('item.blocked'), ...one.types('item.')], []);
    });

  const obstacles: Record<string, [printer: object, cluster?: object]> = {
    'is offline': [UNREACHABLE],
    'is disabled': [{ ...PRINTER, status: 'disabled', enabled: false }],
    'may not be used': [PRINTER, { status: 'inactive' }],
    'has a fault': [{ ...PRINTER, status: 'error' }],
    'is under maintenance': [{ ...PRINTER, status: 'maintenance' }],
  };
  for (const [why, [printer, cluster = {}]] of Object.entries(obstacles))
    it(`is expected to print nothing while it ${why}`, async () => {
      await printOne();
      await one.add('a', { orderId: 'order' });
      const seen = async () => {
        const { items, idleAt, orders } = await one.ask((queue) => queue.forecast());
        const { printers } = await one.ask((queue) => queue.board());
        const times = [items.at(-1)?.endAt, idleAt, orders[0]?.endAt, (await one.item('a')).eta];
        return [printers[0]?.code, printers[0]?.next?.name ?? null, times.map((time) => time !== null)];
      };
      assert.deepEqual(await seen(), ['PLATE_NOT_CLEARED', 'job', [true, true, true, true]]);
      shows({ machine_variant: 'Maker', ...printer });
      all.farm.clusters.set('C1', cluster);
      await all.pass(70);
      assert.deepEqual(await seen(), ['PLATE_NOT_CLEARED', null, [false, false, false, false]]);
    });

  it('is expected to print nothing if it was disabled during its print', async () => {
    shows({ ...PRINTER, machine_variant: 'Maker' });
    one = await all.begin({ ...RULES, gate: 'automatic' });
    await one.add('printing');
    shows({ ...PRINTER, machine_variant: 'Maker', status: 'printing', enabled: false });
    await all.pass(20);
    await one.add('a');
    const { idleAt } = await one.ask((queue) => queue.forecast());
    assert.deepEqual([(await one.printers())[0]?.code, (await one.item('a')).eta, idleAt], ['BUSY', null, null]);
  });
});
