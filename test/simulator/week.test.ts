import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSimulator, type Simulator } from '../../simulator';
import { Bench, call } from './support';

const HOUR = 3600_000;
const NOW = Date.UTC(2030, 5, 15, 12);
const now = () => NOW;

describe('simulator: history of the past week', () => {
  let simulator: Simulator | undefined;
  let dataDir: string;
  beforeEach(async () => (dataDir = await mkdtemp(join(tmpdir(), 'simulator-'))));
  afterEach(async () => {
    await simulator?.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const logs = ({ world }: Simulator) => world.clusters().map(({ log }) => log);

  it('contains prints of every outcome on every printer, without overlap, all in the past', async () => {
    simulator = await startSimulator({ now, history: true });
    for (const log of logs(simulator)) {
      const kinds = new Set(log.map(({ status }) => status));
      assert.deepEqual([...kinds].sort(), ['aborted', 'failed', 'finished']);
      assert.ok(log.length >= 12, String(log.length));
      let last = NOW - 9 * 24 * HOUR;
      for (const { createdAt, startedAt, endedAt, status, timeElapsed, timeTotal } of log) {
        assert.ok(last < createdAt && createdAt < startedAt! && startedAt! < endedAt && endedAt < NOW);
        assert.equal(endedAt - startedAt!, 1000 * timeElapsed);
        assert.equal(status === 'finished', timeElapsed === timeTotal);
        last = endedAt;
      }
      assert.ok(log[0]!.endedAt > NOW - 7 * 24 * HOUR && log[0]!.endedAt < NOW - 5 * 24 * HOUR);
    }
    const materials = new Set(logs(simulator).flatMap((log) => log.map((print) => print.materials[0])));
    assert.ok(materials.size >= 4, [...materials].join());
  });

  it('is reproducible for the same seed and time', async () => {
    const [one, other, third] = await Promise.all(
      [5, 5, 6].map(async (seed) => {
        const started = await startSimulator({ now, seed, history: true });
        await started.close();
        return logs(started);
      }),
    );
    assert.deepEqual(one, other);
    assert.notDeepEqual(one, third);
  });

  it('is complete: no print is active, and the files are downloadable', async () => {
    const bench = await Bench.start({ history: true });
    simulator = bench.simulator;
    bench.pass(86_400);
    const { data } = (await bench.api('GET', `/connect/v1/clusters/${bench.clusterId()}/status`)).json;
    assert.deepEqual(data.print_jobs, []);
    assert.equal(data.recently_completed.length, 10);
    const [job] = simulator.world.storedJobs();
    const stored = (await bench.api('GET', `/slicer/v1/jobs/${job!.jobId}`)).json.data;
    assert.equal((await call(stored.download_url)).bytes.length, job!.fileSize);
  });

  it('is created in a new world only', async () => {
    await (await startSimulator({ now, dataDir })).close();
    simulator = await startSimulator({ now, dataDir, history: true });
    assert.deepEqual(logs(simulator).flat(), []);
  });
});
