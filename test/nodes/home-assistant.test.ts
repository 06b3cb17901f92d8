import assert from 'node:assert/strict';
import type { NodeMessage } from 'node-red';
import type { Simulator } from '../../simulator';
import type { Definition, Flow, Inbox } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import type { TurnedTime } from '../helpers/turned-time';
import { checkDiscovery } from '../lib/home-assistant/schema';
import { clustersOf, codeOf, GCODE, TimedBench } from './support';

const node = (changes = {}): Definition => ({
  ...{ id: 'ha', type: 'remote-printing-home-assistant', account: 'account', interval: 10 },
  ...{ discoveryPrefix: 'homeassistant', topicPrefix: 'remote-printing', controls: true, picture: 0 },
  wires: [['sent']],
  ...changes,
});
const printNode: Definition = {
  ...{ id: 'print', type: 'remote-printing-upload-and-print', account: 'account', source: 'payload', timeout: 600 },
  wires: [[], []],
};

interface Sent extends NodeMessage {
  topic: string;
  payload: string | Buffer;
  qos: number;
  retain: boolean;
}
type State = Record<string, unknown>;

describe('nodes/home-assistant', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  const bench = new TimedBench('sent');
  const { caught } = bench.inboxes as Record<'caught', Inbox>;

  beforeEach(async () => ({ time, simulator, flow } = await bench.start()));
  afterEach(() => bench.stop());

  const deploy = async (changes = {}, more: Definition[] = []) => {
    await bench.flow.deploy([]);
    await bench.deploy([node(changes), printNode, ...more]);
    await time.pass(25);
  };
  /** Messages of the node since its deploy, also those before the other nodes listened. */
  const all = () => {
    const spy = flow.node('ha').send as unknown as { args: [Sent][]; thisValues: unknown[] };
    return spy.args.flatMap(([message], index) => (spy.thisValues[index] === flow.node('ha') ? [message] : []));
  };
  const on = (topic: string) => all().filter((message) => message.topic === topic);
  const first = () => clustersOf(simulator)[0] ?? assert.fail();
  const idOf = ({ hostGuid }: { hostGuid: string }) => hostGuid.toLowerCase();
  const topic = (what: string, cluster = first()) => `remote-printing/${idOf(cluster)}/${what}`;
  const config = (cluster = first()) => `homeassistant/device/remote_printing_${idOf(cluster)}/config`;
  const states = (cluster = first()) =>
    on(topic('state', cluster)).map(({ payload }) => JSON.parse(String(payload)) as State);
  const state = () => states().at(-1) ?? assert.fail();
  const print = async () => {
    await bench.run('print', { payload: GCODE, filename: 'vase.gcode', clusterId: first().clusterId });
    await time.pass(300);
    assert.equal(state().state, 'printing');
  };
  const command = (payload: unknown, changes = {}) =>
    bench.run('ha', { topic: topic('command'), payload, qos: 1, retain: false, ...changes });
  const actions = () => simulator.requests.count('jobAction');

  it('announces each printer once, with its state and availability', async () => {
    await deploy();
    for (const cluster of clustersOf(simulator)) {
      const [found, ...others] = on(config(cluster));
      assert.deepEqual([found?.qos, found?.retain, others.length], [1, true, 0]);
      const { components } = checkDiscovery(String(found?.payload));
      assert.ok(components.pause && components.material_1 && components.firmware);
      assert.deepEqual(
        on(topic('availability', cluster)).map(({ payload, retain }) => [payload, retain]),
        [['online', true]],
      );
      assert.equal(states(cluster).length, 1);
      assert.equal(states(cluster)[0]?.state, 'idle');
    }
    assert.deepEqual(
      on('remote-printing/bridge').map(({ payload, qos, retain }) => [payload, qos, retain]),
      [['online', 1, true]],
    );
  });

  it('sends no state twice while nothing changes', async () => {
    await deploy();
    const before = all().length;
    await time.pass(300);
    assert.equal(all().length, before);
  });

  it('follows a print and tells its events once, not retained', async () => {
    await deploy();
    await print();
    const { job, progress, ends_at } = state();
    assert.equal(job, 'vase.gcode');
    assert.ok(Number.isInteger(progress) && typeof ends_at === 'string');
    await time.pass(1500);
    const events = on(topic('event')).map(({ payload, retain, qos }) => {
      assert.deepEqual([retain, qos], [false, 1]);
      return JSON.parse(String(payload)) as State;
    });
    const types = events.map(({ event_type }) => event_type);
    for (const type of ['job.started', 'job.finished'])
      assert.equal(types.filter((one) => one === type).length, 1, type);
    for (const [index, one] of states().entries()) assert.notDeepEqual(one, states()[index + 1]);
    const ends = states().filter(({ state: of }) => of === 'printing');
    assert.equal(new Set(ends.map(({ ends_at: end }) => end)).size, 1, 'the end as predicted');
  });

  it('carries out a command once, and empties its topic', async () => {
    await deploy();
    await print();
    const { error } = await command('pause');
    assert.equal(error, undefined);
    assert.equal(actions(), 1);
    assert.deepEqual(
      on(topic('command')).map(({ payload, retain }) => [payload, retain]),
      [['', true]],
    );
    await time.pass(30);
    assert.deepEqual([state().state, state().ends_at], ['paused', null]);
    await command('');
    assert.equal(on(topic('command')).length, 1, 'an empty message is ignored');
    await command('resume');
    await command('abort');
    assert.equal(actions(), 3);
  });

  it('never carries out a retained command', async () => {
    await deploy();
    await print();
    const { error } = await command('abort', { retain: true });
    assert.equal(error, undefined);
    assert.equal(actions(), 0);
    assert.equal(on(topic('command')).at(-1)?.payload, '');
  });

  it('refuses what is no command, and what it does not offer', async () => {
    await deploy();
    for (const [payload, changes, code] of [
      ['dance', {}, 'INVALID_INPUT'],
      ['pause', { topic: 'remote-printing/nobody/command' }, 'NOT_FOUND'],
      [{ pause: true }, {}, 'INVALID_INPUT'],
      [Buffer.from('pause'), {}, 'INVALID_INPUT'],
      ['hello', { topic: 'elsewhere' }, 'INVALID_INPUT'],
      ['pause', {}, 'NOT_ACCEPTED'],
    ] as const)
      assert.equal(codeOf((await command(payload, changes)).error), code, JSON.stringify(payload));
    await deploy({ controls: false });
    const { error } = await command('pause');
    assert.equal(codeOf(error), 'INVALID_INPUT');
    assert.equal(on(topic('command')).at(-1)?.payload, '');
    assert.equal(actions(), 0);
  });

  it('passes on 200 letters of a payload that it refuses, however deep or long that is', async () => {
    await deploy();
    let deep: object = {};
    for (let level = 0; level < 50_000; level++) deep = { deep };
    const { error } = await command(deep);
    assert.equal(codeOf(error), 'INVALID_INPUT');
    assert.equal(error?.payload, '');
    const long = await command('x'.repeat(1_000_000));
    assert.equal(codeOf(long.error), 'INVALID_INPUT');
    assert.equal(String(long.error?.payload).length, 200);
  });

  for (const [what, msg, times] of [
    ['Home Assistant starts', { topic: 'homeassistant/status', payload: 'online' }, 2],
    ['Home Assistant ends', { topic: 'homeassistant/status', payload: 'offline' }, 1],
    ['a message asks for it', { discover: true }, 2],
    ['a message does not ask for it', { discover: false, topic: 'homeassistant/status', payload: 'offline' }, 1],
  ] as const)
    it(`${times > 1 ? 'sends everything again' : 'sends nothing'} when ${what}`, async () => {
      await deploy();
      await bench.run('ha', { ...msg });
      await time.settled();
      for (const one of [config(), topic('state'), topic('availability'), 'remote-printing/bridge'])
        assert.equal(on(one).length, times, one);
    });

  it('sends everything again when mqtt out has connected anew', async () => {
    await deploy();
    const status = (fill: string, type = 'mqtt out') =>
      bench.run('ha', { status: { fill, shape: 'dot', text: '', source: { id: 'out', type, name: '' } } });
    for (const [fill, times] of [
      ['yellow', 1],
      ['green', 2],
      ['green', 2],
      ['red', 2],
      ['green', 3],
    ] as const) {
      await status(fill);
      await time.settled();
      assert.equal(on(config()).length, times, fill);
    }
    await status('red', 'inject');
    await status('green', 'inject');
    await time.settled();
    assert.equal(on(config()).length, 3);
  });

  it('tells an event that waited for the broker once, after a deploy and a connection', async () => {
    const status = (fill: string) =>
      bench.run('ha', { status: { fill, shape: 'dot', text: '', source: { id: 'out', type: 'mqtt out', name: '' } } });
    const finished = () => on(topic('event')).filter(({ payload }) => String(payload).includes('job.finished')).length;
    await deploy();
    await status('green');
    await print();
    await status('red');
    await time.pass(1500);
    assert.equal(finished(), 0);
    for (const times of [1, 0]) {
      await bench.flow.deploy([]);
      await bench.deploy([node(), printNode]);
      await status('red');
      await time.pass(60);
      assert.equal(finished(), 0, 'not connected');
      await status('green');
      await time.pass(30);
      assert.equal(finished(), times);
    }
  });

  it('shows an offline printer as unavailable, and keeps its parts over a restart', async () => {
    await deploy();
    const { components } = checkDiscovery(String(on(config()).at(-1)?.payload));
    first().online = false;
    await time.pass(60);
    assert.equal(on(topic('availability')).at(-1)?.payload, 'offline');
    assert.deepEqual([state().state, state().connection], ['offline', false]);
    ({ flow } = await bench.restart());
    await deploy();
    const later = checkDiscovery(String(on(config()).at(-1)?.payload));
    assert.deepEqual(Object.keys(later.components).sort(), Object.keys(components).sort());
    assert.equal(on(topic('availability')).at(-1)?.payload, 'offline');
  });

  for (const [how, stop] of [
    [
      'the service is down',
      () => Promise.resolve(simulator.faults.add({ endpoint: 'clusterStatus', status: 503, times: 'always' })),
    ],
    ['nobody is signed in', () => flow.post('accounts/account/sign-out')],
  ] as [string, () => Promise<unknown>][])
    it(`keeps the end of a print while ${how}`, async () => {
      await deploy();
      await print();
      const { ends_at } = state();
      const before = states().length;
      await stop();
      await time.pass(1800);
      const after = states().slice(before);
      assert.deepEqual([...new Set(pluck(after, 'ends_at'))], after.length > 0 ? [ends_at] : []);
      assert.ok(after.length <= 2, `${after.length} states`);
    });

  it('keeps the device of a printer that comes back under another cluster id', async () => {
    await deploy();
    const { clusterId } = first();
    simulator.world.rebind(clusterId);
    await time.pass(300);
    const id = idOf(clustersOf(simulator).find(({ hostGuid }) => hostGuid === first().hostGuid) ?? assert.fail());
    assert.ok(
      all().every((message) => !(message.topic.includes(id) && message.payload === '')),
      'nothing is removed',
    );
    const ids = new Set(all().flatMap((message) => /remote_printing_(.+)\/config/.exec(message.topic)?.[1] ?? []));
    assert.equal(ids.size, clustersOf(simulator).length);
  });

  it('removes everything of a printer that leaves the account, also while Node-RED is away', async () => {
    await deploy();
    const [one, two] = clustersOf(simulator);
    assert.ok(one && two);
    const gone = [config(one), topic('state', one), topic('availability', one)];
    const topicsOfTwo = [config(two), topic('state', two), topic('availability', two)];
    simulator.world.removeCluster(one.clusterId);
    await time.pass(600);
    for (const each of gone) assert.deepEqual([on(each).at(-1)?.payload, on(each).at(-1)?.retain], ['', true], each);
    await time.pass(120);
    for (const each of gone) assert.equal(on(each).at(-1)?.payload, '', 'not published again');
    ({ flow } = await bench.restart(() => simulator.world.removeCluster(two.clusterId)));
    await deploy();
    await time.pass(600);
    for (const each of topicsOfTwo) assert.equal(on(each).at(-1)?.payload, '', each);
  });

  it('sends pictures of a print, and one of its end', async () => {
    await deploy({ picture: 30 });
    const { components } = checkDiscovery(String(on(config()).at(-1)?.payload));
    assert.equal(components.picture?.image_topic, topic('picture'));
    assert.equal(on(topic('picture')).length, 0, 'none without a print');
    await print();
    const during = on(topic('picture'));
    assert.ok(during.length >= 2);
    for (const { payload, qos, retain } of during)
      assert.deepEqual([Buffer.isBuffer(payload), qos, retain], [true, 0, true]);
    await time.pass(1800);
    const count = on(topic('picture')).length;
    await time.pass(300);
    assert.equal(on(topic('picture')).length, count, 'none after the end');
  });

  it('publishes only the printer that it is set to', async () => {
    await deploy({ cluster: first().clusterId });
    assert.deepEqual([...new Set(all().map((message) => message.topic))].sort(), [
      ...[config(), 'remote-printing/bridge', topic('availability'), topic('state')].sort(),
    ]);
  });

  it('publishes no other printers while its setting names none', async () => {
    await deploy({ cluster: 'printer', clusterType: 'flow' });
    assert.deepEqual(all(), []);
    assert.equal(flow.statuses('ha').at(-1)?.text, 'status.noPrinter');
  });

  it('removes the printer that it is set to when that leaves the account', async () => {
    const cluster = first();
    await deploy({ cluster: cluster.clusterId });
    simulator.world.removeCluster(cluster.clusterId);
    await time.pass(900);
    const gone = [config(cluster), topic('state', cluster), topic('availability', cluster)];
    for (const each of gone) assert.deepEqual([on(each).at(-1)?.payload, on(each).at(-1)?.retain], ['', true], each);
  });

  it('empties the topics of the printers that it is not set to any more', async () => {
    await deploy();
    const [one, two] = clustersOf(simulator);
    assert.ok(one && two);
    await deploy({ cluster: one.clusterId });
    await time.pass(60);
    assert.equal(on(config(two)).at(-1)?.payload, '');
    assert.notEqual(on(config(one)).at(-1)?.payload, '');
  });

  it('empties the topics of an old prefix, except the bridge of another node', async () => {
    const old = () => [config(), topic('state'), topic('availability'), 'remote-printing/bridge'];
    const last = () => old().map((each) => on(each).at(-1)?.payload);
    const other = node({ id: 'other', name: 'other', cluster: 'none' });
    await deploy();
    await deploy({ topicPrefix: 'farm', discoveryPrefix: 'found' }, [other]);
    assert.deepEqual(last(), ['', '', '', undefined]);
    await deploy();
    await deploy({ topicPrefix: 'farm' });
    assert.deepEqual(last().slice(1), ['', '', '']);
    const { availability } = checkDiscovery(String(on(config()).at(-1)?.payload));
    assert.equal(availability[0]?.topic, 'farm/bridge');
  });

  for (const changes of [{ topicPrefix: 'a/#' }, { discoveryPrefix: '' }])
    it(`says that a prefix is wrong: ${JSON.stringify(changes)}`, async () => {
      await deploy(changes);
      assert.equal(codeOf((await command('pause')).error), 'NOT_CONFIGURED');
      assert.equal(all().length, 0);
    });

  it('says that its printers are not available where its account can not be used', async () => {
    await deploy({ account: 'nowhere' });
    await time.settled();
    const said = on('remote-printing/bridge').map(({ payload, qos, retain }) => [payload, qos, retain]);
    assert.deepEqual(said, [['offline', 1, true]]);
  });

  it('shares the polls of other nodes', async () => {
    const watching: Definition = {
      ...{ id: 'watch', type: 'remote-printing-cluster-status', account: 'account', interval: 10, send: 'always' },
      ...{ milestones: '', wires: [[], []] },
    };
    await deploy();
    const polls = async () => {
      const before = simulator.requests.count('clusterStatus');
      await time.pass(200);
      return simulator.requests.count('clusterStatus') - before;
    };
    const alone = await polls();
    await deploy({}, [watching]);
    assert.ok((await polls()) <= alone + 3);
    assert.equal(caught.all.length, 0);
    assert.equal(flow.statuses('ha').at(-1)?.text, 'status.printers');
  });
});
