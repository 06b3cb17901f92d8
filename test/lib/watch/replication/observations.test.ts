import assert from 'node:assert/strict';
import type { ClusterStatus } from '../../../../lib/service/cluster';
import { answer, at } from '../../events/observations';
import { Replicas, type Replica } from '../replicas';

const MINUTE = 60_000;

/** A print of which the service has counted so many seconds. */
const printing = (elapsed: number) =>
  answer({ print_jobs: [{ ...at('a', 'printing', elapsed), time_elapsed: elapsed, time_total: 9000 }] });

describe('watch/replication/observations', () => {
  let replicas: Replicas;
  let clock: Replicas['clock'];
  let service: Replicas['service'];

  beforeEach(() => {
    replicas = new Replicas();
    ({ clock, service } = replicas);
  });
  afterEach(async () => {
    await replicas.close();
    await clock.advance(0);
  });

  /** Starts runtimes that watch the clusters, and keep them on the polls as a print queue does. */
  async function start(clusters: number, { count = 3, interval = 20 } = {}): Promise<void> {
    const ids = Array.from({ length: clusters }, (_, n) => `C${n}`);
    for (const id of ids) service.cluster(id);
    for (let n = 0; n < count; n++) {
      const { account } = replicas.start();
      replicas.all[n]?.watch(null, interval);
      for (const id of ids) account.watcher.hold(id);
    }
    await clock.advance(3 * MINUTE);
  }

  const statements = () => replicas.running.reduce((sum, { runtime }) => sum + runtime.statements, 0);
  const perMinute = async (): Promise<{ asked: number; polls: number }> => {
    const [asked, polls] = [statements(), replicas.polls.length];
    await clock.advance(MINUTE);
    return { asked: statements() - asked, polls: replicas.polls.length - polls };
  };
  const owner = (clusterId: string): Replica =>
    replicas.all.find(({ name }) => name === replicas.polls.findLast((poll) => poll.clusterId === clusterId)?.by) ??
    assert.fail();
  /** What the runtimes that don't poll a cluster learn about it. */
  function observers(clusterId: string): { statuses: ClusterStatus[]; requested: number[] } {
    const seen = { statuses: [] as ClusterStatus[], requested: [] as number[] };
    const polling = owner(clusterId);
    for (const replica of replicas.running.filter((one) => one !== polling))
      replica.account.watcher.onObservation((id, status, requestedAt) => {
        if (id !== clusterId) return;
        seen.statuses.push(status);
        seen.requested.push(clock.monotonic() - requestedAt);
      });
    return seen;
  }

  it('asks the database no more for many polls without a change than for few', async () => {
    await start(10);
    const few = await perMinute();
    await replicas.close();
    replicas = new Replicas();
    ({ clock, service } = replicas);
    await start(120);
    const many = await perMinute();
    assert.ok(many.polls > 10 * few.polls && many.polls >= 350, `${many.polls} polls`);
    assert.ok(many.asked <= 1.5 * few.asked, `${many.asked} statements for ${many.polls} polls, ${few.asked} for few`);
  });

  it('counts the progress of a print as no change, but passes it on', async () => {
    await start(3);
    service.cluster('C0', printing(100));
    await clock.advance(MINUTE);
    const seen = observers('C0');
    const idle = await perMinute();
    for (let elapsed = 200; elapsed < 500; elapsed += 100) {
      service.cluster('C0', printing(elapsed));
      await clock.advance(20_000);
    }
    await clock.advance(30_000);
    const shown = new Set(seen.statuses.map(({ jobs }) => jobs[0]?.timeElapsed));
    assert.deepEqual([...shown].slice(-2), [300, 400]);
    const busy = await perMinute();
    assert.ok(busy.asked <= idle.asked + 3, `${busy.asked} statements in a minute, ${idle.asked} before`);
  });

  it('passes every poll on with its age, so that no printer counts as unseen', async () => {
    await start(3);
    const { requested, statuses } = observers('C1');
    await clock.advance(5 * MINUTE);
    assert.ok(statuses.length >= 2 * 14, `${statuses.length} in 5 minutes at two runtimes`);
    assert.ok(Math.max(...requested) <= 12_000, `${Math.max(...requested)} ms old`);
  });

  it('shows a change at once, and to a runtime that has missed it with the next poll', async () => {
    await start(3);
    const [deaf] = replicas.running.filter((one) => one !== owner('C0'));
    const shown: (string | undefined)[] = [];
    deaf?.account.watcher.onObservation((id, { jobs }) => id === 'C0' && shown.push(jobs[0]?.clusterJobId ?? 'none'));
    deaf?.runtime.deafen();
    service.cluster('C0', printing(100));
    await clock.advance(25_000);
    assert.ok(!shown.includes('a'));
    deaf?.runtime.reconnect();
    await clock.advance(45_000);
    assert.equal(shown.at(-1), 'a');
  });

  it('shows nothing as seen while a change can’t be written', async () => {
    await start(3, { count: 2 });
    const polling = owner('C0');
    const seen = observers('C0');
    const { store } = polling.runtime;
    const put = store.put.bind(store);
    store.put = (key, value, options) =>
      key[0] === 'observation' ? Promise.reject(new Error('full')) : put(key, value, options);
    service.cluster('C0', printing(100));
    await clock.advance(21_000);
    const before = seen.statuses.length;
    await clock.advance(30_000);
    assert.equal(seen.statuses.length, before, 'the old status is not confirmed');
    store.put = put;
    await clock.advance(45_000);
    assert.equal(seen.statuses.at(-1)?.jobs[0]?.clusterJobId, 'a');
  });
});
