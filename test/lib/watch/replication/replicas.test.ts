import assert from 'node:assert/strict';
import { answer, at, job } from '../../events/observations';
import { PrintingError } from '../../../../lib/service/errors';
import type { Membership } from '../../../../lib/state/membership';
import { LIST } from '../../../../lib/watch/checkpoints/checkpoint-store';
import { replicasOf } from '../../../../lib/watch/replication/peers';
import type { Lease } from '../../../../lib/postgres/leases';
import { sleep } from '../../../../lib/time/clock';
import { phrase } from '../../../../lib/words/sentence';
import { Replicas, type Replica } from '../replicas';
import { limited } from '../scripted-account';
import { pluck } from '../../../helpers/pluck';

const MINUTE = 60_000;

describe('the replication among runtimes that watch one account', () => {
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

  /** Starts runtimes that watch these clusters; returns the first one. */
  const start = (count: number, watched: readonly (string | null)[], interval?: number): Replica => {
    const started = Array.from({ length: count }, () => replicas.start());
    for (const replica of started) for (const clusterId of watched) replica.watch(clusterId, interval);
    return started[0] ?? assert.fail();
  };
  const ids = (count: number) => Array.from({ length: count }, (_, n) => `C${n}`);
  /** Names of the runtimes that polled a cluster since a time. */
  const pollersOf = (clusterId: string, from = 0) => [
    ...new Set(replicas.polls.filter((poll) => poll.clusterId === clusterId && poll.at >= from).map(({ by }) => by)),
  ];
  /** The runtime that first polled a cluster since a time, and another one. */
  const pollerOf = (clusterId: string, from = 0): Replica =>
    replicas.all.find(({ name }) => name === pollersOf(clusterId, from)[0]) ?? assert.fail();
  const otherThan = (replica: Replica): Replica => replicas.all.find((one) => one !== replica) ?? replicas.start();
  /** Longest time without a poll of each cluster, ms. */
  const gaps = () =>
    [...service.statuses.keys()].map((clusterId) => {
      const times = replicas.polls.filter((poll) => poll.clusterId === clusterId).map(({ at }) => at);
      return Math.max(...[...times, clock.monotonic()].map((time, at) => time - (times[at - 1] ?? 0)));
    });

  const lateToken = () => new PrintingError('TIMEOUT', phrase`No token.`, { outcome: 'not-sent' });
  const late = (): Promise<never> => {
    const token = Promise.reject(lateToken());
    token.catch(() => undefined);
    return token;
  };
  const refused: Replica['call'] = async (_, { lock }) => {
    (await lock?.secure(0))?.();
    throw lateToken();
  };
  const apart = (times: readonly number[]) => times.slice(1).map((time, at) => time - (times[at] as number));

  describe('one cluster each', () => {
    const clusters = ids(4);
    beforeEach(() => clusters.forEach((id) => service.cluster(id)));

    it('lets one runtime poll each cluster and send its messages and events', async () => {
      start(2, clusters);
      await clock.advance(10 * MINUTE);
      for (const id of clusters) {
        assert.equal(pollersOf(id).length, 1);
        assert.ok(replicas.polls.length <= 4 * 12);
      }
      assert.equal(replicas.load().size, 2);
      assert.ok([...replicas.load().values()].every((count) => count > 20));
      assert.equal(replicas.rounds.length, replicas.polls.length);
      for (const id of clusters) service.cluster(id, answer({ print_jobs: [job('a', 'queued')] }));
      await clock.advance(2 * MINUTE);
      assert.deepEqual(replicas.delivered.map(({ type, clusterId }) => `${type} ${clusterId}`).sort(), [
        'job.queued C0',
        'job.queued C1',
        'job.queued C2',
        'job.queued C3',
      ]);
    });

    it('moves the turns of a closing runtime at once, without late events', async () => {
      start(2, clusters);
      await clock.advance(5 * MINUTE);
      for (const id of clusters) service.cluster(id, answer({ print_jobs: [job('a', 'queued')] }));
      await replicas.all[0]?.close();
      await clock.advance(2 * MINUTE);
      assert.deepEqual(
        replicas.delivered.map(({ type, late }) => `${type} ${late}`),
        Array(4).fill('job.queued false'),
      );
      assert.ok(Math.max(...gaps()) <= 1.1 * MINUTE);
    });

    const many = ids(48);
    /**
     * Closes one of two runtimes before a slow store has saved its deliveries of ends. The returned function ends the
     * slowness.
     */
    const closeUnsaved = async () => {
      const printing = (id: string) => answer({ print_jobs: [at(`${id}-a`, 'printing', 50)] });
      for (const id of many) service.cluster(id, printing(id));
      start(2, many);
      await clock.advance(5 * MINUTE);
      let isSlow = true;
      for (const { runtime } of replicas.all) {
        const query = runtime.line.query.bind(runtime.line);
        runtime.line.query = async (text, values) => {
          if (isSlow) await sleep(runtime.clock, 1_000);
          return query(text, values);
        };
      }
      await clock.advance(MINUTE);
      const [closing] = replicas.all;
      assert.ok(closing);
      // Polled all at once, so that the deliveries queue for the store.
      for (const id of many) service.cluster(id, answer({ recently_completed: [at(`${id}-a`, 'finished', 100)] }));
      for (const watch of closing.watches) void watch.ask(() => undefined);
      const delivered = () => replicas.delivered.filter(({ by }) => by === closing.name).length;
      while (delivered() < 20) await clock.advance(100);
      const closed = closing.leave();
      await clock.advance(6_000);
      await closed;
      return () => (isSlow = false);
    };
    const eachEndOnce = () => {
      const ends = replicas.delivered.filter(({ type }) => type === 'job.finished').map(({ id }) => id);
      assert.deepEqual([ends.length, new Set(ends).size], [48, 48]);
    };

    it('delivers each end once if a runtime closes before a slow store has saved its deliveries', async () => {
      const endSlowness = await closeUnsaved();
      await clock.advance(5 * MINUTE);
      endSlowness();
      eachEndOnce();
    });

    it('delivers each end once if the successor of such a runtime hands over before its first poll', async () => {
      const endSlowness = await closeUnsaved();
      endSlowness();
      // By then, the successor has claimed all clusters, and gives half of them to a new runtime.
      await clock.advance(4_000);
      start(1, many);
      await clock.advance(5 * MINUTE);
      eachEndOnce();
    });

    for (const seconds of [0.5, 2, 4, 6.5, 9, 12])
      it(`delivers each end once if a runtime is deployed ${seconds} s after the ends while each statement takes 1 s`, async () => {
        for (const id of many) service.cluster(id, answer({ print_jobs: [at(`${id}-a`, 'printing', 50)] }));
        const deployed = start(2, [null], 20);
        await clock.advance(3 * MINUTE);
        let isSlow = true;
        for (const { runtime } of replicas.all) {
          const query = runtime.line.query.bind(runtime.line);
          runtime.line.query = async (text, values) => {
            if (isSlow) await sleep(runtime.clock, 1_000);
            return query(text, values);
          };
        }
        await clock.advance(MINUTE);
        for (const id of many) service.cluster(id, answer({ recently_completed: [at(`${id}-a`, 'finished', 100)] }));
        await clock.advance(1000 * seconds);
        void deployed.deploy().then(() => deployed.watch(null, 20));
        await clock.advance(3 * MINUTE);
        isSlow = false;
        await clock.advance(3 * MINUTE);
        eachEndOnce();
      });

    for (const reader of ['clusterStatus', 'clusters'])
      it(`pauses a runtime for 30 s after its 429 of ${reader}, even for printers that it takes over`, async () => {
        start(2, [null], 10);
        await clock.advance(10 * MINUTE);
        const sent: { by: string; at: number }[] = [];
        let limitedRuntime: string | null = null;
        for (const replica of replicas.all) {
          const call = replica.call.bind(replica);
          replica.call = (endpoint, options) => {
            sent.push({ by: replica.name, at: clock.monotonic() });
            if (limitedRuntime !== null || endpoint !== reader) return call(endpoint, options);
            limitedRuntime = replica.name;
            return Promise.reject(limited());
          };
        }
        while (limitedRuntime === null) await clock.advance(100);
        const limitedAt = clock.monotonic();
        sent.length = 0;
        await clock.advance(12_000);
        const ofOthers = sent.filter(({ by }) => by !== limitedRuntime);
        assert.deepEqual([ofOthers.length > 0, sent.length - ofOthers.length], [true, 0], 'the other one goes on');
        await replicas.all.find(({ name }) => name !== limitedRuntime)?.leave();
        await clock.advance(5 * MINUTE);
        const [next] = sent.filter(({ by }) => by === limitedRuntime);
        const rest = (next?.at ?? Infinity) - limitedAt;
        assert.ok(rest >= 29_900 && rest <= 42_000, `${rest} ms`);
        const polled = replicas.polls.filter(({ at }) => at > limitedAt + MINUTE).map(({ clusterId }) => clusterId);
        assert.equal(new Set(polled).size, clusters.length);
      });

    it('moves the clusters of a dead runtime within a lease', async () => {
      start(3, clusters);
      await clock.advance(5 * MINUTE);
      replicas.all[1]?.kill();
      for (const id of clusters) service.cluster(id, answer({ print_jobs: [job('a', 'queued')] }));
      await clock.advance(5 * MINUTE);
      assert.equal(replicas.delivered.length, 4);
      assert.ok(Math.max(...gaps()) <= 1.1 * MINUTE + LEASE, gaps().join());
    });

    it('polls a regained printer no sooner than an interval after the runtime’s own last poll', async () => {
      service.cluster('C0');
      start(1, ['C0'], 10);
      await clock.advance(MINUTE);
      const last = replicas.polls.at(-1)?.at ?? NaN;
      await clock.advance(last + 12_000 - clock.monotonic());
      const polls = replicas.polls.length;
      const lock = replicas.all[0]?.account.watcher.membership?.lock as Lease;
      lock.lose();
      await clock.advance(MINUTE);
      const times = replicas.polls.slice(polls - 1).map(({ at }) => at);
      assert.notEqual(replicas.all[0]?.account.watcher.membership?.lock, lock);
      assert.ok(times.length >= 5);
      assert.ok(Math.min(...apart(times)) >= 10_000, apart(times).join());
    });

    it('counts the interval from the departure of a request that waited for a token', async () => {
      service.cluster('C0');
      const replica = start(1, ['C0'], 10);
      await clock.advance(MINUTE);
      let release: () => void = () => undefined;
      replica.token = new Promise((resolve) => (release = resolve));
      await clock.advance(10_000);
      const polls = replicas.polls.length;
      await clock.advance(7_000);
      assert.equal(replicas.polls.length, polls, 'the poll waits');
      release();
      await clock.advance(MINUTE);
      const times = replicas.polls.slice(polls).map(({ at }) => at);
      assert.ok(times.length >= 5);
      assert.ok(Math.min(...apart(times)) >= 10_000, apart(times).join());
    });

    for (const [what, isAsked] of [
      ['drops a poll that waited for a token until another runtime had taken over', false],
      ['sends a poll that a message requested although another runtime has taken over', true],
    ] as const)
      it(what, async () => {
        service.cluster('C0');
        start(2, ['C0'], 10);
        await clock.advance(MINUTE);
        const replica = pollerOf('C0');
        let release: () => void = () => undefined;
        replica.token = new Promise((resolve) => (release = resolve));
        await clock.advance(12_000);
        const cut = clock.monotonic();
        replica.runtime.cutOff();
        let answered = 0;
        if (isAsked) void replica.watches[0]?.ask(() => answered++);
        await clock.advance(45_000);
        const others = pollersOf('C0', cut);
        assert.deepEqual(others.length === 1 && others[0] !== replica.name, true, others.join());
        const released = clock.monotonic();
        release();
        await clock.advance(1_000);
        assert.equal(pollersOf('C0', released).includes(replica.name), isAsked);
        assert.equal(answered, isAsked ? 1 : 0);
        replica.runtime.reconnect();
        await clock.advance(5 * MINUTE);
        assert.equal(pollersOf('C0', clock.monotonic() - 2 * MINUTE).length, 1);
        assert.deepEqual(replica.watches[0]?.state.trouble, null);
      });

    for (const [what, fail] of [
      ['before their departure', (replica: Replica) => void (replica.token = late())],
      ['after the service had refused the old token', (replica: Replica) => void (replica.call = refused)],
    ] as const)
      it(`polls each printer in its turn after polls failed without a token ${what}`, async () => {
        const many = ids(60);
        many.forEach((id) => service.cluster(id));
        start(2, many);
        await clock.advance(2 * MINUTE);
        const calls = replicas.all.map(({ call }) => call);
        replicas.all.forEach(fail);
        await clock.advance(4 * MINUTE);
        replicas.all.forEach((replica, at) => {
          replica.token = null;
          replica.call = calls[at] as Replica['call'];
        });
        const from = clock.monotonic();
        const perSecond = new Map<number, number>();
        await clock.advance(1.1 * MINUTE);
        const polls = replicas.polls.filter(({ at }) => at >= from);
        assert.deepEqual(new Set(polls.map(({ clusterId }) => clusterId)), new Set(many));
        for (const { at } of polls)
          perSecond.set(Math.floor(at / 1000), (perSecond.get(Math.floor(at / 1000)) ?? 0) + 1);
        assert.ok(Math.max(...perSecond.values()) <= 4, [...perSecond.values()].join());
      });

    it('polls less and less often while no connection to the service succeeds', async () => {
      service.cluster('C0');
      const replica = start(1, ['C0'], 10);
      await clock.advance(MINUTE);
      let tries = 0;
      replica.call = async (endpoint, { lock }) => {
        await lock?.secure(0);
        if (endpoint === 'clusterStatus') tries++;
        throw new PrintingError('TIMEOUT', phrase`No result.`, { outcome: 'not-sent' });
      };
      await clock.advance(5 * MINUTE);
      assert.ok(tries >= 4 && tries <= 6, String(tries));
    });

    it('polls at once after the last poll of a closed runtime never left', async () => {
      service.cluster('C0');
      start(2, ['C0']);
      await clock.advance(5 * MINUTE);
      const replica = pollerOf('C0');
      replica.token = late();
      const last = replicas.polls.at(-1)?.at ?? NaN;
      await clock.advance(last + 75_000 - clock.monotonic());
      await replica.leave();
      await clock.advance(15_000);
      assert.equal(pollersOf('C0', last + 1).length, 1);
    });

    it('polls a regained printer at once after its last poll never left', async () => {
      service.cluster('C0');
      const replica = start(1, ['C0']);
      await clock.advance(5 * MINUTE);
      const last = replicas.polls.at(-1)?.at ?? NaN;
      let release: () => void = () => undefined;
      replica.token = new Promise((resolve) => (release = resolve));
      await clock.advance(last + 80_000 - clock.monotonic());
      (replica.account.watcher.membership!.lock as Lease).lose();
      release();
      await clock.advance(15_000);
      assert.ok(replicas.polls.some(({ at }) => at > last));
    });

    it('answers a message in the runtime that receives it, without advancing the checkpoint', async () => {
      start(2, ['C0']);
      await clock.advance(MINUTE);
      const poller = pollerOf('C0');
      const other = otherThan(poller);
      service.cluster('C0', answer({ print_jobs: [job('a', 'queued')] }));
      const results: (number | undefined)[] = [];
      const asked = other.watches[0]?.ask((round) => results.push(round.results[0]?.status?.jobs.length));
      await clock.advance(1_000);
      assert.equal(await asked, null);
      assert.deepEqual(results, [1]);
      assert.deepEqual(replicas.delivered, []);
      await clock.advance(MINUTE);
      assert.deepEqual(pluck(replicas.delivered, 'by'), [poller.name]);
    });
  });

  describe('a service that one runtime does not reach', () => {
    const clusters = ids(6);
    beforeEach(() => clusters.forEach((id) => service.cluster(id)));
    it('is polled by the other runtimes, and by the first one again some time after its return', async () => {
      start(2, clusters);
      await clock.advance(5 * MINUTE);
      const [one, other] = replicas.all;
      assert.ok(one && other);
      one.isOffline = true;
      const begun = clock.monotonic();
      await clock.advance(3 * MINUTE);
      for (const id of clusters) assert.deepEqual(pollersOf(id, begun + 2 * MINUTE), ['R2'], id);
      one.isOffline = false;
      const back = clock.monotonic();
      await clock.advance(20_000);
      assert.equal(replicas.polls.filter(({ by, at }) => by === 'R1' && at >= back).length, 0, 'not at once');
      await clock.advance(5 * MINUTE);
      const load = [...replicas.load(clock.monotonic() - 2 * MINUTE).values()];
      assert.ok(Math.min(...load) >= 4, load.join());
    });

    it('does not count as out of reach while all wait for a token', async () => {
      const clusters = ids(9);
      clusters.forEach((id) => service.cluster(id));
      start(2, clusters, 10);
      await clock.advance(MINUTE);
      let release: () => void = () => undefined;
      replicas.token = new Promise((resolve) => (release = resolve));
      await clock.advance(2 * MINUTE);
      start(1, clusters, 10);
      await clock.advance(10_000);
      replicas.token = null;
      release();
      const from = clock.monotonic();
      await clock.advance(12_000);
      const polled = replicas.all.map(({ name }) => {
        const own = replicas.polls.filter(({ by, at }) => by === name && at >= from);
        return new Set(own.map(({ clusterId }) => clusterId)).size;
      });
      assert.deepEqual(polled, [3, 3, 3]);
    });

    it('moves no cluster while it is out of reach for all', async () => {
      start(2, clusters);
      await clock.advance(5 * MINUTE);
      const pollers = () => clusters.map((id) => pollersOf(id, clock.monotonic() - 2 * MINUTE).join());
      const before = pollers();
      for (const replica of replicas.all) replica.isOffline = true;
      await clock.advance(10 * MINUTE);
      for (const replica of replicas.all) replica.isOffline = false;
      await clock.advance(20 * MINUTE);
      assert.deepEqual(pollers(), before);
    });
  });

  describe('waiting for the end of a print', () => {
    const printing = answer({ print_jobs: [at('a', 'printing', 50)] });
    const finished = answer({ recently_completed: [at('a', 'finished', 100)] });

    for (const watched of [null, 'C0'])
      it(`uses the polls of the owner if ${watched ?? 'every cluster'} is watched`, async () => {
        service.cluster('C0', printing);
        start(2, [watched]);
        await clock.advance(2 * MINUTE);
        const poller = pollerOf('C0');
        const waiting = otherThan(poller);
        const progress: (number | null)[] = [];
        const seen: string[] = [];
        waiting.account.watcher.onObservation((clusterId) => seen.push(clusterId));
        const ended = waiting.account.watcher.follow('C0', 'a', { onProgress: (job) => progress.push(job.progress) });
        await clock.advance(3 * MINUTE);
        assert.ok(progress.length >= 3, `${progress.length}`);
        assert.ok(seen.length >= 3);
        service.cluster('C0', finished);
        await clock.advance(70_000);
        assert.equal((await ended).outcome, 'finished');
        assert.deepEqual(pollersOf('C0'), [poller.name]);
        assert.equal(replicas.delivered.filter(({ type }) => type === 'job.finished').length, 1);
        const polls = replicas.polls.length;
        await clock.advance(10 * MINUTE);
        assert.ok(Math.abs(replicas.polls.length - polls - 10) <= 1, 'no runtime waits any more');
      });

    it('lets one runtime poll for all without a watch, and another one take over after its end', async () => {
      service.cluster('C0', printing);
      start(3, []);
      const ends = replicas.all.map(({ account }) => account.watcher.follow('C0', 'a'));
      for (const end of ends) end.catch(() => undefined);
      await clock.advance(5 * MINUTE);
      assert.equal(pollersOf('C0').length, 1);
      assert.ok(replicas.polls.length <= 7, `${replicas.polls.length}`);
      pollerOf('C0').kill();
      await clock.advance(2 * MINUTE);
      service.cluster('C0', finished);
      await clock.advance(70_000);
      const outcomes = await Promise.all(
        replicas.all.flatMap(({ isAlive }, n) => (isAlive ? ends[n] : [])).map(async (end) => (await end)?.outcome),
      );
      assert.deepEqual(outcomes, ['finished', 'finished']);
      assert.equal(pollersOf('C0').length, 2);
    });

    it('resolves at once if the end was delivered before', async () => {
      service.cluster('C0', printing);
      start(2, ['C0']);
      await clock.advance(MINUTE);
      service.cluster('C0', finished);
      await clock.advance(2 * MINUTE);
      const polls = replicas.polls.length;
      for (const { account } of replicas.all)
        assert.equal((await account.watcher.follow('C0', 'a')).outcome, 'finished');
      assert.equal(replicas.polls.length, polls);
    });

    it('polls by itself after three intervals without an update', async () => {
      service.cluster('C0', printing);
      start(2, ['C0']);
      await clock.advance(MINUTE);
      const waiting = otherThan(pollerOf('C0'));
      const ended = waiting.account.watcher.follow('C0', 'a');
      await clock.advance(MINUTE);
      replicas.shared.halt();
      service.cluster('C0', finished);
      const from = clock.monotonic();
      await clock.advance(2 * MINUTE);
      assert.deepEqual(pollersOf('C0', from + 20_000), []);
      await clock.advance(2.5 * MINUTE);
      assert.equal((await ended).outcome, 'finished');
      const ends = () => replicas.delivered.filter(({ type }) => type === 'job.finished').length;
      assert.equal(ends(), 0);
      replicas.shared.start();
      await clock.advance(2 * MINUTE);
      assert.equal(ends(), 1);
    });
  });

  describe('the events of a cluster that a queue has polled before any node', () => {
    const ends = () => replicas.delivered.map(({ type, job: about }) => `${type} ${about?.clusterJobId}`);
    const endSoon = () => service.cluster('C0', answer({ recently_completed: [job('short', 'finished')] }));

    beforeEach(() => service.cluster('C0'));

    it('come from the next runtime if the first one is killed before its node’s first poll', async () => {
      const [one, two] = [replicas.start(), replicas.start()];
      one.account.watcher.hold('C0');
      await clock.advance(2_000);
      one.watch('C0', 10);
      await clock.advance(1_000);
      one.kill();
      endSoon();
      two.watch('C0', 10);
      await clock.advance(2 * MINUTE);
      assert.deepEqual(ends(), ['job.finished short']);
    });

    it('begin without the host, which is stored once the list names it', async () => {
      service.cluster('C0', answer({ recently_completed: [job('old', 'finished')] }));
      const release = service.hold('listGate');
      const [one, two] = [replicas.start(), replicas.start()];
      two.watch(null, 10);
      await clock.advance(1_000);
      one.account.watcher.hold('C0');
      await clock.advance(2_000);
      one.watch('C0', 10);
      await clock.advance(1_000);
      const host = () => [...replicas.shared.values('checkpoint')].find(([key]) => key.includes('"C0"'))?.[1];
      assert.equal((host() as { hostGuid: unknown }).hostGuid, null);
      release();
      await clock.advance(2 * MINUTE);
      assert.equal((host() as { hostGuid: unknown }).hostGuid, 'G-C0');
    });

    it('begin with the figures of the previous owner, which has no such node', async () => {
      for (const replica of [replicas.start(), replicas.start()]) replica.account.watcher.hold('C0');
      await clock.advance(10 * MINUTE + 2_000);
      const other = otherThan(pollerOf('C0', 9 * MINUTE));
      other.watch('C0');
      endSoon();
      await clock.advance(3 * MINUTE);
      assert.deepEqual(pollersOf('C0', 11 * MINUTE), [other.name]);
      assert.deepEqual(ends(), ['job.finished short']);
    });
  });

  describe('a cluster that moves to a new id', () => {
    const rebounds = () => replicas.delivered.filter(({ type }) => type === 'cluster.rebound');
    const move = () => {
      service.remove('C1');
      service.cluster('new', answer({ recently_completed: [at('a', 'finished', 100)] }), { host_guid: 'G-C1' });
    };

    for (const watched of [null, 'C1'])
      it(`is reported once and moves for all watches of ${watched ?? 'every cluster'}`, async () => {
        service.cluster('C1', answer({ print_jobs: [at('a', 'printing', 50)] }));
        service.cluster('C2');
        service.cluster('C3');
        start(3, [watched]);
        await clock.advance(3 * MINUTE);
        move();
        await clock.advance(5 * MINUTE);
        assert.equal(rebounds().length, 1);
        assert.deepEqual(
          replicas.delivered.filter(({ type }) => type !== 'cluster.rebound').map(({ type, late }) => [type, late]),
          [['job.finished', false]],
        );
        assert.equal(pollersOf('new', clock.monotonic() - 2 * MINUTE).length, 1);
        assert.deepEqual(pollersOf('C1', clock.monotonic() - 2 * MINUTE), []);
        const from = clock.monotonic();
        pollerOf('new', from - 2 * MINUTE).kill();
        await clock.advance(3 * MINUTE);
        assert.equal(pollersOf('new', from).length, 1, 'the other watches have moved too');
        assert.equal(rebounds().length, 1);
      });

    it('moves for runtimes that wait for the end of a print', async () => {
      service.cluster('C1', answer({ print_jobs: [at('a', 'printing', 50)] }));
      start(2, [null]);
      await clock.advance(2 * MINUTE);
      const ends = replicas.all.map(({ account }) => account.watcher.follow('C1', 'a'));
      await clock.advance(MINUTE);
      move();
      await clock.advance(5 * MINUTE);
      assert.deepEqual(pluck(await Promise.all(ends), 'outcome'), ['finished', 'finished']);
    });
  });

  describe('a standby', () => {
    const standbys = () => replicas.running.map(({ watches: [watch] }) => watch?.state.standby);

    it('names the runtime that polls a printer, except in that runtime', async () => {
      service.cluster('C0');
      start(2, ['C0']);
      await clock.advance(10_000);
      const [poller = ''] = pollersOf('C0');
      const seen = new Map(replicas.running.map(({ name, watches: [watch] }) => [name, watch?.state.standby]));
      assert.equal(seen.get(poller), null);
      seen.delete(poller);
      assert.deepEqual([...seen.values()], [{ why: 'elsewhere', by: poller }]);
      await replicas.all.find(({ name }) => name === poller)?.close();
      await clock.advance(10_000);
      assert.ok(standbys().includes(null), 'the other runtime polls it now');
    });

    it('reports an unreachable store once, after a grace period at the start', async () => {
      service.cluster('C0');
      replicas.shared.halt();
      const replica = replicas.start();
      const shown: unknown[] = [];
      const watch = replica.watch('C0', 60, { onStandby: () => shown.push(watch.state.standby) });
      await clock.advance(2_000);
      assert.deepEqual(shown, []);
      await clock.advance(10 * MINUTE);
      assert.deepEqual(shown, [{ why: 'store' }]);
      assert.equal(replicas.polls.length, 0);
      replicas.shared.start();
      await clock.advance(10_000);
      assert.deepEqual(shown.slice(1), [null]);
      replicas.shared.halt();
      await clock.advance(10 * MINUTE);
      assert.deepEqual(shown.slice(2), [{ why: 'store' }]);
      assert.ok(replicas.polls.length <= 2);
    });
  });

  describe('a checkpoint that could not be written', () => {
    const clusters = ids(4);
    const queue = (...jobs: string[]) =>
      clusters.forEach((id) => service.cluster(id, answer({ print_jobs: jobs.map((name) => job(name, 'queued')) })));
    const deliveredFor = (name: string) =>
      replicas.delivered.flatMap(({ job, clusterId }) => (job?.clusterJobId === name ? [clusterId] : [])).sort();
    beforeEach(() => queue());

    it('survives a loss of the database right after the delivery of its events', async () => {
      start(1, clusters);
      await clock.advance(2 * MINUTE);
      replicas.onDelivered = () => replicas.shared.halt();
      queue('a');
      await clock.advance(2 * MINUTE);
      const delivered = deliveredFor('a');
      assert.equal(delivered.length, 1);
      replicas.onDelivered = () => undefined;
      replicas.shared.start();
      await clock.advance(5 * MINUTE);
      assert.deepEqual(deliveredFor('a'), clusters);
    });

    it('does not overwrite newer state after a paused runtime resumes', async () => {
      start(2, clusters);
      await clock.advance(2 * MINUTE);
      const [sleeper] = replicas.all;
      replicas.onDelivered = ({ by }) => by === sleeper!.name && sleeper!.runtime.pause();
      queue('a');
      await clock.advance(3 * MINUTE);
      replicas.onDelivered = () => undefined;
      queue('a', 'b');
      await clock.advance(2 * MINUTE);
      assert.deepEqual(deliveredFor('b'), clusters);
      sleeper!.runtime.resume();
      await clock.advance(10_000);
      assert.ok(replicas.load(clock.monotonic() - 10_000));
      sleeper!.kill();
      await clock.advance(5 * MINUTE);
      assert.deepEqual(deliveredFor('b'), clusters);
    });
  });

  describe('all clusters', () => {
    it('shares all clusters evenly, with one poller per cluster and one reader of the list', async () => {
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
        replicas.delivered.map(({ type, clusterId }) => `${type} ${clusterId}`),
        ['cluster.added new'],
      );
      assert.equal(pollersOf('new').length, 1);
    });

    it('stays with a printer that a single list lacks, and shares its removal after two', async () => {
      ids(4).forEach((id) => service.cluster(id));
      start(2, [null]);
      await clock.advance(5 * MINUTE);
      const { list } = service;
      service.list = list.filter(({ cluster_id: id }) => id !== 'C2');
      await clock.advance(MINUTE);
      service.list = list;
      await clock.advance(4 * MINUTE);
      const sent = (id: string) => replicas.rounds.filter(({ clusterId }) => clusterId === id).length;
      assert.equal(sent('C2'), sent('C1'));
      assert.deepEqual(replicas.delivered, []);
      service.remove('C2');
      await clock.advance(3 * MINUTE);
      assert.deepEqual(pluck(replicas.delivered, 'type'), ['cluster.removed']);
      const before = sent('C2');
      await clock.advance(5 * MINUTE);
      assert.equal(sent('C2'), before);
    });
  });

  it('counts all polls of a runtime but names at most 1,000 in a problem report', async () => {
    const held = { items: [LIST, ...Array.from({ length: 5_000 }, (_, at) => `c${at}`)], leaseAge: 0 };
    const members = [{ id: 'a', name: 'a', since: 0 }];
    const holders = () => Promise.resolve(new Map([['a', held]]));
    const [listed] = await replicasOf({ id: 'a', members, holders } as unknown as Membership);
    assert.deepEqual([listed?.printers, listed?.list], [5_000, true]);
    assert.equal(listed?.clusterIds.length, 999);
  });

  it('lists the polls of every runtime for a problem report', async () => {
    ids(9).forEach((id) => service.cluster(`long-name-${id}`));
    start(3, [null]);
    await clock.advance(2 * MINUTE);
    const [first] = replicas.running;
    const { membership } = first!.account.watcher;
    const listed = await replicasOf(membership!);
    assert.deepEqual(
      listed.map(({ printers, clusterIds }) => [printers, clusterIds]),
      Array.from({ length: 3 }, () => [3, ['long-n…', 'long-n…', 'long-n…']]),
    );
    assert.equal(listed.filter(({ self }) => self).length, 1);
    assert.equal(listed.find(({ self }) => self)?.id, `${membership!.id.slice(0, 6)}…`);
    assert.deepEqual(listed.map(({ list }) => list).sort(), [false, false, true]);
    assert.ok(listed.every(({ leaseAge }) => leaseAge <= 5));

    replicas.running[2]!.runtime.pause();
    await clock.advance(10_000);
    const ages = (await replicasOf(membership!)).map(({ leaseAge }) => leaseAge).sort((a, b) => a - b);
    assert.ok(ages[1]! <= 5 && ages[2]! >= 10, ages.join());
    replicas.running[2]!.runtime.resume();
  });
});

/** Longest time until the lease of a dead runtime has expired and the others notice, ms. */
const LEASE = 30_000;
