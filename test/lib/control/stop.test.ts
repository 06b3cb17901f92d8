import assert from 'node:assert/strict';
import type { Client } from '../../../lib/client';
import { JobControl } from '../../../lib/control/job-control';
import { stopJobs } from '../../../lib/control/stop';
import { PrintingError } from '../../../lib/service/errors';
import { systemClock } from '../../../lib/time/clock';
import { underDeadline } from '../../../lib/time/deadline';
import { ClusterList } from '../../../lib/watch/polling/cluster-list';
import { StatusReader } from '../../../lib/watch/polling/status-reader';
import { phrase } from '../../../lib/words/sentence';
import { startSimulator, type Simulator } from '../../../simulator';
import { limit } from '../../helpers/limits';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';
import { pluck } from '../../helpers/pluck';
import { inMemory, PRINT } from '../../helpers/print-request';
import { ScriptedService } from '../../helpers/scripted-service';
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

describe('control/stop of printers that answer oddly', () => {
  const success = { action_id: 'a', status: 'success' };
  const refused = () => new PrintingError('NOT_ACCEPTED', phrase`Busy.`, { statusCode: 409, outcome: 'refused' });
  const job = (uuid?: string, status = 'printing') => ({ uuid, status });
  const shows = (...jobs: object[]) => ({ is_online: true, print_jobs: jobs });

  /** Stops one printer, or all. Returns the outcome of each job, and what was sent. */
  async function stop(
    script: ConstructorParameters<typeof ScriptedService>[0],
    { ofAll = false, quiet = undefined as Promise<unknown> | undefined } = {},
  ) {
    const clock = new ManualClock();
    const service = new ScriptedService({ jobAction: [success], ...script });
    const reader = new StatusReader(service, new ClusterList(service, clock, new AbortController().signal));
    const deadline = limit(clock, { seconds: 60 });
    const request = { clusterId: ofAll ? undefined : 'c', quiet, deadline, onStage: () => undefined };
    const stopped = stopJobs(service, reader, new JobControl(service, reader), request);
    await clock.advance(120_000);
    const results = await stopped.finally(() => deadline.end());
    const sent = service.calls.filter(({ endpoint }) => endpoint === 'jobAction');
    return {
      outcomes: results.map(({ clusterJobId, status, error }) => [clusterJobId, error?.code ?? status]),
      sent: sent.map(({ ids }) => `${ids?.action} ${ids?.cluster_job_id}`),
      looks: pluck(
        service.calls.filter(({ endpoint }) => endpoint === 'clusterStatus'),
        'ids',
      ).map((ids) => ids?.cluster_id),
    };
  }

  it('fails where the print goes on, although a single look lacked it', async () => {
    const { outcomes } = await stop({
      clusterStatus: [shows(job('j')), shows(), shows(job('j'))],
      jobAction: [refused],
    });
    assert.deepEqual(outcomes, [['j', 'NOT_ACCEPTED']]);
  });

  it('counts a print whose abort was refused as stopped once two looks in a row lack it', async () => {
    const { outcomes, sent } = await stop({ clusterStatus: [shows(job('j')), shows()], jobAction: [refused] });
    assert.deepEqual([outcomes, sent], [[['j', 'success']], ['abort j']]);
  });

  it('counts a print whose abort was refused as stopped once it is listed as over', async () => {
    const statuses = [shows(job('j')), shows(job('j', 'aborted_wait_cleanup'))];
    const { outcomes } = await stop({ clusterStatus: statuses, jobAction: [refused] });
    assert.deepEqual(outcomes, [['j', 'success']]);
  });

  it('tries once more where a printer has refused', async () => {
    const statuses = [shows(job('j')), shows(job('j')), shows()];
    const { outcomes, sent } = await stop({ clusterStatus: statuses, jobAction: [refused, success] });
    assert.deepEqual([outcomes, sent], [[['j', 'success']], ['abort j', 'abort j']]);
  });

  it('fails for a print without an id', async () => {
    const { outcomes, sent } = await stop({ clusterStatus: [shows(job())] });
    assert.deepEqual([outcomes, sent], [[[null, 'SERVICE_ERROR']], []]);
  });

  it('aborts a print once that is listed twice, as printing and as queued', async () => {
    const { sent } = await stop({ clusterStatus: [shows(job('j'), job('j', 'queued')), shows()] });
    assert.deepEqual(sent, ['abort j']);
  });

  describe('in a farm of 200', () => {
    const farm = Array.from({ length: 200 }, (_, at) => ({
      ...{ cluster_id: `c${at}`, is_online: true, host_print_job_count: at === 199 ? 1 : 0 },
      ...(at === 199 ? { host_current_print_job: job('j') } : {}),
    }));
    const status = ({ ids }: { ids: Record<string, string> }) =>
      ids.cluster_id === 'c199' && !aborted ? shows(job('j')) : shows();
    let aborted: boolean;
    const script = () => ({
      clusters: [farm],
      clusterStatus: [status],
      jobAction: [() => ((aborted = true), success)],
    });
    beforeEach(() => (aborted = false));

    it('begins with the printers that the list shows at work, and reads an idle one once', async () => {
      const { outcomes, looks } = await stop(script(), { ofAll: true });
      assert.deepEqual([outcomes, looks[0], looks.length], [[['j', 'success']], 'c199', 201]);
    });

    it('reads every printer once more after the queues have stopped sending, and waits for them nowhere before', async () => {
      let end: () => void = () => undefined;
      const quiet = new Promise<void>((resolve) => (end = resolve));
      const all = new Set<string>();
      const ending = {
        clusterStatus: [(call: { ids: { cluster_id: string } }) => (note(call.ids.cluster_id), status(call))],
      };
      const note = (id: string) => {
        all.add(id);
        if (all.size === 200) end();
      };
      const { outcomes, looks } = await stop({ ...script(), ...ending }, { ofAll: true, quiet });
      assert.deepEqual([outcomes, looks.length >= 201 + 176], [[['j', 'success']], true]);
    });
  });
});
