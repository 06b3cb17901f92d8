import assert from 'node:assert/strict';
import { answer, job } from '../events/observations';
import { replicasOf } from '../../../lib/watch/replicas';
import { Replicas } from './replicas';

const MINUTE = 60_000;

describe('several runtimes that watch one account', () => {
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

  const start = (count: number, watched: readonly (string | null)[], interval?: number) => {
    for (let n = 0; n < count; n++) {
      const replica = replicas.start();
      for (const clusterId of watched) replica.watch(clusterId, interval);
    }
  };
  const ids = (count: number) => Array.from({ length: count }, (_, n) => `C${n}`);
  /** Those who polled a cluster since a time. */
  const pollersOf = (clusterId: string, from = 0) => [
    ...new Set(replicas.polls.filter((poll) => poll.clusterId === clusterId && poll.at >= from).map(({ by }) => by)),
  ];
  /** The longest that each cluster was not polled up to now, ms. */
  const gaps = () =>
    [...service.statuses.keys()].map((clusterId) => {
      const times = replicas.polls.filter((poll) => poll.clusterId === clusterId).map(({ at }) => at);
      return Math.max(...[...times, clock.monotonic()].map((time, at) => time - (times[at - 1] ?? 0)));
    });

  describe('one cluster each', () => {
    const clusters = ids(4);
    beforeEach(() => clusters.forEach((id) => service.cluster(id)));

    it('poll each in one of them, with its messages and its events there', async () => {
      start(2, clusters);
      await clock.advance(10 * MINUTE);
      for (const id of clusters) {
        assert.equal(pollersOf(id).length, 1);
        assert.ok(replicas.polls.length <= 4 * 12);
      }
      assert.deepEqual(
        [...replicas.load().values()].map((count) => count > 20),
        [true, true],
      );
      assert.equal(replicas.rounds.length, replicas.polls.length);
      for (const id of clusters) service.cluster(id, answer({ print_jobs: [job('a', 'queued')] }));
      await clock.advance(2 * MINUTE);
      assert.deepEqual(replicas.told.map(({ type, clusterId }) => `${type} ${clusterId}`).sort(), [
        'job.queued C0',
        'job.queued C1',
        'job.queued C2',
        'job.queued C3',
      ]);
    });

    it('go on in the turn of one that closes, at once, and nothing that happened meanwhile is late', async () => {
      start(2, clusters);
      await clock.advance(5 * MINUTE);
      for (const id of clusters) service.cluster(id, answer({ print_jobs: [job('a', 'queued')] }));
      await replicas.all[0]?.close();
      await clock.advance(2 * MINUTE);
      assert.deepEqual(
        replicas.told.map(({ type, late }) => `${type} ${late}`),
        Array(4).fill('job.queued false'),
      );
      assert.ok(Math.max(...gaps()) <= 1.1 * MINUTE);
    });

    it('take over what one had that dies, within a lease', async () => {
      start(3, clusters);
      await clock.advance(5 * MINUTE);
      replicas.all[1]?.kill();
      for (const id of clusters) service.cluster(id, answer({ print_jobs: [job('a', 'queued')] }));
      await clock.advance(5 * MINUTE);
      assert.equal(replicas.told.length, 4);
      assert.ok(Math.max(...gaps()) <= 1.1 * MINUTE + LEASE, gaps().join());
    });

    it('answer messages where they come in, and advance nothing by it', async () => {
      start(2, ['C0']);
      await clock.advance(MINUTE);
      const [poller] = pollersOf('C0');
      const other = replicas.all.find(({ name }) => name !== poller);
      assert.ok(other);
      service.cluster('C0', answer({ print_jobs: [job('a', 'queued')] }));
      const results: (number | undefined)[] = [];
      const asked = other.watches[0]?.ask((round) => results.push(round.results[0]?.status?.jobs.length));
      await clock.advance(1_000);
      assert.equal(await asked, null);
      assert.deepEqual(results, [1]);
      assert.deepEqual(replicas.told, []);
      await clock.advance(MINUTE);
      assert.deepEqual(
        replicas.told.map(({ by }) => by),
        [poller],
      );
    });
  });

  describe('all clusters', () => {
    it('are polled evenly by all, each by one, and the list is read once for all', async () => {
      ids(100).forEach((id) => service.cluster(id));
      start(3, [null]);
      await clock.advance(5 * MINUTE);
      const load = [...replicas.load(4 * MINUTE).values()];
      assert.ok(Math.abs(load.reduce((sum, count) => sum + count) - 100) <= 2);
      assert.ok(Math.max(...load) <= 35 && Math.min(...load) >= 32, load.join());
      assert.ok(replicas.lists <= 6, `${replicas.lists}`);
      assert.equal(replicas.rounds.filter(({ clusterId }) => clusterId === 'C7').length, 5);
      service.cluster('new');
      await clock.advance(2 * MINUTE);
      assert.deepEqual(
        replicas.told.map(({ type, clusterId }) => `${type} ${clusterId}`),
        ['cluster.added new'],
      );
      assert.equal(pollersOf('new').length, 1);
    });
  });

  it('tell who polls what, for people', async () => {
    ids(9).forEach((id) => service.cluster(`long-name-${id}`));
    start(3, [null]);
    await clock.advance(2 * MINUTE);
    const [first] = replicas.living;
    const { membership } = first!.account.watcher;
    const told = await replicasOf(membership!);
    assert.deepEqual(
      told.map(({ printers, clusterIds }) => [printers, clusterIds]),
      Array.from({ length: 3 }, () => [3, ['long-n…', 'long-n…', 'long-n…']]),
    );
    assert.equal(told.filter(({ self }) => self).length, 1);
    assert.equal(told.find(({ self }) => self)?.id, `${membership!.id.slice(0, 6)}…`);
    assert.deepEqual(told.map(({ list }) => list).sort(), [false, false, true]);
    assert.ok(told.every(({ leaseAge }) => leaseAge <= 5));

    replicas.living[2]!.runtime.pause();
    await clock.advance(10_000);
    const ages = (await replicasOf(membership!)).map(({ leaseAge }) => leaseAge).sort((a, b) => a - b);
    assert.ok(ages[1]! <= 5 && ages[2]! >= 10, ages.join());
    replicas.living[2]!.runtime.resume();
  });
});

/** What a death costs: until the lease has run out and is found to have, ms. */
const LEASE = 30_000;
