import assert from 'node:assert/strict';
import { Bench, withoutAddresses, type Wire } from './support';

describe('simulator: life cycle of a print', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const ten = ';TIME:600\nG28\n';

  it('passes through all phases in virtual time, and ends in the history', async () => {
    const uuid = await bench.print(await bench.upload(ten));
    const seen: string[] = [];
    const read = async (): Promise<Wire> => {
      const { printers, print_jobs: jobs, recently_completed: history } = await bench.status();
      const job = [...jobs, ...history].find((other: Wire) => other.uuid === uuid);
      seen.push(`${job.status} ${job.state} ${job.time_elapsed}/${job.time_total} ${printers[0].status}`);
      return { job, printer: printers[0] };
    };
    const cold = await read();
    bench.pass(6);
    await read();
    bench.pass(95);
    const hot = await read();
    bench.pass(300);
    await read();
    bench.pass(300);
    await read();
    bench.pass(70);
    await read();
    bench.pass(300);
    await read();
    assert.deepEqual(seen, [
      'sent_to_printer sending 0/600 pre_print',
      'pre_print in_progress 0/600 pre_print',
      'printing in_progress 6/600 printing',
      'printing in_progress 306/600 printing',
      'post_print in_progress 600/600 printing',
      'wait_cleanup in_progress 600/600 printing',
      'finished history 600/600 idle',
    ]);
    assert.ok(cold.printer.configuration[0].temperature < 30);
    assert.ok(hot.printer.configuration[0].temperature > 190);
    assert.equal(hot.job.time_remaining, 594);
    assert.equal(hot.job.created_at, '2030-01-01T00:00:00.000Z');
  });

  it('makes no progress and does not end while a print is stalled, and goes on afterwards', async () => {
    const { world } = bench.simulator;
    await bench.print(await bench.upload(ten));
    bench.pass(95 + 100);
    const read = async () => {
      const [{ status, time_elapsed: elapsed }] = (await bench.status()).print_jobs;
      return `${status} ${elapsed}`;
    };
    world.stall(1);
    const seen = [await read()];
    bench.pass(5000);
    seen.push(await read());
    world.pause(1);
    bench.pass(10);
    world.resume(1);
    bench.pass(10);
    seen.push(await read());
    world.unstall(1);
    bench.pass(20);
    seen.push(await read());
    bench.pass(485);
    seen.push(await read());
    assert.deepEqual(seen, ['printing 100', 'printing 100', 'printing 100', 'printing 120', 'post_print 600']);
    assert.throws(() => world.stall(1), /No print job is in a state/);
  });

  it('has the same result in one leap as in many steps', async () => {
    const other = await Bench.start();
    try {
      for (const one of [bench, other]) {
        const jobId = await one.upload(ten);
        await one.print(jobId);
        await one.print(jobId);
      }
      for (let step = 0; step < 500; step++) {
        bench.pass(5);
        bench.simulator.world.clusters();
      }
      other.pass(2500);
      assert.deepEqual(withoutAddresses(await bench.status()), withoutAddresses(await other.status()));
    } finally {
      await other.simulator.close();
    }
  });

  it('runs at the time factor, while timestamps stay real', async () => {
    const fast = await Bench.start({ timeFactor: 60 });
    try {
      await fast.print(await fast.upload(ten));
      fast.pass(5);
      const [job] = (await fast.status()).print_jobs;
      assert.equal(job.status, 'printing');
      assert.equal(job.time_elapsed, 205);
      assert.equal(job.created_at, '2030-01-01T00:00:00.000Z');
      assert.equal((await fast.status()).generated_time, '2030-01-01T00:00:05.000Z');
    } finally {
      await fast.simulator.close();
    }
  });

  it('starts waiting jobs one after the other', async () => {
    const jobId = await bench.upload(ten);
    await bench.print(jobId);
    const second = await bench.print(jobId);
    bench.pass(100);
    const { print_jobs: jobs } = await bench.status();
    assert.deepEqual(
      jobs.map((job: Wire) => job.status),
      ['printing', 'queued'],
    );
    assert.equal(jobs[1].time_remaining, 595 + 90 + 600);
    bench.pass(5 + 90 + 600 + 60 + 300 - 100 + 20);
    const [job] = (await bench.status()).print_jobs;
    assert.equal(job.uuid, second);
    assert.equal(job.status, 'pre_print');
  });

  it('ends in a history of at most ten jobs, newest first', async () => {
    const jobId = await bench.upload(';TIME:60\n');
    const uuids: string[] = [];
    for (let count = 0; count < 11; count++) {
      uuids.push(await bench.print(jobId));
      bench.pass(600);
    }
    const { recently_completed: history } = await bench.status();
    assert.deepEqual(
      history.map((job: Wire) => job.uuid),
      uuids.slice(1).reverse(),
    );
  });

  it('appears in lists with a delay, but is readable by id at once', async () => {
    const slow = await Bench.start({ printVisibleAfter: 10 });
    try {
      const uuid = await slow.print(await slow.upload(ten));
      slow.pass(9);
      assert.deepEqual((await slow.status()).print_jobs, []);
      const one = await slow.api('GET', `/connect/v1/clusters/${slow.clusterId()}/print_jobs/${uuid}`);
      assert.equal(one.json.data.status, 'queued');
      slow.pass(2);
      assert.equal((await slow.status()).print_jobs[0].status, 'sent_to_printer');
    } finally {
      await slow.simulator.close();
    }
  });

  it('makes no progress while paused', async () => {
    const { world } = bench.simulator;
    await bench.print(await bench.upload(ten));
    bench.pass(195);
    world.pause(1);
    assert.equal((await bench.status()).print_jobs[0].status, 'pausing');
    bench.pass(1000);
    const { printers, print_jobs: jobs } = await bench.status();
    assert.equal(jobs[0].status, 'paused');
    assert.equal(jobs[0].time_elapsed, 100);
    assert.equal(printers[0].status, 'printing');
    world.resume(1);
    bench.pass(13);
    const [job] = (await bench.status()).print_jobs;
    assert.equal(job.status, 'printing');
    assert.equal(job.time_elapsed, 110);
  });

  it('ends as aborted with less elapsed than total time on a printer with the short words', async () => {
    bench.simulator.world.setEndWords(1, 'short');
    await bench.print(await bench.upload(ten));
    bench.pass(195);
    bench.simulator.world.abort(1);
    bench.pass(20);
    const [waiting] = (await bench.status()).print_jobs;
    assert.equal(waiting.status, 'wait_cleanup');
    assert.ok(waiting.time_elapsed < waiting.time_total);
    bench.pass(300);
    assert.equal((await bench.status()).recently_completed[0].status, 'aborted');
  });

  it('waits for manual cleaning', async () => {
    const { world } = bench.simulator;
    world.setCleaning(1, 'manual');
    await bench.print(await bench.upload(ten));
    bench.pass(100_000);
    assert.equal((await bench.status()).print_jobs[0].status, 'wait_cleanup');
    world.clean(1);
    assert.equal((await bench.status()).recently_completed[0].status, 'finished');
  });

  it('fails on demand, with a fault on the printer', async () => {
    await bench.print(await bench.upload(ten));
    bench.pass(195);
    bench.simulator.world.fail(1, undefined, 'NOZZLE_BLOCKED');
    bench.pass(361);
    const status = await bench.status();
    assert.equal(status.recently_completed[0].status, 'failed');
    assert.equal(status.recently_completed[0].time_elapsed, 100);
    assert.equal(status.printers[0].faults[0].code, 'NOZZLE_BLOCKED');
    bench.simulator.world.clearFaults(1);
    assert.deepEqual((await bench.status()).printers[0].faults, []);
  });

  it('continues unseen on an offline cluster, which shows its last report', async () => {
    const { world } = bench.simulator;
    await bench.print(await bench.upload(ten));
    bench.pass(195);
    world.setOnline(1, false);
    bench.pass(200);
    const offline = await bench.status();
    assert.equal(offline.is_online, false);
    assert.deepEqual(offline.printers, []);
    assert.equal(offline.print_jobs[0].time_elapsed, 100);
    const [listed] = (await bench.api('GET', '/connect/v1/clusters')).json.data;
    assert.equal(listed.is_online, false);
    assert.equal('host_printer' in listed, false);
    world.setOnline(1, true);
    assert.equal((await bench.status()).print_jobs[0].time_elapsed, 300);
  });

  it('waits until required changes are made', async () => {
    const { world } = bench.simulator;
    world.setRequiredChanges(1);
    await bench.print(await bench.upload(ten));
    bench.pass(1000);
    const [job] = (await bench.status()).print_jobs;
    assert.equal(job.status, 'queued');
    assert.equal(job.configuration_changes_required[0].type_of_change, 'material_change');
    world.release(1);
    bench.pass(10);
    assert.equal((await bench.status()).print_jobs[0].status, 'pre_print');
  });

  it('waits for approval when the workspace requires it', async () => {
    const { world } = bench.simulator;
    world.setDispatch(1, 'wait_approval');
    const jobId = await bench.upload(ten);
    const answer = await bench.api('POST', `/connect/v1/clusters/${bench.clusterId()}/print/${jobId}`);
    assert.equal(answer.json.data.status, 'wait_approval');
    await bench.print(jobId);
    bench.pass(1000);
    const states = (await bench.status()).print_jobs.map((job: Wire) => `${job.status} ${job.state}`);
    assert.deepEqual(states, ['wait_approval wait_approval', 'wait_approval wait_approval']);
    world.approve(1);
    world.reject(1, undefined, 'Not this one.');
    bench.pass(10);
    const { print_jobs: jobs, recently_completed: history } = await bench.status();
    assert.equal(jobs[0].status, 'pre_print');
    assert.equal(history[0].status_message.body, 'Not this one.');
  });

  it('waits in the queue when start_now is false', async () => {
    const jobId = await bench.upload(ten);
    const path = `/connect/v1/clusters/${bench.clusterId()}/print/${jobId}`;
    await bench.api('POST', path, { data: { start_now: false } });
    bench.pass(1000);
    assert.equal((await bench.status()).print_jobs[0].status, 'queued');
    bench.simulator.world.release(1);
    bench.pass(10);
    assert.equal((await bench.status()).print_jobs[0].status, 'pre_print');
  });

  it("survives a reconnection, which changes the cluster's id but not its host_guid", async () => {
    const before = bench.clusterId();
    const after = bench.simulator.world.rebind(1);
    assert.notEqual(after, before);
    assert.equal((await bench.api('GET', `/connect/v1/clusters/${before}/status`)).status, 404);
    assert.equal((await bench.api('GET', `/connect/v1/clusters/${after}`)).json.data.cluster_id, after);
  });

  it('shares one queue with the other prints of a printer group', async () => {
    const { world } = bench.simulator;
    const clusterId = world.addCluster({ printers: 2 });
    const number = world.clusters().findIndex((cluster) => cluster.clusterId === clusterId) + 1;
    const jobId = await bench.upload(ten);
    for (let count = 0; count < 3; count++) await bench.print(jobId, number);
    bench.pass(100);
    const { printers, print_jobs: jobs } = await bench.status(number);
    assert.deepEqual(
      jobs.map((job: Wire) => job.status),
      ['printing', 'printing', 'queued'],
    );
    assert.equal(new Set(jobs.slice(0, 2).map((job: Wire) => job.printer_uuid)).size, printers.length);
  });
});
