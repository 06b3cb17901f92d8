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
});
