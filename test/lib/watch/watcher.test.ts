import assert from 'node:assert/strict';
import { settle } from '../../helpers/manual-clock';
import { answer, at, job, minute, type Wire } from '../events/observations';
import type { WatchOptions } from '../../../lib/watch/watcher';
import { broken, notFound, ScriptedAccount } from './scripted-account';

const jobs = (...print_jobs: Wire[]) => answer({ print_jobs });
const MINUTE = 60_000;

describe('Watcher', () => {
  let account: ScriptedAccount;
  let service: ScriptedAccount['service'];
  let clock: ScriptedAccount['clock'];

  beforeEach(() => {
    account = new ScriptedAccount();
    ({ service, clock } = account);
    service.cluster('C1');
  });
  afterEach(async () => {
    await account.watcher.close();
    await clock.advance(0);
    assert.equal(clock.waiting, 0, 'a timer is left');
  });

  describe('one cluster', () => {
    it('polls at once, then every interval, with what the list says', async () => {
      const { rounds } = account.watch('C1');
      await settle();
      assert.equal(service.count('clusterStatus'), 1);
      const [result] = rounds[0]?.results ?? [];
      assert.equal(result?.status?.name, 'name-C1');
      assert.equal(result.status.hostGuid, 'G-C1');
      assert.equal(result.raw, service.statuses.get('C1'));
      assert.equal(rounds[0]?.error, null);
      await clock.advance(10 * MINUTE);
      assert.equal(service.count('clusterStatus'), 11);
      assert.equal(rounds.length, 11);
    });

    it('lengthens an interval under 10 s', async () => {
      account.watch('C1', { interval: 1 });
      await clock.advance(MINUTE);
      assert.equal(service.count('clusterStatus'), 7);
    });

    it('reads the list at first use and then at most every 10 minutes', async () => {
      account.watch('C1');
      await clock.advance(9 * MINUTE);
      assert.equal(service.count('clusters'), 1);
      await clock.advance(MINUTE);
      assert.equal(service.count('clusters'), 2);
    });

    it('reports a failure at once that comes just after stale figures went out, without figures of its own', async () => {
      let open: () => void = () => undefined;
      service.gate = new Promise((resolve) => (open = resolve));
      service.fails = () => broken();
      const { rounds } = account.watch('C1', { interval: 10 });
      await clock.advance(15_100);
      open();
      await settle();
      assert.equal(rounds[0]?.error?.code, 'SERVICE_ERROR');
      assert.ok(rounds.every(({ results }) => results[0]?.status === null));
    });

    it('goes on without the list', async () => {
      service.fails = (call) => (call === 'clusters' ? broken() : undefined);
      const { rounds } = account.watch('C1');
      await settle();
      assert.equal(rounds[0]?.error, null);
      assert.equal(rounds[0].results[0]?.status?.name, null);
      assert.deepEqual(account.reports, []);
    });

    it('tells events, and leaves out what is no news where that is wanted', async () => {
      const witness = account.watch('C1', { onlyChanges: true });
      await settle();
      service.cluster('C1', jobs(at('a', 'printing', 30)));
      await clock.advance(MINUTE);
      service.cluster('C1', jobs(at('a', 'printing', 30.5)));
      await clock.advance(MINUTE);
      service.cluster('C1', jobs(at('a', 'printing', 60)));
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), ['job.started a', 'job.progress a=50']);
      assert.deepEqual(
        witness.rounds.map(({ results }) => results[0]?.status !== null),
        [true, true, false, true],
      );
    });

    it('reads the record of a job that vanished', async () => {
      service.cluster('C1', jobs(job('a', 'queued')));
      const witness = account.watch('C1');
      await settle();
      service.cluster('C1', answer());
      service.fails = (call) => (call === 'printJob a' ? broken() : undefined);
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), []);
      service.fails = () => undefined;
      service.records.set('a', job('a', 'failed'));
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), ['job.failed a']);
      await clock.advance(MINUTE);
      assert.equal(service.count('printJob'), 2);
    });

    it('reports the end of a job under its own id, whichever id its record bears', async () => {
      service.cluster('C1', jobs(job('a', 'queued')));
      const witness = account.watch('C1');
      await settle();
      service.cluster('C1', answer());
      service.records.set('a', job('other', 'failed'));
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), ['job.failed a']);
    });

    it('takes a job as ended that the service no longer knows or shows', async () => {
      for (const failure of [notFound(), undefined]) {
        const own = new ScriptedAccount();
        own.service.cluster('C1', jobs(job('a', 'queued')));
        const witness = own.watch('C1');
        await settle();
        own.service.cluster('C1', answer());
        own.service.fails = (call) => (call === 'printJob a' ? failure : undefined);
        await own.clock.advance(MINUTE);
        assert.deepEqual(witness.delivered(), [], 'one poll without it is no proof');
        await own.clock.advance(MINUTE);
        assert.deepEqual(witness.delivered(), ['job.ended a']);
        await own.watcher.close();
      }
    });
  });

  describe('sharing', () => {
    it('makes one request per poll for all who watch', async () => {
      const all = [account.watch('C1'), account.watch('C1'), account.watch(null)];
      await clock.advance(5 * MINUTE);
      assert.equal(service.count('clusterStatus'), 6);
      assert.deepEqual(
        all.map(({ rounds }) => rounds.length),
        [6, 6, 6],
      );
    });

    it('moves the turns of a node by no poll that another node is asked for', async () => {
      const own: number[] = [];
      account.watch('C1', { interval: 30, onRound: () => own.push(clock.monotonic()) });
      const neighbour = account.watch('C1', { interval: 3600 });
      await clock.advance(10_000);
      for (let second = 10; second < 300; second += 2) {
        void neighbour.poll();
        await clock.advance(2_000);
      }
      const gaps = own.slice(2).map((time, at) => time - (own[at + 1] ?? 0));
      assert.ok(gaps.length >= 8, gaps.join());
      assert.ok(
        gaps.every((gap) => gap > 27_500 && gap < 32_500),
        gaps.join(),
      );
    });

    it('passes on in the turn of a node what was asked for shortly before, with no poll more', async () => {
      const own: number[] = [];
      account.watch('C1', { interval: 30, onRound: () => own.push(clock.monotonic()) });
      const neighbour = account.watch('C1', { interval: 3600 });
      await clock.advance(5 * MINUTE);
      const turn = (own.at(-1) ?? 0) + 30_000;
      await clock.advance(turn - 5_000 - clock.monotonic());
      await neighbour.poll();
      const [polls, sent] = [service.count('clusterStatus'), own.length];
      await clock.advance(4_000);
      assert.equal(own.length, sent, 'not before its turn');
      await clock.advance(2_000);
      assert.deepEqual([service.count('clusterStatus'), own.length], [polls, sent + 1]);
      await clock.advance(30_000);
      assert.deepEqual([service.count('clusterStatus'), own.length], [polls + 1, sent + 2]);
    });

    it('goes on where what a poll brought can not be copied for all who share it', async () => {
      let deep: unknown = 0;
      for (let depth = 0; depth < 9_000; depth++) deep = [deep];
      service.cluster('C1', answer({ later: deep }));
      const [one, other] = [account.watch('C1'), account.watch('C1')];
      await clock.advance(MINUTE);
      service.cluster('C1', jobs(job('a', 'queued')));
      const before = other.rounds.length;
      await clock.advance(2 * MINUTE);
      assert.equal(other.rounds.length, before + 2);
      assert.deepEqual([one.delivered(), other.delivered()], [['job.queued a'], ['job.queued a']]);
    });

    it('delivers the events of a cluster to a watch beside another only where that one lacks the cluster', async () => {
      const farm = account.watch(null);
      await clock.advance(MINUTE);
      const visit = account.watch('C1', { paused: true, beside: farm.watch });
      service.cluster('C1', jobs(job('a', 'queued')));
      await visit.poll();
      assert.deepEqual([farm.delivered(), visit.delivered()], [['job.queued a'], []]);
      const { list } = service;
      service.list = list.filter(({ cluster_id }) => cluster_id !== 'C1');
      await clock.advance(MINUTE);
      service.cluster('C1', jobs(job('a', 'queued'), job('b', 'queued')));
      await visit.poll();
      assert.deepEqual([farm.delivered(), visit.delivered()], [['job.queued a'], ['job.queued b']]);
      service.list = list;
      await clock.advance(2 * MINUTE);
      assert.deepEqual([farm.delivered(), visit.delivered()], [['job.queued a'], ['job.queued b']], 'each once');
    });

    it('never overlaps: a poll asked for meanwhile joins', async () => {
      let open = () => {};
      service.gate = new Promise((resolve) => (open = resolve));
      const witness = account.watch('C1');
      const asked = [witness.poll(), witness.poll()];
      await clock.advance(30_000);
      open();
      const [first, second] = await Promise.all(asked);
      assert.equal(service.count('clusterStatus'), 1);
      assert.equal(first?.error, null);
      assert.ok(first.results[0]?.status);
      assert.deepEqual(second?.results, first.results);
      assert.notEqual(second.results[0]?.status, first.results[0].status, 'each has its own');
      assert.equal(witness.rounds.length, 0, 'the round goes to who asked');
    });

    it('serves who wants less only in turn, but everybody hears the events at once', async () => {
      const often = account.watch('C1', { interval: 10 });
      const seldom = account.watch('C1', { interval: 60, milestones: [10] });
      await settle();
      service.cluster('C1', jobs(at('a', 'printing', 5)));
      await clock.advance(10_000);
      service.cluster('C1', jobs(at('a', 'printing', 30)));
      await clock.advance(10_000);
      assert.deepEqual(often.delivered(), ['job.started a', 'job.progress a=25']);
      assert.deepEqual(seldom.delivered(), ['job.started a', 'job.progress a=10']);
      await clock.advance(100_000);
      assert.equal(often.rounds.length, 13);
      assert.equal(seldom.rounds.length, 3);
    });

    it('lets a poll that somebody asked for serve others only near their own turn', async () => {
      const [asker, other] = [account.watch('C1'), account.watch('C1')];
      await settle();
      for (let second = 10; second <= 600; second += 10) {
        await clock.advance(10_000);
        await asker.poll();
      }
      assert(other.rounds.length >= 10 && other.rounds.length <= 11, `${other.rounds.length}`);
    });

    it('serves by a poll that somebody asked for who would have to wait too long after it', async () => {
      const [asker, other] = [account.watch('C1'), account.watch('C1')];
      await clock.advance(57_000);
      await asker.poll();
      assert.equal(other.rounds.length, 2);
      await clock.advance(65_000);
      assert.equal(other.rounds.length, 3);
      assert.equal(service.count('clusterStatus'), 3);
    });

    it('goes on for the others when one leaves, and ends with the last', async () => {
      const [first, second] = [account.watch('C1'), account.watch('C1')];
      await settle();
      first.close();
      first.close();
      await clock.advance(MINUTE);
      assert.equal(first.rounds.length, 1);
      assert.equal(second.rounds.length, 2);
      second.close();
      assert.equal(clock.waiting, 0);
    });

    it('lets no listener stop the others', async () => {
      const fail = () => {
        throw new Error('mine');
      };
      account.watch('C1', { onRound: fail, onEvents: fail, onTrouble: fail });
      account.watcher.onObservation(fail);
      const witness = account.watch('C1');
      await settle();
      service.cluster('C1', jobs(job('a', 'queued')));
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), ['job.queued a']);
      assert.equal(witness.rounds.length, 2);
      assert(account.reports.every(({ kind }) => kind === 'fault'));
    });

    it('shows every status to observers', async () => {
      const seen: string[] = [];
      const end = account.watcher.onObservation((clusterId, status) =>
        seen.push(`${clusterId} ${String(status.online)}`),
      );
      account.watch('C1');
      await settle();
      end();
      await clock.advance(MINUTE);
      assert.deepEqual(seen, ['C1 true']);
    });
  });

  describe('all clusters', () => {
    beforeEach(() => service.cluster('C2'));

    it('has one result for each', async () => {
      const witness = account.watch(null);
      await settle();
      assert.deepEqual(
        witness.rounds.map(({ results }) => results.map(({ clusterId }) => clusterId)),
        [['C1', 'C2']],
      );
      assert.deepEqual(witness.rounds[0]?.group, { ...witness.rounds[0]?.group, start: 0, count: 2 });
      await clock.advance(65_000);
      assert.equal(witness.rounds.length, 2);
      assert.notEqual(witness.rounds[1]?.group?.id, witness.rounds[0]?.group?.id);
    });

    it('polls many in their turns, spread over the interval, a few of them at once', async () => {
      for (let index = 3; index <= 60; index++) service.cluster(`C${index}`);
      const witness = account.watch(null);
      await settle();
      assert.equal(service.count('clusterStatus'), 5);
      let before = 5;
      for (let second = 10; second <= 60; second += 10) {
        await clock.advance(10_000);
        const polls = service.count('clusterStatus') - before;
        before += polls;
        assert(polls >= 8 && polls <= 12, `${polls}`);
      }
      await clock.advance(5_000);
      assert.deepEqual(
        witness.rounds.map(({ results, group }) => [results.length, group?.start, group?.count]),
        [[60, 0, 60]],
      );
      await clock.advance(10 * MINUTE);
      assert.equal(witness.rounds.length, 11);
      assert(service.mostUnderWay <= 16, `${service.mostUnderWay}`);
    });

    it('begins polls that fall due within a tenth of a second together', async () => {
      for (let index = 3; index <= 600; index++) service.cluster(`C${index}`);
      account.watch(null);
      await clock.advance(MINUTE);
      const began = new Set<number>();
      let before = service.count('clusterStatus');
      const from = before;
      for (let turn = 0; turn < 1_000; turn++) {
        await clock.advance(10);
        const count = service.count('clusterStatus');
        if (count > before) began.add(clock.monotonic());
        before = count;
      }
      assert(before - from >= 95, `${before - from} polls in ten seconds`);
      assert(began.size <= 101, `at ${began.size} times`);
      assert(
        [...began].every((time) => time % 100 < 20),
        [...began].slice(0, 5).join(),
      );
    });

    it('hands over a large group in parts, the last of which says how many there are', async () => {
      for (let index = 3; index <= 250; index++) service.cluster(`C${index}`);
      const witness = account.watch(null);
      await clock.advance(65_000);
      const rounds = witness.rounds.slice(0, 250);
      const parts = rounds.map(({ results, group }) => [results.length, group?.start, group?.count]);
      assert.deepEqual(
        parts,
        Array.from({ length: 250 }, (_, start) => [1, start, start === 249 ? 250 : null]),
      );
      assert.equal(new Set(rounds.flatMap(({ results }) => results.map(({ clusterId }) => clusterId))).size, 250);
    });

    it('uses what another watch polls, unless asked', async () => {
      account.watch('C1', { interval: 20 });
      const witness = account.watch(null);
      await clock.advance(MINUTE);
      const before = service.count('clusterStatus C1');
      assert(before <= 5, `${before}`);
      await clock.advance(1_000);
      await witness.poll();
      assert.equal(service.count('clusterStatus C1'), before + 1);
    });

    it('tells what comes and goes, and the events of each', async () => {
      const witness = account.watch(null);
      await settle();
      service.cluster('C3');
      service.remove('C2');
      service.cluster('C1', jobs(job('a', 'queued')));
      await clock.advance(2 * MINUTE);
      assert.deepEqual(witness.events.map(({ type, clusterId }) => `${type} ${clusterId}`).sort(), [
        'cluster.added C3',
        'cluster.removed C2',
        'job.queued C1',
      ]);
    });

    for (const odd of [[], {}, [{}], { message: 'Try again.' }])
      it(`takes one list of ${JSON.stringify(odd)} for no proof that all are gone`, async () => {
        const witness = account.watch(null);
        await settle();
        const { list } = service;
        service.list = odd as Wire[];
        await clock.advance(MINUTE);
        service.list = list;
        await clock.advance(30 * MINUTE);
        assert.deepEqual(witness.delivered(), []);
        assert.equal(witness.rounds.at(-1)?.results.length, 2);
      });

    it('passes on the last figures of a cluster that fails, and the error', async () => {
      const witness = account.watch(null);
      await settle();
      service.fails = (call) => (call === 'clusterStatus C2' ? broken() : undefined);
      await clock.advance(65_000);
      const [, round] = witness.rounds;
      assert.equal(round?.error?.code, 'SERVICE_ERROR');
      assert.equal(round.error.ids.clusterId, 'C2');
      assert.deepEqual(
        round.results.map(({ status, error }) => [status?.stale, error?.code]),
        [
          [false, undefined],
          [true, 'SERVICE_ERROR'],
        ],
      );
    });

    it('asks a cluster that keeps failing ever less, unless a user asks', async () => {
      const witness = account.watch(null);
      await settle();
      service.fails = (call) => (call === 'clusterStatus C2' ? broken() : undefined);
      await clock.advance(30 * MINUTE);
      assert(Math.abs(service.count('clusterStatus C1') - 31) <= 1);
      assert(service.count('clusterStatus C2') <= 8, `${service.count('clusterStatus C2')}`);
      const before = service.count('clusterStatus C2');
      await witness.poll();
      assert.equal(service.count('clusterStatus C2'), before + 1);
    });

    it('passes on the last figures of all where the list fails, also after a restart', async () => {
      account.watch(null);
      await settle();
      await account.watcher.close();
      account.start();
      service.fails = () => broken();
      const witness = account.watch(null);
      await settle();
      const [round] = witness.rounds;
      assert.equal(round?.error?.code, 'SERVICE_ERROR');
      assert.deepEqual(
        round.results.map(({ clusterId, status }) => [clusterId, status?.stale, status?.name]),
        [
          ['C1', true, 'name-C1'],
          ['C2', true, 'name-C2'],
        ],
      );
    });

    it('reads every page (traps 27, 28)', async () => {
      const page = (id: string, total?: number, next?: string) => {
        const data = [{ cluster_id: id }];
        const meta = { limit_reached: true, ...(total !== undefined && { page: { total_pages: total } }) };
        return { data, body: { data, meta, links: { next } } };
      };
      service.pages = [page('C1', 2), page('C2', 2), page('C3', 2)];
      const counted = account.watch(null);
      await settle();
      assert.equal(counted.rounds[0]?.results.length, 2);
      service.pages = [page('C1', undefined, 'https://elsewhere/x?limit=1&page=2'), page('C2', undefined, '?page=1')];
      await clock.advance(65_000);
      assert.equal(counted.rounds[1]?.results.length, 2);
      assert.equal(service.count('clusters'), 4);
    });

    it('takes an answer that is no list as a failure, not as an empty list', async () => {
      const witness = account.watch(null);
      await settle();
      service.list = null as unknown as Wire[];
      await clock.advance(2 * MINUTE);
      assert.equal(witness.rounds.at(-1)?.error?.code, 'SERVICE_ERROR');
      assert.equal(witness.rounds.at(-1)?.results.length, 2);
      assert.deepEqual(witness.troubles, ['SERVICE_ERROR']);
      assert.deepEqual(witness.delivered(), []);
    });
  });

  describe('failures', () => {
    it('are reported once at their begin and once at their end, with the last figures meanwhile', async () => {
      const witness = account.watch('C1');
      await settle();
      service.fails = () => broken();
      await clock.advance(20 * MINUTE);
      assert.deepEqual(witness.troubles, ['SERVICE_ERROR']);
      assert.equal(witness.watch.state.trouble?.error.code, 'SERVICE_ERROR');
      assert.equal(witness.rounds.at(-1)?.results[0]?.status?.stale, true);
      assert.equal(witness.rounds.at(-1)?.results[0]?.status?.name, 'name-C1');
      service.fails = () => undefined;
      await clock.advance(20 * MINUTE);
      assert.deepEqual(witness.troubles, ['SERVICE_ERROR']);
      assert.equal(witness.watch.state.trouble, null);
      assert.deepEqual(
        account.reports.map(({ kind, clusterId }) => [kind, clusterId]),
        [
          ['outage', 'C1'],
          ['recovered', 'C1'],
        ],
      );
    });

    it('make the polls rarer, and Retry-After even more', async () => {
      service.fails = () => broken();
      account.watch('C1');
      await settle();
      const times: number[] = [];
      for (let count = 1; times.length < 6; count = service.count('clusterStatus') + 1) {
        while (service.count('clusterStatus') < count) await clock.advance(clock.next ?? 0);
        times.push(clock.monotonic() / MINUTE);
      }
      assert.deepEqual(times, [0, 1, 3, 7, 15, 30]);
      service.fails = () => broken(40 * MINUTE);
      await clock.advance(15 * MINUTE);
      const count = service.count('clusterStatus');
      await clock.advance(39 * MINUTE);
      assert.equal(service.count('clusterStatus'), count);
      await clock.advance(MINUTE);
      assert.equal(service.count('clusterStatus'), count + 1);
    });

    it('come to who asked, also while paused', async () => {
      const witness = account.watch('C1');
      await settle();
      witness.pause();
      service.fails = () => broken();
      const round = await witness.poll();
      assert.equal(round.error?.code, 'SERVICE_ERROR');
      assert.equal(round.results[0]?.status?.stale, true);
      assert.equal(witness.rounds.length, 1);
    });

    it('is what an answer without any status is', async () => {
      service.statuses.set('C1', 'proxy page' as unknown as Wire);
      const { rounds } = account.watch('C1');
      await settle();
      assert.equal(rounds[0]?.error?.code, 'SERVICE_ERROR');
      assert.equal(rounds[0].results[0]?.status, null);
    });

    it('of the store are reported, and cost no status', async () => {
      account.store.get = () => Promise.reject(new Error('disk'));
      const witness = account.watch('C1');
      await settle();
      assert.equal(witness.rounds[0]?.results[0]?.status?.online, true);
      assert.deepEqual(
        account.reports.map(({ kind }) => kind),
        ['fault'],
      );
    });

    it('of a write are made up for by the next', async () => {
      const { store } = account;
      const put = store.put.bind(store);
      store.put = () => Promise.reject(new Error('disk full'));
      account.watch('C1');
      await settle();
      assert.equal(store.values.size, 0);
      store.put = put;
      await clock.advance(MINUTE);
      assert.equal(store.values.size, 1);
    });
  });

  describe('signing in', () => {
    it('is waited for without any poll', async () => {
      account.signIn.become('signed-out');
      const witness = account.watch('C1');
      const all = account.watch(null);
      await clock.advance(10 * MINUTE);
      assert.deepEqual(service.calls, []);
      assert.deepEqual(all.rounds, []);
      account.signIn.become('signed-in');
      await settle();
      assert.equal(service.count('clusterStatus'), 1);
      assert.equal(witness.rounds.length, 1);
      assert.equal(all.rounds.length, 1);
      account.signIn.become('sign-in-needed');
      const { length } = service.calls;
      await clock.advance(10 * MINUTE);
      assert.equal(service.calls.length, length);
    });

    it('anew wakes polls that had been put off', async () => {
      service.fails = () => broken(15 * MINUTE);
      const witnesses = [account.watch('C1'), account.watch(null)];
      await clock.advance(2 * MINUTE);
      service.fails = () => undefined;
      account.signIn.become('signed-in');
      await clock.advance(65_000);
      for (const { rounds } of witnesses) assert.equal(rounds.at(-1)?.error, null);
    });

    it('that is confirmed by the first answer makes no poll of its own', async () => {
      account.signIn.become('unchecked');
      account.watch('C1');
      await settle();
      account.signIn.become('signed-in');
      await settle();
      assert.equal(service.count('clusterStatus'), 1);
    });
  });

  describe('pausing', () => {
    it('ends the polls, but not the events of others', async () => {
      const paused = account.watch('C1');
      await settle();
      paused.pause();
      assert.equal(clock.waiting, 0);
      await clock.advance(MINUTE);
      assert.equal(service.count('clusterStatus'), 1);
      const other = account.watch('C1');
      await settle();
      service.cluster('C1', jobs(job('a', 'queued')));
      await clock.advance(MINUTE);
      assert.deepEqual(paused.delivered(), ['job.queued a']);
      assert.equal(paused.rounds.length, 1);
      assert.equal(other.rounds.length, 2);
    });

    it('ends with a poll', async () => {
      const witness = account.watch('C1');
      await settle();
      witness.pause();
      await clock.advance(10 * MINUTE);
      witness.resume();
      const round = await witness.poll();
      assert.equal(service.count('clusterStatus'), 2);
      assert.equal(round.error, null);
      await clock.advance(MINUTE);
      assert.equal(service.count('clusterStatus'), 3);
    });
  });

  describe('a print about to end', () => {
    /** One print after the other, each of `length` s; the queue shows the one under way. */
    const printing = (length: number) => () => {
      const elapsed = Math.floor(clock.monotonic() / 1000);
      const [count, into] = [Math.floor(elapsed / length), elapsed % length];
      return answer({
        print_jobs: [job(`j${count}`, 'printing', { time_elapsed: into, time_total: length, created_at: minute(60) })],
        recently_completed: count > 0 ? [job(`j${count - 1}`, 'finished', { created_at: minute(60) })] : [],
      });
    };

    it('is seen at once, with a poll or two more', async () => {
      service.statuses.set('C1', printing(1000));
      const late: number[] = [];
      account.watch('C1', {
        onEvents: (events) => {
          for (const { type } of events) if (type === 'job.finished') late.push((clock.monotonic() / 1000) % 1000);
        },
      });
      await clock.advance(4 * 3600_000);
      assert.equal(late.length, 14);
      assert(Math.max(...late) <= 10, late.join());
      assert(service.count('clusterStatus') <= 241 + 2 * 14, `${service.count('clusterStatus')}`);
    });

    it('is seen soon after by who watches all, too', async () => {
      service.statuses.set('C1', printing(1000));
      const late: number[] = [];
      account.watch(null, {
        onEvents: (events) => {
          for (const { type } of events) if (type === 'job.finished') late.push((clock.monotonic() / 1000) % 1000);
        },
      });
      account.watch('C1', { interval: 240 });
      await clock.advance(4 * 3600_000);
      assert.equal(late.length, 14);
      assert(Math.max(...late) <= 10, late.join());
      assert(service.count('clusterStatus') <= 241 + 2 * 14, `${service.count('clusterStatus')}`);
    });

    it('has few polls more however late it is', async () => {
      service.statuses.set('C1', () =>
        jobs(job('a', 'printing', { time_elapsed: clock.monotonic() / 1000, time_total: 200 })),
      );
      account.watch('C1');
      await clock.advance(20 * MINUTE);
      const polls = service.count('clusterStatus');
      assert(polls > 21 && polls <= 21 + 6, `${polls}`);
    });

    it('never has two polls closer than 10 s, however short prints are', async () => {
      const at: number[] = [];
      const print = printing(25);
      service.statuses.set('C1', () => {
        at.push(clock.monotonic());
        return print();
      });
      account.watch('C1');
      await clock.advance(3600_000);
      at.forEach((time, index) => assert(index === 0 || time - (at[index - 1] ?? 0) >= 10_000, `${time}`));
    });
  });

  describe('a restart', () => {
    it('tells what happened meanwhile, late, and nothing twice', async () => {
      service.cluster('C1', jobs(at('a', 'printing', 30)));
      const before = account.watch('C1');
      await settle();
      service.cluster('C1', jobs(at('a', 'paused', 60)));
      await clock.advance(MINUTE);
      assert.deepEqual(before.delivered(), ['job.paused a', 'job.progress a=50']);
      await account.watcher.close();

      account.start();
      service.cluster('C1', answer({ recently_completed: [at('a', 'finished', 100)] }));
      const after = account.watch('C1', { milestones: [] });
      await settle();
      assert.deepEqual(
        after.events.map(({ type, late }) => [type, late]),
        [['job.finished', true]],
      );
      service.cluster('C1', jobs(job('b', 'queued')));
      await clock.advance(MINUTE);
      assert.equal(after.events.at(-1)?.late, false);
    });

    it('of a single watch counts as well', async () => {
      account.watch('C1').close();
      const first = account.watch('C1');
      await settle();
      first.close();
      service.cluster('C1', jobs(job('a', 'queued')));
      const again = account.watch('C1');
      await clock.advance(10_000);
      assert.deepEqual(
        again.events.map(({ type, late }) => [type, late]),
        [['job.queued', true]],
      );
    });

    it('tells milestones that were told never again', async () => {
      service.cluster('C1', jobs(at('a', 'printing', 24.5)));
      account.watch('C1');
      await settle();
      service.cluster('C1', jobs(at('a', 'printing', 25.1)));
      await clock.advance(MINUTE);
      await account.watcher.close();
      account.start();
      service.cluster('C1', jobs(at('a', 'printing', 25.5)));
      const after = account.watch('C1');
      await settle();
      assert.deepEqual(after.delivered(), []);
    });

    it('finds what was last known, because it is written at the end', async () => {
      service.cluster('C1', jobs(at('a', 'printing', 10)));
      account.watch('C1');
      await settle();
      service.cluster('C1', jobs(at('a', 'printing', 20)));
      await clock.advance(MINUTE);
      await account.watcher.close();
      account.start();
      service.fails = () => broken();
      const { rounds } = account.watch('C1');
      await settle();
      assert.equal(rounds[0]?.results[0]?.status?.jobs[0]?.progress, 20);
      assert.equal(rounds[0].results[0].status.stale, true);
    });

    it('writes only what was told and which jobs there are', async () => {
      let writes = 0;
      const put = account.store.put.bind(account.store);
      account.store.put = async (...given) => {
        writes++;
        await put(...given);
      };
      let percent = 0;
      const plates = () => ({ uuid: 'P1', status: 'printing', build_plate: { temperature: percent } });
      service.cluster('C1', () => answer({ printers: [plates()], print_jobs: [at('a', 'printing', percent)] }));
      account.watch('C1', { milestones: [50] });
      await settle();
      assert.equal(writes, 1);
      for (percent = 0; percent < 100; percent += 1 / 6) await clock.advance(MINUTE);
      assert.equal(writes, 2);
    });
  });

  it('keeps nothing of clusters that there never were, and warns of no listeners', async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on('warning', warn);
    for (let index = 0; index < 200; index++) {
      const witness = account.watch(`unknown ${index}`, { paused: true });
      const asked = witness.poll();
      await clock.advance(2_000);
      assert.equal((await asked).error?.code, 'NOT_FOUND');
      witness.close();
    }
    await clock.advance(MINUTE);
    process.off('warning', warn);
    assert.deepEqual(warnings, []);
    assert(account.memory.polledAt.size <= 6, `${account.memory.polledAt.size}`);
    assert.equal(account.memory.scope(account.scope).clusters.size, 0);
  });

  describe('a deploy', () => {
    const keyed = (clusterId: string | null, more = {}) =>
      account.watch(clusterId, { key: `key-${clusterId}`, ...more });

    it('moves no turn of what was watched before, and starts no herd', async () => {
      for (let index = 2; index <= 60; index++) service.cluster(`C${index}`);
      const at = new Map<string, number[]>();
      for (const [clusterId] of service.statuses)
        service.statuses.set(clusterId, () => {
          at.set(clusterId, [...(at.get(clusterId) ?? []), clock.monotonic()]);
          return answer();
        });
      const witnesses = [keyed(null), keyed('C1')];
      for (let deploy = 0; deploy < 20; deploy++) {
        await clock.advance(37_000);
        witnesses.forEach((witness) => witness.close());
        await account.watcher.close();
        account.deploy();
        witnesses.splice(0, 2, keyed(null), keyed('C1'));
        await settle();
      }
      for (const [clusterId, times] of at)
        times.forEach((time, index) => {
          const gap = index === 0 ? 60_000 : time - (times[index - 1] ?? 0);
          // The first gap leads from the poll at the deploy to the cluster's own turn.
          assert(gap <= 66_000 && gap >= (index < 2 ? 10_000 : 54_000), `${clusterId} ${gap}`);
        });
    });

    it('loses nothing that a poll found after the last watch was closed', async () => {
      service.cluster('C1', jobs(at('a', 'printing', 90)));
      const first = keyed('C1');
      await settle();
      let open = () => {};
      service.gate = new Promise((resolve) => (open = resolve));
      service.cluster('C1', answer({ recently_completed: [at('a', 'finished', 100)] }));
      await clock.advance(MINUTE);
      // Another node's followed print keeps the polls going.
      const end = new AbortController();
      account.watcher.follow('C1', 'other', { signal: end.signal }).catch(() => undefined);
      first.close();
      open();
      await clock.advance(10_000);
      const second = keyed('C1', { milestones: [] });
      await clock.advance(2 * MINUTE);
      assert.deepEqual(
        second.events.map(({ type, late }) => [type, late]),
        [['job.finished', true]],
      );
      assert.deepEqual(first.delivered(), []);
      end.abort(new Error('enough'));
    });
  });

  describe('a store', () => {
    it('that can’t be read at the start makes nobody think that all is new', async () => {
      service.cluster('C1', jobs(at('a', 'printing', 90)));
      account.watch('C1');
      await settle();
      await account.watcher.close();
      account.start();
      const get = account.store.get.bind(account.store);
      account.store.get = () => Promise.reject(new Error('EMFILE'));
      service.cluster('C1', answer({ recently_completed: [at('a', 'finished', 100)] }));
      const { rounds, delivered } = account.watch('C1', { milestones: [] });
      await clock.advance(2 * MINUTE);
      assert.equal(rounds.length, 3);
      assert.deepEqual(delivered(), []);
      account.store.get = get;
      await clock.advance(MINUTE);
      assert.deepEqual(delivered(), ['job.finished a']);
    });

    it('that can’t be written costs no event, and is tried again', async () => {
      const witness = account.watch('C1', { milestones: [] });
      await settle();
      const put = account.store.put.bind(account.store);
      account.store.put = () => Promise.reject(new Error('ENOSPC'));
      service.cluster('C1', jobs(at('a', 'printing', 10)));
      await clock.advance(MINUTE);
      service.cluster('C1', jobs(at('a', 'paused', 20)));
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), ['job.started a', 'job.paused a']);
      account.store.put = put;
      await clock.advance(5 * MINUTE);
      await account.watcher.close();
      account.start();
      const after = account.watch('C1', { milestones: [] });
      await settle();
      assert.deepEqual(after.delivered(), []);
    });

    it('that can’t be written for long gives no id to two events', async () => {
      const put = account.store.put.bind(account.store);
      const ids: string[] = [];
      const onEvents: WatchOptions['onEvents'] = (events) => ids.push(...events.map(({ id }) => id));
      account.watch('C1', { onEvents });
      await settle();
      for (let start = 0; start < 3; start++) {
        account.store.put = () => Promise.reject(new Error('ENOSPC'));
        for (const online of [false, false, true, true]) {
          service.cluster('C1', answer({ is_online: online }));
          await clock.advance(MINUTE);
        }
        // What was told is lost with the process.
        await account.watcher.close();
        account.start();
        account.watch('C1', { onEvents });
        await settle();
      }
      account.store.put = put;
      assert.equal(ids.length, 6);
      assert.equal(new Set(ids).size, 6);
    });
  });

  describe('a status that is not found (traps 13, 16)', () => {
    beforeEach(() => service.cluster('C1', jobs(job('a', 'printing'))));

    it('means offline while the list has the cluster', async () => {
      const witness = account.watch('C1');
      await settle();
      service.list = service.list.map((listed) => ({ ...listed, is_online: false }));
      service.statuses.delete('C1');
      await clock.advance(2 * MINUTE);
      assert.deepEqual(witness.delivered(), ['printer.offline=false']);
      assert.equal(witness.rounds.at(-1)?.error, null);
      const { status } = witness.rounds.at(-1)?.results[0] ?? {};
      assert.deepEqual([status?.online, status?.stale, status?.jobs.length], [false, true, 1]);
      service.cluster('C1', answer({ recently_completed: [job('a', 'finished')] }));
      await clock.advance(2 * MINUTE);
      assert(witness.delivered().includes('job.finished a'));
    });

    it('means nothing while the list, read anew, has the cluster online', async () => {
      const witness = account.watch('C1');
      service.list = service.list.map((listed) => ({ ...listed, is_online: true }));
      await settle();
      service.statuses.delete('C1');
      await clock.advance(10 * MINUTE);
      assert.deepEqual(witness.delivered(), []);
      assert.deepEqual(witness.troubles, []);
      const { status } = witness.rounds.at(-1)?.results[0] ?? {};
      assert.deepEqual([status?.online, status?.stale, status?.jobs.length], [true, true, 1]);
      assert(service.count('clusters') >= 10);
    });

    it('means not found where the list does not', async () => {
      const witness = account.watch('C1');
      await settle();
      service.remove('C1');
      await clock.advance(MINUTE);
      assert.equal(witness.rounds.at(-1)?.error?.code, 'NOT_FOUND');
      assert.deepEqual(witness.troubles, ['NOT_FOUND']);
      assert.equal(account.watch('C9').rounds.length, 0);
    });

    const rebind = () => {
      service.remove('C1');
      service.cluster('N1', answer({ recently_completed: [job('a', 'finished')] }), { host_guid: 'G-C1' });
    };

    it('means a new id where the list has the same machine: told once, and followed', async () => {
      const witness = account.watch('C1', { milestones: [] });
      await settle();
      rebind();
      await clock.advance(MINUTE);
      const [rebound] = witness.events;
      assert.equal(rebound?.type, 'cluster.rebound');
      assert.deepEqual([rebound.previous, rebound.value, rebound.clusterId], ['C1', 'N1', 'N1']);
      assert.deepEqual(witness.delivered(), ['cluster.rebound=N1', 'job.finished a']);
      assert.equal(witness.rounds.at(-1)?.results[0]?.clusterId, 'N1');
      assert.equal(witness.rounds.at(-1)?.results[0]?.status?.clusterId, 'N1');
      await clock.advance(10 * MINUTE);
      assert.equal(service.count('clusterStatus C1'), 2);
      assert.equal(service.count('clusterStatus N1'), 11);
      assert.equal(witness.events.length, 2);
    });

    it('is followed after a restart without a word', async () => {
      account.watch('C1');
      await settle();
      rebind();
      await clock.advance(MINUTE);
      await account.watcher.close();
      account.start();
      const witness = account.watch('C1');
      const round = await witness.poll();
      assert.equal(round.results[0]?.clusterId, 'N1');
      assert.deepEqual(witness.delivered(), []);
      assert.equal(service.count('clusterStatus C1'), 2);
    });

    it('can come back to an old id', async () => {
      const witness = account.watch('C1', { milestones: [] });
      await settle();
      rebind();
      await clock.advance(MINUTE);
      service.remove('N1');
      service.cluster('C1', answer());
      await clock.advance(2 * MINUTE);
      assert.deepEqual(witness.delivered(), ['cluster.rebound=N1', 'job.finished a', 'cluster.rebound=C1']);
      assert.equal(witness.rounds.at(-1)?.results[0]?.clusterId, 'C1');
      // And once more: nobody waits for the other for ever.
      rebind();
      await clock.advance(2 * MINUTE);
      assert.equal(witness.rounds.at(-1)?.results[0]?.clusterId, 'N1');
      service.remove('N1');
      service.cluster('C1', answer());
      await clock.advance(2 * MINUTE);
      for (const { results } of [await witness.poll(), await account.watch('N1').poll()])
        assert.equal(results[0]?.clusterId, 'C1');
      assert.equal(new Set(witness.events.map(({ id }) => id)).size, witness.events.length);
    });

    it('is recognised as a new id though the list in hand is young', async () => {
      const witness = account.watch('C1');
      await settle();
      rebind();
      const asked = witness.poll();
      await clock.advance(2_000);
      assert.equal((await asked).results[0]?.clusterId, 'N1');
    });

    for (const order of [
      ['C1', null],
      [null, 'C1'],
    ]) {
      it(`is told once to each, first started ${String(order[0])}`, async () => {
        const witnesses = order.map((clusterId) => account.watch(clusterId, { milestones: [] }));
        await settle();
        rebind();
        await clock.advance(5 * MINUTE);
        for (const witness of witnesses) {
          assert.deepEqual(witness.delivered(), ['cluster.rebound=N1', 'job.finished a']);
        }
        assert(service.count('clusterStatus N1') <= 6);
      });
    }
  });

  describe('follow', () => {
    it('uses the polls that are made anyway', async () => {
      const witness = account.watch('C1');
      await settle();
      service.cluster('C1', jobs(at('a', 'printing', 10)));
      const progress: (number | null)[] = [];
      const followed = account.watcher.follow('C1', 'a', { onProgress: (about) => progress.push(about.progress) });
      await clock.advance(MINUTE);
      service.cluster('C1', jobs(at('a', 'printing', 40)));
      await clock.advance(MINUTE);
      service.cluster('C1', answer({ recently_completed: [at('a', 'finished', 100)] }));
      await clock.advance(MINUTE);
      const { outcome, job: ended } = await followed;
      assert.equal(outcome, 'finished');
      assert.equal(ended?.clusterJobId, 'a');
      assert.deepEqual(progress, [10, 10, 40]);
      assert.equal(witness.delivered().at(-1), 'job.finished a');
      assert.equal(service.count('clusterStatus'), 5);
    });

    it('polls by itself, and ends its polls with the print', async () => {
      const followed = account.watcher.follow('C1', 'a');
      await settle();
      service.cluster('C1', answer({ recently_completed: [job('a', 'failed')] }));
      await clock.advance(MINUTE);
      assert.equal((await followed).outcome, 'failed');
      assert.equal(clock.waiting, 0);
      assert.equal(service.count('clusterStatus'), 2);
    });

    it('knows an end that was told before, also after a restart', async () => {
      account.watch('C1');
      await settle();
      service.cluster('C1', answer({ recently_completed: [job('a', 'aborted')] }));
      await clock.advance(MINUTE);
      assert.equal((await account.watcher.follow('C1', 'a')).outcome, 'aborted');
      await account.watcher.close();
      account.start();
      service.calls = [];
      assert.equal((await account.watcher.follow('C1', 'a')).outcome, 'aborted');
      assert.deepEqual(service.calls, []);
    });

    it('asks for a job itself that no list shows in 2 minutes', async () => {
      const progress: string[] = [];
      const followed = account.watcher.follow('C1', 'a', { onProgress: ({ state }) => progress.push(state) });
      service.records.set('a', job('a', 'printing'));
      await clock.advance(MINUTE);
      assert.equal(service.count('printJob'), 0);
      await clock.advance(MINUTE);
      assert.deepEqual(progress, ['printing']);
      service.records.set('a', job('a', 'finished'));
      await clock.advance(MINUTE);
      assert.equal((await followed).outcome, 'finished');
    });

    it('ends as ended where nobody knows the job, or the cluster', async () => {
      const gone = [account.watcher.follow('C1', 'a'), account.watcher.follow('C9', 'b')];
      await clock.advance(5 * MINUTE);
      const ends = await Promise.all(gone);
      assert.deepEqual(
        ends.map(({ outcome, job: about }) => [outcome, about]),
        [
          ['ended', null],
          ['ended', null],
        ],
      );
    });

    it('ends, without an end of the print, once the list lacks the cluster of a running print twice in a row', async () => {
      service.cluster('C1', jobs(job('a', 'printing')));
      const followed = account.watcher.follow('C1', 'a');
      const isOver = async () => Promise.race([followed.then(() => true), settle().then(() => false)]);
      await settle();
      service.remove('C1');
      await clock.advance(MINUTE);
      assert.equal(await isOver(), false, 'one list is no proof');
      service.cluster('C1', jobs(job('a', 'printing')));
      await clock.advance(2 * MINUTE);
      service.remove('C1');
      await clock.advance(MINUTE);
      assert.equal(await isOver(), false, 'not in a row');
      await clock.advance(3 * MINUTE);
      assert.deepEqual(await followed, { outcome: 'ended', job: null, clusterId: 'C1', isDisconnected: true });
    });

    it('goes along to a new id', async () => {
      service.cluster('C1', jobs(job('a', 'printing')));
      const followed = account.watcher.follow('C1', 'a');
      await settle();
      service.remove('C1');
      service.cluster('N1', answer({ recently_completed: [job('a', 'finished')] }), { host_guid: 'G-C1' });
      await clock.advance(MINUTE);
      const { outcome, clusterId } = await followed;
      assert.deepEqual([outcome, clusterId], ['finished', 'N1']);
    });

    it('ends by its signal, with its reason', async () => {
      const reason = new Error('enough');
      const abort = new AbortController();
      const followed = account.watcher.follow('C1', 'a', { signal: abort.signal });
      await settle();
      abort.abort(reason);
      await assert.rejects(followed, reason);
      assert.equal(clock.waiting, 0);
      await assert.rejects(account.watcher.follow('C1', 'a', { signal: abort.signal }), reason);
    });

    it('ends when the watching does', async () => {
      const followed = account.watcher.follow('C1', 'a');
      await settle();
      const refused = assert.rejects(followed, { code: 'NOT_CONFIGURED' });
      await account.watcher.close();
      await refused;
      await assert.rejects(account.watcher.follow('C1', 'a'), { code: 'NOT_CONFIGURED' });
    });
  });

  it('ignores answers that come after its end', async () => {
    let open = () => {};
    service.gate = new Promise((resolve) => (open = resolve));
    service.cluster('C2');
    const witness = account.watch('C1');
    const all = account.watch(null);
    const asked = witness.poll();
    await settle();
    await account.watcher.close();
    open();
    assert.equal((await asked).error?.code, 'NOT_CONFIGURED');
    await settle();
    assert.equal(clock.waiting, 0);
    assert.deepEqual([witness.rounds, all.rounds, witness.troubles, account.reports], [[], [], [], []]);
    assert.equal(account.store.values.size, 0);
    assert.equal(account.signIn.listeners.size, 0);
  });
});
