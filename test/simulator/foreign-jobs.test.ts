import assert from 'node:assert/strict';
import type { World } from '../../simulator/index';
import { Bench, type Wire } from './support';
import { pluck } from '../helpers/pluck';

describe("simulator: somebody else's print", () => {
  let bench: Bench;
  let world: World;
  let jobId: string;
  beforeEach(async () => {
    bench = await Bench.start();
    ({ world } = bench.simulator);
    jobId = await bench.upload(';TIME:600\n');
  });
  afterEach(() => bench.simulator.close());

  const jobs = async (): Promise<Wire[]> => (await bench.status()).print_jobs;

  it('starts at the printer, pauses and is aborted there', async () => {
    world.printLocally(1, { name: 'by-hand.gcode', seconds: 600 });
    bench.pass(200);
    world.pause(1);
    bench.pass(5);
    const [paused] = await jobs();
    assert.deepEqual(
      [paused.status, paused.sent_from, paused.cloud_job_id, paused.owner],
      ['paused', 'usb', '', undefined],
    );
    world.abort(1);
    bench.pass(70);
    assert.equal((await jobs())[0].status, 'aborted_wait_cleanup');
  });

  it('waits in the queue of an idle printer until its release', async () => {
    world.printLocally(1, { name: 'later.gcode', seconds: 600, from: 'cloud', held: true });
    bench.pass(3600);
    const { printers, print_jobs: waiting } = await bench.status();
    assert.equal(printers[0].status, 'idle');
    const [job] = waiting;
    assert.deepEqual([job.status, job.sent_from, job.cloud_job_id, job.owner], ['queued', 'cloud', '', 'Theo Teacher']);
    world.release(1);
    bench.pass(6);
    assert.equal((await jobs())[0].status, 'pre_print');
  });

  it('comes between the choice of a printer and the dispatch', async () => {
    const world = { action: 'print-locally', name: 'by-hand.gcode', seconds: 600 };
    bench.simulator.faults.add({ endpoint: 'print', world });
    const ours = await bench.print(jobId);
    bench.pass(10);
    const [foreign, waiting] = await jobs();
    assert.deepEqual([foreign.name, foreign.status], ['by-hand.gcode', 'pre_print']);
    assert.deepEqual([waiting.uuid, waiting.status], [ours, 'queued']);
  });

  it('makes a printer without a queue refuse the dispatch', async () => {
    world.setCapabilities(
      1,
      world.cluster(1).capabilities.filter((name) => name !== 'queue'),
    );
    const event = { action: 'print-locally', name: 'by-hand.gcode', seconds: 600 };
    bench.simulator.faults.add({ endpoint: 'print', world: event });
    const reply = await bench.api('POST', `/connect/v1/clusters/${bench.clusterId()}/print/${jobId}`);
    assert.deepEqual([reply.status, reply.json.errors[0].code], [409, 'printerNotAcceptingJobs']);
  });

  it('removes a waiting job of ours from the queue, but none that prints', async () => {
    const [running, waiting] = [await bench.print(jobId), await bench.print(jobId)];
    bench.pass(100);
    world.removeJob(1, waiting);
    assert.deepEqual(pluck(await jobs(), 'uuid'), [running]);
    const path = `/connect/v1/clusters/${bench.clusterId()}/print_jobs/${waiting}`;
    assert.equal((await bench.api('GET', path)).json.data.state, 'deleted');
    assert.throws(() => world.removeJob(1, running), /state/);
  });
});

describe('simulator: a removed file', () => {
  let bench: Bench;
  let jobId: string;
  beforeEach(async () => {
    bench = await Bench.start();
    jobId = await bench.upload(';TIME:600\n');
  });
  afterEach(() => bench.simulator.close());

  it('fails the prints that wait for it, and none that has it', async () => {
    const [running, waiting] = [await bench.print(jobId), await bench.print(jobId)];
    bench.pass(10);
    bench.simulator.world.removeStoredJob(jobId);
    bench.pass(5 + 90 + 600 + 60 + 300 + 10);
    const { print_jobs: jobs, recently_completed: history } = await bench.status();
    assert.deepEqual(
      [jobs, history.map((job: Wire) => [job.uuid, job.status])],
      [
        [],
        [
          [waiting, 'failed'],
          [running, 'finished'],
        ],
      ],
    );
  });

  it('is unknown to a dispatch that comes right after', async () => {
    bench.simulator.faults.add({ endpoint: 'print', world: { action: 'remove-stored-job' } });
    const reply = await bench.api('POST', `/connect/v1/clusters/${bench.clusterId()}/print/${jobId}`);
    assert.deepEqual([reply.status, reply.json.errors[0].code], [404, 'recordNotFound']);
  });
});
