import assert from 'node:assert/strict';
import type { PrintEvent } from '../../../lib/events/print-event';
import { Bridge, type Publication } from '../../../lib/home-assistant/bridge';
import type { Command } from '../../../lib/home-assistant/discovery';
import { Topics } from '../../../lib/home-assistant/identity';
import { PrintingError } from '../../../lib/service/errors';
import { readClusterStatus } from '../../../lib/service/cluster';
import type { Json } from '../../../lib/service/json-readers';
import type { ListedCluster } from '../../../lib/watch/checkpoints/memory';
import type { Watcher } from '../../../lib/watch/watcher';
import { nextTurn } from '../../../lib/time/concurrency';
import { type Clock, systemClock } from '../../../lib/time/clock';
import type { Key, ListOptions, StatePage, StateStore } from '../../../lib/state/store';
import { WriteBehindStore } from '../../../lib/state/write-behind-store';
import { FaultyStore } from '../../helpers/faulty-store';
import { MOST } from '../../helpers/hostile-texts';
import { ManualClock, settle } from '../../helpers/manual-clock';
import { LateStore, MemoryStore } from '../../helpers/memory-store';
import { nominalStand } from '../../helpers/nominal-time';
import { pluck } from '../../helpers/pluck';
import { phrase } from '../../../lib/words/sentence';

const listed = (clusterId: string, hostGuid: string | null): ListedCluster => ({
  ...{ clusterId, hostGuid, name: clusterId, model: null, authorized: true, capabilities: null, note: null },
  ...{ maintenanceDue: false, displayStatus: null, online: true, host: null },
});
const statusOf = (clusterId: string, hostGuid: string | null, wire: Json = {}) =>
  readClusterStatus(
    { is_online: true, printers: [{ uuid: 'p', status: 'idle', configuration: [] }], print_jobs: [], ...wire },
    { clusterId, receivedAt: '2026-01-01T00:00:00.000Z', identity: { ...listed(clusterId, hostGuid) } },
  );
const job: Json = {
  uuid: 'job',
  name: 'vase',
  status: 'printing',
  time_elapsed: 1,
  time_total: 100,
  time_remaining: 99,
};
const eventOf = (type: PrintEvent['type'], clusterId: string): PrintEvent => ({
  ...{ id: `${clusterId}/${type}`, type, at: '', late: false, clusterId, clusterName: null, printerId: null },
  ...{ printerName: null, job: null, previous: null, value: null },
});

interface RuntimeOptions {
  /** Id among several runtimes; null: there are no others. */
  id?: string | null;
  picture?: number;
  topics?: Topics;
  only?: string | null;
  nodeId?: string;
  controls?: boolean;
  /** Open bridges of its process. */
  bridges?: Set<Bridge>;
}

/** A node in one of several runtimes, whose watcher and broker are scripted. */
class Runtime {
  /** Ids of the runtimes that are alive. */
  alive = new Set<string>();
  sent: Publication[] = [];
  acts: [string, Command][] = [];
  pictures: string[] = [];
  polled: ReadonlySet<string> = new Set(['a', 'b']);
  list: Map<string, ListedCluster> | null = new Map(
    [listed('a', 'HOST-A'), listed('b', null)].map((cluster) => [cluster.clusterId, cluster]),
  );
  /** Whether the list can't be read. */
  fails = false;
  readonly bridge: Bridge;

  constructor(
    readonly clock: Clock,
    store: StateStore,
    {
      id = 'one',
      picture = 0,
      topics = new Topics('homeassistant', 'p'),
      only = null,
      nodeId = 'node',
      controls = true,
      bridges = new Set(),
    }: RuntimeOptions = {},
  ) {
    this.alive.add(id ?? '');
    const membership = { id };
    Object.defineProperty(membership, 'members', { get: () => [...this.alive].map((one) => ({ id: one })) });
    const clusterList = {
      find: (clusterId: string) => Promise.resolve(this.list?.get(clusterId) ?? null),
      read: () =>
        this.fails
          ? Promise.reject(new Error('No list.'))
          : Promise.resolve(this.list ?? new Map<string, ListedCluster>()),
    };
    Object.defineProperty(clusterList, 'last', { get: () => this.list });
    const watcher = {
      clusterList,
      membership: id === null ? null : membership,
      polls: (clusterId: string) => this.polled.has(clusterId),
    } as unknown as Watcher;
    this.bridge = new Bridge({
      ...{
        nodeId,
        topics,
        only,
        controls,
        bridges,
        picture,
        interval: 10,
      },
      ...{ clock, store, watcher },
      takePicture: (clusterId) => {
        this.pictures.push(clusterId);
        return Promise.resolve({ image: Buffer.from('x'), contentType: 'image/png' });
      },
      act: (clusterId, command) => {
        this.acts.push([clusterId, command]);
        return Promise.resolve();
      },
      translate: String,
      publish: (message) => this.sent.push(message),
    });
  }

  see = (...statuses: ReturnType<typeof statusOf>[]) => this.#round(statuses, null);
  /** A poll that the service answered with 404. */
  miss = (clusterId: string) => this.#round([], new PrintingError('NOT_FOUND', phrase`Gone.`, { ids: { clusterId } }));
  async #round(statuses: ReturnType<typeof statusOf>[], error: PrintingError | null): Promise<void> {
    const results = statuses.map((status) => ({ clusterId: status.clusterId, status, raw: null, error: null }));
    await new Promise<void>((done) => this.bridge.see({ results, group: null, error }, done));
  }
  /** Topics that the last messages have emptied. */
  get emptied(): string[] {
    const last = new Map(this.sent.map((message) => [message.topic, message]));
    return [...last.values()].filter(({ payload, retain }) => payload === '' && retain).map(({ topic }) => topic);
  }
  command = (id: string, payload = 'pause', isRetained = false) =>
    this.bridge.command({ kind: 'command', id, topic: `p/${id}/command`, payload, isRetained });
  count = (topic: string) => this.sent.filter((message) => message.topic === topic).length;
}

const announcementOf = (id: string) => ({
  ...{ version: 1, id, clusterId: id, announced: {}, contentType: 'image/jpeg', prefixes: ['homeassistant', 'p'] },
});

/** A store that reads each page in a turn of its own, as a disk does. */
class FarmStore extends MemoryStore {
  override async list<T>(prefix: Key, { after, limit }: ListOptions): Promise<StatePage<T>> {
    await nextTurn();
    const from = Number(after ?? 0);
    const below = JSON.stringify(prefix).slice(0, -1);
    const all = [...this.values].filter(([name]) => name.startsWith(`${below},`));
    const entries = all
      .slice(from, from + limit)
      .map(([name, value]) => ({ key: JSON.parse(name) as Key, value: JSON.parse(value) as T }));
    return { entries, next: from + limit < all.length ? String(from + limit) : null };
  }
}

/** A store whose lists are late while `isLate`. */
class LateLists extends LateStore {
  isLate = false;

  override list<T>(prefix: Key, options: ListOptions): Promise<StatePage<T>> {
    if (this.isLate) this.delayNext();
    return super.list(prefix, options);
  }
}

const CONFIG_OF_A = 'homeassistant/device/remote_printing_host-a/config';

describe('lib/home-assistant/bridge', () => {
  let clock: ManualClock;
  let store: MemoryStore;
  let runtimes: Runtime[];
  const runtime = (options: RuntimeOptions = {}, itsStore: StateStore = store, itsClock: Clock = clock) => {
    const made = new Runtime(itsClock, itsStore, options);
    runtimes.push(made);
    return made;
  };
  beforeEach(() => {
    clock = new ManualClock();
    store = new MemoryStore();
    runtimes = [];
  });
  afterEach(() => Promise.all(runtimes.map(({ bridge }) => bridge.close())));

  it('publishes a print whose time is longer than that of any print, and the printers after it', async () => {
    const one = runtime({ id: null });
    await one.see(statusOf('a', 'HOST-A', { print_jobs: [{ ...job, time_remaining: 1e15 }] }), statusOf('b', null));
    one.sent = [];
    one.bridge.announce();
    await one.see();
    const states = one.sent.filter(({ topic }) => topic.endsWith('/state'));
    assert.deepEqual(pluck(states, 'topic'), ['p/host-a/state', 'p/b/state']);
    assert.equal(JSON.parse(String(states[0]?.payload)).ends_at, null);
  });

  it('publishes nothing of a printer until it is known whether the service knows its host', async () => {
    const one = runtime();
    const { list } = one;
    one.list = null;
    await one.see(statusOf('a', null));
    one.bridge.tell([eventOf('job.started', 'a')]);
    assert.deepEqual(one.sent, []);
    one.list = list;
    await one.see(statusOf('a', 'HOST-A'));
    await one.see();
    assert.deepEqual(
      one.sent.map(({ topic }) => topic),
      [
        'homeassistant/device/remote_printing_host-a/config',
        'p/host-a/state',
        'p/host-a/availability',
        'p/host-a/event',
      ],
    );
  });

  it('carries out a command in the runtime that polls the printer, and nowhere else', async () => {
    const [one, two] = [runtime(), runtime({ id: 'two' })];
    one.polled = new Set(['a']);
    two.polled = new Set(['b']);
    // The owner empties the topic, which each runtime receives as well.
    for (const [id, command] of [
      ['host-a', 'pause'],
      ['b', 'abort'],
    ] as const) {
      const commands = [one, two].map((each) => each.command(id, command));
      await clock.advance(100);
      for (const each of [one, two]) await each.command(id, '');
      await Promise.all(commands);
    }
    assert.deepEqual([one.acts, two.acts], [[['a', 'pause']], [['b', 'abort']]]);
    for (const each of [one, two]) await assert.rejects(each.command('host-c'), { code: 'NOT_FOUND' });
  });

  describe('a command for a printer of two nodes of the process', () => {
    let nodes: Runtime[];
    const command = async () => {
      await Promise.all(nodes.map((each) => each.command('host-a')));
      return nodes.flatMap(({ acts }) => acts).length;
    };
    const start = (changes: RuntimeOptions = {}) => {
      const bridges = new Set<Bridge>();
      nodes = [runtime({ ...changes, id: null, bridges }), runtime({ id: null, bridges, nodeId: 'other', only: 'a' })];
    };

    it('is done once, and once more when it comes again', async () => {
      start();
      assert.equal(await command(), 1);
      assert.equal(await command(), 2);
      nodes.reverse();
      assert.equal(await command(), 3);
      await clock.advance(60_000);
      assert.equal(await command(), 4);
    });

    it('is done by the one that takes commands, without an error of the other', async () => {
      start({ controls: false });
      assert.equal(await command(), 1);
      nodes.reverse();
      assert.equal(await command(), 2);
    });
  });

  it('says once a minute that it is there, if another runtime may have said otherwise', async () => {
    const [one, alone] = [runtime(), runtime({ id: null })];
    await clock.advance(180_500);
    assert.deepEqual([one.count('p/bridge'), alone.count('p/bridge')], [3, 0]);
  });

  describe('the topic of the bridge', () => {
    const said = (one: Runtime) => one.sent.filter(({ topic }) => topic === 'p/bridge').map(({ payload }) => payload);

    it('says offline where no printer was read since the start, and online with the first fresh status', async () => {
      const one = runtime({ id: null });
      one.bridge.announce();
      await clock.advance(120_000);
      assert.deepEqual(said(one), ['online', 'offline']);
      await one.see({ ...statusOf('a', 'HOST-A'), stale: true });
      one.bridge.announce();
      await clock.advance(120_000);
      assert.deepEqual(said(one).slice(2), ['offline', 'offline']);
      await one.see(statusOf('a', 'HOST-A'));
      assert.deepEqual(said(one).slice(4), ['online']);
    });

    it('says nothing more while fresh statuses come, also of a printer that is switched off', async () => {
      const one = runtime({ id: null });
      one.bridge.announce();
      for (let minute = 0; minute < 5; minute++) {
        await one.see(statusOf('a', 'HOST-A', { is_online: false }));
        await clock.advance(25_000);
      }
      assert.deepEqual(said(one), ['online']);
    });
  });

  describe('where another runtime has published a printer', () => {
    const state = 'p/host-a/state';
    const idle = () => statusOf('a', 'HOST-A');
    let one: Runtime;
    let two: Runtime;
    beforeEach(async () => {
      one = runtime({ id: 'one' });
      two = runtime({ id: 'two' });
      one.alive = two.alive = new Set(['one', 'two']);
      await Promise.all([one.see(idle()), two.see(statusOf('b', null))]);
    });

    it('sends no equal state after a handover, but the discovery and the availability', async () => {
      await clock.advance(600_000);
      await two.see(statusOf('b', null));
      one.alive.delete('one');
      await two.see(idle());
      assert.deepEqual([one.count(state), two.count(state)], [1, 0]);
      assert.equal(two.count('homeassistant/device/remote_printing_host-a/config'), 1);
      assert.equal(two.count('p/host-a/availability'), 1);
      await two.see(statusOf('a', 'HOST-A', { print_jobs: [job] }));
      assert.equal(two.count(state), 1);
    });

    it('sends a state that has changed since', async () => {
      await clock.advance(600_000);
      await two.see(statusOf('a', 'HOST-A', { print_jobs: [job] }));
      await clock.advance(600_000);
      await one.see(idle());
      assert.deepEqual([one.count(state), two.count(state)], [2, 1]);
    });

    it('sends an equal state if its broker has lost the messages while no runtime had the printer', async () => {
      one.alive.delete('one');
      two.bridge.connection(true);
      await clock.advance(600_000);
      await two.see(idle());
      assert.equal(two.count(state), 1);
    });

    it('sends an equal state if the other runtime was not connected', async () => {
      one.bridge.connection(false);
      await one.see(statusOf('a', 'HOST-A', { print_jobs: [job] }));
      await clock.advance(600_000);
      await two.see(statusOf('a', 'HOST-A', { print_jobs: [job] }));
      assert.equal(two.count(state), 1);
    });

    it('sends an equal state to another topic', async () => {
      const three = runtime({ id: 'three', topics: new Topics('homeassistant', 'q') });
      three.alive = one.alive;
      await three.see(statusOf('b', null), idle());
      assert.equal(three.count('q/host-a/state'), 1);
    });

    it('sends no equal state after a long gap in its own polls', async () => {
      await clock.advance(600_000);
      await one.see(idle());
      assert.equal(one.count(state), 1);
    });
  });

  describe('a command while a printer is handed over', () => {
    let one: Runtime;
    let two: Runtime;
    beforeEach(() => {
      one = runtime({ id: 'one' });
      two = runtime({ id: 'two' });
      one.polled = new Set([]);
      two.polled = new Set([]);
    });

    it('is done once by the runtime that gets the printer', async () => {
      const commands = [one.command('host-a'), two.command('host-a')];
      await clock.advance(5_000);
      assert.deepEqual([one.acts, two.acts], [[], []]);
      two.polled = new Set(['a']);
      await clock.advance(2_000);
      assert.deepEqual([one.emptied, two.emptied], [[], ['p/host-a/command']]);
      void one.command('host-a', '');
      one.polled = new Set(['a']);
      await clock.advance(2_000);
      await Promise.all(commands);
      assert.deepEqual([one.acts, two.acts], [[], [['a', 'pause']]]);
    });

    it('is left to the runtime that has taken it before it ended', async () => {
      const commands = [two.command('host-a'), two.command('host-a', '')];
      two.polled = new Set(['a']);
      await clock.advance(5_000);
      await Promise.all(commands);
      assert.deepEqual(two.acts, []);
      await two.command('host-a');
      assert.deepEqual(two.acts, [['a', 'pause']], 'the next command');
    });

    it('ends in TIMEOUT if no runtime gets the printer', async () => {
      const command = assert.rejects(one.command('host-a'), { code: 'TIMEOUT' });
      await clock.advance(61_000);
      await command;
      assert.deepEqual(one.emptied, ['p/host-a/command']);
    });
  });

  describe('with other prefixes than before', () => {
    const before = new Topics('old', 'p');
    const announced = async (changes: RuntimeOptions = {}) => {
      const one = runtime({ id: null, topics: before, picture: 10 });
      await one.see(statusOf('a', 'HOST-A'));
      await one.bridge.close();
      const two = runtime({ id: null, picture: 10, ...changes });
      two.bridge.announce();
      return two;
    };

    it('empties the topics of the old ones, also when mqtt out connects only later', async () => {
      const two = await announced({ topics: new Topics('new', 'q') });
      await two.see(statusOf('a', 'HOST-A'));
      const old = [...before.retained('host-a', true), 'p/bridge'].sort();
      assert.deepEqual(two.emptied.sort(), old);
      assert.equal(two.count('q/host-a/state'), 1);
      two.sent = [];
      two.bridge.connection(true);
      await two.see();
      assert.deepEqual(two.emptied.sort(), old);
      two.sent = [];
      two.bridge.announce();
      await two.see();
      assert.deepEqual(two.emptied, [], 'the connection is known');
    });

    it('empties only the discovery if only that has another prefix', async () => {
      const two = await announced({ topics: new Topics('new', 'p') });
      await two.see(statusOf('a', 'HOST-A'));
      assert.deepEqual(two.emptied, ['old/device/remote_printing_host-a/config']);
    });

    it('keeps the bridge of another node', async () => {
      const bridges = new Set<Bridge>();
      runtime({ id: null, nodeId: 'other', topics: new Topics('old', 'p'), only: 'none', bridges });
      const two = await announced({ topics: new Topics('old', 'q'), bridges });
      await two.see(statusOf('a', 'HOST-A'));
      assert.ok(two.emptied.includes('p/host-a/state') && !two.emptied.includes('p/bridge'));
      two.bridge.connection(true);
      await two.see();
      assert.ok(!two.emptied.includes('p/bridge'));
    });

    it('keeps the printers of another node, also when mqtt out connects anew', async () => {
      const bridges = new Set<Bridge>();
      const two = await announced({ topics: new Topics('new', 'q'), bridges });
      await two.see(statusOf('a', 'HOST-A'));
      const other = runtime({ id: null, nodeId: 'other', topics: new Topics('old', 'p'), only: 'a', bridges });
      two.sent = [];
      two.bridge.connection(true);
      await two.see();
      assert.deepEqual(two.emptied, ['p/host-a/picture'], 'the other one has no pictures');
      assert.deepEqual(other.emptied, []);
    });

    it('empties them once the printers of another node are known', async () => {
      const bridges = new Set<Bridge>();
      const other = runtime({ id: null, nodeId: 'other', only: 'b', bridges });
      const { list } = other;
      other.list = null;
      other.fails = true;
      const two = await announced({ topics: new Topics('new', 'q'), bridges });
      await two.see(statusOf('a', 'HOST-A'));
      assert.equal(two.emptied.length, 0);
      [other.list, other.fails] = [list, false];
      two.bridge.connection(true);
      await two.see();
      assert.ok(two.emptied.includes('p/host-a/state'));
    });

    it('empties the old topics of a printer that leaves before it is seen', async () => {
      const two = await announced({ topics: new Topics('new', 'q') });
      two.list?.delete('a');
      two.bridge.tell([eventOf('cluster.removed', 'a')]);
      await two.see();
      assert.deepEqual(two.emptied.sort(), before.retained('host-a', true).sort());
    });

    it('empties them once the record can be read', async () => {
      const two = await announced({ topics: new Topics('new', 'q') });
      const { get } = store;
      store.get = () => Promise.reject(new Error('The disk is gone.'));
      await two.see(statusOf('a', 'HOST-A'));
      assert.deepEqual([two.emptied, two.count('q/host-a/state')], [[], 1]);
      store.get = get;
      await two.see(statusOf('a', 'HOST-A'));
      assert.ok(two.emptied.includes('p/host-a/state'));
    });
  });

  describe('for one printer alone', () => {
    const topics = new Topics('homeassistant', 'p');
    it('removes it once two lists in a row lack it, and publishes it when it comes back', async () => {
      const one = runtime({ id: null, only: 'a' });
      await one.see(statusOf('a', 'HOST-A'));
      const [withIt, without] = [one.list, () => new Map([['b', listed('b', null)]])];
      one.list = without();
      await one.miss('a');
      await one.miss('a');
      assert.deepEqual(one.emptied, [], 'one list is no proof');
      one.list = without();
      await one.miss('a');
      assert.deepEqual(one.emptied.sort(), topics.retained('host-a', false).sort());
      one.sent = [];
      one.list = without();
      await one.miss('a');
      assert.deepEqual(one.sent, []);
      one.list = withIt;
      await one.see(statusOf('a', 'HOST-A'));
      assert.equal(one.count('p/host-a/state'), 1);
    });

    it('removes it if it left while Node-RED was away', async () => {
      const before = runtime({ id: null, only: 'a' });
      await before.see(statusOf('a', 'HOST-A'));
      await before.bridge.close();
      const one = runtime({ id: null, only: 'a' });
      for (let poll = 0; poll < 2; poll++) {
        one.list = new Map();
        await one.miss('a');
      }
      assert.deepEqual(one.emptied.sort(), topics.retained('host-a', false).sort());
    });

    it('keeps it while polls fail for another reason, or the list has it', async () => {
      const one = runtime({ id: null, only: 'a' });
      await one.see(statusOf('a', 'HOST-A'));
      for (let poll = 0; poll < 3; poll++) {
        one.list = new Map(one.list);
        await one.miss('a');
      }
      assert.deepEqual(one.emptied, []);
    });

    it('removes the printers that the node published before', async () => {
      const before = runtime({ id: null });
      await before.see(statusOf('a', 'HOST-A'), statusOf('b', null));
      await before.bridge.close();
      const one = runtime({ id: null, only: 'a' });
      await one.see(statusOf('a', 'HOST-A'));
      assert.deepEqual(one.emptied.sort(), topics.retained('b', false).sort());
    });
  });

  it('removes a printer that left while the node was switched off, once two lists lack it', async () => {
    const before = runtime({ id: null });
    await before.see(statusOf('a', 'HOST-A'), statusOf('b', null));
    await before.bridge.close();
    const one = runtime({ id: null });
    const without = () => new Map([['b', listed('b', null)]]);
    one.list = without();
    await one.see(statusOf('b', null));
    await one.see(statusOf('b', null));
    assert.deepEqual(one.emptied, []);
    one.list = without();
    await one.see(statusOf('b', null));
    assert.deepEqual(one.emptied.sort(), new Topics('homeassistant', 'p').retained('host-a', false).sort());
  });

  it('keeps a printer whose host the service does not know for a while', async () => {
    const before = runtime({ id: null });
    await before.see(statusOf('a', 'HOST-A'));
    await before.bridge.close();
    const one = runtime({ id: null });
    for (let poll = 0; poll < 3; poll++) {
      one.list = new Map([['a', listed('a', null)]]);
      await one.see(statusOf('b', null));
    }
    assert.deepEqual(one.emptied, []);
  });

  it('removes a printer again after a connection, if it left while there was none', async () => {
    const one = runtime({ id: null });
    await one.see(statusOf('a', 'HOST-A'));
    one.bridge.connection(false);
    one.list?.delete('a');
    one.bridge.tell([eventOf('cluster.removed', 'a')]);
    await one.see();
    await one.bridge.close();
    const two = runtime({ id: null });
    two.list?.delete('a');
    two.bridge.connection(true);
    await two.see();
    assert.ok(two.emptied.includes('homeassistant/device/remote_printing_host-a/config'));
  });

  it('does not remove a printer again that has come back', async () => {
    const one = runtime({ id: null });
    await one.see(statusOf('a', 'HOST-A'));
    const list = one.list;
    one.list = new Map();
    one.bridge.tell([eventOf('cluster.removed', 'a')]);
    await one.see();
    one.list = list;
    await one.see(statusOf('a', 'HOST-A'));
    one.bridge.connection(true);
    await one.see();
    assert.deepEqual(one.emptied, ['p/host-a/command']);
  });

  it('leaves the removal of a printer to the next deploy if one closes it before', async () => {
    const late = new LateLists();
    const before = new Runtime(clock, late, { id: null });
    await before.see(statusOf('a', 'HOST-A'));
    await before.bridge.close();
    const one = new Runtime(clock, late, { id: null, only: 'b' });
    one.bridge.connection(true);
    await one.see();
    late.isLate = true;
    void one.see(statusOf('b', null));
    await settle();
    const closed = one.bridge.close();
    late.release();
    await closed;
    assert.ok(!one.emptied.includes(CONFIG_OF_A));
    late.isLate = false;
    const two = runtime({ id: null, only: 'b' }, late);
    two.bridge.connection(true);
    await two.see(statusOf('b', null));
    assert.ok(two.emptied.includes(CONFIG_OF_A));
  });

  describe('with 10,000 printers', function () {
    this.timeout(300_000);
    const ids = Array.from({ length: 10_000 }, (_, nth) => `printer-${nth}`);
    let known: FarmStore['values'];
    const farm = (shown = ids) => {
      const announced = new FarmStore();
      for (const [name, value] of known) announced.values.set(name, value);
      const made = runtime({ id: null }, announced, systemClock);
      made.list = new Map(shown.map((id) => [id, listed(id, null)]));
      made.polled = new Set(ids);
      return made;
    };

    before(async () => {
      const announced = new FarmStore();
      for (const id of ids) await announced.put(['home-assistant', 'node', id], announcementOf(id));
      known = announced.values;
    });

    it(`blocks the event loop for less than ${MOST} ms while it compares them with those of before`, async () => {
      const ms = await nominalStand(async () => {
        const one = farm();
        await nextTurn();
        await one.see(statusOf('printer-9999', null));
        assert.deepEqual(one.emptied, []);
      }, MOST);
      assert.ok(ms < MOST, `${ms} ms`);
    });

    it(`blocks the event loop for less than ${MOST} ms while it publishes all of them again`, async () => {
      const one = farm();
      for (const id of ids) {
        await one.see(statusOf(id, null));
        await nextTurn();
      }
      one.sent = [];
      const ms = await nominalStand(async () => {
        one.bridge.announce();
        await one.see();
      }, MOST);
      assert.ok(ms < MOST, `${ms} ms`);
      assert.ok(one.sent.length >= 3 * ids.length);
    });

    it(`blocks the event loop for less than ${MOST} ms while it removes all of them`, async () => {
      const ms = await nominalStand(async () => {
        const one = farm(['other']);
        await nextTurn();
        await one.see(statusOf('other', null));
        one.list = new Map(one.list);
        await one.see(statusOf('other', null));
        await nextTurn();
        assert.equal(one.emptied.filter((topic) => topic.endsWith('/config')).length, ids.length);
      }, MOST);
      assert.ok(ms < MOST, `${ms} ms`);
    });
  });

  it('sends an event and the picture of an end after a connection that was lost meanwhile', async () => {
    const one = runtime({ id: null, picture: 30 });
    await one.see(statusOf('a', 'HOST-A', { print_jobs: [job] }));
    await clock.advance(1_000);
    one.bridge.connection(false);
    one.bridge.tell([eventOf('job.finished', 'a')]);
    await one.see(statusOf('a', 'HOST-A'));
    await clock.advance(60_000);
    const counts = () => ['event', 'picture'].map((what) => one.count(`p/host-a/${what}`));
    assert.deepEqual(counts(), [0, 1]);
    one.bridge.connection(true);
    await clock.advance(1_000);
    assert.deepEqual(counts(), [1, 2]);
    one.bridge.connection(true);
    await clock.advance(60_000);
    assert.deepEqual(counts(), [1, 2]);
  });

  describe('an event that waits for a connection', () => {
    const event = () => [...new Set(runtimes)].reduce((sum, one) => sum + one.count('p/host-a/event'), 0);
    const start = async (isConnected: boolean, id: string | null = null, itsStore: StateStore = store) => {
      const one = runtime({ id }, itsStore);
      one.bridge.connection(isConnected);
      await one.see(statusOf('a', 'HOST-A'));
      return one;
    };

    it('is told once by the next process, although those before were killed', async () => {
      const one = await start(false);
      one.bridge.tell([eventOf('job.finished', 'a')]);
      await clock.advance(1_000);
      await start(false);
      await clock.advance(1_000);
      assert.equal(event(), 0);
      for (let count = 0; count < 3; count++) {
        await start(true);
        await clock.advance(1_000);
        assert.equal(event(), 1);
      }
    });

    it('is told once by one of two runtimes that wait for it', async () => {
      const one = await start(false, 'one');
      one.bridge.tell([eventOf('job.finished', 'a')]);
      await clock.advance(1_000);
      const two = await start(false, 'two');
      for (const each of [two, one]) {
        each.bridge.connection(true);
        await clock.advance(1_000);
        assert.equal(event(), 1);
      }
    });

    it('is told once the store can be read again', async () => {
      const one = await start(false);
      one.bridge.tell([eventOf('job.finished', 'a')]);
      await one.bridge.close();
      const get = store.get.bind(store);
      store.get = () => Promise.reject(new Error('away'));
      const two = await start(true);
      two.bridge.tell([eventOf('job.started', 'a')]);
      await clock.advance(1_000);
      assert.equal(event(), 1);
      store.get = get;
      await two.see(statusOf('a', 'HOST-A'));
      await clock.advance(1_000);
      assert.equal(event(), 2);
    });

    it('is told without a store that can be written', async () => {
      const one = await start(false);
      store.update = () => Promise.reject(new Error('full'));
      one.bridge.tell([eventOf('job.finished', 'a')]);
      await clock.advance(1_000);
      one.bridge.connection(true);
      await clock.advance(1_000);
      assert.equal(event(), 1);
    });

    for (const [when, isConnected] of [
      ['until then', true],
      ['at first', false],
    ] as const)
      it(`is told once although the disk was full ${when}`, async () => {
        let isFull = true;
        const fault = (step: string) => (isFull && step === 'write' ? 'unwritable' : undefined);
        const disk = new FaultyStore(store, fault, () => undefined);
        const one = await start(false, null, new WriteBehindStore(disk, clock));
        for (const type of ['job.started', 'job.finished'] as const) {
          one.bridge.tell([eventOf(type, 'a')]);
          await clock.advance(1_000);
        }
        one.bridge.connection(isConnected);
        await clock.advance(1_000);
        isFull = false;
        await clock.advance(120_000);
        await start(true);
        await clock.advance(1_000);
        assert.equal(event(), 2);
      });

    it('leaves alone what another version has saved', async () => {
      const key = ['home-assistant-held', 'node'] as const;
      await store.put(key, { version: 2, waiting: [] });
      const one = await start(false);
      one.bridge.tell([eventOf('job.finished', 'a')]);
      await one.bridge.close();
      assert.deepEqual(await store.get(key), { version: 2, waiting: [] });
    });
  });

  it('keeps the state of a printer that an online cluster does not show for some polls', async () => {
    const one = runtime({ id: null });
    const state = (wire: Json) => one.see(statusOf('a', 'HOST-A', wire)).then(() => one.count('p/host-a/state'));
    const updating = {
      uuid: 'p',
      firmware_update_status: 'update_in_progress',
      configuration: [{ extruder_index: 0 }],
    };
    assert.equal(await state({ printers: [updating] }), 1);
    for (let poll = 0; poll < 3; poll++) assert.equal(await state({ printers: [] }), 1);
    assert.equal(await state({ printers: [updating] }), 1);
    assert.equal(await state({ is_online: false, printers: [] }), 2);
  });

  it('sends everything again for the printers that it polls, and no others', async () => {
    const one = runtime();
    await one.see(statusOf('a', 'HOST-A'), statusOf('b', null));
    one.polled = new Set(['b']);
    one.bridge.announce();
    await one.see();
    assert.deepEqual([one.count('p/host-a/state'), one.count('p/b/state'), one.count('p/bridge')], [1, 2, 1]);
  });

  it('removes a printer that another runtime, or an earlier one, has announced', async () => {
    const [one, two] = [runtime({ picture: 10 }), runtime({ picture: 10 })];
    await one.see(statusOf('a', 'HOST-A'));
    two.list?.delete('a');
    two.bridge.tell([eventOf('cluster.removed', 'a')]);
    await two.see();
    assert.deepEqual(
      two.sent.map(({ topic, payload, retain }) => [topic, payload, retain]),
      [
        'homeassistant/device/remote_printing_host-a/config',
        ...['state', 'availability', 'command', 'picture'].map((what) => `p/host-a/${what}`),
      ].map((topic) => [topic, '', true]),
    );
    await two.see(statusOf('a', 'HOST-A'));
    assert.equal(two.sent.length, 5, 'a poll that was under way publishes it again');
  });

  it('keeps what it announced although the cluster id of the host is another one now', async () => {
    const one = runtime();
    await one.see(statusOf('a', 'HOST-A'));
    one.list = new Map([['c', listed('c', 'HOST-A')]]);
    one.bridge.tell([eventOf('cluster.removed', 'a')]);
    await one.see(statusOf('c', 'HOST-A'));
    assert.ok(one.sent.every(({ payload }) => payload !== ''));
    await Promise.all([one.command('host-a'), one.command('host-a', '')]);
    assert.equal(one.acts.length, 0, 'polled by another runtime');
    one.polled = new Set(['c']);
    await one.command('host-a');
    assert.deepEqual(one.acts, [['c', 'pause']]);
  });

  describe('whose host the list has twice', () => {
    const CONFIG = 'homeassistant/device/remote_printing_host/config';
    const AWAY: Json = { is_online: false, printers: [] };
    const twice = (one: Partial<ListedCluster>, other: Partial<ListedCluster>) =>
      new Map([
        ['a', { ...listed('a', 'HOST'), ...one }],
        ['b', { ...listed('b', 'HOST'), ...other }],
      ]);
    const shown = ({ sent }: Runtime) =>
      sent.filter(({ topic }) => topic === 'p/host/availability').map(({ payload }) => payload);

    it('is that of the cluster that is online, also for commands', async () => {
      const one = runtime({ id: null });
      one.list = twice({ online: false }, {});
      for (let poll = 0; poll < 3; poll++) await one.see(statusOf('a', 'HOST', AWAY), statusOf('b', 'HOST'));
      assert.deepEqual(shown(one), ['online']);
      assert.equal(one.count('p/host/state'), 1);
      await one.command('host');
      assert.deepEqual(one.acts, [['b', 'pause']]);
      one.list = twice({}, { online: false });
      for (let poll = 0; poll < 3; poll++) await one.see(statusOf('a', 'HOST'), statusOf('b', 'HOST', AWAY));
      await one.command('host');
      assert.deepEqual(one.acts.at(-1), ['a', 'pause']);
      assert.deepEqual(shown(one), ['online']);
    });

    it('stays that of its cluster while the other one is as well online, or as well offline', async () => {
      const one = runtime({ id: null });
      const printing = statusOf('b', 'HOST', { print_jobs: [job] });
      one.list = twice({ online: false }, {});
      await one.see(printing);
      one.list = twice({}, {});
      for (let poll = 0; poll < 3; poll++) await one.see(statusOf('a', 'HOST'), printing);
      await one.command('host');
      assert.deepEqual(one.acts, [['b', 'pause']]);
      assert.equal(one.count('p/host/state'), 1);
      one.list = twice({ online: false }, { online: false });
      for (let poll = 0; poll < 3; poll++) await one.see(statusOf('a', 'HOST', AWAY), statusOf('b', 'HOST', AWAY));
      assert.deepEqual(shown(one), ['online', 'offline']);
      assert.equal(one.count(CONFIG), 1);
    });

    it('is published by one of two runtimes that poll a cluster each', async () => {
      const both = ['a', 'b'].map((id) => runtime({ id }));
      for (const each of both) each.list = twice({ online: false }, {});
      await both[0]?.see(statusOf('a', 'HOST', AWAY));
      await both[1]?.see(statusOf('b', 'HOST'));
      assert.deepEqual(both.map(shown), [[], ['online']]);
    });

    it('passes to the runtime that polls the cluster which is online, with its commands and pictures', async () => {
      const both = ['a', 'b'].map((id) => Object.assign(runtime({ id, picture: 30 }), { polled: new Set([id]) }));
      const [former = assert.fail(), present = assert.fail()] = both;
      await former.see(statusOf('a', 'HOST', { print_jobs: [job] }));
      for (const each of both) each.list = twice({ online: false }, {});
      await former.see(statusOf('a', 'HOST', AWAY));
      await present.see(statusOf('b', 'HOST'));
      for (const each of both) [each.sent, each.pictures] = [[], []];
      for (const { bridge } of both) bridge.announce();
      await clock.advance(100);
      assert.deepEqual(both.map(shown), [[], ['online']]);
      const commands = both.map((each) => each.command('host'));
      await clock.advance(1_000);
      await former.command('host', '');
      await clock.advance(100_000);
      await Promise.all(commands);
      assert.deepEqual(pluck(both, 'acts'), [[], [['b', 'pause']]]);
      assert.deepEqual(pluck(both, 'pictures'), [[], []]);
    });
  });

  it('takes pictures of a print at its intervals, and one of its end', async () => {
    const one = runtime({ picture: 30 });
    const status = (wire: Json = {}) => statusOf('a', 'HOST-A', wire);
    await one.see(status());
    await clock.advance(100_000);
    assert.equal(one.pictures.length, 0);
    await one.see(status({ print_jobs: [job] }));
    await clock.advance(95_000);
    assert.equal(one.pictures.length, 4);
    await one.see(status());
    await clock.advance(300_000);
    assert.equal(one.pictures.length, 5);
    const pictures = one.sent.filter(({ topic }) => topic === 'p/host-a/picture');
    assert.deepEqual(new Set(pictures.map(({ qos, retain }) => `${qos} ${retain}`)), new Set(['0 true']));
  });

  it('goes on without a store that can be read or written', async () => {
    const one = runtime();
    for (const name of ['get', 'put', 'list'] as const)
      Object.assign(store, { [name]: () => Promise.reject(new Error('The disk is gone.')) });
    await one.see(statusOf('a', 'HOST-A'));
    assert.equal(one.count('p/host-a/state'), 1);
  });
});
