import assert from 'node:assert/strict';
import { Replicas } from './replicas';

const MINUTE = 60_000;

describe('the replication of a farm', () => {
  for (const [clusters, count] of [
    [400, 2],
    [870, 29],
  ] as const) {
    it(`shares ${clusters} clusters among ${count} runtimes, and moves only the share of one that joins or leaves`, async () => {
      const replicas = new Replicas();
      const { clock, service } = replicas;
      replicas.latency = null;
      for (let n = 0; n < clusters; n++) service.cluster(`C${n}`);
      for (let n = 0; n < count; n++) replicas.start().watch(null);

      /** Advances one minute; returns the last poller of each cluster. */
      const minute = async () => {
        const [from, lists] = [clock.monotonic(), replicas.lists];
        await clock.advance(MINUTE);
        const polls = replicas.polls.filter(({ at }) => at >= from);
        const holders = new Map(polls.map(({ clusterId, by }) => [clusterId, by]));
        return { polls: polls.length + replicas.lists - lists, load: [...replicas.load(from).values()], holders };
      };
      /** Checks the second minute after a change: an even load, no extra polls, and at most `moves` moved clusters. */
      const settled = async (before: Map<string, string> | null, moves: number) => {
        await minute();
        const { polls, load, holders } = await minute();
        const fair = clusters / replicas.running.length;
        assert.ok(Math.max(...load) <= 1.15 * fair && Math.min(...load) >= 0.85 * fair, load.join());
        assert.ok(
          polls <= 1.01 * (clusters + 1),
          `${polls} requests in a minute, where one runtime makes ${clusters + 1}`,
        );
        assert.equal(holders.size, clusters);
        if (before) {
          const moved = [...holders].filter(([clusterId, by]) => before.get(clusterId) !== by).length;
          assert.ok(moved <= Math.ceil(moves), `${moved} have moved`);
        }
        return holders;
      };

      const first = await settled(null, 0);
      replicas.start().watch(null);
      const joined = await settled(first, clusters / (count + 1));
      await replicas.all[0]?.leave();
      const left = await settled(joined, clusters / (count + 1));
      replicas.all[1]?.kill();
      await settled(left, clusters / count);
      const last = new Map<string, number>();
      let longest = 0;
      for (const { clusterId, at } of replicas.polls) {
        longest = Math.max(longest, at - (last.get(clusterId) ?? 0));
        last.set(clusterId, at);
      }
      // Allow for the spread of clusters that were gained together.
      const [interval, lease, spread] = [1.1 * MINUTE, 20_000, 5 * (clusters / count / Math.max(1, count - 1))];
      assert.ok(longest <= interval + lease + spread, `${longest} ms unpolled`);
      await replicas.close();
    });
  }
});
