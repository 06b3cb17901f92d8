import assert from 'node:assert/strict';
import { pluck } from '../helpers/pluck';
import { Bench, type Wire } from './support';

describe('simulator: an action', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const ten = ';TIME:600\n';
  /** Seconds until a print has started. */
  const STARTED = 95;

  const jobAction = (uuid: string, name: string, data?: unknown) =>
    bench.action(`print_jobs/${uuid}/action/${name}`, data);
  /** Dispatches an action and waits for its end; returns its status. */
  const done = async (uuid: string, name: string, data?: unknown): Promise<string> => {
    const reply = await jobAction(uuid, name, data);
    assert.equal(reply.status, 201, `${name}: ${reply.text}`);
    bench.pass(1);
    return (await bench.actionStatus(reply.json.data.action_id)).status;
  };
  const statuses = async (): Promise<string[]> => (await bench.status()).print_jobs.map((job: Wire) => job.status);
  const printerPath = (number = 1): string =>
    `printers/${bench.simulator.world.cluster(number).printers[0]!.uuid}/action`;

  it('is pending, then sent, then successful, and takes effect only at the end', async () => {
    const uuid = await bench.print(await bench.upload(ten));
    bench.pass(STARTED + 10);
    const { data } = (await jobAction(uuid, 'pause')).json;
    assert.deepEqual(data, { action_id: data.action_id, status: 'pending' });
    bench.pass(0.6);
    assert.equal((await bench.actionStatus(data.action_id)).status, 'sent');
    assert.deepEqual(await statuses(), ['printing']);
    bench.pass(0.4);
    assert.equal((await bench.actionStatus(data.action_id)).status, 'success');
    assert.deepEqual(await statuses(), ['pausing']);
    bench.pass(3);
    const [job] = (await bench.status()).print_jobs;
    assert.deepEqual([job.status, job.time_elapsed], ['paused', 11]);
    assert.equal(await done(uuid, 'resume'), 'success');
    assert.deepEqual(await statuses(), ['resuming']);
    bench.pass(3);
    assert.deepEqual(await statuses(), ['printing']);
    assert.equal(await done(uuid, 'abort'), 'success');
    assert.deepEqual(await statuses(), ['aborting']);
    bench.pass(10);
    assert.deepEqual(await statuses(), ['aborted_post_print']);
    bench.pass(60);
    assert.deepEqual(await statuses(), ['aborted_wait_cleanup']);
  });

  it('takes effect at its own time, however late it is read', async () => {
    const uuid = await bench.print(await bench.upload(ten));
    bench.pass(STARTED + 10);
    await jobAction(uuid, 'pause');
    bench.pass(3600);
    assert.equal((await bench.status()).print_jobs[0].time_elapsed, 11);
  });

  it("acts on the printer's state at its arrival", async () => {
    const uuid = await bench.print(await bench.upload(ten));
    bench.pass(10);
    bench.simulator.world.setActions(1, { seconds: STARTED });
    await jobAction(uuid, 'abort');
    bench.pass(3600);
    const [job] = (await bench.status()).recently_completed;
    assert.deepEqual([job.status, job.time_elapsed], ['aborted', 10]);
  });

  it('needs real time, regardless of the time factor', async () => {
    const fast = await Bench.start({ timeFactor: 60, actionDelay: 2000 });
    try {
      const uuid = fast.simulator.world.cluster(1).printers[0]!.uuid;
      const { action_id: id } = (await fast.action(`printers/${uuid}/action/identify`)).json.data;
      fast.pass(1.9);
      assert.equal((await fast.actionStatus(id)).status, 'sent');
      fast.pass(0.2);
      assert.equal((await fast.actionStatus(id)).status, 'success');
    } finally {
      await fast.simulator.close();
    }
  });

  it('removes, moves and duplicates waiting jobs', async () => {
    const jobId = await bench.upload(ten);
    const [running, first, second, third] = [
      await bench.print(jobId),
      await bench.print(jobId),
      await bench.print(jobId),
      await bench.print(jobId),
    ];
    bench.pass(STARTED);
    const queue = async (): Promise<string[]> => (await bench.status()).print_jobs.map((job: Wire) => job.uuid);

    assert.equal(await done(third, 'move', { list: 'queued', to_position: 0 }), 'success');
    assert.deepEqual(await queue(), [running, third, first, second]);
    assert.equal(await done(first, 'remove'), 'success');
    assert.deepEqual(await queue(), [running, third, second]);
    assert.deepEqual((await bench.status()).recently_completed, []);
    const path = `/connect/v1/clusters/${bench.clusterId()}/print_jobs/${first}`;
    const removed = (await bench.api('GET', path)).json.data;
    assert.deepEqual([removed.state, removed.deleted_at], ['deleted', '2030-01-01T00:01:37.000Z']);
    assert.equal((await bench.api('GET', '/connect/v1/print_jobs?status=deleted')).json.data[0].uuid, first);

    assert.equal(await done(second, 'duplicate', { quantity: 2 }), 'success');
    const jobs = (await bench.status()).print_jobs;
    assert.deepEqual(
      jobs.map((job: Wire) => [job.status, job.cloud_job_id]),
      [['printing', jobId], ...Array.from({ length: 4 }, () => ['queued', jobId])],
    );
    assert.equal(new Set(jobs.map((job: Wire) => job.uuid)).size, 5);
  });

  it('duplicates what was ordered, and nothing that happened to it', async () => {
    const { world } = bench.simulator;
    const uuid = await bench.print(await bench.upload(ten));
    bench.pass(STARTED);
    world.stall(1);
    const impediments = [{ translation_key: 'nozzle_blocked', severity: '2' }];
    world.setJobDetails(1, { impediments, statusDetail: 'stalled', statusMessage: 'It is stuck.' }, uuid);
    world.setJobNote(1, 'Look at this one', uuid);
    assert.equal(await done(uuid, 'duplicate'), 'success');
    assert.equal(await done(uuid, 'abort'), 'success');
    bench.pass(24 * 3600);
    const { print_jobs: jobs, recently_completed: history } = await bench.status();
    assert.deepEqual(jobs, []);
    assert.deepEqual(
      history.map((job: Wire) => [job.uuid === uuid, job.status]),
      [
        [false, 'finished'],
        [true, 'aborted'],
      ],
    );
    const [{ name, time_total: total, owner, impediments_to_printing: obstacles, ...copy }, original] = history;
    assert.deepEqual([name, total, owner], [original.name, original.time_total, original.owner]);
    assert.deepEqual(
      [obstacles, copy.status_detail, copy.status_message, copy.note],
      [[], undefined, undefined, undefined],
    );
  });

  it('duplicates a job whose file is gone as one that fails', async () => {
    const jobId = await bench.upload(ten);
    const uuid = await bench.print(jobId);
    bench.pass(STARTED);
    bench.simulator.world.removeStoredJob(jobId);
    assert.equal(await done(uuid, 'duplicate'), 'success');
    bench.pass(24 * 3600);
    const history = (await bench.status()).recently_completed;
    assert.deepEqual(
      history.map((job: Wire) => job.status),
      ['failed', 'finished'],
    );
  });

  it('forces a job in spite of overridable changes', async () => {
    const { world } = bench.simulator;
    const jobId = await bench.upload(ten);
    world.setRequiredChanges(1);
    const uuid = await bench.print(jobId);
    assert.equal(await done(uuid, 'force'), 'success');
    bench.pass(10);
    const [job] = (await bench.status()).print_jobs;
    assert.deepEqual([job.status, job.force], ['pre_print', true]);
    const hard = { ...world.cluster(1).requiredChanges[0]!, is_overridable: false };
    world.setRequiredChanges(1, [hard]);
    assert.equal((await jobAction(await bench.print(jobId), 'force')).status, 409);
  });

  it('approves and rejects jobs', async () => {
    bench.simulator.world.setDispatch(1, 'wait_approval');
    const jobId = await bench.upload(ten);
    const [yes, no] = [await bench.print(jobId), await bench.print(jobId)];
    assert.equal(await done(yes, 'approve'), 'success');
    assert.equal(await done(no, 'reject', { message: 'Too long.' }), 'success');
    bench.pass(10);
    const { print_jobs: jobs, recently_completed: history } = await bench.status();
    assert.deepEqual([jobs[0].uuid, jobs[0].status], [yes, 'pre_print']);
    assert.deepEqual([history[0].uuid, history[0].status_message.body], [no, 'Too long.']);
  });

  it("is refused when the job's state doesn't allow it", async () => {
    const jobId = await bench.upload(ten);
    const [running, waiting] = [await bench.print(jobId), await bench.print(jobId)];
    bench.pass(STARTED);
    for (const [uuid, name] of [
      [running, 'resume'],
      [running, 'remove'],
      [running, 'force'],
      [running, 'move'],
      [running, 'approve'],
      [waiting, 'pause'],
      [waiting, 'abort'],
      [waiting, 'reject'],
    ] as const) {
      const reply = await jobAction(uuid, name, name === 'move' ? { to_position: 0 } : undefined);
      assert.deepEqual([reply.status, reply.json.errors[0].code], [409, 'actionNotPossible'], name);
    }
  });

  it('fails when the state changes before it arrives', async () => {
    const uuid = await bench.print(await bench.upload(ten));
    bench.pass(STARTED);
    const { action_id: id } = (await jobAction(uuid, 'pause')).json.data;
    bench.simulator.world.abort(1);
    bench.pass(1);
    assert.equal((await bench.actionStatus(id)).status, 'failed');
  });

  it('renames printers and makes them unavailable', async () => {
    await bench.action(`${printerPath()}/rename`, { name: 'Corner printer' });
    await bench.action(`${printerPath()}/set_availability`, { enabled: false });
    bench.pass(1);
    const [first] = (await bench.api('GET', '/connect/v1/clusters')).json.data;
    assert.deepEqual(
      [first.friendly_name, first.host_printer.friendly_name, first.host_printer.enabled],
      ['Corner printer', 'Corner printer', false],
    );
    for (const [name, data] of [
      ['identify', undefined],
      ['update_firmware', { schedule_update: true }],
      ['import_material', { material_profile_id: 'x' }],
    ] as const) {
      const { json } = await bench.action(`${printerPath()}/${name}`, data);
      bench.pass(1);
      assert.equal((await bench.actionStatus(json.data.action_id)).status, 'success', name);
    }
  });

  it('renames one printer of a group without the group', async () => {
    const clusterId = bench.simulator.world.addCluster({ name: 'Pair', printers: 2 });
    const { uuid } = bench.simulator.world.cluster(clusterId).printers[1]!;
    const path = `/connect/v1/clusters/${clusterId}/printers/${uuid}/action/rename`;
    await bench.api('POST', path, { data: { name: 'Right one' } });
    bench.pass(1);
    const cluster = bench.simulator.world.cluster(clusterId);
    assert.deepEqual([cluster.friendlyName, ...pluck(cluster.printers, 'name')], ['Pair', 'Pair', 'Right one']);
  });

  it('is refused for unknown names, fields and ids', async () => {
    const uuid = await bench.print(await bench.upload(ten));
    for (const [path, data, status] of [
      [`print_jobs/${uuid}/action/explode`, undefined, 400],
      [`print_jobs/${uuid}/action/toString`, undefined, 400],
      [`print_jobs/${uuid}/action/get_webcam_snapshot`, undefined, 400],
      [`${printerPath()}/pause`, undefined, 400],
      [`${printerPath()}/rename`, undefined, 400],
      [`${printerPath()}/rename`, { name: 'a', title: 'b' }, 400],
      [`${printerPath()}/set_availability`, { enabled: 'no' }, 400],
      [`print_jobs/${uuid}/action/duplicate`, { quantity: 0 }, 400],
      [`print_jobs/${uuid}/action/move`, { list: 'printing', to_position: 0 }, 400],
      [`print_jobs/${uuid}/action/reject`, { message: 'x'.repeat(1001) }, 400],
      ['print_jobs/00000000-0000-4000-a000-000000000000/action/pause', undefined, 404],
      ['printers/00000000-0000-4000-a000-000000000000/action/get_webcam_snapshot', undefined, 404],
    ] as const)
      assert.equal((await bench.action(path, data)).status, status, path);
    const noCluster = `/connect/v1/clusters/${'x'.repeat(44)}`;
    assert.equal((await bench.api('POST', `${noCluster}/print_jobs/${uuid}/action/pause`)).status, 404);
    assert.equal((await bench.api('GET', `${noCluster}/action_status/x`)).status, 404);
    assert.equal((await bench.api('GET', `/connect/v1/clusters/${bench.clusterId()}/action_status/x`)).status, 404);
  });

  it('is refused by printers that are offline or lack the capability', async () => {
    const { world } = bench.simulator;
    const uuid = await bench.print(await bench.upload(ten));
    world.setCapabilities(1, ['status']);
    assert.equal((await jobAction(uuid, 'pause')).json.errors[0].code, 'actionNotSupported');
    world.setCapabilities(1, []);
    assert.equal((await bench.action(`${printerPath()}/identify`)).status, 201);
    world.setOnline(1, false);
    for (const path of [`${printerPath()}/get_webcam_snapshot`, `print_jobs/${uuid}/action/remove`]) {
      const reply = await bench.action(path);
      assert.deepEqual([reply.status, reply.json.errors[0].code], [409, 'printerInactive']);
    }
  });

  it('never ends when the printer goes offline or never answers', async () => {
    const { world } = bench.simulator;
    const path = `${printerPath()}/rename`;
    const first = (await bench.action(path, { name: 'One' })).json.data.action_id;
    world.setOnline(1, false);
    bench.pass(3600);
    assert.equal((await bench.actionStatus(first)).status, 'sent');
    world.setOnline(1, true);
    world.setCapabilities(1, ['printer_action', 'rename']);
    const second = (await bench.action(path, { name: 'Two' })).json.data.action_id;
    bench.pass(3600);
    assert.equal((await bench.actionStatus(second)).status, 'sent');
  });

  it("ends as the cluster's switch specifies", async () => {
    const { world } = bench.simulator;
    const uuid = await bench.print(await bench.upload(ten));
    bench.pass(STARTED);
    const after = async (seconds: number): Promise<string> => {
      const { action_id: id } = (await jobAction(uuid, 'pause')).json.data;
      bench.pass(seconds);
      return (await bench.actionStatus(id)).status;
    };
    for (const outcome of ['failed', 'unknown'] as const) {
      world.setActions(1, { outcome });
      assert.equal(await after(1), outcome);
    }
    world.setActions(1, { outcome: 'stuck' });
    assert.equal(await after(60), 'sent');
    assert.deepEqual(await statuses(), ['printing']);
    world.setActions(1, { seconds: 20 });
    assert.equal(await after(19), 'sent');
    world.setActions(1);
    bench.pass(1);
    assert.deepEqual(await statuses(), ['pausing']);
  });

  it('takes effect without a reported end where the printer reports none', async () => {
    const { world } = bench.simulator;
    const jobId = await bench.upload(ten);
    const removed = async (uuid: string): Promise<string> => {
      const { action_id: id } = (await jobAction(uuid, 'remove')).json.data;
      bench.pass(1);
      return (await bench.actionStatus(id)).status;
    };
    await bench.print(jobId);
    world.setActions(1, { outcome: 'silent' });
    assert.equal(await removed(await bench.print(jobId)), 'sent');
    assert.equal((await statuses()).length, 1);
    world.setActions(1);
    world.setCapabilities(1, ['queue', 'print_job_action']);
    assert.equal(await removed(await bench.print(jobId)), 'sent');
    assert.equal((await statuses()).length, 1);
  });

  it('fails to remove a job that begins while the removal is on its way', async () => {
    const uuid = await bench.print(await bench.upload(ten));
    bench.simulator.world.setActions(1, { seconds: 30 });
    const { action_id: id } = (await jobAction(uuid, 'remove')).json.data;
    bench.pass(20);
    assert.equal((await bench.actionStatus(id)).status, 'sent');
    bench.pass(20);
    assert.equal((await bench.actionStatus(id)).status, 'failed');
    assert.deepEqual(await statuses(), ['pre_print']);
  });

  it('removes a job although the answer is lost', async () => {
    const jobId = await bench.upload(ten);
    await bench.print(jobId);
    const uuid = await bench.print(jobId);
    bench.simulator.faults.add({ endpoint: 'jobAction', path: '/remove', reset: true, when: 'after' });
    await assert.rejects(jobAction(uuid, 'remove'));
    assert.equal((await statuses()).length, 2);
    bench.pass(1);
    assert.equal((await statuses()).length, 1);
  });

  it('keeps its id when the cluster reconnects under another id', async () => {
    const { action_id: id } = (await bench.action(`${printerPath()}/identify`)).json.data;
    bench.simulator.world.rebind(1);
    bench.pass(1);
    assert.equal((await bench.actionStatus(id)).status, 'success');
  });
});
