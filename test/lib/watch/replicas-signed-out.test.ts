import assert from 'node:assert/strict';
import type { Round } from '../../../lib/watch/views/rounds';
import { answer, at, job, type Wire } from '../events/observations';
import { Replicas, type Replica } from './replicas';

const MINUTE = 60_000;
const CLUSTERS = ['C0', 'C1', 'C2', 'C3'];

describe('the replication of an account that is not signed in', () => {
  let replicas: Replicas;
  let clock: Replicas['clock'];
  let sent: { by: string; clusterId: string; at: number; stale: boolean }[];

  beforeEach(() => {
    replicas = new Replicas();
    ({ clock } = replicas);
    sent = [];
    for (const clusterId of CLUSTERS) replicas.service.cluster(clusterId);
  });
  afterEach(async () => {
    await replicas.close();
    await clock.advance(0);
  });

  const watch = (replica: Replica, watched: readonly (string | null)[]) => {
    const onRound = ({ results }: Round) => {
      for (const { status } of results)
        if (status)
          sent.push({ by: replica.name, clusterId: status.clusterId, at: clock.monotonic(), stale: status.stale });
    };
    for (const clusterId of watched) replica.watch(clusterId, 60, { onRound });
  };
  const start = (watched: readonly (string | null)[], state: 'signed-in' | 'sign-in-needed' = 'signed-in') => {
    const replica = replicas.start();
    replica.account.signIn.state = state;
    watch(replica, watched);
    return replica;
  };
  const signOut = () => replicas.running.forEach(({ account }) => account.signIn.become('sign-in-needed'));

  /** Checks the messages of ten minutes: stale, at the interval, and from one runtime per printer. */
  const checkMessages = async (): Promise<Set<string>> => {
    const from = clock.monotonic();
    const polls = replicas.polls.length;
    await clock.advance(10 * MINUTE);
    const senders = new Set<string>();
    for (const clusterId of CLUSTERS) {
      const own = sent.filter((one) => one.clusterId === clusterId && one.at > from);
      assert.ok(own.length >= 9 && own.length <= 11, `${own.length} messages of ${clusterId}`);
      assert.ok(own.every(({ stale }) => stale));
      assert.equal(new Set(own.map(({ by }) => by)).size, 1, `${clusterId} comes from one runtime`);
      for (const { by } of own) senders.add(by);
    }
    assert.equal(replicas.polls.length, polls, 'nothing is polled');
    return senders;
  };

  for (const [what, watched] of [
    ['one printer each', CLUSTERS],
    ['all printers', [null]],
  ] as const)
    describe(`with nodes that watch ${what}`, () => {
      for (const [what, change, senders] of [
        ['sends stale messages at the interval, from one runtime per printer', () => undefined, ['R1', 'R2']],
        ['moves the printers of a runtime that closes', () => replicas.all[0]?.leave(), ['R2']],
        ['moves the printers of a runtime that dies', () => replicas.all[0]?.kill(), ['R2']],
        [
          'sends the stored figures after all runtimes have restarted',
          async () => {
            for (const replica of replicas.running) await replica.leave();
            start(watched, 'sign-in-needed');
            start(watched, 'sign-in-needed');
          },
          ['R3', 'R4'],
        ],
      ] as const)
        it(what, async () => {
          start(watched);
          start(watched);
          await clock.advance(5 * MINUTE);
          signOut();
          await clock.advance(2 * MINUTE);
          await change();
          await clock.advance(4 * MINUTE);
          assert.deepEqual([...(await checkMessages())].sort(), senders);
        });

      it('leaves every printer to a runtime that is still signed in, and shares them again after a sign-in', async () => {
        const first = start(watched);
        start(watched);
        await clock.advance(5 * MINUTE);
        first.account.signIn.become('sign-in-needed');
        await clock.advance(2 * MINUTE);
        const alone = clock.monotonic();
        await clock.advance(5 * MINUTE);
        const fresh = sent.filter(({ at }) => at > alone);
        assert.ok(fresh.length >= 4 * CLUSTERS.length);
        assert.ok(fresh.every(({ by, stale }) => by === 'R2' && !stale));
        first.account.signIn.become('signed-in');
        await clock.advance(3 * MINUTE);
        const shared = clock.monotonic();
        await clock.advance(5 * MINUTE);
        assert.ok([...replicas.load(shared).values()].every((count) => count >= 8));
      });
    });

  it('derives no event again after a printer has changed hands between a sign-out and a sign-in', async () => {
    const print = (jobs: Wire[], ended: Wire[]) =>
      replicas.service.cluster('C0', answer({ print_jobs: jobs, recently_completed: ended }));
    const first = start(['C0']);
    const second = start(['C0']);
    await clock.advance(5 * MINUTE);
    const owner = replicas.polls.at(-1)?.by === first.name ? first : second;
    const other = owner === first ? second : first;
    print([at('a', 'printing', 10)], []);
    const ended = other.account.watcher.follow('C0', 'a');
    await clock.advance(3 * MINUTE);
    print([], [job('a', 'finished')]);
    await clock.advance(3 * MINUTE);
    assert.equal((await ended).outcome, 'finished');
    print([at('b', 'printing', 10)], [job('a', 'finished')]);
    await clock.advance(3 * MINUTE);
    print([], [job('b', 'finished'), job('a', 'finished')]);
    await clock.advance(3 * MINUTE);
    for (const { account } of replicas.running) {
      account.scope = ['A1', 'https://api', ''];
      account.signIn.become('signed-out');
    }
    await clock.advance(2 * MINUTE);
    await owner.leave();
    await clock.advance(2 * MINUTE);
    other.account.scope = ['A1', 'https://api', 'W1'];
    other.account.signIn.become('signed-in');
    await clock.advance(5 * MINUTE);
    const ends = replicas.delivered.filter(({ type }) => type === 'job.finished').map(({ id }) => id);
    assert.equal(ends.length, 2, ends.join());
  });
});
