import assert from 'node:assert/strict';
import type { World } from '../../simulator/index';
import { Bench, type Wire } from './support';

describe('simulator: the plate after a print', () => {
  let bench: Bench;
  let world: World;
  let jobId: string;
  beforeEach(async () => {
    bench = await Bench.start();
    ({ world } = bench.simulator);
    jobId = await bench.upload(';TIME:600\n');
  });
  afterEach(() => bench.simulator.close());

  /** Seconds until the end of a print, including the cooling. */
  const WHOLE = 5 + 90 + 600 + 60 + 1;

  const plate = (number = 1, printer = 0): boolean => world.cluster(number).printers[printer]!.uncleared === true;
  const ended = async (): Promise<Wire> => (await bench.status()).recently_completed[0];
  const overPart = (): (true | undefined)[] => world.cluster(1).log.map((print) => print.overPart);

  it('is cleared after the cleanup state by default, so that the next print starts on a clear one', async () => {
    await bench.print(jobId);
    await bench.print(jobId);
    bench.pass(WHOLE);
    assert.equal((await bench.status()).print_jobs[0].status, 'wait_cleanup');
    assert.equal(plate(), true);
    bench.pass(2 * WHOLE + 600);
    assert.equal(plate(), false);
    await bench.status();
    assert.deepEqual(overPart(), [undefined, undefined]);
  });

  it('is never shown as waiting where a printer has no cleanup state', async () => {
    world.setCleaning(1, 'none');
    await bench.print(jobId);
    bench.pass(WHOLE);
    const { printers, print_jobs: jobs, recently_completed: history } = await bench.status();
    assert.deepEqual([printers[0].status, jobs, history[0].status], ['idle', [], 'finished']);
    assert.equal(plate(), true);
    world.clearPlate(1);
    assert.equal(plate(), false);
  });

  it('is never shown as waiting after an abort either', async () => {
    world.setCleaning(1, 'none');
    await bench.print(jobId);
    bench.pass(195);
    world.abort(1);
    bench.pass(71);
    assert.deepEqual([(await ended()).status, plate()], ['aborted', true]);
  });

  it('is recorded when a print starts on an earlier part', async () => {
    world.setCleaning(1, 'none');
    await bench.print(jobId);
    await bench.print(jobId);
    bench.pass(2 * WHOLE);
    world.clearPlate(1);
    await bench.print(jobId);
    bench.pass(WHOLE);
    assert.equal((await bench.status()).print_jobs.length, 0);
    assert.deepEqual(overPart(), [undefined, true, undefined]);
  });

  it('has a part on it after a failure, and none after a print that never began', async () => {
    world.setEndWords(1, 'short');
    await bench.print(jobId);
    bench.pass(50);
    world.fail(1);
    assert.deepEqual([(await ended()).status, plate()], ['failed', false]);
    await bench.print(jobId);
    bench.pass(195);
    world.fail(1);
    assert.deepEqual([(await ended()).status, plate()], ['failed', true]);
  });

  it('ends the wait of its print when somebody clears it, twice without harm, but not under a print', async () => {
    world.setCleaning(1, 'manual');
    const uuid = await bench.print(jobId);
    bench.pass(WHOLE);
    world.clearPlate(1);
    world.clearPlate(1);
    const last = await ended();
    assert.deepEqual([last.uuid, last.status, plate()], [uuid, 'finished', false]);
    await bench.print(jobId);
    bench.pass(195);
    assert.throws(() => world.clearPlate(1), /state/);
  });

  it('is one of several in a group', async () => {
    const clusterId = world.addCluster({ printers: 2, cleaning: 'none', model: 'simulated_maker_one' });
    const number = world.clusters().findIndex((cluster) => cluster.clusterId === clusterId) + 1;
    await bench.print(jobId, number);
    await bench.print(jobId, number);
    bench.pass(WHOLE);
    await bench.status(number);
    world.clearPlate(number, 2);
    assert.deepEqual([plate(number, 0), plate(number, 1)], [true, false]);
    assert.throws(() => world.clearPlate(number, 3), /found/);
  });
});
