import assert from 'node:assert/strict';
import { Bench, call, type Reply, type Wire } from './support';

describe('simulator: control host', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const control = (method: string, path: string, body?: unknown): Promise<Reply> =>
    call(bench.simulator.controlUrl + path, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
  const world = (action: string, body: Record<string, unknown> = {}): Promise<Reply> =>
    control('POST', `/world/${action}`, { cluster: 1, ...body });

  it('returns the addresses and the state', async () => {
    const { json } = await control('GET', '/');
    assert.equal(json.apiUrl, bench.simulator.apiUrl);
    assert.ok(json.world_actions.includes('offline'));
    const state = (await control('GET', '/state')).json;
    assert.equal(state.clusters.length, 6);
    assert.equal(state.tokens.refreshes, 0);
  });

  it('adds and removes faults', async () => {
    assert.equal(
      (await control('POST', '/faults', { endpoint: 'clusters', status: 500, times: 'always' })).status,
      200,
    );
    assert.equal((await bench.api('GET', '/connect/v1/clusters')).status, 500);
    assert.equal((await control('GET', '/faults')).json.faults[0].endpoint, 'clusters');
    await control('DELETE', '/faults');
    assert.equal((await bench.api('GET', '/connect/v1/clusters')).status, 200);
    const wrong = await control('POST', '/faults', { endpoint: 'clusters', status: 1 });
    assert.equal(wrong.status, 400);
    assert.match(wrong.json.errors[0].title, /status must be/);
  });

  it('drives the printers through the world actions', async () => {
    await bench.print(await bench.upload(';TIME:600\n'));
    await world('advance', { seconds: 195 });
    await world('pause');
    await world('advance', { seconds: 10 });
    assert.equal((await bench.status()).print_jobs[0].status, 'paused');
    await world('resume');
    await world('advance', { seconds: 10 });
    await world('stall');
    const elapsed = async () => (await bench.status()).print_jobs[0].time_elapsed as number;
    const before = await elapsed();
    await world('advance', { seconds: 60 });
    assert.equal(await elapsed(), before);
    await world('unstall');
    await world('advance', { seconds: 60 });
    assert.equal(await elapsed(), before + 60);
    await world('abort');
    await world('advance', { seconds: 10 });
    await world('ask', { code: 'FILAMENT_JAM' });
    const { printers, print_jobs: jobs } = await bench.status();
    assert.deepEqual([jobs[0].status, printers[0].faults[0].code], ['aborted_wait_user_action', 'FILAMENT_JAM']);
    await world('answer');
    await world('clean');
    assert.equal((await bench.status()).recently_completed[0].status, 'aborted');
    const { json } = await world('print-locally', { name: 'cube.ufp', seconds: 60 });
    assert.equal((await bench.status()).print_jobs[0].uuid, json.job);
    assert.equal((await bench.status()).print_jobs[0].sent_from, 'usb');
    await world('vanish');
    assert.deepEqual((await bench.status()).print_jobs, []);
    assert.equal(
      (await bench.api('GET', `/connect/v1/clusters/${bench.clusterId()}/print_jobs/${json.job}`)).status,
      404,
    );
  });

  it('changes clusters through the world actions', async () => {
    await world('firmware', { latest: '10.0.0', updateStatus: 'update_available' });
    await world('add-fault', { code: 'FILTER_OLD', severity: 'info' });
    await world('trouble', { value: 'error' });
    await world('name', { value: null });
    const [printer] = (await bench.status()).printers;
    assert.equal(printer.latest_available_firmware, '10.0.0');
    assert.equal(printer.firmware_update_status, 'update_available');
    assert.equal(printer.status, 'error');
    assert.deepEqual([printer.faults[0].code, printer.faults[0].severity], ['FILTER_OLD', 'info']);
    await world('recent-history', { value: false });
    assert.equal('recently_completed' in (await bench.status()), false);
    await world('offline');
    await world('authorized', { value: false });
    const [first] = (await bench.api('GET', '/connect/v1/clusters')).json.data;
    assert.deepEqual([first.is_online, first.status, first.friendly_name], [false, 'inactive', null]);
    const added = (await world('add-cluster', { name: 'New one' })).json.cluster;
    const listed = (await bench.api('GET', '/connect/v1/clusters')).json.data;
    assert.deepEqual(listed.map((cluster: { cluster_id: string }) => cluster.cluster_id).at(-1), added);
    await control('POST', '/world/remove-cluster', { cluster: added });
    assert.equal((await bench.api('GET', '/connect/v1/clusters')).json.data.length, 5);
    const { cluster } = (await world('rebind')).json;
    assert.equal(bench.clusterId(), cluster);
  });

  it('sets the conditions of future prints', async () => {
    const jobId = await bench.upload('G28');
    await world('required-changes');
    await bench.print(jobId);
    await world('required-changes', { value: [] });
    await world('dispatch', { value: 'wait_approval' });
    await bench.print(jobId);
    await world('enabled', { value: true });
    await world('cleaning', { value: 'manual' });
    const [changed, asked] = (await bench.status()).print_jobs;
    assert.equal(changed.configuration_changes_required.length, 1);
    assert.deepEqual([asked.status, asked.configuration_changes_required], ['wait_approval', []]);
    assert.equal((await world('required-changes', { value: 'x' })).status, 400);
    await world('reject', { message: 'No.' });
    await world('release');
    await world('advance', { seconds: 10 });
    await world('fail', { code: 'JAM' });
    await world('advance', { seconds: 60 });
    await world('clean');
    const { printers, recently_completed: history } = await bench.status();
    assert.equal(printers[0].faults[0].code, 'JAM');
    assert.deepEqual(
      history.map((job: Wire) => job.status),
      ['failed', 'failed'],
    );
    await world('clear-faults');
    await world('capabilities', { value: ['status'] });
    await world('dispatch', { value: 'queued' });
    await world('end-words', { value: 'short' });
    await bench.print(jobId);
    await world('advance', { seconds: 10 });
    await world('abort');
    await world('advance', { seconds: 10 });
    assert.equal((await bench.status()).print_jobs[0].status, 'wait_cleanup');
    await world('remove-stored-job', { job: jobId });
    assert.equal((await bench.api('GET', `/slicer/v1/jobs/${jobId}`)).status, 404);
  });

  it('sets the outcome of actions, pictures and reports', async () => {
    await world('actions', { outcome: 'failed', seconds: 3 });
    await world('picture', { bytes: 1_000_000, contentType: 'image/jpeg', chunked: true });
    await world('reports', { outcome: 'unknown', separator: '\t', rows: 5, bom: true, crlf: true });
    await world('maintenance-due', { value: ['simulated_maker_one_clean_fans'] });
    await world('memberships', { value: 'objects' });
    const cluster = bench.simulator.world.cluster(1);
    assert.deepEqual(cluster.actionSwitch, { outcome: 'failed', seconds: 3 });
    assert.deepEqual(cluster.pictureSwitch, { bytes: 1_000_000, contentType: 'image/jpeg', chunked: true });
    assert.deepEqual(cluster.maintenance.due, ['simulated_maker_one_clean_fans']);
    const { clusterId, organizationId } = cluster;
    const { made } = bench.simulator.world.order({ organizationId, clusterIds: [clusterId], from: 0, to: 0 });
    assert.deepEqual(made, { outcome: 'unknown', separator: '\t', rows: 5, bom: true, crlf: true });
    await world('actions');
    assert.deepEqual(bench.simulator.world.cluster(1).actionSwitch, {});
    for (const [action, body] of [
      ['actions', { outcome: 'perhaps' }],
      ['actions', { outcome: 'failed', colour: 1 }],
      ['picture', { bytes: 0.5 }],
      ['reports', { separator: '|' }],
      ['memberships', { value: 'names' }],
      ['maintenance-due', { value: ['x'] }],
    ] as const)
      assert.equal((await world(action, body)).status, 400, action);
  });

  it('removes library files', async () => {
    const data = { file_name: 'cube.stl', file_size: 1, content_type: 'model/stl' };
    const { file_id: file } = (await bench.api('PUT', '/slicer/v1/files/upload', { data })).json.data;
    await world('remove-library-file', { file });
    assert.equal((await bench.api('GET', `/slicer/v1/files/${file}`)).status, 404);
  });

  it('serves the page to browsers and the addresses to programs', async () => {
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    const page = await call(bench.simulator.controlUrl, { headers: { accept } });
    assert.match(String(page.headers['content-type']), /^text\/html/);
    assert.match(String(page.headers['content-security-policy']), /default-src 'self'.*frame-ancestors 'none'/);
    for (const path of ['/page.js', '/page.css']) assert.equal((await control('GET', path)).status, 200, path);
    const { clusters } = (await control('GET', '/overview')).json;
    const picture = await control('GET', clusters[0].printers[0].picture);
    assert.deepEqual([picture.status, picture.headers['content-type']], [200, 'image/png']);
    assert.equal((await control('GET', `/pictures/${bench.clusterId()}/7`)).status, 404);
    for (const path of ['/', '/page.js', String(clusters[0].printers[0].picture)])
      assert.equal((await call(bench.simulator.controlUrl + path, { headers: { host: 'example.org' } })).status, 403);
  });

  it('is exempt from faults and from the request log', async () => {
    await control('POST', '/faults', { endpoint: '*', status: 500, times: 'always' });
    assert.equal((await bench.api('GET', '/connect/v1/clusters')).status, 500);
    assert.equal((await control('DELETE', '/faults')).status, 200);
    assert.equal(bench.simulator.requests.count(), 1);
  });

  it('lists and clears the requests', async () => {
    await bench.api('GET', '/connect/v1/clusters?limit=1');
    const [first] = (await control('GET', '/requests')).json.requests;
    assert.deepEqual([first.endpoint, first.path, first.status], ['clusters', '/connect/v1/clusters', 200]);
    assert.ok(first.agent === null || typeof first.agent === 'string');
    await control('DELETE', '/requests');
    assert.equal(bench.simulator.requests.count('clusters'), 0);
  });

  it('expires and revokes tokens', async () => {
    await control('POST', '/tokens/expired-status', { status: 403 });
    await control('POST', '/tokens/expire');
    assert.equal((await bench.api('GET', '/connect/v1/clusters')).status, 403);
    await control('POST', '/tokens/revoke');
    assert.equal((await bench.api('GET', '/connect/v1/clusters')).status, 401);
    assert.deepEqual(bench.simulator.tokens.refreshTokens, []);
  });

  it('refuses unknown input, and explains why', async () => {
    assert.equal((await world('explode')).status, 404);
    assert.equal((await world('toString')).status, 404);
    assert.equal((await world('offline', { cluster: 99 })).status, 404);
    assert.equal((await world('pause')).status, 409);
    for (const [action, body] of [
      ['advance', { seconds: 'x' }],
      ['offline', { cluster: null }],
      ['dispatch', { value: 'perhaps' }],
      ['enabled', { value: 1 }],
      ['capabilities', { value: 'queue' }],
    ] as const) {
      const reply = await world(action, body);
      assert.equal(reply.status, 400, action);
      assert.match(reply.json.errors[0].title, /must be/);
    }
  });

  it('refuses requests of other sites', async () => {
    const { port } = new URL(bench.simulator.controlUrl);
    for (const headers of [{ origin: 'https://example.org' }, { host: `example.org:${port}` }])
      assert.equal((await call(`${bench.simulator.controlUrl}/state`, { headers })).status, 403);
    assert.equal(
      (await call(`${bench.simulator.controlUrl}/state`, { headers: { host: `localhost:${port}` } })).status,
      200,
    );
  });
});
