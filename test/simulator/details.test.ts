import assert from 'node:assert/strict';
import type { World } from '../../simulator/index';
import { Bench, call, type Wire } from './support';

describe('simulator: what the service says about a print', () => {
  let bench: Bench;
  let world: World;
  let jobId: string;
  beforeEach(async () => {
    bench = await Bench.start({ farm: [{}, { printers: 2 }] });
    ({ world } = bench.simulator);
    jobId = await bench.upload(';TIME:600\n');
  });
  afterEach(() => bench.simulator.close());

  const control = async (action: string, body: Record<string, unknown>): Promise<number> =>
    (
      await call(`${bench.simulator.controlUrl}/world/${action}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ cluster: 1, ...body }),
      })
    ).status;
  const JAM = { translation_key: 'filament_jam', severity: 'UNFIXABLE' };

  it('is nothing unless there is something to say', async () => {
    await bench.print(jobId);
    const [job] = (await bench.status()).print_jobs;
    assert.deepEqual(job.impediments_to_printing, []);
    for (const name of ['status_detail', 'status_message', 'assigned_to', 'deleted_at'])
      assert.equal(name in job, false, name);
  });

  it('includes why it failed, while it cools and in the history', async () => {
    await bench.print(jobId);
    bench.pass(200);
    await bench.status();
    assert.equal(await control('fail', { code: 'FILAMENT_JAM', impediments: [JAM], statusDetail: 'stopped' }), 200);
    for (const list of ['print_jobs', 'recently_completed']) {
      const [job] = (await bench.status())[list];
      assert.deepEqual([job.impediments_to_printing, job.status_detail], [[JAM], 'stopped'], list);
      bench.pass(400);
    }
  });

  it('changes through the control host, also after the end', async () => {
    const uuid = await bench.print(jobId);
    assert.equal(await control('job-details', { impediments: [JAM], statusDetail: 'waiting' }), 200);
    const [job] = (await bench.status()).print_jobs;
    assert.deepEqual([job.impediments_to_printing, job.status_detail], [[JAM], 'waiting']);
    bench.pass(3600);
    await bench.status();
    assert.equal(await control('job-details', { job: uuid, impediments: [], statusMessage: 'Fine.', user: null }), 200);
    const [ended] = (await bench.status()).recently_completed;
    assert.deepEqual(ended.impediments_to_printing, []);
    assert.deepEqual(ended.status_message, {
      ...{ body: 'Fine.', user_id: null, username: null },
      generated_time: '2030-01-01T01:00:00.000Z',
    });
    for (const [body, status] of [
      [{ job: uuid, impediments: [{ translation_key: 'x' }] }, 400],
      [{ job: uuid, reason: 'x' }, 400],
      [{ job: uuid, statusMessage: 'x', user: 'nobody' }, 404],
      [{ job: 'none', statusDetail: 'x' }, 404],
    ] as const)
      assert.equal(await control('job-details', body), status, JSON.stringify(body));
  });

  it('includes the words of whoever rejected or approved it, and when that was', async () => {
    const { userId } = bench.simulator.users[0]!;
    world.setDispatch(1, 'wait_approval');
    const [first, second, third] = [await bench.print(jobId), await bench.print(jobId), await bench.print(jobId)];
    await bench.action(`print_jobs/${first}/action/approve`, { message: 'Go.' });
    await bench.action(`print_jobs/${second}/action/reject`, { message: 'No.' });
    bench.pass(2);
    assert.equal(await control('reject', { job: third, message: 'Nor this one.', user: 'teacher' }), 200);
    bench.pass(60);
    const { print_jobs: jobs, recently_completed: ended } = await bench.status();
    const at = (seconds: number) => `2030-01-01T00:00:0${seconds}.000Z`;
    assert.deepEqual(jobs[0].status_message, {
      ...{ body: 'Go.', user_id: userId, username: 'maker' },
      generated_time: at(1),
    });
    const messages = ended.map(({ status_message: { body, username, generated_time: time } }: Wire) => [
      body,
      username,
      time,
    ]);
    assert.deepEqual(messages, [
      ['Nor this one.', 'teacher', at(2)],
      ['No.', 'maker', at(1)],
    ]);
  });

  it('names the member of a group that has it, or that it waits for', async () => {
    for (let count = 0; count < 3; count++) await bench.print(jobId, 2);
    bench.pass(100);
    const jobs: Wire[] = (await bench.status(2)).print_jobs;
    const { printers } = await bench.status(2);
    const [one, two] = printers.map((printer: Wire) => printer.friendly_name);
    assert.deepEqual(
      jobs.map((job) => job.assigned_to),
      [one, two, one],
    );
    assert.equal(new Set(printers.map((printer: Wire) => printer.unique_name)).size, 2);
  });

  it('states an invented status of the cluster for user interfaces, or the one that a test sets', async () => {
    const shown = async (): Promise<string> =>
      (await bench.api('GET', `/connect/v1/clusters/${bench.clusterId()}`)).json.data.display_status;
    assert.equal(await shown(), 'idle');
    await bench.print(jobId);
    bench.pass(200);
    assert.equal(await shown(), 'printing');
    world.setTrouble(1, 'error');
    assert.equal(await shown(), 'error');
    world.setOnline(1, false);
    assert.equal(await shown(), 'offline');
    assert.equal(await control('display-status', { value: 'something_new' }), 200);
    assert.equal(await shown(), 'something_new');
    assert.equal(await control('display-status', { value: null }), 200);
    assert.equal(await shown(), 'offline');
  });

  it('includes what became of its file, which a person or the service changes', async () => {
    const [project] = (await bench.api('GET', '/slicer/v1/projects')).json.data;
    const id: string = project.library_project_id;
    const stored = async (): Promise<Wire> => (await bench.api('GET', `/slicer/v1/jobs/${jobId}`)).json.data;
    bench.pass(10);
    assert.deepEqual([(await stored()).username, (await stored()).parsing_status], ['maker', 'success']);
    const change = { job: jobId, name: 'other.gcode', username: null, libraryProjectId: id, parsing: 'failed' };
    assert.equal(await control('stored-job', { ...change, cluster: undefined }), 200);
    const { job_name: name, library_project_id: projectId, parsing_status: parsing, ...rest } = await stored();
    assert.deepEqual([name, projectId, parsing, 'username' in rest], ['other.gcode', id, 'failed', false]);
    world.setStoredJob(jobId, { failure: 'Virus found.' });
    assert.deepEqual([(await stored()).status, (await stored()).status_description], ['failed', 'Virus found.']);
    const path = `/connect/v1/clusters/${bench.clusterId()}/print/${jobId}`;
    assert.equal((await bench.api('POST', path)).status, 409);
    world.setStoredJob(jobId, { failure: null });
    assert.equal((await bench.api('POST', path)).status, 200);
    assert.throws(() => world.setStoredJob(jobId, { libraryProjectId: 'x' }), /found/i);
  });

  it('includes no address and nothing from inside of a file that failed, until the service can use it', async () => {
    const ufp = { job_name: 'part.ufp', content_type: 'application/x-ufp' };
    const announced: string = (await bench.register(Buffer.from('part'), ufp)).job_id;
    const complete = await bench.upload(';TIME:600\n', ufp);
    const printed = await bench.print(complete);
    bench.pass(10);
    const path = `/connect/v1/clusters/${bench.clusterId()}/print_jobs/${printed}`;
    const CONTENTS = ['upload_url', 'download_url', 'preview_image_url', 'parsing_status', 'metadata', 'preview_url'];
    const contents = (record: Wire): string[] => CONTENTS.filter((field) => field in record);
    const shown = async (): Promise<string[][]> => [
      contents((await bench.api('GET', `/slicer/v1/jobs/${announced}`)).json.data),
      contents((await bench.api('GET', `/slicer/v1/jobs/${complete}`)).json.data),
      contents((await bench.api('GET', path)).json.data),
    ];
    const before = [['upload_url'], ['download_url', 'preview_image_url', 'parsing_status'], ['preview_url']];
    assert.deepEqual(await shown(), before);
    for (const id of [announced, complete]) world.setStoredJob(id, { failure: 'Virus found.' });
    assert.deepEqual(await shown(), [[], [], []]);
    for (const id of [announced, complete]) world.setStoredJob(id, { failure: null });
    assert.deepEqual(await shown(), before);
  });
});
