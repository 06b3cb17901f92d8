import assert from 'node:assert/strict';
import { Bridge } from '../../../lib/home-assistant/bridge';
import type { Command } from '../../../lib/home-assistant/discovery';
import { Topics } from '../../../lib/home-assistant/identity';
import type { Json } from '../../../lib/service/json-readers';
import { type Replica, Replicas } from '../watch/replicas';

const PRINTERS = ['a', 'b', 'c', 'd', 'e', 'f'];
const stateOf = (clusterId: string) => `p/g-${clusterId}/state`;

/** The nodes of several runtimes with the same flows, and the broker that all of them publish to. */
class Home {
  readonly replicas = new Replicas();
  readonly sent: { by: string; topic: string; payload: string }[] = [];
  readonly acts: { by: string; clusterId: string; command: Command }[] = [];
  readonly bridges = new Map<Replica, Bridge>();

  constructor() {
    for (const clusterId of PRINTERS) this.show(clusterId);
  }

  /** Sets what a printer shows from now on. */
  show(clusterId: string, print: Json | null = null): void {
    const jobs = print ? [{ uuid: `job-${clusterId}`, status: 'printing', time_total: 10_000, ...print }] : [];
    this.replicas.service.cluster(clusterId, {
      ...{ is_online: true, print_jobs: jobs },
      printers: [{ uuid: `p-${clusterId}`, status: print ? 'printing' : 'idle', configuration: [] }],
    });
  }

  start(): Replica {
    const replica = this.replicas.start();
    this.deploy(replica);
    return replica;
  }

  deploy(replica: Replica): void {
    const { clock, store } = replica.runtime;
    const { watcher } = replica.account;
    const bridge = new Bridge({
      ...{ nodeId: 'node', topics: new Topics('homeassistant', 'p'), only: null, controls: true, picture: 0 },
      ...{ interval: 10, clock, store, watcher, translate: String, bridges: new Set() },
      takePicture: () => Promise.reject(new Error('no camera')),
      act: (clusterId, command) => {
        this.acts.push({ by: replica.name, clusterId, command });
        return Promise.resolve();
      },
      publish: ({ topic, payload }) => {
        if (!replica.isAlive) return;
        this.sent.push({ by: replica.name, topic, payload: String(payload) });
        // The nodes subscribe to the topics of commands.
        if (topic.endsWith('/command')) queueMicrotask(() => void this.#deliver(topic, String(payload)));
      },
    });
    this.bridges.set(replica, bridge);
    bridge.announce();
    replica.watch(null, 10, {
      onRound: (round) => bridge.see(round, () => undefined),
      onEvents: (e) => bridge.tell(e),
    });
  }

  /** Ends a runtime as Node-RED does: all nodes at the same time. */
  async stop(replica: Replica): Promise<void> {
    const bridge = this.bridges.get(replica);
    this.bridges.delete(replica);
    const ended = Promise.all([bridge?.close(), replica.leave()]);
    await this.pass(10);
    await ended;
  }

  kill(replica: Replica): void {
    this.bridges.delete(replica);
    replica.kill();
  }

  /** A message on the topic of commands reaches the node of each runtime. */
  command(clusterId: string, payload: Command): Promise<PromiseSettledResult<void>[]> {
    return this.#deliver(`p/g-${clusterId}/command`, payload);
  }

  #deliver(topic: string, payload: string): Promise<PromiseSettledResult<void>[]> {
    const [, id = ''] = topic.split('/');
    const command = { kind: 'command' as const, id, topic, payload, isRetained: false };
    return Promise.allSettled([...this.bridges.values()].map((bridge) => bridge.command(command)));
  }

  pass = (seconds: number) => this.replicas.clock.advance(seconds * 1000);
  states = (clusterId: string) => this.sent.filter(({ topic }) => topic === stateOf(clusterId));
  /** Printers of which two equal states were sent in a row. */
  repeated = () =>
    PRINTERS.filter((clusterId) =>
      this.states(clusterId).some(({ payload }, at, all) => at > 0 && all[at - 1]?.payload === payload),
    );
  /** The runtime that polls a printer. */
  ownerOf = (clusterId: string) =>
    [...this.bridges.keys()].find((replica) =>
      [...replica.account.watcher.polled()].some((polled) => polled.clusterId === clusterId),
    );
  async close(): Promise<void> {
    const ended = Promise.all([...this.bridges.values()].map((bridge) => bridge.close()));
    const closed = this.replicas.close();
    await this.pass(10);
    await Promise.all([ended, closed]);
  }
}

describe('lib/home-assistant: the nodes of several runtimes', () => {
  let home: Home;
  let one: Replica;
  let two: Replica;
  beforeEach(async () => {
    home = new Home();
    one = home.start();
    await home.pass(30);
    two = home.start();
    await home.pass(300);
    for (const replica of [one, two])
      assert.ok(
        PRINTERS.some((clusterId) => home.ownerOf(clusterId) === replica),
        replica.name,
      );
  });
  afterEach(() => home.close());

  it('publish each printer once, by the runtime that polls it', async () => {
    const before = home.sent.length;
    for (const clusterId of PRINTERS) home.show(clusterId, { time_elapsed: 1, time_remaining: 9_999 });
    await home.pass(60);
    const states = home.sent.slice(before).filter(({ topic }) => topic.endsWith('/state'));
    assert.deepEqual(
      states.map(({ topic, by }) => [topic, by]).sort(),
      PRINTERS.map((clusterId) => [stateOf(clusterId), home.ownerOf(clusterId)?.name]).sort(),
    );
  });

  for (const [what, end, wait] of [
    ['ends', () => home.stop(one), 60],
    ['is killed', () => home.kill(one), 120],
    ['stands still for minutes', () => one.runtime.pause(), 300],
  ] as const)
    it(`send no equal state when a runtime ${what}, and each change once`, async () => {
      const theirs = PRINTERS.filter((clusterId) => home.ownerOf(clusterId) === one);
      const changing = theirs[0]!;
      home.sent.splice(0, home.sent.length, ...lastOf(home));
      await end();
      home.show(changing, { time_elapsed: 1, time_remaining: 9_999 });
      await home.pass(wait);
      one.runtime.resume();
      await home.pass(300);
      assert.deepEqual(home.repeated(), []);
      for (const clusterId of theirs)
        assert.ok(
          home.sent.some(({ by, topic }) => by === two.name && topic === `p/g-${clusterId}/availability`),
          clusterId,
        );
      const { state } = JSON.parse(home.states(changing).at(-1)?.payload ?? '') as Json;
      assert.equal(state, 'printing');
    });

  it('send no equal state while runtimes come and go', async () => {
    for (let round = 0; round < 6; round++) {
      home.sent.splice(0, home.sent.length, ...lastOf(home));
      const [first] = home.bridges.keys();
      home.show(PRINTERS[round]!, { time_elapsed: 1, time_remaining: 9_999 });
      if (round % 2) home.kill(first!);
      else await home.stop(first!);
      await home.pass(120);
      assert.deepEqual(home.repeated(), [], `round ${round}`);
      for (const clusterId of PRINTERS)
        assert.equal(
          (JSON.parse(home.states(clusterId).at(-1)?.payload ?? '') as Json).state,
          PRINTERS.indexOf(clusterId) <= round ? 'printing' : 'idle',
          `round ${round}, ${clusterId}`,
        );
      home.start();
      await home.pass(300);
    }
  });

  it('do a command once, by the owner, and also while the printer passes to another runtime', async () => {
    for (const clusterId of PRINTERS) {
      const owner = home.ownerOf(clusterId);
      await home.command(clusterId, 'pause');
      assert.deepEqual(home.acts.splice(0), [{ by: owner?.name, clusterId, command: 'pause' }]);
    }
    const theirs = PRINTERS.filter((clusterId) => home.ownerOf(clusterId) === one);
    const stopping = home.stop(one);
    const commands = theirs.map((clusterId) => home.command(clusterId, 'abort'));
    await stopping;
    await home.pass(60);
    const results = (await Promise.all(commands)).flat();
    assert.deepEqual(
      results.filter(({ status }) => status === 'rejected'),
      [],
    );
    assert.deepEqual(
      home.acts.sort((x, y) => (x.clusterId < y.clusterId ? -1 : 1)),
      theirs.map((clusterId) => ({ by: two.name, clusterId, command: 'abort' })),
    );
  });

  it('do a command once while a runtime comes', async () => {
    const three = home.start();
    for (let second = 0; second < 60; second++) {
      for (const clusterId of PRINTERS) void home.command(clusterId, 'pause');
      await home.pass(1);
    }
    await home.pass(70);
    assert.ok(PRINTERS.some((clusterId) => home.ownerOf(clusterId) === three));
    for (const clusterId of PRINTERS)
      assert.equal(home.acts.filter((act) => act.clusterId === clusterId).length, 60, clusterId);
  });

  it('remove a printer that leaves the account, once and for all', async () => {
    home.replicas.service.remove('a');
    await home.pass(400);
    const last = home.sent.filter(({ topic }) => topic === 'homeassistant/device/remote_printing_g-a/config').at(-1);
    assert.equal(last?.payload, '');
    home.kill(one);
    await home.pass(300);
    assert.equal(home.states('a').at(-1)?.payload, '');
  });
});

/** The last state of each printer, as the broker retains it. */
const lastOf = (home: Home) => PRINTERS.flatMap((clusterId) => home.states(clusterId).slice(-1));
