import assert from 'node:assert/strict';
import type { Round } from '../../../lib/watch/watcher';
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
      it('sends stale messages at the interval, from one runtime per printer', async () => {
        start(watched);
        start(watched);
        await clock.advance(5 * MINUTE);
        signOut();
        await clock.advance(2 * MINUTE);
        assert.equal((await checkMessages()).size, 2);
      });

      it('moves the printers of a runtime that closes', async () => {
        const first = start(watched);
        start(watched);
        await clock.advance(5 * MINUTE);
        signOut();
        await clock.advance(2 * MINUTE);
        await first.leave();
        await clock.advance(2 * MINUTE);
        assert.deepEqual([...(await checkMessages())], ['R2']);
      });

      it('moves the printers of a runtime that dies', async () => {
        const first = start(watched);
        start(watched);
        await clock.advance(5 * MINUTE);
        signOut();
        await clock.advance(2 * MINUTE);
        first.kill();
        await clock.advance(4 * MINUTE);
        assert.deepEqual([...(await checkMessages())], ['R2']);
      });

      it('sends the stored figures after all runtimes have restarted', async () => {
        start(watched);
        start(watched);
        await clock.advance(5 * MINUTE);
        signOut();
        await clock.advance(2 * MINUTE);
        for (const replica of replicas.running) await replica.leave();
        start(watched, 'sign-in-needed');
        start(watched, 'sign-in-needed');
        await clock.advance(3 * MINUTE);
        assert.deepEqual([...(await checkMessages())].sort(), ['R3', 'R4']);
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
});
