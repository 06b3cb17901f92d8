import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeMessage } from 'node-red';

import type { PrintEvent } from '../../lib/events/print-event';
import type { ClusterStatus } from '../../lib/service/cluster';
import type { Fault, Simulator, SimulatorOptions } from '../../simulator';
import { helperNode, type Definition, type Flow, type Inbox } from '../helpers/flow';
import type { TurnedTime } from '../helpers/turned-time';
import { codeOf, struck, TimedBench, watchNode } from './support';

const MINUTE = 60;
const THOUSAND_DAYS = 1_000 * 24 * 3600;

const statusOf = (msg: NodeMessage | undefined) => msg?.payload as ClusterStatus | undefined;
const eventOf = (msg: NodeMessage) => msg.payload as PrintEvent;

describe('nodes/cluster-status: polling through faults', function () {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  const bench = new TimedBench('status', 'events');
  const { status, events, caught } = bench.inboxes as Record<'status' | 'events' | 'caught', Inbox>;

  const node = (changes = {}) => watchNode({ cluster: firstId(), ...changes });
  async function start(options?: SimulatorOptions): Promise<void> {
    ({ time, simulator, flow } = await bench.start(options));
    await flow.deploy([]);
  }
  async function startAnew(options: SimulatorOptions): Promise<void> {
    await bench.stop();
    await start(options);
  }
  /** Deploys these nodes and waits for their first poll. */
  async function watch(nodes: Definition[] = [node()], options?: Parameters<Flow['deploy']>[1]): Promise<void> {
    await bench.deploy(nodes, options);
    await time.settled();
  }
  const firstId = () => simulator.world.cluster(1).clusterId;
  const polls = () => simulator.requests.count('clusterStatus');
  const print = (name = 'part.gcode', seconds = 100) => simulator.world.printLocally(1, { name, seconds });
  const typesOf = (uuid: string) =>
    events.all.filter(({ clusterJobId }) => clusterJobId === uuid).map(({ topic }) => topic);
  /** Whether a poll delivered fresh figures after the first `before` messages. */
  const freshSince = (before: number) => status.all.slice(before).some((msg) => statusOf(msg)?.stale === false);

  beforeEach(() => start());
  afterEach(() => bench.stop());

  describe('loses no event', () => {
    it('reports the events of a poll that ends after the last status node was closed', async () => {
      await watch();
      const { uuid } = print();
      await time.pass(30);
      assert.ok(!typesOf(uuid).includes('job.finished'));
      simulator.world.advance(1_000);
      const late = simulator.faults.add({ endpoint: 'clusterStatus', delay: 300 });
      flow.send('watch', {});
      await struck(late);
      const before = events.all;
      // Removes every status node; the account stays.
      await watch([], { type: 'nodes' });
      assert.ok(!before.some(({ topic }) => topic === 'job.finished'), 'the node was closed before');
      await watch([node()], { type: 'nodes' });
      await time.pass(30);
      assert.equal(typesOf(uuid).filter((type) => type === 'job.finished').length, 1);
    });

    it('reports the events of a cluster that one list lacks, when a message polls that cluster', async () => {
      const named = firstId();
      await watch([node({ cluster: '' })]);
      await time.pass(30);
      const transform = (body: unknown) => {
        const { data } = body as { data: { cluster_id: string }[] };
        return { ...(body as object), data: data.filter(({ cluster_id }) => cluster_id !== named) };
      };
      const odd = simulator.faults.add({ endpoint: 'clusters', transform });
      await time.pass(MINUTE);
      assert.equal(odd.hits, 1);
      const { uuid } = print();
      flow.send('watch', { clusterId: named });
      await time.pass(10);
      assert.deepEqual(typesOf(uuid), ['job.queued']);
      await time.pass(3 * MINUTE);
      assert.deepEqual(typesOf(uuid), ['job.queued', 'job.started'], 'each once');
    });

    it('reports the end of a job while eleven vanished jobs have unreadable records', async () => {
      await watch([node({ interval: 60 })]);
      const uuids = Array.from({ length: 11 }, (_, n) => print(`lost-${n}.gcode`).uuid);
      const later = print('later.gcode', 100_000).uuid;
      await time.pass(2 * MINUTE);
      for (const uuid of uuids) {
        simulator.faults.add({ endpoint: 'printJob', path: uuid, status: 503, times: 'always' });
        simulator.world.vanish(1, uuid);
      }
      await time.pass(5 * MINUTE);
      assert.ok(!typesOf(later).includes('job.ended'));
      simulator.world.vanish(1, later);
      await time.pass(10 * MINUTE);
      assert.equal(typesOf(later).at(-1), 'job.ended');
    });
  });

  it('never gives two events the same id, even when Node-RED is killed before it can write', async () => {
    await watch();
    print('long.gcode', 100_000);
    await time.pass(5 * MINUTE);
    const disk = await mkdtemp(join(tmpdir(), 'killed-'));
    await cp(flow.userDir, disk, { recursive: true });
    const first = events.all;
    const twice = async () => {
      for (const _ of [1, 2]) {
        simulator.world.pause(1);
        await time.pass(MINUTE);
        simulator.world.resume(1);
        await time.pass(MINUTE);
      }
    };
    // From here on, the copied disk misses every write.
    await twice();
    await time.until(flow.stop());
    ({ flow } = await bench.startOn(disk));
    await watch();
    await time.pass(MINUTE);
    await twice();
    const all = [...first, ...events.all].map(eventOf);
    assert.ok(events.all.filter(({ topic }) => topic === 'job.paused').length >= 2);
    assert.ok(first.filter(({ topic }) => topic === 'job.paused').length >= 2);
    const byId = new Map<string, PrintEvent>();
    for (const event of all) {
      const other = byId.get(event.id) ?? event;
      assert.equal(event.at, other.at, event.id);
      byId.set(event.id, event);
    }
    await rm(disk, { recursive: true, force: true });
  });

  it('continues after answers that trickle forever', async () => {
    await watch();
    simulator.faults.add({ endpoint: 'clusterStatus', trickle: 20, times: 2 });
    await time.pass(MINUTE / 2);
    const before = status.all.length;
    await time.pass(5 * MINUTE);
    assert.ok(freshSince(before));
  });

  for (const retryAfter of [0, 'Wed, 01 Jan 2020 00:00:00 GMT'])
    it(`limits its requests when a 429 says "Retry-After: ${retryAfter}"`, async () => {
      await watch();
      simulator.faults.add({ endpoint: 'clusterStatus', status: 429, retryAfter, times: 'always' });
      const before = polls();
      await time.pass(5 * MINUTE);
      assert.ok(polls() - before <= 30, `${polls() - before} requests in five minutes`);
      simulator.faults.clear();
      const known = status.all.length;
      await time.pass(5 * MINUTE);
      assert.ok(freshSince(known));
    });

  for (const endpoint of ['clusterStatus', 'token'] as const)
    it(`recovers within 15 minutes although a 429 of ${endpoint} asks for a thousand days`, async () => {
      await startAnew({ accessTokenLifetime: 300 });
      await watch();
      const fault = simulator.faults.add({ endpoint, status: 429, retryAfter: THOUSAND_DAYS });
      await time.pass(6 * MINUTE);
      assert.equal(fault.hits, 1);
      const before = status.all.length;
      await time.pass(15 * MINUTE);
      assert.ok(freshSince(before));
    });

  it('limits its token refreshes when the service refuses every token for forty printers', async () => {
    await startAnew({ printers: 40 });
    await watch([node({ cluster: '', interval: 60 })]);
    await time.pass(MINUTE);
    const refused: Fault = { endpoint: 'clusterStatus', status: 401, times: 'always' };
    simulator.faults.add(refused);
    simulator.faults.add({ ...refused, endpoint: 'clusters' });
    const before = simulator.requests.count('token');
    await time.pass(MINUTE);
    const asked = simulator.requests.count('token') - before;
    assert.ok(asked >= 1 && asked <= 4, `${asked} renewals in a minute`);
    simulator.faults.clear();
    const known = status.all.length;
    const began = time.now();
    await time.until(status.find((msg) => status.all.indexOf(msg) >= known && !statusOf(msg)?.stale));
    assert.ok(time.now() - began <= 15 * MINUTE * 1_000);
  });

  it('continues after a single refusal of an API token', async () => {
    await watch([node()], {
      account: { ...flow.account, signIn: 'token' },
      credentials: { account: { apiToken: simulator.users[0]?.apiToken } },
    });
    assert.ok(freshSince(0));
    const fault = simulator.faults.add({ endpoint: 'clusterStatus', status: 401 });
    await time.pass(15);
    assert.equal(fault.hits, 1);
    const before = status.all.length;
    await time.pass(MINUTE);
    assert.ok(freshSince(before));
  });

  it('continues within seconds of a new sign-in, however long the service refused the old one', async () => {
    await watch();
    simulator.faults.add({ endpoint: '*', path: '/connect/', status: 401, times: 'always' });
    await time.pass(2 * 3600);
    simulator.faults.clear();
    const before = status.all.length;
    await flow.signInAnew();
    // The last refused poll may have just left, and two polls are 10 s apart.
    await time.pass(11);
    assert.ok(freshSince(before));
  });

  it('follows a printer to its new cluster id and back to the old one', async () => {
    const old = firstId();
    await watch();
    const current = simulator.world.rebind(1);
    await time.pass(2 * MINUTE);
    assert.deepEqual([statusOf(status.all.at(-1))?.clusterId, statusOf(status.all.at(-1))?.stale], [current, false]);
    simulator.world.rebind(1, old);
    await time.pass(2 * MINUTE);
    const before = status.all.length;
    await time.pass(MINUTE);
    assert.ok(status.all.length >= before + 4);
    assert.ok(status.all.slice(before).every((msg) => statusOf(msg)?.clusterId === old && !statusOf(msg)?.stale));
  });

  it("sends at a node's own interval although another node polls the cluster every ten seconds", async () => {
    const other = node({ id: 'other', interval: 60, wires: [['others'], []] });
    await watch([node({ interval: 3600 }), other, helperNode('others')]);
    const others = flow.listen('others');
    for (let asked = 0; asked < 60; asked++) {
      flow.send('watch', {});
      await time.pass(10);
    }
    assert.ok(status.all.length >= 60, String(status.all.length));
    assert.ok(others.all.length >= 9 && others.all.length <= 11, `${others.all.length} in ten minutes`);
  });

  describe('with a hundred and twenty printers', () => {
    /** Highest number of polls within one second. */
    const crowd = () => {
      const times = simulator.requests.list('clusterStatus').map(({ at }) => at);
      return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
    };

    const many = (changes = {}) => [
      node({ cluster: '', interval: 60, ...changes }),
      ...simulator.world
        .clusters()
        .slice(0, 30)
        .map(({ clusterId }, n) => node({ id: `one-${n}`, cluster: clusterId, interval: 60, wires: [[], []] })),
    ];

    it('spreads the first polls after a deploy', async () => {
      await startAnew({ printers: 120 });
      for (const type of ['full', 'nodes'] as const) {
        simulator.requests.clear();
        await watch(many({ name: type }), { type });
        await time.pass(2 * MINUTE);
        assert.ok(polls() >= 228 && polls() <= 256, `${polls()} polls in two minutes (${type})`);
        assert.ok(crowd() <= 10, `${crowd()} polls in one second (${type})`);
      }
    });

    it('causes no warning of Node.js when a message polls all printers at once', async () => {
      const warnings: string[] = [];
      const warned = ({ name, message }: Error) => warnings.push(`${name}: ${message}`);
      process.on('warning', warned);
      await startAnew({ printers: 120 });
      await watch(many());
      const before = status.all.length;
      flow.send('watch', {});
      await time.until(status.at(before + 119));
      await time.settled();
      process.off('warning', warned);
      assert.deepEqual(warnings, []);
    });
  });

  describe('answers that exceed the limits', () => {
    const nested = (depth: number): unknown => {
      let value: unknown = 1;
      for (let level = 0; level < depth; level++) value = [value];
      return value;
    };
    const job = (n: number) => ({ uuid: `job-${n}`, status: 'queued', created_at: '2026-01-01T00:00:00Z' });
    const jobs = Array.from({ length: 20_000 }, (_, n) => job(n));
    for (const [what, transform] of [
      ['with an unknown field nested 3,000 deep', (body: object) => ({ ...body, odd: nested(3_000) })],
      ['of 20,000 jobs', () => ({ data: { is_online: true, printers: [], print_jobs: jobs } })],
      ['of a million empty objects', () => ({ data: Array.from({ length: 1_000_000 }, () => ({})) })],
    ] as const)
      it(`reports a status ${what} as an outage to every node that shares the poll`, async () => {
        await watch([node(), node({ id: 'other', wires: [['others'], []] }), helperNode('others')]);
        const inboxes = [status, flow.listen('others')];
        const stale = (inbox: Inbox, from = 0) => inbox.all.slice(from).map((msg) => statusOf(msg)?.stale);
        await time.pass(20);
        assert.ok(
          inboxes.every((inbox) => stale(inbox).includes(false)),
          'a status before the fault',
        );
        simulator.faults.add({ endpoint: 'clusterStatus', transform: transform as never, times: 'always' });
        const before = inboxes.map(({ all }) => all.length);
        await time.pass(120);
        for (const [n, inbox] of inboxes.entries()) assert.equal(stale(inbox, before[n]).at(-1), true);
        assert.deepEqual([...new Set(caught.all.map(codeOf))], ['SERVICE_ERROR']);
      });
  });
});
