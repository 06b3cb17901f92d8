import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../simulator/index';
import { Bench, call, form, REDIRECT, SCOPE, withoutAddresses } from './support';

describe('simulator: restart', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'simulator-test-'));
  });
  afterEach(async () => {
    for (const simulator of running.splice(0)) await simulator.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const running: Simulator[] = [];
  /** Starts a bench that ends with the test. */
  const start = async (options: SimulatorOptions = { dataDir }): Promise<Bench> => {
    const bench = await Bench.start(options);
    running.push(bench.simulator);
    return bench;
  };

  const refresh = (authUrl: string, token: string) =>
    call(
      `${authUrl}/token`,
      form({
        ...{ client_id: 'simulator', client_secret: 'simulator-secret', redirect_uri: REDIRECT, scope: SCOPE },
        ...{ grant_type: 'refresh_token', refresh_token: token },
      }),
    );

  it('keeps prints, files and tokens in the data folder', async () => {
    const bench = await start();
    const jobId = await bench.upload(';TIME:600\n');
    const uuid = await bench.print(jobId);
    const clusterId = bench.clusterId();
    const [token] = bench.simulator.tokens.refreshTokens;
    await bench.simulator.close();

    const now = bench.clock.now + 395_000;
    const second = await startSimulator({ dataDir, now: () => now, printers: 7, seed: 99 });
    running.push(second);
    assert.equal(second.world.cluster(1).clusterId, clusterId);
    assert.equal(second.world.clusters().length, 6);
    const job = second.world.printJob(uuid);
    assert.equal(job.status, 'printing');
    const headers = { authorization: `Bearer ${bench.token}` };
    const instance = await call(`${second.apiUrl}/connect/v1/clusters/${clusterId}/print_jobs/${uuid}`, { headers });
    assert.equal(instance.json.data.time_elapsed, 300);
    const file = await call(instance.json.data.source.download_url);
    assert.equal(file.text, ';TIME:600\n');
    assert.equal((await refresh(second.authUrl, token!)).status, 200);
    assert.equal((await refresh(second.authUrl, token!)).json.error, 'invalid_grant');
  });

  it('loads a world that was stored before materials, notes and headers were', async () => {
    const bench = await start();
    const jobId = await bench.upload(';TIME:600\n');
    const uuid = await bench.print(jobId);
    const clusterId = bench.clusterId();
    await bench.simulator.close();
    const file = join(dataDir, 'world.json');
    const stored = await readFile(file, 'utf8');
    const names = ['note', 'volumeLeft', 'needs', 'header', 'parsing', 'parsingSwitch'];
    const without = JSON.stringify(JSON.parse(stored, (name, value) => (names.includes(name) ? undefined : value)));
    assert.notEqual(without, JSON.stringify(JSON.parse(stored)));
    await writeFile(file, without);

    let now = bench.clock.now;
    const second = await startSimulator({ dataDir, now: () => now });
    running.push(second);
    const headers = { authorization: `Bearer ${bench.token}` };
    const read = async (path: string) => (await call(`${second.apiUrl}${path}`, { headers })).json.data;
    const clusterPath = `/connect/v1/clusters/${clusterId}`;
    const full = { estimated_material_volume: 604_800, original_material_volume: 604_800 };
    const loaded = async () => {
      const [extruder] = (await read(`${clusterPath}/status`)).printers[0].configuration;
      const { estimated_material_volume, original_material_volume } = extruder;
      return { estimated_material_volume, original_material_volume };
    };
    assert.deepEqual(await loaded(), full);
    assert.equal('note' in (await read(clusterPath)), false);
    const job = await read(`${clusterPath}/print_jobs/${uuid}`);
    assert.deepEqual([job.configuration[0].estimated_material_volume, job.note], [2400, undefined]);
    const { metadata } = await read(`/slicer/v1/jobs/${jobId}`);
    assert.deepEqual(metadata, { extruders: [], print: { estimated_time: 600 } });
    now += 3_600_000;
    assert.deepEqual(await loaded(), { ...full, estimated_material_volume: 604_800 - 2400 });
  });

  it('keeps actions, pictures and reports', async () => {
    const bench = await start();
    const { uuid } = bench.simulator.world.cluster(1).printers[0]!;
    await bench.print(await bench.upload(';TIME:60\n'));
    bench.pass(600);
    const action = (await bench.action(`printers/${uuid}/action/get_webcam_snapshot`)).json.data.action_id;
    const data = {
      cluster_ids: [bench.clusterId()],
      start_date: '2030-01-01T00:00:00Z',
      end_date: '2030-01-02T00:00:00Z',
      report_type: 'print_jobs',
    };
    const report = (await bench.api('PUT', '/report/v1/reports', { data })).json.data.report_id;
    await bench.simulator.close();

    const second = await start();
    second.pass(601);
    const { status, status_details: details } = await second.actionStatus(action);
    assert.equal(status, 'success');
    assert.equal((await call(details.value.image_url)).headers['content-type'], 'image/png');
    const { download_url: url } = (await second.api('GET', `/report/v1/reports/${report}`)).json.data;
    assert.match((await call(url)).text, /,part\.gcode,2030-/);
  });

  it('keeps virtual time when the time factor changes', async () => {
    const bench = await start({ dataDir, timeFactor: 60 });
    await bench.print(await bench.upload(';TIME:6000\n'));
    bench.pass(10);
    assert.equal((await bench.status()).print_jobs[0].time_elapsed, 505);
    await bench.simulator.close();
    const second = await start({ dataDir, timeFactor: 1 });
    second.pass(20);
    assert.equal((await second.status()).print_jobs[0].time_elapsed, 525);
  });

  it('stores a refreshed token before it answers', async () => {
    const bench = await start();
    const [token] = bench.simulator.tokens.refreshTokens;
    const { json } = await refresh(bench.simulator.authUrl, token!);
    const stored = JSON.parse(await readFile(join(dataDir, 'world.json'), 'utf8'));
    assert.equal(stored.access.grants[0].refreshToken, json.refresh_token);
    assert.deepEqual(stored.access.grants[0].spentRefreshTokens, [token]);
    assert.equal((await stat(join(dataDir, 'world.json'))).mode & 0o077, 0);
  });

  it('stores the end of an action before it reports it', async () => {
    const bench = await start();
    const uuid = await bench.print(await bench.upload(';TIME:600\n'));
    const { action_id: id } = (await bench.action(`print_jobs/${uuid}/action/duplicate`)).json.data;
    bench.pass(1);
    assert.equal((await bench.actionStatus(id)).status, 'success');
    const [cluster] = JSON.parse(await readFile(join(dataDir, 'world.json'), 'utf8')).clusters;
    assert.deepEqual([cluster.actions[0].ended, cluster.queue.length], [true, 2]);
  });

  it('sets a damaged world aside and starts a new one', async () => {
    for (const damage of ['{"version":2,"clus', 'null', '{"version":1}', '']) {
      await writeFile(join(dataDir, 'world.json'), damage);
      const simulator = await startSimulator({ dataDir });
      try {
        assert.equal(simulator.warnings.length, 1);
        assert.equal(await readFile(join(dataDir, 'world.json.damaged'), 'utf8'), damage);
        assert.equal(simulator.world.clusters().length, 6);
      } finally {
        await simulator.close();
      }
    }
  });

  it('upgrades a world of the version before', async () => {
    const bench = await start({ dataDir, farm: [{}, { model: 'simulated_maker_duo', materials: [{ color: 'Red' }] }] });
    await bench.simulator.close();
    const file = join(dataDir, 'world.json');
    const { version, ...state } = JSON.parse(await readFile(file, 'utf8'));
    assert.equal(version, 4);
    for (const cluster of state.clusters) delete cluster.endWords;
    const [extruder] = state.clusters[1].printers[0].extruders;
    Object.assign(extruder, { material: state.clusters[1].printers[0].slots[0].material, volumeLeft: 1000 });
    delete state.clusters[1].printers[0].slots;
    await writeFile(file, JSON.stringify({ ...state, version: 3 }));

    const upgraded = await start();
    assert.deepEqual(upgraded.simulator.warnings, []);
    const [one, two] = upgraded.simulator.world.clusters();
    assert.equal(one!.endWords, 'long');
    const { slots, extruders } = two!.printers[0]!;
    assert.deepEqual([slots![0]!.material!.color, slots![0]!.volumeLeft, slots!.length], ['Red', 1000, 6]);
    assert.equal(extruders[0]!.material, null);
  });

  it('sets a world of an unknown version aside, and says so', async () => {
    const newer = JSON.stringify({ version: 5, clusters: [], access: {} });
    await writeFile(join(dataDir, 'world.json'), newer);
    const { simulator } = await start();
    assert.match(
      simulator.warnings.join(),
      /^The stored world is of version 5, and this simulator needs 4: it was set/,
    );
    assert.equal(await readFile(join(dataDir, 'world.json.other'), 'utf8'), newer);
  });

  it('deletes the partial file of an interrupted upload', async () => {
    const bench = await start();
    const body = Buffer.alloc(2_000_000, 'x');
    bench.simulator.faults.add({ endpoint: 'storagePut', resetAtByte: 1 });
    await assert.rejects(bench.put(await bench.register(body), body));
    while (bench.simulator.requests.count('storagePut') < 1) await new Promise(setImmediate);
    assert.deepEqual(await readdir(join(dataDir, 'files')), []);
  });

  it('deletes the partial uploads of a killed run', async () => {
    await mkdir(join(dataDir, 'files'));
    await writeFile(join(dataDir, 'files', 'x.0.part'), 'G28');
    await (await startSimulator({ dataDir })).close();
    assert.deepEqual(await readdir(join(dataDir, 'files')), []);
  });

  it('deletes the bytes of a removed file', async () => {
    const bench = await start();
    const jobId = await bench.upload('G28');
    const file = join(dataDir, 'files', bench.simulator.world.storedJob(jobId).key);
    assert.ok(existsSync(file));
    bench.simulator.world.removeStoredJob(jobId);
    assert.equal((await bench.api('GET', `/slicer/v1/jobs/${jobId}`)).status, 404);
    while (existsSync(file)) await new Promise(setImmediate);
  });

  it('creates the same world from the same seed, and another from another seed', async () => {
    const seen = async (options: SimulatorOptions): Promise<unknown> => {
      const bench = await start(options);
      await bench.print(await bench.upload('G28'));
      bench.pass(50);
      return withoutAddresses([(await bench.api('GET', '/connect/v1/clusters')).json.data, await bench.status()]);
    };
    assert.deepEqual(await seen({ seed: 5 }), await seen({ seed: 5 }));
    assert.notDeepEqual(await seen({ seed: 5 }), await seen({ seed: 6 }));
  });

  it('hashes uploads without storing them when set to do so', async () => {
    const bench = await start({ dataDir, storage: 'discard' });
    const jobId = await bench.upload('G28');
    const { sha256 } = bench.simulator.world.storedJob(jobId);
    assert.equal(sha256, createHash('sha256').update('G28').digest('hex'));
    assert.equal(existsSync(join(dataDir, 'files')), false);
    const { json } = await bench.api('GET', `/slicer/v1/jobs/${jobId}`);
    assert.equal((await call(json.data.download_url)).status, 404);
  });

  it('uses the given port, and rejects a port in use', async () => {
    const free = await startSimulator();
    const port = Number(new URL(free.controlUrl).port);
    await assert.rejects(startSimulator({ port }), { code: 'EADDRINUSE' });
    await free.close();
    await assert.rejects(startSimulator({ host: '0.0.0.0' }), TypeError);
  });
});
