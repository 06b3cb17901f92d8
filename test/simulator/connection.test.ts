import assert from 'node:assert/strict';
import type { World } from '../../simulator/index';
import { Bench, call, type Wire } from './support';

describe('simulator: a printer that loses its connection', () => {
  let bench: Bench;
  let world: World;
  let jobId: string;
  beforeEach(async () => {
    bench = await Bench.start();
    ({ world } = bench.simulator);
    jobId = await bench.upload(';TIME:600\n');
  });
  afterEach(() => bench.simulator.close());

  const HOUR = 3600;
  const first = async (): Promise<Wire> => (await bench.status()).print_jobs[0];
  /** Orders a report about the printer, and downloads it. */
  const report = async (): Promise<string> => {
    const dates = { start_date: '2030-01-01T00:00:00Z', end_date: '2030-01-02T00:00:00Z' };
    const data = { cluster_ids: [bench.clusterId()], ...dates, report_type: 'print_jobs' };
    const { report_id: id } = (await bench.api('PUT', '/report/v1/reports', { data })).json.data;
    bench.pass(1);
    return (await call((await bench.api('GET', `/report/v1/reports/${id}`)).json.data.download_url)).text;
  };
  const remove = (uuid: string) => bench.action(`print_jobs/${uuid}/action/remove`);

  it('starts a job hours later that was dispatched right before, and begins its transfer anew', async () => {
    bench.simulator.faults.add({ endpoint: 'print', when: 'after', world: { action: 'offline' } });
    const uuid = await bench.print(jobId);
    bench.pass(5 * HOUR);
    assert.equal((await bench.status()).is_online, false);
    world.setOnline(1, true);
    assert.deepEqual([(await first()).uuid, (await first()).status], [uuid, 'sent_to_printer']);
    bench.pass(6);
    assert.equal((await first()).status, 'pre_print');
  });

  it('does not start a job that vanished in the meantime', async () => {
    const uuid = await bench.print(jobId);
    world.setOnline(1, false);
    world.vanish(1, uuid);
    world.setOnline(1, true);
    bench.pass(HOUR);
    const { print_jobs: jobs, recently_completed: history } = await bench.status();
    assert.deepEqual([jobs, history], [[], []]);
  });

  it('finishes the print that it has, and starts no other', async () => {
    await bench.print(jobId);
    const second = await bench.print(jobId);
    bench.pass(50);
    world.setOnline(1, false);
    bench.pass(5 * HOUR);
    world.setOnline(1, true);
    const { print_jobs: jobs, recently_completed: history } = await bench.status();
    assert.equal(history[0].status, 'finished');
    assert.deepEqual([jobs[0].uuid, jobs[0].status], [second, 'sent_to_printer']);
  });

  it('prints what somebody starts at the printer', async () => {
    world.setCleaning(1, 'none');
    world.setOnline(1, false);
    const [waiting, other] = ['from the service.gcode', 'by-hand.gcode'];
    world.printLocally(1, { name: waiting, seconds: 100, from: 'cloud' });
    world.printLocally(1, { name: other, seconds: 100 });
    bench.pass(HOUR);
    world.setOnline(1, true);
    const { print_jobs: jobs, recently_completed: history } = await bench.status();
    assert.deepEqual([jobs[0].name, jobs[0].status], [waiting, 'sent_to_printer']);
    const [ended] = history;
    assert.deepEqual([ended.name, ended.status, ended.sent_from], ['by-hand.gcode', 'finished', 'usb']);
  });

  it('comes back by itself at the end of a limited outage, as of that time', async () => {
    await bench.print(jobId);
    world.setOnline(1, false, HOUR);
    bench.pass(HOUR - 1);
    assert.equal((await bench.status()).is_online, false);
    bench.pass(5 + 90 + 101);
    const status = await bench.status();
    assert.deepEqual([status.is_online, status.print_jobs[0].time_elapsed], [true, 100]);
    world.setOnline(1, false, HOUR);
    world.setOnline(1, false);
    bench.pass(2 * HOUR);
    assert.equal((await bench.status()).is_online, false);
  });

  it('is known by its last report in every record until it is back', async () => {
    const uuid = await bench.print(jobId);
    bench.pass(150);
    world.setOnline(1, false);
    bench.pass(1700);
    const cluster = `/connect/v1/clusters/${bench.clusterId()}`;
    const read = async (path: string): Promise<Wire> => (await bench.api('GET', path)).json.data;
    const jobs = async (): Promise<Wire[]> => [
      (await bench.status()).print_jobs.at(-1) ?? (await bench.status()).recently_completed.at(-1),
      await read(`${cluster}/print_jobs/${uuid}`),
      (await read('/connect/v1/print_jobs')).find((job: Wire) => job.uuid === uuid),
    ];
    for (const job of await jobs())
      assert.deepEqual(
        [job.status, job.time_elapsed, job.time_remaining, job.is_online, job.last_seen],
        ['printing', 55, 545, false, 1700.5],
      );
    const listed = await read(cluster);
    assert.deepEqual([listed.host_print_job_count, listed.host_remaining_print_time], [1, 545]);
    assert.doesNotMatch(await report(), new RegExp(uuid));

    world.setOnline(1, true);
    for (const job of await jobs()) assert.deepEqual([job.status, job.last_seen], ['finished', 0.5]);
    assert.equal((await read(cluster)).host_print_job_count, 0);
    assert.match(await report(), new RegExp(uuid));
  });

  it('has no job for the service that somebody started at it meanwhile', async () => {
    world.setOnline(1, false);
    const { uuid } = world.printLocally(1, { name: 'by hand.gcode', seconds: 100 });
    const path = `/connect/v1/clusters/${bench.clusterId()}/print_jobs/${uuid}`;
    assert.equal((await bench.api('GET', path)).status, 404);
    world.setOnline(1, true);
    assert.equal((await bench.api('GET', path)).status, 200);
  });

  it('has the note that a job is given meanwhile, also when it is back', async () => {
    const uuid = await bench.print(jobId);
    world.setOnline(1, false);
    const path = `/connect/v1/clusters/${bench.clusterId()}/print_jobs/${uuid}`;
    await bench.api('POST', path, { data: { note: 'For the fair' } });
    assert.equal((await first()).note, 'For the fair');
    world.setOnline(1, true);
    assert.equal((await first()).note, 'For the fair');
  });

  it('refuses a removal meanwhile', async () => {
    const uuid = await bench.print(jobId);
    world.setOnline(1, false);
    const reply = await remove(uuid);
    assert.deepEqual([reply.status, reply.json.errors[0].code], [409, 'printerInactive']);
  });

  it('carries out a removal before the job starts, if the service keeps it that long', async () => {
    const uuid = await bench.print(jobId);
    world.setOnline(1, false, 5 * HOUR);
    world.setActions(1, { offline: 'waits' });
    const { data } = (await remove(uuid)).json;
    bench.pass(4 * HOUR);
    assert.equal((await bench.actionStatus(data.action_id)).status, 'pending');
    bench.pass(2 * HOUR);
    assert.equal((await bench.actionStatus(data.action_id)).status, 'success');
    const { print_jobs: jobs, recently_completed: history } = await bench.status();
    assert.deepEqual([jobs, history], [[], []]);
  });
});
