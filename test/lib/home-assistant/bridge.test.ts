import assert from 'node:assert/strict';
import type { PrintEvent } from '../../../lib/events/print-event';
import { Bridge, type Publication } from '../../../lib/home-assistant/bridge';
import type { Command } from '../../../lib/home-assistant/discovery';
import { Topics } from '../../../lib/home-assistant/identity';
import { readClusterStatus } from '../../../lib/service/cluster';
import type { Json } from '../../../lib/service/json-readers';
import type { ListedCluster } from '../../../lib/watch/checkpoints/memory';
import type { Watcher } from '../../../lib/watch/watcher';
import { ManualClock } from '../../helpers/manual-clock';
import { MemoryStore } from '../../helpers/memory-store';

const listed = (clusterId: string, hostGuid: string | null): ListedCluster => ({
  ...{ clusterId, hostGuid, name: clusterId, model: null, authorized: true, capabilities: null, note: null },
  ...{ maintenanceDue: false, displayStatus: null, online: true, host: null },
});
const statusOf = (clusterId: string, hostGuid: string | null, wire: Json = {}) =>
  readClusterStatus(
    { is_online: true, printers: [{ uuid: 'p', status: 'idle', configuration: [] }], print_jobs: [], ...wire },
    { clusterId, receivedAt: '', identity: { ...listed(clusterId, hostGuid) } },
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

/** A node in one of several runtimes, whose watcher and broker are scripted. */
class Runtime {
  sent: Publication[] = [];
  acts: [string, Command][] = [];
  pictures: string[] = [];
  polled = ['a', 'b'];
  list: Map<string, ListedCluster> | null = new Map(
    [listed('a', 'HOST-A'), listed('b', null)].map((cluster) => [cluster.clusterId, cluster]),
  );
  readonly bridge: Bridge;

  constructor(
    readonly clock: ManualClock,
    store: MemoryStore,
    { isShared = true, picture = 0 } = {},
  ) {
    const clusterList = {
      find: (clusterId: string) => Promise.resolve(this.list?.get(clusterId) ?? null),
      read: () => Promise.resolve(this.list ?? new Map<string, ListedCluster>()),
    };
    Object.defineProperty(clusterList, 'last', { get: () => this.list });
    const watcher = {
      clusterList,
      membership: isShared ? {} : null,
      polled: () => this.polled.map((clusterId) => ({ clusterId, isStale: false })).values(),
    } as unknown as Watcher;
    this.bridge = new Bridge({
      ...{
        nodeId: 'node',
        topics: new Topics('homeassistant', 'p'),
        only: null,
        controls: true,
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

  see = async (...statuses: ReturnType<typeof statusOf>[]) => {
    const results = statuses.map((status) => ({ clusterId: status.clusterId, status, raw: null, error: null }));
    await new Promise<void>((done) => this.bridge.see({ results, group: null, error: null }, done));
  };
  command = (id: string, payload = 'pause', isRetained = false) =>
    this.bridge.command({ kind: 'command', id, topic: `p/${id}/command`, payload, isRetained });
  count = (topic: string) => this.sent.filter((message) => message.topic === topic).length;
}

describe('lib/home-assistant/bridge', () => {
  let clock: ManualClock;
  let store: MemoryStore;
  let runtimes: Runtime[];
  const runtime = (options = {}) => {
    const made = new Runtime(clock, store, options);
    runtimes.push(made);
    return made;
  };
  beforeEach(() => {
    clock = new ManualClock();
    store = new MemoryStore();
    runtimes = [];
  });
  afterEach(() => Promise.all(runtimes.map(({ bridge }) => bridge.close())));

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
    const [one, two] = [runtime(), runtime()];
    one.polled = ['a'];
    two.polled = ['b'];
    for (const each of [one, two]) await each.command('host-a');
    for (const each of [one, two]) await each.command('b', 'abort');
    assert.deepEqual([one.acts, two.acts], [[['a', 'pause']], [['b', 'abort']]]);
    for (const each of [one, two]) await assert.rejects(each.command('host-c'), { code: 'NOT_FOUND' });
  });

  it('says once a minute that it is there, if another runtime may have said otherwise', async () => {
    const [one, alone] = [runtime(), runtime({ isShared: false })];
    await clock.advance(180_500);
    assert.deepEqual([one.count('p/bridge'), alone.count('p/bridge')], [3, 0]);
  });

  it('publishes a printer whole after another runtime may have published it', async () => {
    const one = runtime();
    const state = 'p/host-a/state';
    await one.see(statusOf('a', 'HOST-A'));
    await clock.advance(10_000);
    await one.see(statusOf('a', 'HOST-A'));
    assert.equal(one.count(state), 1);
    await clock.advance(60_000);
    await one.see(statusOf('a', 'HOST-A'));
    assert.equal(one.count(state), 2);
  });

  it('sends everything again for the printers that it polls, and no others', async () => {
    const one = runtime();
    await one.see(statusOf('a', 'HOST-A'), statusOf('b', null));
    one.polled = ['b'];
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
    await one.command('host-a');
    assert.equal(one.acts.length, 0, 'polled by nobody here');
    one.polled = ['c'];
    await one.command('host-a');
    assert.deepEqual(one.acts, [['c', 'pause']]);
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
