import assert from 'node:assert/strict';
import type { NodeMessage } from 'node-red';
import helper from 'node-red-node-test-helper';
import type { ClusterStatus } from '../../lib/service/cluster';
import type { Fault, Simulator, SimulatorOptions } from '../../simulator';
import { helperNode, type Definition, type Flow, type Inbox } from '../helpers/flow';
import type { TurnedTime } from '../helpers/turned-time';
import { clustersOf, codeOf, TimedBench, watchNode } from './support';

const WARN = 30;
const INFO = 40;
const statusOf = (msg: NodeMessage | undefined) => msg?.payload as ClusterStatus;
const errorOf = (msg: NodeMessage | undefined) => msg?.error as { code: string; message: string };

describe('nodes/cluster-status: an outage has one notice', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  const bench = new TimedBench('status');
  const { status, caught } = bench.inboxes as Record<'status' | 'caught', Inbox>;
  const down: Fault = { endpoint: '*', status: 503, times: 'always' };

  const node = (changes = {}) => watchNode({ wires: [['status'], []], ...changes });
  const deploy = async (nodes: Definition[], options: Parameters<Flow['deploy']>[1] = {}) => {
    await time.until(bench.deploy(nodes, options));
    await time.settled();
  };
  const clusterIds = () => bench.clusterIds;
  const pathOf = (clusterId = '') => encodeURIComponent(clusterId).replaceAll('%3D', '=');
  const singles = () =>
    clusterIds().map((cluster, n) => node({ id: `watch-${n}`, cluster, wires: [[n === 0 ? 'status' : ''], []] }));
  const notices = () => caught.all.map((msg) => errorOf(msg).message);
  /** Log entries of this level about outages and sign-ins. */
  const logged = (level: number) =>
    (helper.log() as unknown as { args: [{ level: number; msg: unknown }][] }).args
      .map(([entry]) => entry)
      .filter((entry) => entry.level === level && /can’t be read|again after|sign(ed|-in is)/i.test(String(entry.msg)))
      .map(({ msg }) => String(msg));
  const names = (text = '') =>
    clustersOf(simulator).filter(({ friendlyName }) => friendlyName && text.includes(friendlyName)).length;
  /** Deploys one node that watches all printers, and polls them twice. */
  const watch = async () => {
    await deploy([node()]);
    await time.pass(20);
  };
  const restart = async (nodes: Definition[]) => {
    ({ flow } = await bench.restart());
    await deploy(nodes, { signIn: false });
  };

  const start = async (options?: SimulatorOptions) => {
    ({ time, simulator, flow } = await bench.start(options));
    await flow.deploy([]);
  };
  beforeEach(() => start());
  afterEach(() => bench.stop());

  describe('reports an outage once', () => {
    for (const [what, nodes] of [
      ['one node that watches all printers', () => [node()]],
      ['several nodes that watch one printer each', singles],
    ] as const)
      it(`names and counts the printers, for ${what}`, async () => {
        await deploy(nodes());
        await time.pass(20);
        const fault = simulator.faults.add(down);
        await time.pass(10 * 60);
        assert.equal(caught.all.length, 1, notices().join('\n'));
        assert.match(notices()[0] ?? '', /^3 printers can’t be read \(/);
        assert.equal(names(notices()[0]), 3, notices()[0]);
        assert.equal(errorOf(caught.all[0]).code, 'SERVICE_ERROR');
        assert.equal(caught.all[0]?.statusCode, 503);
        assert.equal(logged(WARN).length, 1);
        fault.remove();
        await time.pass(20 * 60);
        assert.equal(caught.all.length, 1);
        assert.match(logged(INFO).at(-1) ?? '', /3 printers .* can be read again after \d+ min\./);
        assert.deepEqual([logged(WARN).length, logged(INFO).length], [1, 1]);
      });

    it('reports an outage as soon as every printer was polled', async () => {
      await deploy([node()]);
      await time.pass(20);
      simulator.faults.add(down);
      // A poll repeats its request before it fails.
      await time.pass(30);
      assert.match(notices()[0] ?? '', /^3 printers can’t be read/);
      assert.equal(logged(WARN).length, 1);
    });

    it('waits at most 75 s with the report for a printer that is polled rarely', async () => {
      const [often, rarely] = singles();
      await deploy([often, { ...rarely, interval: 600 }] as Definition[]);
      await time.pass(600);
      simulator.faults.add(down);
      await time.pass(75);
      assert.deepEqual(notices(), []);
      await time.pass(30);
      assert.match(notices()[0] ?? '', /^Printer .* can’t be read/);
    });

    it('names three of five printers, and counts the others', async () => {
      await bench.stop();
      await start({ printers: 5 });
      await watch();
      const fault = simulator.faults.add(down);
      await time.pass(10 * 60);
      assert.equal(caught.all.length, 1, notices().join('\n'));
      assert.match(notices()[0] ?? '', /^5 printers can’t be read \([^,]+, [^,]+, [^,]+ and 2 more\)/);
      assert.equal(names(notices()[0]), 3, notices()[0]);
      fault.remove();
      await time.pass(20 * 60);
      assert.match(logged(INFO).at(-1) ?? '', /5 printers \([^,]+, [^,]+, [^,]+ and 2 more\) can be read again/);
    });

    it('measures its duration independently of a clock that is set meanwhile', async () => {
      await watch();
      const fault = simulator.faults.add(down);
      await time.pass(10 * 60);
      time.set(time.now() + 24 * 3600_000);
      fault.remove();
      await time.pass(20 * 60);
      assert.match(logged(INFO).at(-1) ?? '', /again after 1\d min\.$/);
    });

    it('names a single failing printer, and reports a later, larger outage separately', async () => {
      await watch();
      const alone = { endpoint: 'clusterStatus', path: pathOf(clusterIds()[1]), status: 500, times: 'always' } as const;
      simulator.faults.add(alone);
      await time.pass(2 * 60);
      assert.equal(caught.all.length, 1, notices().join('\n'));
      assert.equal(names(notices()[0]), 1);
      assert.equal(caught.all[0]?.clusterId, clusterIds()[1]);
      simulator.faults.add(down);
      await time.pass(5 * 60);
      assert.equal(caught.all.length, 2, notices().join('\n'));
      assert.match(notices()[1] ?? '', /^2 printers/);
    });

    it('notifies the Catch node of every flow', async () => {
      const other = { z: 'other' };
      const nodes = [
        ...singles().slice(0, 2),
        node({ id: 'there', cluster: clusterIds()[2], wires: [[], []], ...other }),
        { ...helperNode('caught there'), ...other },
        { id: 'catch there', type: 'catch', wires: [['caught there']], ...other },
      ];
      await deploy(nodes, { more: [{ id: 'other', type: 'tab', label: 'other' }] });
      const there = flow.listen('caught there');
      await time.pass(20);
      simulator.faults.add(down);
      await time.pass(5 * 60);
      assert.deepEqual([caught.all.length, there.all.length], [1, 1]);
      assert.deepEqual(notices(), [errorOf(there.all[0]).message]);
      assert.equal(logged(WARN).length, 1);
    });

    it('sends no report after a message of the same flow has already failed', async () => {
      await deploy([node({ interval: 600 })]);
      await time.pass(600);
      simulator.faults.add(down);
      flow.send('watch', { mine: true });
      await time.pass(20 * 60);
      assert.equal(caught.all.length, 1);
      assert.equal(caught.all[0]?.mine, true);
      assert.match(notices()[0] ?? '', /^3 printers/);
      assert.equal(logged(WARN).length, 1);
    });

    it('repeats no report after deploys and restarts', async () => {
      await watch();
      const fault = simulator.faults.add(down);
      await time.pass(2 * 60);
      assert.equal(caught.all.length, 1);
      for (const type of ['full', 'flows', 'nodes'] as const) {
        await deploy([node({ name: type })], { type, signIn: false });
        await time.pass(5 * 60);
        assert.deepEqual(notices(), [], type);
      }
      await restart([node()]);
      await time.pass(20 * 60);
      assert.deepEqual(notices(), []);
      assert.deepEqual(logged(WARN), []);
      assert.ok(status.all.length > 0);
      assert.ok(status.all.every((msg) => statusOf(msg).stale));
      fault.remove();
      await time.pass(20 * 60);
      assert.equal(logged(INFO).length, 1, logged(INFO).join('\n'));
      simulator.faults.add(down);
      await time.pass(5 * 60);
      assert.equal(caught.all.length, 1);
    });

    it('reports the outage although the node is redeployed continually', async () => {
      await deploy([node({ interval: 60 })]);
      await time.pass(120);
      simulator.faults.add(down);
      // The helper nodes survive the deploys.
      const { all } = caught;
      for (let waited = 0; waited < 90; waited += 5) {
        await time.pass(5);
        await deploy([node({ interval: 60, name: String(waited) })], { type: 'nodes', signIn: false });
      }
      await time.pass(5 * 60);
      assert.equal(all.length, 1, all.map((msg) => errorOf(msg).message).join('\n'));
      assert.equal(logged(WARN).length, 1);
    });
  });

  describe('reports a lost sign-in once', () => {
    const lost = () => {
      simulator.tokens.revokeGrants();
      simulator.tokens.expireAccessTokens();
    };
    const reportedOnce = () => {
      const reports = caught.all.filter((msg) => codeOf(msg) === 'NOT_SIGNED_IN');
      assert.equal(reports.length, 1);
      const notice = errorOf(reports[0]).message;
      assert.match(notice, /sign in again.* Until then 3 printers/);
      assert.equal(names(notice), 3);
      assert.equal(logged(WARN).filter((text) => text.includes('sign in again')).length, 1);
    };

    it('reports a sign-in that a poll finds revoked', async () => {
      await watch();
      lost();
      await time.pass(10 * 60);
      reportedOnce();
      assert.equal(caught.all.length, 1);
      assert.equal(flow.statuses('watch').at(-1)?.text, 'status.signInSince');
    });

    it('reports a sign-in that was revoked during an outage', async () => {
      await watch();
      const fault = simulator.faults.add(down);
      await time.pass(60);
      lost();
      await time.pass(60);
      fault.remove();
      await time.pass(20 * 60);
      reportedOnce();
      assert.equal(caught.all.length, 2, 'the outage, and the end of the sign-in');
    });

    it('reports a sign-out in the editor', async () => {
      await watch();
      await flow.post('accounts/account/sign-out').expect(200);
      await time.pass(5 * 60);
      assert.deepEqual(caught.all.map(codeOf), ['NOT_SIGNED_IN']);
    });

    it('sends the stored figures as stale after a sign-out in the editor and a restart', async () => {
      await watch();
      await flow.post('accounts/account/sign-out').expect(200);
      await restart([node()]);
      await time.pass(60);
      assert.ok(status.all.length >= 3);
      assert.ok(status.all.every((msg) => statusOf(msg).stale));
    });

    it('repeats no report after deploys and restarts, and reports the next loss', async () => {
      await watch();
      lost();
      await time.pass(60);
      reportedOnce();
      await deploy([node({ name: 'other' })], { signIn: false });
      await time.pass(60);
      assert.deepEqual(notices(), []);
      await restart([node()]);
      await time.pass(60);
      assert.deepEqual(notices(), []);
      assert.ok(status.all.length >= 9, 'messages with the stored figures');
      assert.ok(status.all.every((msg) => statusOf(msg).stale));
      await flow.signIn();
      await time.pass(60);
      assert.equal(statusOf(status.all.at(-1)).stale, false);
      lost();
      await time.pass(60);
      reportedOnce();
    });

    it('continues to send the last figures as stale at the interval', async () => {
      for (const watch of [node(), node({ cluster: clusterIds()[0], name: 'one' })]) {
        await deploy([watch]);
        await time.pass(20);
        lost();
        await time.pass(20);
        const before = status.all.length;
        const requests = simulator.requests.count();
        await time.pass(100);
        const sent = status.all.slice(before);
        const each = watch.cluster ? 1 : 3;
        assert.ok(sent.length >= 9 * each && sent.length <= 11 * each, `${sent.length} messages`);
        assert.ok(sent.every((msg) => statusOf(msg).stale && statusOf(msg).name !== null));
        assert.equal(simulator.requests.count(), requests);
        await flow.signIn();
        await time.pass(15);
        assert.equal(statusOf(status.all.at(-1)).stale, false);
      }
    });
  });

  describe('keeps the interval during an outage', () => {
    for (const cluster of ['', 'first'])
      for (const how of [{ hang: true }, { reset: true }, { status: 503 }] as const)
        it(`marks older figures as stale when calls end in ${Object.keys(how)[0]} (${cluster || 'all'})`, async () => {
          await deploy([node({ cluster: cluster && clusterIds()[0] })]);
          const at: { sent: number; received: number; stale: boolean }[] = [];
          flow.node('status').on('input', (msg: NodeMessage, _send, done) => {
            const { receivedAt, stale } = statusOf(msg);
            at.push({ sent: time.now(), received: Date.parse(receivedAt ?? ''), stale });
            done();
          });
          await time.pass(33);
          simulator.faults.add({ endpoint: '*', times: 'always', ...how });
          const before = at.length;
          const minutes = 'hang' in how ? 3 : 30;
          await time.pass(minutes * 60);
          const fresh = at.filter(({ stale }) => !stale);
          assert.ok(fresh.length > 0);
          for (const { sent, received } of fresh)
            assert.ok(sent - received <= 10_800, `${sent - received} ms old, and fresh`);
          const each = cluster ? 1 : 3;
          const after = at.length - before;
          assert.ok(Math.abs(after / each / minutes - 6) <= 1, `${after} messages in ${minutes} minutes`);
        });
  });
});
