import assert from 'node:assert/strict';
import type { Client } from '../../../lib/client';
import { systemClock } from '../../../lib/time/clock';
import { underDeadline } from '../../../lib/time/deadline';
import { startSimulator, type Simulator } from '../../../simulator';
import { MemoryStore } from '../../helpers/memory-store';
import { inMemory, PRINT } from '../../helpers/print-request';
import { signedInClient } from '../../helpers/simulated-client';
import { TurnedTime } from '../../helpers/turned-time';

describe('control/stop', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let client: Client;

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ now: time.now, accessTokenLifetime: 1e7 });
    client = await signedInClient(simulator, { store: new MemoryStore(), clock: systemClock });
  });
  afterEach(async () => {
    await time.until(client.close());
    await simulator.close();
    time.restore();
  });

  const clusterId = () => simulator.world.clusters()[0]?.clusterId ?? '';
  const print = (printer = clusterId()) =>
    underDeadline(systemClock, { ms: 600_000 }, (deadline) =>
      client.prints.run({
        ...PRINT,
        source: inMemory(';TIME:600\nG28\n'),
        clusterIds: [printer],
        signal: new AbortController().signal,
        onProgress: () => undefined,
        onResult: () => undefined,
        deadline,
      }),
    );
  /** Stops everything. Returns the result of each job. */
  const stop = async () => {
    const { results } = await underDeadline(systemClock, { ms: 60_000 }, (deadline) =>
      client.stop({ clusterId: undefined, deadline, onStage: () => undefined }),
    );
    return results.map(({ status, error }) => error?.code ?? status);
  };

  const withoutJobs = (body: unknown) => ({ data: { ...(body as { data: object }).data, print_jobs: [] } });

  it('takes back a job that is just being sent', async () => {
    let accept: () => void = () => undefined;
    const accepted = new Promise<void>((resolve) => (accept = resolve));
    let leaves: () => void = () => undefined;
    const left = new Promise<void>((resolve) => (leaves = resolve));
    simulator.faults.add({ endpoint: 'print', until: () => (leaves(), accepted) });
    const printed = print();
    await time.until(left);
    const acceptLater = (body: unknown) => (accept(), body);
    simulator.faults.add({ endpoint: 'clusterStatus', path: clusterId(), after: 1, transform: acceptLater });
    assert.deepEqual(await time.until(stop()), ['success']);
    await time.until(printed);
  });

  it('takes back a job that the lists of its printer do not show yet', async () => {
    await time.until(print());
    simulator.faults.add({ endpoint: 'clusterStatus', path: clusterId(), times: 4, transform: withoutJobs });
    assert.deepEqual(await time.until(stop()), ['success']);
  });

  it('takes back a job that is not listed yet while the stop of another printer takes longer', async () => {
    const other = simulator.world.clusters()[1]?.clusterId ?? '';
    await time.until(print(other));
    await time.until(new Promise<void>((resolve) => void systemClock.after(20_000, resolve)));
    await time.until(print());
    const goesOn = (body: unknown) => ({ data: { ...(body as { data: object }).data, status: 'pending' } });
    simulator.faults.add({ endpoint: 'actionStatus', path: other, times: 8, transform: goesOn });
    const startedAt = systemClock.monotonic();
    const lateList = (body: unknown) => (systemClock.monotonic() < startedAt + 5_000 ? withoutJobs(body) : body);
    simulator.faults.add({ endpoint: 'clusterStatus', path: clusterId(), times: 'always', transform: lateList });
    assert.deepEqual(await time.until(stop()), ['success', 'success']);
  });

  it('waits no longer than fifteen seconds for a job that the lists never show', async () => {
    await time.until(print());
    const times = 'always';
    simulator.faults.add({ endpoint: 'clusterStatus', path: clusterId(), times, transform: withoutJobs });
    const startedAt = systemClock.monotonic();
    assert.deepEqual(await time.until(stop()), []);
    assert.ok(systemClock.monotonic() - startedAt <= 16_000);
  });
});
