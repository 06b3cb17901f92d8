import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeMessage } from 'node-red';

import type { PrintEvent } from '../../lib/events/print-event';
import type { ClusterStatus } from '../../lib/service/cluster';
import { startSimulator, type Fault, type Simulator, type SimulatorOptions } from '../../simulator';
import { followTo } from '../helpers/browser';
import { catchNode, Flow, helperNode, type Definition, type Inbox } from '../helpers/flow';
import { TurnedTime } from '../helpers/turned-time';

const REDIRECT = 'http://127.0.0.1:1880/remote-printing/callback';
const MINUTE = 60;
const THOUSAND_DAYS = 1_000 * 24 * 3600;

const statusOf = (msg: NodeMessage | undefined) => msg?.payload as ClusterStatus | undefined;
const eventOf = (msg: NodeMessage) => msg.payload as PrintEvent;

describe('nodes/cluster-status: polling through faults', function () {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  let status: Inbox;
  let events: Inbox;

  const node = (changes = {}): Definition => ({
    id: 'watch',
    type: 'remote-printing-cluster-status',
    account: 'account',
    cluster: firstId(),
    interval: 10,
    send: 'always',
    milestones: '',
    wires: [['status'], ['events']],
    ...changes,
  });
  const around: Definition[] = [...['status', 'events', 'caught'].map(helperNode), catchNode(['caught'])];

  async function start(options: SimulatorOptions = {}): Promise<void> {
    time = new TurnedTime();
    simulator = await startSimulator({ autoApprove: true, now: time.now, accessTokenLifetime: 1e7, ...options });
    flow = await Flow.start(simulator);
    await flow.deploy([]);
  }
  /** Deploys these nodes and waits for their first poll. */
  async function watch(nodes: Definition[] = [node()], options: Parameters<Flow['deploy']>[1] = {}): Promise<void> {
    await flow.deploy([...nodes, ...around], options);
    [status, events] = [flow.listen('status'), flow.listen('events')];
    await time.settled();
  }
  /** Removes every status node; the account stays. */
  const unwatch = () => flow.deploy(around, { type: 'nodes' });
  async function signInAnew(): Promise<void> {
    const { body } = await flow.post('accounts/account/sign-in', { redirectUri: REDIRECT });
    const back = await followTo((body as { authorizeUrl: string }).authorizeUrl, REDIRECT);
    await flow.get(`callback${back.search}`).expect(200);
  }
  async function struck(fault: { hits: number }): Promise<void> {
    while (fault.hits === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const firstId = () => simulator.world.cluster(1).clusterId;
  const polls = () => simulator.requests.count('clusterStatus');
  const print = (name = 'part.gcode', seconds = 100) => simulator.world.printLocally(1, { name, seconds });
  const typesOf = (uuid: string) =>
    events.all.filter(({ clusterJobId }) => clusterJobId === uuid).map(({ topic }) => topic);
  /** Whether a poll delivered fresh figures after the first `before` messages. */
  const freshSince = (before: number) => status.all.slice(before).some((msg) => statusOf(msg)?.stale === false);

  afterEach(async () => {
    await time.until(flow.stop());
    await simulator.close();
    time.restore();
  });

  describe('loses no event', () => {
    it('reports the events of a poll that ends after the last status node was closed', async () => {
      await start();
      await watch();
      const { uuid } = print();
      await time.pass(30);
      assert.ok(!typesOf(uuid).includes('job.finished'));
      simulator.world.advance(1_000);
      const late = simulator.faults.add({ endpoint: 'clusterStatus', delay: 300 });
      flow.send('watch', {});
      await struck(late);
      const before = events;
      await unwatch();
      await time.settled();
      assert.ok(!before.all.some(({ topic }) => topic === 'job.finished'), 'the node was closed before');
      await watch([node()], { type: 'nodes' });
      await time.pass(30);
      assert.deepEqual(
        typesOf(uuid).filter((type) => type === 'job.finished'),
        ['job.finished'],
      );
    });

    it('reports the events of a cluster that one list lacks, when a message polls that cluster', async () => {
      await start();
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
      await start();
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
    await start();
    await watch();
    print('long.gcode', 100_000);
    await time.pass(5 * MINUTE);
    const disk = await mkdtemp(join(tmpdir(), 'killed-'));
    await cp(flow.userDir, disk, { recursive: true });
    const first = events;
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
    flow = await Flow.start(simulator, disk);
    await watch();
    await time.pass(MINUTE);
    await twice();
    const all = [...first.all, ...events.all].map(eventOf);
    assert.ok(events.all.filter(({ topic }) => topic === 'job.paused').length >= 2);
    assert.ok(first.all.filter(({ topic }) => topic === 'job.paused').length >= 2);
    const byId = new Map<string, PrintEvent>();
    for (const event of all) {
      const other = byId.get(event.id) ?? event;
      assert.equal(event.at, other.at, event.id);
      byId.set(event.id, event);
    }
    await rm(disk, { recursive: true, force: true });
  });

  it('continues after answers that trickle forever', async () => {
    await start();
    await watch();
    simulator.faults.add({ endpoint: 'clusterStatus', trickle: 20, times: 2 });
    await time.pass(MINUTE / 2);
    const before = status.all.length;
    await time.pass(5 * MINUTE);
    assert.ok(freshSince(before));
  });

  for (const retryAfter of [0, 'Wed, 01 Jan 2020 00:00:00 GMT'])
    it(`limits its requests when a 429 says "Retry-After: ${retryAfter}"`, async () => {
      await start();
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
      await start({ accessTokenLifetime: 300 });
      await watch();
      const fault = simulator.faults.add({ endpoint, status: 429, retryAfter: THOUSAND_DAYS });
      await time.pass(6 * MINUTE);
      assert.equal(fault.hits, 1);
      const before = status.all.length;
      await time.pass(15 * MINUTE);
      assert.ok(freshSince(before));
    });

  it('limits its token refreshes when the service refuses every token for forty printers', async () => {
    await start({ printers: 40 });
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
    await start();
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
    await start();
    await watch();
    simulator.faults.add({ endpoint: '*', path: '/connect/', status: 401, times: 'always' });
    await time.pass(2 * 3600);
    simulator.faults.clear();
    const before = status.all.length;
    await signInAnew();
    // The last refused poll may have just left, and two polls are 10 s apart.
    await time.pass(11);
    assert.ok(freshSince(before));
  });

  it('follows a printer to its new cluster id and back to the old one', async () => {
    await start();
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
    await start();
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
      await start({ printers: 120 });
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
      await start({ printers: 120 });
      await watch(many());
      const before = status.all.length;
      flow.send('watch', {});
      await time.until(status.at(before + 119));
      await time.settled();
      process.off('warning', warned);
      assert.deepEqual(warnings, []);
    });
  });
});
