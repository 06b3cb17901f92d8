import assert from 'node:assert/strict';
import type { PrintEvent } from '../../lib/events/print-event';
import type { Inbox } from '../helpers/flow';
import { TimedBench, watchNode } from './support';

const MINUTE = 60;
/** Time from the start of a print until its first layer, s. */
const HEATING = 5 + 90;

describe('nodes/cluster-status: prints that stall', () => {
  const bench = new TimedBench('status', 'events', 'others');
  const { events, others } = bench.inboxes as Record<'status' | 'events' | 'others', Inbox>;

  const node = (changes = {}) => watchNode({ cluster: bench.clusterIds[0], interval: 20, ...changes });
  const other = (changes = {}) => node({ id: 'other', wires: [[], ['others']], ...changes });
  const watch = async (...nodes: ReturnType<typeof node>[]) => {
    await bench.deploy(nodes);
    await bench.time.settled();
  };
  const stalls = (inbox = events) =>
    inbox.all.map(({ payload }) => payload as PrintEvent).filter(({ type }) => type === 'job.stalled');
  const minutes = (inbox = events) => stalls(inbox).map(({ value }) => value);
  const print = (seconds = 10_000) => bench.simulator.world.printLocally(1, { name: 'part', seconds });

  beforeEach(() => bench.start());
  afterEach(() => bench.stop());

  it("reports a print without progress after each node's own minutes, once per standstill", async () => {
    const { time, simulator } = bench;
    await watch(node({ stalled: 5 }), other({ stalled: '15' }));
    const { uuid } = print();
    await time.pass(HEATING + 20 * MINUTE);
    assert.deepEqual([minutes(), minutes(others)], [[], []]);
    for (const round of [1, 2]) {
      simulator.world.stall(1);
      await time.pass(4.5 * MINUTE);
      assert.deepEqual([minutes().length, minutes(others).length], [round - 1, round - 1]);
      await time.pass(1.5 * MINUTE);
      assert.deepEqual([minutes().length, minutes(others).length], [round, round - 1]);
      await time.pass(60 * MINUTE);
      simulator.world.unstall(1);
      await time.pass(5 * MINUTE);
    }
    assert.deepEqual(
      [minutes(), minutes(others)],
      [
        [5, 5],
        [15, 15],
      ],
    );
    const [first] = events.all.filter(({ topic }) => topic === 'job.stalled');
    assert.deepEqual([first?.clusterId, first?.clusterJobId], [bench.clusterIds[0], uuid]);
    const { job, printerName, late } = stalls()[0]!;
    assert.deepEqual([job?.clusterJobId, job?.state, typeof printerName, late], [uuid, 'printing', 'string', false]);
    assert.equal(new Set([...stalls(), ...stalls(others)].map(({ id }) => id)).size, 4);
  });

  for (const stalled of [undefined, '', 0, '0'])
    it(`reports nothing where the setting is ${JSON.stringify(stalled)}`, async () => {
      await watch(node({ stalled }));
      print();
      await bench.time.pass(HEATING + MINUTE);
      bench.simulator.world.stall(1);
      await bench.time.pass(300 * MINUTE);
      assert.deepEqual(stalls(), []);
    });

  it('reports nothing of a print that waits, heats, is paused, cools down, or whose printer is offline', async () => {
    const { time, simulator } = bench;
    const { world } = simulator;
    world.setCleaning(1, 'manual');
    await watch(node({ stalled: 5 }));
    print(1_000);
    print(1_000);
    await time.pass(HEATING + MINUTE);
    world.pause(1);
    await time.pass(60 * MINUTE);
    world.resume(1);
    await time.pass(MINUTE);
    world.setOnline(1, false);
    await time.pass(6 * MINUTE);
    world.setOnline(1, true);
    await time.pass(60 * MINUTE);
    assert.deepEqual(stalls(), []);
    assert.deepEqual(
      world.cluster(1).queue.map(({ status }) => status),
      ['wait_cleanup', 'queued'],
    );
  });

  it('counts on after a pause, an outage of the service, a deploy and a restart, and reports the print once', async () => {
    const { time } = bench;
    await watch(node({ stalled: 10 }));
    print();
    await time.pass(HEATING + MINUTE);
    const { world, faults } = bench.simulator;
    world.stall(1);
    await time.pass(3 * MINUTE);
    world.pause(1);
    await time.pass(30 * MINUTE);
    world.resume(1);
    await time.pass(2 * MINUTE);
    faults.add({ endpoint: 'clusterStatus', times: 'always', status: 500 });
    await time.pass(40 * MINUTE);
    faults.clear();
    await time.pass(MINUTE);
    await watch(node({ stalled: 10, name: 'deployed' }));
    await time.pass(MINUTE);
    await bench.restart(() => time.pass(60 * MINUTE));
    await watch(node({ stalled: 10 }));
    assert.deepEqual(stalls(), []);
    await time.pass(MINUTE);
    assert.deepEqual(stalls(), []);
    await time.pass(8 * MINUTE);
    assert.deepEqual(minutes(), [10]);
    await bench.restart();
    await watch(node({ stalled: 10 }));
    await time.pass(60 * MINUTE);
    assert.deepEqual(stalls(), []);
  });
});
