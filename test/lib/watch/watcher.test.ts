import assert from 'node:assert/strict';
import { PrintingError } from '../../../lib/service/errors';
import { phrase } from '../../../lib/words/sentence';
import type { Key } from '../../../lib/state/store';
import { sleep } from '../../../lib/time/clock';
import { held } from '../../helpers/held';
import { settle } from '../../helpers/manual-clock';
import { answer, at, job, minute, type Wire } from '../events/observations';
import { NodeWatch, type WatchOptions } from '../../../lib/watch/views/watch';
import { broken, limited, notFound, ScriptedAccount, type Witness } from './scripted-account';
import { pluck } from '../../helpers/pluck';

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
    assert.equal(clock.waiting, 0, 'no timer remains');
  });

  it('pauses all polls after a 429 of the list that a poll reads for the names alone', async () => {
    service.fails = (call) => (call === 'clusters' ? limited() : undefined);
    account.watch('C1', { interval: 10 });
    await clock.advance(29_000);
    assert.equal(service.count('clusterStatus'), 1);
    await clock.advance(2_000);
    assert.equal(service.count('clusterStatus'), 2);
  });

  describe('a flood of messages', () => {
    const regular = () => Array.from({ length: 20 }, (_, nth) => `C${nth}`);
    const watchRegular = async () => {
      regular().forEach((clusterId) => service.cluster(clusterId));
      const all = regular().map((clusterId) => account.watch(clusterId, { interval: 10 }));
      await clock.advance(20_000);
      return all;
    };
    /** Sends 25 messages a second for a minute, each about another printer. */
    const flood = async () => {
      for (let nth = 0; nth < 60 * 25; nth++) {
        void account.watch(`unknown ${nth}`, { paused: true }).poll();
        await clock.advance(40);
      }
    };

    for (const [what, prepare] of [
      ['unknown printers', () => undefined],
      [
        'printers whose status takes a minute',
        () => {
          for (let nth = 0; nth < 60 * 25; nth++) service.statuses.set(`unknown ${nth}`, () => sleep(clock, 59_000));
        },
      ],
    ] as const)
      it(`does not stop the regular polls: ${what}`, async () => {
        await watchRegular();
        const countOf = (clusterId: string) => service.count(`clusterStatus ${clusterId}`);
        const before = new Map(regular().map((clusterId) => [clusterId, countOf(clusterId)]));
        prepare();
        await flood();
        for (const clusterId of regular()) {
          const polls = countOf(clusterId) - (before.get(clusterId) ?? 0);
          assert.ok(polls >= 5, `${polls} polls of ${clusterId} in a minute`);
        }
        await account.watcher.close();
        await clock.advance(120_000);
      });
  });

  describe('one cluster', () => {
    it('polls at once and then every interval, with names from the list', async () => {
      const { rounds } = await account.watched('C1');
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

    it('reports a failure right after stale figures at once, without figures', async () => {
      const open = service.hold();
      service.fails = () => broken();
      const { rounds } = account.watch('C1', { interval: 10 });
      await clock.advance(15_100);
      open();
      await settle();
      assert.equal(rounds[0]?.error?.code, 'SERVICE_ERROR');
      assert.ok(rounds.every(({ results }) => results.length === 0));
    });

    it('continues without the list', async () => {
      service.fails = (call) => (call === 'clusters' ? broken() : undefined);
      const { rounds } = await account.watched('C1');
      assert.equal(rounds[0]?.error, null);
      assert.equal(rounds[0].results[0]?.status?.name, null);
      assert.deepEqual(account.reports, []);
    });

    it('delivers events, and omits unchanged statuses with `onlyChanges`', async () => {
      const witness = await account.watched('C1', { onlyChanges: true });
      service.cluster('C1', jobs(at('a', 'printing', 30)));
      await clock.advance(MINUTE);
      service.cluster('C1', jobs(at('a', 'printing', 30.5)));
      await clock.advance(MINUTE);
      service.cluster('C1', jobs(at('a', 'printing', 60)));
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), ['job.started a', 'job.progress a=50']);
      assert.deepEqual(
        witness.rounds.map(({ results }) => results.length),
        [1, 1, 0, 1],
      );
    });

    it('reads the record of a job that vanished', async () => {
      service.cluster('C1', jobs(job('a', 'queued')));
      const witness = await account.watched('C1');
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

    it('reports the end of a job under the watched id, whichever id its record contains', async () => {
      service.cluster('C1', jobs(job('a', 'queued')));
      const witness = await account.watched('C1');
      service.cluster('C1', answer());
      service.records.set('a', job('other', 'failed'));
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), ['job.failed a']);
    });

    it('reports the ends of more jobs than one poll reads by the records of all', async () => {
      const ids = Array.from({ length: 15 }, (_, index) => `J${index}`);
      const show = (status: string, percent: number) =>
        service.cluster('C1', answer({ print_jobs: ids.map((id) => at(id, status, percent)) }));
      show('printing', 50);
      const watch = await account.watched('C1', { milestones: [] });
      for (const id of ids) service.records.set(id, at(id, 'finished', 94));
      show('wait_cleanup', 94);
      await clock.advance(2 * MINUTE);
      assert.deepEqual(watch.delivered().sort(), ids.map((id) => `job.finished ${id}`).sort());
    });

    it('reports a job as ended once the service neither lists nor finds it', async () => {
      for (const failure of [notFound(), undefined]) {
        const own = new ScriptedAccount();
        own.service.cluster('C1', jobs(job('a', 'queued')));
        const witness = await own.watched('C1');
        own.service.cluster('C1', answer());
        own.service.fails = (call) => (call === 'printJob a' ? failure : undefined);
        await own.clock.advance(MINUTE);
        assert.deepEqual(witness.delivered(), [], 'a single poll without the job proves nothing');
        await own.clock.advance(MINUTE);
        assert.deepEqual(witness.delivered(), ['job.ended a']);
        await own.watcher.close();
      }
    });
  });

  describe('sharing', () => {
    it('makes one request per poll for all watches', async () => {
      const all = [account.watch('C1'), account.watch('C1'), account.watch(null)];
      await clock.advance(5 * MINUTE);
      assert.equal(service.count('clusterStatus'), 6);
      for (const { rounds } of all) assert.equal(rounds.length, 6);
    });

    it('keeps a node’s turns although another node requests polls', async () => {
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

    it('reuses a poll requested shortly before a node’s turn', async () => {
      const own: number[] = [];
      account.watch('C1', { interval: 30, onRound: () => own.push(clock.monotonic()) });
      const neighbour = account.watch('C1', { interval: 3600 });
      await clock.advance(5 * MINUTE);
      const turn = (own.at(-1) ?? 0) + 30_000;
      await clock.advance(turn - 5_000 - clock.monotonic());
      await neighbour.poll();
      const [polls, sent] = [service.count('clusterStatus'), own.length];
      await clock.advance(4_000);
      assert.equal(own.length, sent, 'nothing before its turn');
      await clock.advance(2_000);
      assert.deepEqual([service.count('clusterStatus'), own.length], [polls, sent + 1]);
      await clock.advance(30_000);
      assert.deepEqual([service.count('clusterStatus'), own.length], [polls + 1, sent + 2]);
    });

    it('continues if a result can’t be copied for all watches', async () => {
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

    it('delivers events to a watch beside another one only if the other lacks the cluster', async () => {
      const farm = account.watch(null);
      await clock.advance(MINUTE);
      const visit = account.watch('C1', { paused: true, beside: farm.watch });
      service.cluster('C1', jobs(job('a', 'queued')));
      await visit.poll();
      assert.deepEqual([farm.delivered(), visit.delivered()], [['job.queued a'], []]);
      const { list } = service;
      service.list = list.filter(({ cluster_id }) => cluster_id !== 'C1');
      await clock.advance(2 * MINUTE);
      service.cluster('C1', jobs(job('a', 'queued'), job('b', 'queued')));
      await visit.poll();
      const told = ['job.queued a', 'cluster.removed'];
      assert.deepEqual([farm.delivered(), visit.delivered()], [told, ['job.queued b']]);
      service.list = list;
      await clock.advance(2 * MINUTE);
      assert.deepEqual(
        [farm.delivered(), visit.delivered()],
        [[...told, 'cluster.added'], ['job.queued b']],
        'each once',
      );
    });

    it('joins a request to the poll in flight', async () => {
      const open = service.hold();
      const witness = account.watch('C1');
      const asked = [witness.poll(), witness.poll()];
      await clock.advance(30_000);
      open();
      const [first, second] = await Promise.all(asked);
      assert.equal(service.count('clusterStatus'), 1);
      assert.equal(first?.error, null);
      assert.ok(first.results[0]?.status);
      assert.deepEqual(second?.results, first.results);
      assert.notEqual(second.results[0]?.status, first.results[0].status, 'each has its own copy');
      assert.equal(witness.rounds.length, 0, 'only the requests receive the result');
    });

    it('sends statuses at each watch’s own interval, but events to all at once', async () => {
      const often = account.watch('C1', { interval: 10 });
      const seldom = await account.watched('C1', { interval: 60, milestones: [10] });
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

    it('counts a requested poll as a turn of other watches only near that turn', async () => {
      const [asker, other] = [account.watch('C1'), account.watch('C1')];
      await settle();
      for (let second = 10; second <= 600; second += 10) {
        await clock.advance(10_000);
        await asker.poll();
      }
      assert(other.rounds.length >= 10 && other.rounds.length <= 11, `${other.rounds.length}`);
    });

    it('counts a requested poll as a turn that it would delay for too long', async () => {
      const [asker, other] = [account.watch('C1'), account.watch('C1')];
      await clock.advance(57_000);
      await asker.poll();
      assert.equal(other.rounds.length, 2);
      await clock.advance(65_000);
      assert.equal(other.rounds.length, 3);
      assert.equal(service.count('clusterStatus'), 3);
    });

    it('continues until the last watch is closed', async () => {
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

    it('isolates failing listeners', async () => {
      const fail = () => {
        throw new Error('mine');
      };
      account.watch('C1', { onRound: fail, onEvents: fail, onTrouble: fail });
      account.watcher.onObservation(fail);
      const witness = await account.watched('C1');
      service.cluster('C1', jobs(job('a', 'queued')));
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), ['job.queued a']);
      assert.equal(witness.rounds.length, 2);
      assert(account.reports.every(({ kind }) => kind === 'fault'));
    });

    it('passes every status to observation listeners', async () => {
      const seen: string[] = [];
      const end = account.watcher.onObservation((clusterId, status) =>
        seen.push(`${clusterId} ${String(status.online)}`),
      );
      await account.watched('C1');
      end();
      await clock.advance(MINUTE);
      assert.deepEqual(seen, ['C1 true']);
    });
  });

  it('lets the event loop turn between a long reading of a status and its evaluation', async () => {
    const { monotonic } = clock;
    const order: string[] = [];
    let isRead = false;
    service.cluster('C1', {
      ...answer(),
      // A status of which one field takes 20 ms.
      get print_jobs() {
        clock.monotonic = () => monotonic() + 20;
        if (!isRead) setImmediate(() => order.push('turn'));
        isRead = true;
        return [job('a', 'queued')];
      },
    });
    account.watcher.onObservation(() => order.push('evaluated'));
    await account.watched('C1');
    clock.monotonic = monotonic;
    assert.deepEqual(order.slice(0, 2), ['turn', 'evaluated']);
  });

  describe('the events of a printer that only a queue has polled before', () => {
    const history = (...ended: string[]) => answer({ recently_completed: ended.map((id) => job(id, 'finished')) });
    const stored = () => account.store.get<Wire>(['checkpoint', ...account.scope, 'C1']);
    /** A node starts just after a poll, so that its own first poll comes later. */
    const watchSoon = async (clusterId: string | null) => {
      account.watcher.hold('C1');
      await clock.advance(2_000);
      return account.watched(clusterId);
    };

    for (const watched of ['C1', null])
      it(`include an end before the first poll of a node for ${watched ?? 'all printers'}`, async () => {
        service.cluster('C1', history('old'));
        const witness = await watchSoon(watched);
        service.cluster('C1', history('short', 'old'));
        await clock.advance(2 * MINUTE);
        assert.deepEqual(witness.delivered(), ['job.finished short']);
        assert.deepEqual(witness.lateness(), [['job.finished', false]]);
      });

    it('include no end before the last poll without a node', async () => {
      service.cluster('C1');
      account.watcher.hold('C1');
      await clock.advance(MINUTE / 2);
      service.cluster('C1', history('a'));
      await clock.advance(MINUTE / 2 + 2_000);
      const witness = await account.watched('C1');
      await clock.advance(2 * MINUTE);
      assert.deepEqual(witness.delivered(), []);
    });

    it('survive a process that is killed before the first poll of a node', async () => {
      service.cluster('C1');
      await watchSoon('C1');
      const before = await stored();
      await account.watcher.close();
      await account.store.put(['checkpoint', ...account.scope, 'C1'], before);
      account.start();
      service.cluster('C1', history('short'));
      const witness = await account.watched('C1');
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), ['job.finished short']);
    });

    it('cost no write beyond the one of a first poll', async () => {
      let writes = 0;
      const put = account.store.put.bind(account.store);
      account.store.put = (...given) => {
        writes++;
        return put(...given);
      };
      service.cluster('C1');
      account.watcher.hold('C1');
      await clock.advance(5 * MINUTE + 2_000);
      assert.equal(writes, 0);
      await account.watched('C1');
      await clock.advance(5 * MINUTE);
      assert.equal(writes, 1);
    });
  });

  describe('a mark of a plate gate', () => {
    const stored = () => account.store.get<Wire>(['checkpoint', ...account.scope, 'C1']);
    const mark = (...machines: string[]) => account.watcher.markGate(account.scope, 'C1', machines);

    it('is left in the checkpoint of a printer that only a queue polls, and makes no event checkpoint', async () => {
      const end = account.watcher.hold('C1');
      await clock.advance(MINUTE);
      mark('P1');
      await clock.advance(MINUTE);
      assert.deepEqual(await stored(), { gates: ['P1'] });
      end();
      await account.watcher.close();
      account.start();
      service.cluster('C1', jobs(job('a', 'queued')));
      const witness = await account.watched('C1');
      assert.deepEqual(witness.delivered(), []);
      assert.deepEqual((await stored())?.gates, ['P1']);
      service.cluster('C1', jobs(job('a', 'queued'), job('b', 'queued')));
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), ['job.queued b']);
    });

    it('names its machine in each cluster, also after a start', async () => {
      await account.watched('C1');
      mark('P1');
      await clock.advance(0);
      await account.watcher.close();
      account.start();
      const isMarked = () => account.watcher.isGateMarked(account.scope, 'P1');
      assert.equal(isMarked(), false);
      await account.watched('C1');
      assert.equal(isMarked(), true);
    });

    it('stays in the checkpoint over its changes and over a start, and is written once', async () => {
      await account.watched('C1');
      mark('P1');
      await clock.advance(0);
      const { gates, version } = (await stored()) ?? {};
      assert.deepEqual([gates, version], [['P1'], 2]);
      await account.watcher.close();
      account.start();
      const witness = await account.watched('C1');
      service.cluster('C1', jobs(job('a', 'queued')));
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), ['job.queued a']);
      assert.deepEqual((await stored())?.gates, ['P1']);
      let writes = 0;
      const put = account.store.put.bind(account.store);
      account.store.put = (...given) => (writes++, put(...given));
      mark('P1');
      await clock.advance(5 * MINUTE);
      assert.equal(writes, 0);
    });

    it('stays where it is when the cluster gets another id', async () => {
      await account.watched('C1');
      mark('P1');
      await clock.advance(MINUTE);
      service.remove('C1');
      service.cluster('N1', answer(), { host_guid: 'G-C1' });
      await clock.advance(2 * MINUTE);
      assert.deepEqual(await stored(), { movedTo: 'N1', gates: ['P1'] });
    });

    it('is written once the checkpoint is loaded', async () => {
      await account.watched('C1');
      await account.watcher.close();
      account.start();
      mark('P1');
      assert.equal((await stored())?.gates, undefined);
      await account.watched('C1');
      await clock.advance(0);
      const { gates, version } = (await stored()) ?? {};
      assert.deepEqual([gates, version], [['P1'], 2]);
    });
  });

  describe('all clusters', () => {
    beforeEach(() => service.cluster('C2'));

    it('yields one result per cluster', async () => {
      const witness = await account.watched(null);
      assert.deepEqual(
        witness.rounds.map(({ results }) => results.map(({ clusterId }) => clusterId)),
        [['C1', 'C2']],
      );
      assert.deepEqual(witness.rounds[0]?.group, { ...witness.rounds[0]?.group, start: 0, count: 2 });
      await clock.advance(65_000);
      assert.equal(witness.rounds.length, 2);
      assert.notEqual(witness.rounds[1]?.group?.id, witness.rounds[0]?.group?.id);
    });

    it('yields no older status at the end of an interval than a message has got meanwhile', async () => {
      const witness = await account.watched(null);
      const onlineIn = (round: (typeof witness.rounds)[number] | undefined) =>
        round?.results.map(({ status }) => status?.online);
      for (let second = 0; second < 58; second++) {
        await clock.advance(1_000);
        if (service.count('clusterStatus C2') > 1) break;
      }
      assert.equal(witness.rounds.length, 1, 'its result waits for the end of the interval');
      service.cluster('C2', answer({ is_online: false }));
      assert.deepEqual(onlineIn(await witness.poll()), [true, false]);
      await clock.advance(65_000);
      assert.deepEqual(onlineIn(witness.rounds[1]), [true, false]);
    });

    it('answers a message with no older status than it knows by the last answer', async () => {
      const witness = await account.watched(null);
      const { promise, release } = held();
      service.cluster('C2', () => promise.then(() => answer()));
      const asked = witness.poll();
      await settle();
      service.cluster('C1', answer({ is_online: false }));
      await (await account.watched('C1')).poll();
      release();
      assert.deepEqual(
        (await asked).results.map(({ clusterId, status }) => [clusterId, status?.online]),
        [
          ['C1', false],
          ['C2', true],
        ],
      );
    });

    it('polls a few clusters at once, and the others spread over the interval', async () => {
      for (let index = 3; index <= 60; index++) service.cluster(`C${index}`);
      const witness = await account.watched(null);
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

    it('starts polls due within a tenth of a second together', async () => {
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

    it('delivers a large group in parts and states the count in the last one', async () => {
      for (let index = 3; index <= 250; index++) service.cluster(`C${index}`);
      const witness = account.watch(null);
      await clock.advance(65_000);
      const last = witness.rounds.findIndex(({ group }) => group?.count === 250);
      const rounds = witness.rounds.slice(0, last + 1);
      let start = 0;
      for (const { results, group } of rounds) {
        assert.deepEqual([group?.start, group?.count ?? null], [start, start + results.length === 250 ? 250 : null]);
        start += results.length;
      }
      // The results of the first polls may arrive while the size of the group is not known yet.
      assert.ok(rounds.length > 200, `${rounds.length} parts`);
      assert.equal(new Set(rounds.flatMap(({ results }) => results.map(({ clusterId }) => clusterId))).size, 250);
    });

    it('uses the polls of other watches, except for a request', async () => {
      account.watch('C1', { interval: 20 });
      const witness = account.watch(null);
      await clock.advance(MINUTE);
      const before = service.count('clusterStatus C1');
      assert(before <= 5, `${before}`);
      await clock.advance(1_000);
      await witness.poll();
      assert.equal(service.count('clusterStatus C1'), before + 1);
    });

    it('reports added and removed clusters, and the events of each cluster', async () => {
      const witness = await account.watched(null);
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

    it('reports the end of a print under the new id of a printer that was disconnected for long', async () => {
      const show = (...print_jobs: Wire[]) => service.cluster('C1', jobs(...print_jobs));
      service.cluster('C2');
      show();
      const all = await account.watched(null, { milestones: [] });
      await clock.advance(MINUTE);
      show(at('a', 'printing', 10));
      await clock.advance(2 * MINUTE);
      service.remove('C1');
      await clock.advance(5 * MINUTE);
      service.cluster('N1', answer({ recently_completed: [at('a', 'finished', 100)] }), { host_guid: 'G-C1' });
      await clock.advance(3 * MINUTE);
      assert.deepEqual(all.delivered(), ['job.started a', 'cluster.removed', 'cluster.rebound=N1', 'job.finished a']);
      assert.deepEqual(pluck(all.rounds.at(-1)?.results ?? [], 'clusterId').sort(), ['C2', 'N1']);
    });

    it('reports a move while the former id is still listed as offline', async () => {
      service.cluster('C1', jobs(at('a', 'printing', 10)));
      const all = await account.watched(null, { milestones: [] });
      await clock.advance(MINUTE);
      service.cluster('C1', answer({ is_online: false }), { is_online: false });
      service.cluster('N1', jobs(at('a', 'printing', 20)), { host_guid: 'G-C1', is_online: true });
      await clock.advance(3 * MINUTE);
      assert.deepEqual(all.delivered(), ['cluster.rebound=N1']);
      const before = service.count('clusterStatus N1');
      await clock.advance(5 * MINUTE);
      assert.equal(service.count('clusterStatus N1'), before + 5, 'polled once a minute');
    });

    it('reports the end of a print while the list lacks a printer that another watch polls', async () => {
      service.cluster('C2', jobs(at('a', 'printing', 30)));
      const witness = account.watch(null);
      const single = await account.watched('C2');
      const { list } = service;
      service.list = list.filter(({ cluster_id: id }) => id !== 'C2');
      await clock.advance(MINUTE);
      service.cluster('C2', jobs(at('a', 'finished', 100)));
      service.list = list.filter(({ cluster_id: id }) => id !== 'C2');
      await clock.advance(5 * MINUTE);
      const ends = (events: { type: string }[]) => events.filter(({ type }) => type === 'job.finished').length;
      for (const { events } of [witness, single]) assert.equal(ends(events), 1);
      service.fails = (call) => (call === 'clusterStatus C2' ? notFound() : undefined);
      await clock.advance(5 * MINUTE);
      assert.equal(witness.rounds.at(-1)?.results.length, 1);
    });

    it('reports an end that another watch sees after a restart while the list lacks the printer', async () => {
      service.cluster('C2', jobs(at('a', 'printing', 30)));
      account.watch(null);
      await account.watched('C2');
      await account.restart();
      service.cluster('C2', jobs(at('a', 'finished', 100)));
      const { list } = service;
      service.list = list.filter(({ cluster_id: id }) => id !== 'C2');
      const witness = account.watch(null);
      await account.watched('C2');
      service.list = list;
      await clock.advance(5 * MINUTE);
      assert.equal(witness.events.filter(({ type }) => type === 'job.finished').length, 1);
      assert.equal(witness.rounds.at(-1)?.results.length, 2);
    });

    it('reports an end that another watch sees after a deploy of its own while the list is slow', async () => {
      service.cluster('C2', jobs(at('a', 'printing', 30)));
      const before = account.watch(null);
      account.watch('C2');
      await clock.advance(1.75 * MINUTE);
      before.close();
      const open = service.hold('listGate');
      const witness = account.watch(null);
      service.cluster('C2', jobs(at('a', 'finished', 100)));
      await clock.advance(MINUTE / 2);
      assert.equal(witness.events.filter(({ type }) => type === 'job.finished').length, 1);
      assert.equal(witness.rounds.length, 0, 'a group went out before the list');
      open();
      await clock.advance(MINUTE);
      assert.equal(witness.rounds[0]?.results.length, 2);
    });

    it('stays with a printer that a single list lacks, and sends its status and its events', async () => {
      const witness = await account.watched(null);
      const { list } = service;
      await clock.advance(10_000);
      service.list = list.filter(({ cluster_id: id }) => id !== 'C2');
      await clock.advance(MINUTE);
      service.statuses.set('C2', jobs(job('a', 'queued')));
      await clock.advance(45_000);
      assert.deepEqual(witness.delivered(), ['job.queued a']);
      service.list = list;
      await clock.advance(5 * MINUTE);
      assert.deepEqual(witness.delivered(), ['job.queued a']);
      assert.deepEqual([...new Set(witness.rounds.map(({ results }) => results.length))], [2]);
    });

    for (const clusters of [['C1'], ['C1', 'C2', 'C3']])
      it(`leaves one of ${clusters.length} printers after two lists without it, and reports no outage`, async () => {
        service.remove('C2');
        for (const id of clusters) service.cluster(id);
        const witness = await account.watched(null);
        await clock.advance(MINUTE);
        service.remove('C1');
        await clock.advance(MINUTE + 5_000);
        const last = witness.rounds.at(-1)?.results.find(({ clusterId }) => clusterId === 'C1');
        assert.equal(last?.status?.stale, true, 'its last status in between');
        assert.deepEqual(witness.delivered(), []);
        await clock.advance(MINUTE);
        assert.deepEqual(witness.delivered(), ['cluster.removed']);
        await clock.advance(5 * MINUTE);
        assert.equal(witness.rounds.at(-1)?.results.length, clusters.length - 1);
        assert.deepEqual([witness.troubles, account.reports], [[], []]);
        assert.ok(witness.rounds.every(({ error }) => error === null));
      });

    for (const odd of [[], {}, [{}], { message: 'Try again.' }])
      it(`reports no removal after a single list of ${JSON.stringify(odd)}`, async () => {
        const witness = await account.watched(null);
        const { list } = service;
        service.list = odd as Wire[];
        await clock.advance(MINUTE);
        service.list = list;
        await clock.advance(30 * MINUTE);
        assert.deepEqual(witness.delivered(), []);
        assert.equal(witness.rounds.at(-1)?.results.length, 2);
      });

    it('sends the last figures and the error of a failed cluster', async () => {
      const witness = await account.watched(null);
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

    it('backs off from a cluster that keeps failing, except for a request', async () => {
      const witness = await account.watched(null);
      service.fails = (call) => (call === 'clusterStatus C2' ? broken() : undefined);
      await clock.advance(30 * MINUTE);
      assert(Math.abs(service.count('clusterStatus C1') - 31) <= 1);
      assert(service.count('clusterStatus C2') <= 8, `${service.count('clusterStatus C2')}`);
      const before = service.count('clusterStatus C2');
      await witness.poll();
      assert.equal(service.count('clusterStatus C2'), before + 1);
    });

    it('reads the list on time after its token came late several times', async () => {
      account.watch(null);
      await clock.advance(MINUTE);
      service.fails = (call) =>
        call === 'clusters' ? new PrintingError('TIMEOUT', phrase`No token.`, { outcome: 'not-sent' }) : undefined;
      const before = service.count('clusters');
      await clock.advance(20 * MINUTE);
      assert.ok(service.count('clusters') - before >= 16, 'late tokens lengthened the backoff');
    });

    it('sends the last figures of all clusters if the list fails, even after a restart', async () => {
      await account.watched(null);
      await account.restart();
      service.fails = () => broken();
      const witness = await account.watched(null);
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

    it('lets the event loop turn while it joins the clusters of a long list, also if that list can’t be read', async () => {
      const slow = () => sleep(clock, 30_000) as unknown as Wire;
      for (let index = 1; index <= 600; index++) service.cluster(`C${index}`, slow);
      const { monotonic } = clock;
      /** Joins on a clock on which each look takes a millisecond; returns the longest time between two turns, ms. */
      const join = async () => {
        let [passed, turnedAt, longest] = [0, 0, 0];
        clock.monotonic = () => monotonic() + passed++;
        const turn = () => {
          longest = Math.max(longest, passed - turnedAt);
          turnedAt = passed;
          waiting = setImmediate(turn);
        };
        let waiting = setImmediate(turn);
        const { watch } = account.watch(null);
        while (watch.state.clusters.total < 600) await settle();
        clearImmediate(waiting);
        clock.monotonic = monotonic;
        return longest;
      };
      const read = await join();
      await clock.during(MINUTE, account.restart());
      service.fails = (call) => (call === 'clusters' ? broken() : undefined);
      const unread = await join();
      assert.ok(read < 300 && unread < 300, `${read} and ${unread} ms`);
      await account.watcher.close();
      await clock.advance(MINUTE);
    });

    it('follows the latest of several lists, and stays with a cluster that it joins meanwhile', async () => {
      const { watch } = await account.watched(null);
      const moved = account.watch('C5', { paused: true }).watch;
      assert.ok(watch instanceof NodeWatch && moved instanceof NodeWatch);
      const poller = moved.clusters.members.get('C5')?.poller;
      assert.ok(poller);
      await Promise.all([watch.follow(['C1', 'C3']), watch.follow(['C2', 'C4'])]);
      assert.deepEqual([...watch.clusters.members.keys()], ['C2', 'C4']);
      const followed = watch.follow(['C2', 'C4']);
      watch.moveTo(poller, 'C2');
      await followed;
      assert.deepEqual([...watch.clusters.members.keys()].sort(), ['C2', 'C4', 'C5']);
    });

    it('reads every page (traps 27, 28)', async () => {
      const page = (id: string, total?: number, next?: string) => {
        const data = [{ cluster_id: id }];
        const meta = { limit_reached: true, ...(total !== undefined && { page: { total_pages: total } }) };
        return { data, meta, links: { next } };
      };
      service.pages = [page('C1', 2), page('C2', 2), page('C3', 2)];
      const counted = await account.watched(null);
      assert.equal(counted.rounds[0]?.results.length, 2);
      service.pages = [page('C1', undefined, 'https://elsewhere/x?limit=1&page=2'), page('C2', undefined, '?page=1')];
      await clock.advance(65_000);
      assert.equal(counted.rounds[1]?.results.length, 2);
      assert.equal(service.count('clusters'), 4);
    });

    for (const [list, what] of [
      [null, 'no list'],
      [[null, null], 'a list of nulls'],
      [['C1', 'C2'], 'a list of ids'],
      [[[{ cluster_id: 'C1' }, { cluster_id: 'C2' }]], 'a list in a list'],
      [[{ cluster_id: 'C1' }, null], 'a list of which an entry can’t be read'],
      [[{ cluster_id: 'C1' }, { friendly_name: 'name-C2' }], 'a list of which an entry has no id'],
    ] as const)
      it(`treats ${what} as a failure, and keeps every printer with its last figures`, async () => {
        const witness = await account.watched(null);
        const readable = service.list;
        service.list = list as unknown as Wire[];
        await clock.advance(4 * MINUTE);
        assert.equal(witness.rounds.at(-1)?.error?.code, 'SERVICE_ERROR');
        assert.equal(witness.rounds.at(-1)?.results.length, 2);
        assert.deepEqual(witness.troubles, ['SERVICE_ERROR']);
        service.list = readable;
        await clock.advance(4 * MINUTE);
        assert.deepEqual(witness.delivered(), []);
      });
  });

  describe('a failure', () => {
    it('is reported once at the start and once at the end, with the last figures in between', async () => {
      const witness = await account.watched('C1');
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

    it('slows the polls down, at least by Retry-After', async () => {
      service.fails = () => broken();
      await account.watched('C1');
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

    for (const reader of ['clusterStatus', 'clusters'])
      for (const how of ['regular', 'requested'])
        for (const [retryAfter, pause] of [
          [undefined, 30_000],
          [5_000, 5_000],
          [3 * MINUTE, 3 * MINUTE],
        ] as const)
          it(`pauses all polls for ${pause / 1000} s after a 429 of a ${how} ${reader} with Retry-After ${retryAfter}`, async () => {
            service.cluster('C2');
            const witness = account.watch(null, { interval: 10 });
            await clock.advance(10 * MINUTE + 1_500);
            const sent: number[] = [];
            let limitedAt = Infinity;
            service.fails = (call) => {
              sent.push(clock.monotonic());
              if (limitedAt < Infinity || call.split(' ')[0] !== reader) return undefined;
              limitedAt = clock.monotonic();
              return limited(retryAfter);
            };
            if (how === 'requested') await witness.poll();
            while (limitedAt === Infinity) await clock.advance(100);
            await clock.advance(pause + MINUTE);
            const next = sent.find((at) => at > limitedAt) ?? Infinity;
            const rest = next - limitedAt;
            assert.ok(rest >= pause && rest <= pause + 11_000, `${rest} ms`);
          });

    it('keeps the pause that the service asked for over a deploy', async () => {
      await account.watched('C1');
      service.fails = () => limited(10 * MINUTE);
      await clock.advance(MINUTE);
      const count = service.count('clusterStatus');
      service.fails = () => undefined;
      await account.watcher.close();
      account.deploy();
      await account.watched('C1');
      await clock.advance(8 * MINUTE);
      assert.equal(service.count('clusterStatus'), count);
      await clock.advance(3 * MINUTE);
      assert.ok(service.count('clusterStatus') > count);
    });

    it('is returned to a request, even while paused', async () => {
      const witness = await account.watched('C1');
      witness.pause();
      service.fails = () => broken();
      const round = await witness.poll();
      assert.equal(round.error?.code, 'SERVICE_ERROR');
      assert.equal(round.results[0]?.status?.stale, true);
      assert.equal(witness.rounds.length, 1);
    });

    it('is reported for an answer without a status', async () => {
      service.statuses.set('C1', 'proxy page' as unknown as Wire);
      const { rounds } = await account.watched('C1');
      assert.equal(rounds[0]?.error?.code, 'SERVICE_ERROR');
      assert.deepEqual(rounds[0].results, []);
    });

    it('is reported for the store, and the status is still sent', async () => {
      account.store.get = () => Promise.reject(new Error('disk'));
      const witness = await account.watched('C1');
      assert.equal(witness.rounds[0]?.results[0]?.status?.online, true);
      assert.deepEqual(pluck(account.reports, 'kind'), ['fault']);
    });

    it('is repaired by the next write if one to the store failed', async () => {
      const { store } = account;
      const put = store.put.bind(store);
      store.put = () => Promise.reject(new Error('disk full'));
      await account.watched('C1');
      assert.equal(store.values.size, 0);
      store.put = put;
      await clock.advance(MINUTE);
      assert.equal(store.values.size, 1);
    });
  });

  describe('a sign-in', () => {
    it('is awaited without a poll', async () => {
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

    it('resumes polls in backoff', async () => {
      service.fails = () => broken(15 * MINUTE);
      const witnesses = [account.watch('C1'), account.watch(null)];
      await clock.advance(2 * MINUTE);
      service.fails = () => undefined;
      account.signIn.become('signed-in');
      await clock.advance(65_000);
      for (const { rounds } of witnesses) assert.equal(rounds.at(-1)?.error, null);
    });

    it('causes no poll if the first answer confirms it', async () => {
      account.signIn.become('unchecked');
      await account.watched('C1');
      account.signIn.become('signed-in');
      await settle();
      assert.equal(service.count('clusterStatus'), 1);
    });
  });

  describe('pausing', () => {
    it('stops the polls, but not the events from other watches’ polls', async () => {
      const paused = await account.watched('C1');
      paused.pause();
      assert.equal(clock.waiting, 0);
      await clock.advance(MINUTE);
      assert.equal(service.count('clusterStatus'), 1);
      const other = await account.watched('C1');
      service.cluster('C1', jobs(job('a', 'queued')));
      await clock.advance(MINUTE);
      assert.deepEqual(paused.delivered(), ['job.queued a']);
      assert.equal(paused.rounds.length, 1);
      assert.equal(other.rounds.length, 2);
    });

    it('ends with a poll', async () => {
      const witness = await account.watched('C1');
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
    /** Status of a cluster that prints one job of `length` s after another; the queue contains the running one. */
    const printing = (length: number) => () => {
      const elapsed = Math.floor(clock.monotonic() / 1000);
      const [count, into] = [Math.floor(elapsed / length), elapsed % length];
      return answer({
        print_jobs: [job(`j${count}`, 'printing', { time_elapsed: into, time_total: length, created_at: minute(60) })],
        recently_completed: count > 0 ? [job(`j${count - 1}`, 'finished', { created_at: minute(60) })] : [],
      });
    };

    for (const clusterId of ['C1', null])
      it(`is detected at once by a watch of ${clusterId ?? 'all clusters'}, with one or two extra polls`, async () => {
        service.statuses.set('C1', printing(1000));
        const late: number[] = [];
        account.watch(clusterId, {
          onEvents: (events) => {
            for (const { type } of events) if (type === 'job.finished') late.push((clock.monotonic() / 1000) % 1000);
          },
        });
        if (clusterId === null) account.watch('C1', { interval: 240 });
        await clock.advance(4 * 3600_000);
        assert.equal(late.length, 14);
        assert(Math.max(...late) <= 10, late.join());
        assert(service.count('clusterStatus') <= 241 + 2 * 14, `${service.count('clusterStatus')}`);
      });

    it('causes few extra polls, however late it ends', async () => {
      service.statuses.set('C1', () =>
        jobs(job('a', 'printing', { time_elapsed: clock.monotonic() / 1000, time_total: 200 })),
      );
      account.watch('C1');
      await clock.advance(20 * MINUTE);
      const polls = service.count('clusterStatus');
      assert(polls > 21 && polls <= 21 + 6, `${polls}`);
    });

    it('keeps polls 10 s apart, however short prints are', async () => {
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
    it('reports missed events once, as late', async () => {
      service.cluster('C1', jobs(at('a', 'printing', 30)));
      const before = await account.watched('C1');
      service.cluster('C1', jobs(at('a', 'paused', 60)));
      await clock.advance(MINUTE);
      assert.deepEqual(before.delivered(), ['job.paused a', 'job.progress a=50']);
      await account.restart();
      service.cluster('C1', answer({ recently_completed: [at('a', 'finished', 100)] }));
      const after = await account.watched('C1', { milestones: [] });
      assert.deepEqual(after.lateness(), [['job.finished', true]]);
      service.cluster('C1', jobs(job('b', 'queued')));
      await clock.advance(MINUTE);
      assert.equal(after.events.at(-1)?.late, false);
    });

    it('marks missed events as late even if only a single watch restarts', async () => {
      account.watch('C1').close();
      const first = await account.watched('C1');
      first.close();
      service.cluster('C1', jobs(job('a', 'queued')));
      await clock.advance(3 * MINUTE);
      const again = account.watch('C1');
      await clock.advance(10_000);
      assert.deepEqual(again.lateness(), [['job.queued', true]]);
    });

    it('marks no event as late after a deploy, even if a long interval or an outage delays the next poll', async () => {
      const interval = 600;
      const first = await account.watched('C1', { key: 'node', interval });
      await clock.advance(21 * MINUTE);
      first.close();
      await account.watcher.close();
      account.deploy();
      const again = account.watch('C1', { key: 'node', interval });
      service.cluster('C1', jobs(job('a', 'queued')));
      await clock.advance(10 * MINUTE);
      assert.deepEqual(again.lateness(), [['job.queued', false]]);
      again.close();
      service.fails = () => broken();
      const last = account.watch('C1', { key: 'node', interval });
      await clock.advance(60 * MINUTE);
      service.fails = () => undefined;
      service.cluster('C1', jobs(at('a', 'printing', 10)));
      await clock.advance(60 * MINUTE);
      assert.deepEqual(last.lateness(), [['job.started', false]]);
    });

    it('marks no event as late between watches that come for one poll each, every 10 seconds', async () => {
      const lateness: unknown[] = [];
      const poll = async (): Promise<void> => {
        const visit = account.watch('C1', { paused: true });
        await visit.poll();
        visit.close();
        lateness.push(...visit.lateness());
        await clock.advance(10_000);
      };
      await poll();
      service.cluster('C1', jobs(job('a', 'queued')));
      await poll();
      await poll();
      service.cluster('C1', jobs(at('a', 'printing', 10)));
      await poll();
      assert.deepEqual(lateness, [
        ['job.queued', false],
        ['job.started', false],
      ]);
    });

    it('marks no event as late after a single list that lacks the printer', async () => {
      service.cluster('C2');
      const all = await account.watched(null);
      await clock.advance(2 * MINUTE);
      const { list } = service;
      service.list = list.filter(({ cluster_id: id }) => id !== 'C1');
      await clock.advance(MINUTE);
      service.list = list;
      service.statuses.set('C1', jobs(job('a', 'queued')));
      await clock.advance(3 * MINUTE);
      assert.deepEqual(all.lateness(), [['job.queued', false]]);
    });

    it('marks printers as added in time after a deploy of the only watch of all printers', async () => {
      const first = await account.watched(null);
      await clock.advance(0.75 * MINUTE);
      first.close();
      service.cluster('C2');
      const again = await account.watched(null);
      await clock.advance(MINUTE);
      assert.deepEqual(again.lateness(), [['cluster.added', false]]);
    });

    it('reports the end of a job that only a poll right after the close of a single watch has seen', async () => {
      const first = await account.watched('C1');
      service.cluster('C1', () => {
        first.close();
        return jobs(job('a', 'queued'));
      });
      await clock.advance(MINUTE);
      const again = account.watch('C1');
      service.cluster('C1', answer());
      await clock.advance(3 * MINUTE);
      assert.deepEqual(again.delivered(), ['job.queued a', 'job.ended a']);
    });

    for (const [what, key, path, odd] of [
      ['a printer of the list', [], ['known', 0], null],
      ['a removed printer of the list', [], ['removed', 0], null],
      ['the printers of the list', [], ['known'], undefined],
      ['a printer', ['C1'], ['printers', 0], null],
      ['the faults of a printer', ['C1'], ['printers', 0, 'faults'], undefined],
      ['an extruder', ['C1'], ['printers', 0, 'extruders'], [null]],
      ['a job', ['C1'], ['jobs', 0], {}],
      ['the changes of a job', ['C1'], ['jobs', 0, 'job', 'changesRequired'], null],
      ['an end', ['C1'], ['ended', 0], null],
      ['a plate', ['C1'], ['plates'], [null]],
      ['the last figures', ['C1'], ['figures', 'printers'], null],
      ['the jobs of the last figures', ['C1'], ['figures', 'jobs', 0], { materials: 5 }],
    ] as [string, string[], (string | number)[], unknown][])
      it(`goes on without a stored checkpoint of another shape, such as of ${what}`, async () => {
        const history = [at('h', 'finished', 100)];
        const printers = [{ uuid: 'P1', friendly_name: 'Left', status: 'printing' }];
        service.cluster('C1', answer({ print_jobs: [at('a', 'printing', 10)], recently_completed: history, printers }));
        service.cluster('C2');
        const before = await account.watched(null);
        await clock.advance(MINUTE);
        service.remove('C2');
        await clock.advance(3 * MINUTE);
        before.close();
        await account.watcher.close();
        const place: Key = ['checkpoint', ...account.scope, ...key];
        const stored = (await account.store.get<Wire>(place)) ?? assert.fail();
        const parent = path.slice(0, -1).reduce((one, name) => one[name] as Wire, stored);
        parent[path.at(-1) ?? ''] = odd;
        await account.store.put(place, stored);
        account.start();
        const after = account.watch(null);
        await clock.advance(2 * MINUTE);
        service.cluster('C1', answer({ recently_completed: [at('a', 'finished', 100), ...history], printers }));
        await clock.advance(3 * MINUTE);
        const asked = after.poll();
        await clock.advance(10_000);
        const { error, results } = await asked;
        assert.equal(error, null);
        assert.deepEqual(pluck(results, 'clusterId'), ['C1']);
        assert.equal(after.delivered().filter((event) => event === 'job.finished a').length, 1);
        assert.deepEqual(
          account.reports.filter(({ kind }) => kind === 'fault'),
          [],
        );
      });

    it('ends a message whose failed poll can’t even show what was known', async () => {
      service.fails = () => broken();
      const { list } = account.memory.scope(account.scope);
      list.loaded = true;
      list.checkpoint = { version: 2, count: 0, known: [null as never] };
      const ended = account
        .watch(null)
        .poll()
        .catch((thrown: unknown) => thrown instanceof TypeError);
      await clock.advance(5 * MINUTE);
      assert.equal(await ended, true);
    });

    it('repeats no milestone', async () => {
      service.cluster('C1', jobs(at('a', 'printing', 24.5)));
      await account.watched('C1');
      service.cluster('C1', jobs(at('a', 'printing', 25.1)));
      await clock.advance(MINUTE);
      await account.restart();
      service.cluster('C1', jobs(at('a', 'printing', 25.5)));
      const after = await account.watched('C1');
      assert.deepEqual(after.delivered(), []);
    });

    it('restores the last known figures, which closing writes', async () => {
      service.cluster('C1', jobs(at('a', 'printing', 10)));
      await account.watched('C1');
      service.cluster('C1', jobs(at('a', 'printing', 20)));
      await clock.advance(MINUTE);
      await account.restart();
      service.fails = () => broken();
      const { rounds } = await account.watched('C1');
      assert.equal(rounds[0]?.results[0]?.status?.jobs[0]?.progress, 20);
      assert.equal(rounds[0].results[0].status.stale, true);
    });

    it('writes checkpoints only after events or changes of the set of jobs', async () => {
      let writes = 0;
      const put = account.store.put.bind(account.store);
      account.store.put = async (...given) => {
        writes++;
        await put(...given);
      };
      let percent = 0;
      const plates = () => ({ uuid: 'P1', status: 'printing', build_plate: { temperature: percent } });
      service.cluster('C1', () => answer({ printers: [plates()], print_jobs: [at('a', 'printing', percent)] }));
      await account.watched('C1', { milestones: [50] });
      assert.equal(writes, 1);
      for (percent = 0; percent < 100; percent += 1 / 6) await clock.advance(MINUTE);
      assert.equal(writes, 2);
    });
  });

  it('keeps no state of unknown clusters, and causes no listener warning', async () => {
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

    it('keeps the turns of known watches, and starts no burst of polls', async () => {
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

    describe('of watches that send changes alone', () => {
      /** State of each job in the statuses that were sent. */
      const sent = ({ rounds }: Witness) =>
        rounds.flatMap(({ results }) => results.flatMap(({ status }) => status?.jobs.map(({ state }) => state) ?? []));
      const deployed = async (before: Witness, clusterId: string | null, more = {}) => {
        before.close();
        await account.watcher.close();
        account.deploy();
        const after = keyed(clusterId, { onlyChanges: true, ...more });
        await settle();
        return after;
      };

      it('loses no change that had not been sent yet', async () => {
        service.cluster('C2', jobs(at('a', 'printing', 10)));
        const first = keyed(null, { onlyChanges: true });
        await clock.advance(2 * MINUTE);
        service.cluster('C2', jobs(at('a', 'paused', 10)));
        while (!first.delivered().includes('job.paused a')) await clock.advance(1_000);
        assert.deepEqual(sent(first), ['printing']);
        const second = await deployed(first, null);
        assert.deepEqual(sent(second), ['paused']);
        await clock.advance(3 * MINUTE);
        assert.deepEqual(sent(second), ['paused']);
      });

      it('compares with no status from before a deploy that sent all of them', async () => {
        service.cluster('C1', jobs(at('a', 'printing', 10)));
        const first = keyed('C1', { onlyChanges: true });
        await settle();
        const second = await deployed(first, 'C1', { onlyChanges: false });
        service.cluster('C1', jobs(at('a', 'paused', 10)));
        await clock.advance(MINUTE);
        assert.equal(sent(second).at(-1), 'paused');
        service.cluster('C1', jobs(at('a', 'printing', 10)));
        await account.watch('C1', { paused: true }).poll();
        assert.equal(sent(second).at(-1), 'paused');
        const third = await deployed(second, 'C1');
        await clock.advance(2 * MINUTE);
        assert.deepEqual(sent(third), ['printing']);
      });
    });

    it('loses no event of a poll that ends after the last watch has closed', async () => {
      service.cluster('C1', jobs(at('a', 'printing', 90)));
      const first = keyed('C1');
      await settle();
      const open = service.hold();
      service.cluster('C1', answer({ recently_completed: [at('a', 'finished', 100)] }));
      await clock.advance(MINUTE);
      // An awaited print of another node keeps the polls running.
      const end = new AbortController();
      account.watcher.follow('C1', 'other', { signal: end.signal }).catch(() => undefined);
      first.close();
      open();
      await clock.advance(10_000);
      const second = keyed('C1', { milestones: [] });
      await clock.advance(2 * MINUTE);
      assert.deepEqual(second.lateness(), [['job.finished', false]]);
      assert.deepEqual(first.delivered(), []);
      end.abort(new Error('enough'));
    });
  });

  describe('a store', () => {
    it('causes no repeated events if it can’t be read at the start', async () => {
      service.cluster('C1', jobs(at('a', 'printing', 90)));
      await account.watched('C1');
      await account.restart();
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

    it('loses no event if it can’t be written, and is written later', async () => {
      const witness = await account.watched('C1', { milestones: [] });
      const put = account.store.put.bind(account.store);
      account.store.put = () => Promise.reject(new Error('ENOSPC'));
      service.cluster('C1', jobs(at('a', 'printing', 10)));
      await clock.advance(MINUTE);
      service.cluster('C1', jobs(at('a', 'paused', 20)));
      await clock.advance(MINUTE);
      assert.deepEqual(witness.delivered(), ['job.started a', 'job.paused a']);
      account.store.put = put;
      await clock.advance(5 * MINUTE);
      await account.restart();
      const after = await account.watched('C1', { milestones: [] });
      assert.deepEqual(after.delivered(), []);
    });

    it('causes no duplicate event id if it can’t be written for long', async () => {
      const put = account.store.put.bind(account.store);
      const ids: string[] = [];
      const onEvents: WatchOptions['onEvents'] = (events) => ids.push(...events.map(({ id }) => id));
      await account.watched('C1', { onEvents });
      for (let start = 0; start < 3; start++) {
        account.store.put = () => Promise.reject(new Error('ENOSPC'));
        for (const online of [false, false, true, true]) {
          service.cluster('C1', answer({ is_online: online }));
          await clock.advance(MINUTE);
        }
        // The unwritten deliveries are lost with the process.
        await account.restart();
        await account.watched('C1', { onEvents });
      }
      account.store.put = put;
      assert.equal(ids.length, 6);
      assert.equal(new Set(ids).size, 6);
    });
  });

  it('shows the last known jobs of a cluster whose status lacks them, as stale', async () => {
    service.cluster('C1', jobs(job('a', 'printing')));
    const witness = await account.watched('C1');
    const shown = () => {
      const { status } = witness.rounds.at(-1)?.results[0] ?? {};
      return [status?.online, status?.stale, status?.jobs.length, status?.current?.clusterJobId];
    };
    const lacking = [undefined, null, 'none', [null]].map((print_jobs) => answer({ print_jobs }));
    for (const wire of [...lacking, {}]) {
      service.cluster('C1', wire);
      await clock.advance(3 * MINUTE);
      assert.deepEqual(shown(), [wire.is_online ?? null, true, 1, 'a'], JSON.stringify(wire));
    }
    assert.deepEqual(witness.delivered(), []);
    service.cluster('C1', answer({ recently_completed: [job('a', 'finished')] }));
    await clock.advance(MINUTE);
    assert.deepEqual(shown(), [true, false, 0, undefined]);
    assert.deepEqual(witness.delivered(), ['job.progress a=75', 'job.finished a']);
  });

  describe('a status that is not found (traps 13, 16)', () => {
    beforeEach(() => service.cluster('C1', jobs(job('a', 'printing'))));

    it('means offline while the list contains the cluster', async () => {
      const witness = await account.watched('C1');
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

    it('means nothing while a fresh list shows the cluster online', async () => {
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

    it('means not found while the list lacks the cluster', async () => {
      const witness = await account.watched('C1');
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

    it('means a new id if the list contains the same machine, reports it once and moves', async () => {
      const witness = await account.watched('C1', { milestones: [] });
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

    it('is redirected to the new id after a restart without another event', async () => {
      await account.watched('C1');
      rebind();
      await clock.advance(MINUTE);
      await account.restart();
      const witness = account.watch('C1');
      const round = await witness.poll();
      assert.equal(round.results[0]?.clusterId, 'N1');
      assert.deepEqual(witness.delivered(), []);
      assert.equal(service.count('clusterStatus C1'), 2);
    });

    it('can mean a return to an old id', async () => {
      const witness = await account.watched('C1', { milestones: [] });
      rebind();
      await clock.advance(MINUTE);
      service.remove('N1');
      service.cluster('C1', answer());
      await clock.advance(2 * MINUTE);
      assert.deepEqual(witness.delivered(), ['cluster.rebound=N1', 'job.finished a', 'cluster.rebound=C1']);
      assert.equal(witness.rounds.at(-1)?.results[0]?.clusterId, 'C1');
      // Repeated, to prove that the two ids don't wait for each other.
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

    it('is recognised as a new id although the cached list is recent', async () => {
      const witness = await account.watched('C1');
      rebind();
      const asked = witness.poll();
      await clock.advance(2_000);
      assert.equal((await asked).results[0]?.clusterId, 'N1');
    });

    for (const order of [
      ['C1', null],
      [null, 'C1'],
    ]) {
      it(`reports the new id to each watch once if the watch of ${order[0] ?? 'all'} starts first`, async () => {
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

  it('sends nothing to a paused node at the turn for which a result was stored', async () => {
    const account = new ScriptedAccount();
    const { clock } = account;
    account.service.cluster('C1');
    const own: number[] = [];
    const first = account.watch('C1', { interval: 30, onRound: () => own.push(clock.monotonic()) });
    const neighbour = account.watch('C1', { interval: 3600 });
    await clock.advance(300_000);
    const turn = (own.at(-1) ?? 0) + 30_000;
    await clock.advance(turn - 5_000 - clock.monotonic());
    await neighbour.poll();
    first.pause();
    const sent = own.length;
    await clock.advance(20_000);
    await account.watcher.close();
    assert.equal(own.length, sent);
  });

  describe('follow', () => {
    it('uses the shared polls', async () => {
      const witness = await account.watched('C1');
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

    it('polls without a watch until the print ends', async () => {
      const followed = account.watcher.follow('C1', 'a');
      await settle();
      service.cluster('C1', answer({ recently_completed: [job('a', 'failed')] }));
      await clock.advance(MINUTE);
      assert.equal((await followed).outcome, 'failed');
      assert.equal(clock.waiting, 0);
      assert.equal(service.count('clusterStatus'), 2);
    });

    it('resolves at once for an end delivered before, even after a restart', async () => {
      await account.watched('C1');
      service.cluster('C1', answer({ recently_completed: [job('a', 'aborted')] }));
      await clock.advance(MINUTE);
      assert.equal((await account.watcher.follow('C1', 'a')).outcome, 'aborted');
      await account.restart();
      service.calls.length = 0;
      assert.equal((await account.watcher.follow('C1', 'a')).outcome, 'aborted');
      assert.deepEqual(service.calls, []);
    });

    it('reads the record of a job that stays unlisted for 2 minutes', async () => {
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

    it('resolves with `ended` if the service knows neither the job nor the cluster', async () => {
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

    it('resolves as disconnected once the list lacks the cluster of a running print twice in a row', async () => {
      service.cluster('C1', jobs(job('a', 'printing')));
      const followed = account.watcher.follow('C1', 'a');
      const isOver = async () => Promise.race([followed.then(() => true), settle().then(() => false)]);
      await settle();
      service.remove('C1');
      await clock.advance(MINUTE);
      assert.equal(await isOver(), false, 'a single list proves nothing');
      service.cluster('C1', jobs(job('a', 'printing')));
      await clock.advance(2 * MINUTE);
      service.remove('C1');
      await clock.advance(MINUTE);
      assert.equal(await isOver(), false, 'not in a row');
      await clock.advance(3 * MINUTE);
      assert.deepEqual(await followed, { outcome: 'ended', job: null, clusterId: 'C1', isDisconnected: true });
    });

    it('counts only time in which the list lacks the cluster, if told how long that may last', async () => {
      const isOver = async () => Promise.race([followed.then(() => true), settle().then(() => false)]);
      service.cluster('C1', jobs(job('a', 'printing')));
      const followed = account.watcher.follow('C1', 'a', { missingFor: 120 * MINUTE });
      await clock.advance(MINUTE);
      service.remove('C1');
      await clock.advance(115 * MINUTE);
      assert.equal(await isOver(), false);
      service.cluster('C1', jobs(job('a', 'printing')));
      await clock.advance(15 * MINUTE);
      service.remove('C1');
      await clock.advance(60 * MINUTE);
      assert.equal(await isOver(), false, 'the service knows the cluster in between');
      await clock.advance(80 * MINUTE);
      assert.equal((await followed).isDisconnected, true);
    });

    it('moves to a new id', async () => {
      service.cluster('C1', jobs(job('a', 'printing')));
      const followed = account.watcher.follow('C1', 'a');
      await settle();
      service.remove('C1');
      service.cluster('N1', answer({ recently_completed: [job('a', 'finished')] }), { host_guid: 'G-C1' });
      await clock.advance(MINUTE);
      const { outcome, clusterId } = await followed;
      assert.deepEqual([outcome, clusterId], ['finished', 'N1']);
    });

    it('rejects with the reason of its signal', async () => {
      const reason = new Error('enough');
      const abort = new AbortController();
      const followed = account.watcher.follow('C1', 'a', { signal: abort.signal });
      await settle();
      abort.abort(reason);
      await assert.rejects(followed, reason);
      assert.equal(clock.waiting, 0);
      await assert.rejects(account.watcher.follow('C1', 'a', { signal: abort.signal }), reason);
    });

    it('rejects when the watcher closes', async () => {
      const followed = account.watcher.follow('C1', 'a');
      await settle();
      const refused = assert.rejects(followed, { code: 'NOT_CONFIGURED' });
      await account.watcher.close();
      await refused;
      await assert.rejects(account.watcher.follow('C1', 'a'), { code: 'NOT_CONFIGURED' });
    });
  });

  it('ignores answers after closing', async () => {
    const open = service.hold();
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
