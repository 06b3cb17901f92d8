import assert from 'node:assert/strict';
import type { NodeMessage } from 'node-red';
import helper from 'node-red-node-test-helper';
import type { ClusterStatus } from '../../lib/service/cluster';
import type { PrintEvent } from '../../lib/events/print-event';
import { startSimulator, type Fault, type Simulator } from '../../simulator';
import { helperNode, type Definition, type Flow, type Inbox } from '../helpers/flow';
import { pluck } from '../helpers/pluck';
import type { TurnedTime } from '../helpers/turned-time';
import { clustersOf, codeOf, partsOf, struck, TimedBench, turn, watchNode } from './support';

const node = (changes = {}) => watchNode({ interval: 60, milestones: '25,50,75', ...changes });
const payloadOf = (msg: NodeMessage | undefined) => msg?.payload as ClusterStatus;
const eventOf = (msg: NodeMessage | undefined) => msg?.payload as PrintEvent;

describe('nodes/cluster-status', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  const bench = new TimedBench('status', 'events');
  const { deploy } = bench;
  const { status, events, caught, completed } = bench.inboxes as Record<
    'status' | 'events' | 'caught' | 'completed',
    Inbox
  >;

  beforeEach(async () => ({ time, simulator, flow } = await bench.start()));
  afterEach(() => bench.stop());

  const clusterIds = () => bench.clusterIds;
  const firstId = () => clusterIds()[0] ?? '';
  /** Signs in, deploys one node that watches the first cluster, and waits for its poll at deploy. */
  const watchFirst = async (changes = {}, more: Definition[] = []) => {
    await flow.deploy([]);
    await deploy([node({ cluster: firstId(), ...changes }), ...more]);
    await settled();
  };
  /** Waits until the poll in flight has ended. */
  const settled = () => time.settled();
  /** Sends a message through the node; resolves once it and its poll have ended. */
  const ask = async (msg: NodeMessage = {}) => {
    const { sent: out, error } = await bench.run('watch', msg);
    await settled();
    return { out, error, code: codeOf(error) };
  };
  const polls = () => simulator.requests.count('clusterStatus');
  const statusTexts = (id = 'watch') => flow.statuses(id).map(({ text }) => text);
  const ofType = (type: string, inbox = events) => inbox.all.filter(({ topic }) => topic === type);
  const jobEvents = () => events.all.filter(({ topic }) => String(topic).startsWith('job.'));
  const types = () => events.all.map(({ topic }) => topic);
  const down: Fault = { endpoint: '*', status: 503, times: 'always' };

  describe('status messages', () => {
    it('sends one message per cluster at deploy, with parts', async () => {
      await flow.deploy([]);
      await deploy([node()]);
      const messages = [await status.at(0), await status.at(1), await status.at(2)];
      assert.deepEqual(pluck(messages, 'clusterId'), clusterIds());
      const id = partsOf(messages[0])?.id;
      const parts = [0, 1, 2].map((index) => ({ id, type: 'array', index, count: 3 }));
      assert.deepEqual(messages.map(partsOf), parts);
      for (const { payload, topic, clusterId, raw, _msgid } of messages) {
        const shown = payload as ClusterStatus;
        assert.deepEqual([topic, shown.clusterId, shown.online, shown.stale], [clusterId, clusterId, true, false]);
        assert.ok(shown.name && shown.model && shown.hostGuid);
        assert.ok((raw as { generated_time: string }).generated_time);
        assert.ok(_msgid);
      }
      assert.equal(statusTexts().at(-1), 'status.clusters');
      assert.ok(!statusTexts().includes('status.signIn'), 'no request to sign in while signed in');
    });

    it('sends one cluster without parts, with the documented fields', async () => {
      await watchFirst();
      const [msg] = status.all;
      assert.ok(msg);
      assert.equal(status.all.length, 1);
      assert.equal(msg.parts, undefined);
      assert.equal('simulated' in msg, false);
      const { printers, ...rest } = payloadOf(msg);
      const keys = `authorized capabilities clusterId current displayStatus generatedAt hasHistory history hostGuid jobs maintenanceDue model name
        note online receivedAt stale`;
      assert.deepEqual(Object.keys(rest).sort(), keys.split(/\s+/));
      assert.equal(printers.length, 1);
      assert.equal(printers[0]?.status, 'idle');
      assert.equal(statusTexts().at(-1), 'status.idle');
    });

    it('sends a message at every interval', async () => {
      await watchFirst({ interval: 20 });
      const first = polls();
      await time.pass(19);
      assert.equal(polls(), first);
      await time.pass(4);
      assert.equal(polls(), first + 1);
      await time.pass(44);
      assert.equal(polls(), first + 3);
      assert.equal(status.all.length, 4);
      assert.equal(new Set(status.all.map(({ _msgid }) => _msgid)).size, 4);
    });

    for (const [interval, seconds, warnings] of [
      ...[2, 0, -5, '9'].map((short) => [short, 10, ['warning.interval']] as const),
      ...['', null, undefined].map((none) => [none, 60, []] as const),
    ])
      it(`polls every ${seconds} s when the interval is ${JSON.stringify(interval)}`, async () => {
        await watchFirst({ interval });
        const warned = flow.node('watch').warn as unknown as { args: [string][] };
        assert.deepEqual(
          warned.args.flat().map((warning) => warning.split(':').at(-1)),
          warnings,
        );
        const first = polls();
        await time.pass(seconds - 1);
        assert.equal(polls(), first);
        await time.pass(seconds === 10 ? 3 : 8);
        assert.equal(polls(), first + 1);
      });

    it('sends only changes when set to do so', async () => {
      await watchFirst({ interval: 10, send: 'changes' });
      await time.pass(60);
      assert.equal(status.all.length, 1);
      simulator.world.setOnline(1, false);
      await time.pass(24);
      assert.equal(status.all.length, 2);
      assert.equal(payloadOf(status.all[1]).online, false);
      const { out } = await ask();
      assert.equal(out.length, 1);
    });

    it('sends copies, so that a flow can change them safely', async () => {
      await watchFirst({}, [
        node({ id: 'second', cluster: firstId(), wires: [['changer'], []] }),
        helperNode('changer'),
      ]);
      flow.node('changer').on('input', ({ payload, raw }, _send, done) => {
        for (const object of [payload, raw] as Record<string, unknown>[])
          for (const key of Object.keys(object)) object[key] = 'mine';
        done();
      });
      await time.pass(140);
      const [before, after] = [status.all[0], status.all.at(-1)] as [NodeMessage, NodeMessage];
      assert.ok(status.all.length >= 3);
      assert.equal(payloadOf(after).name, payloadOf(before).name);
      assert.deepEqual(events.all, []);
      simulator.faults.add(down);
      const { out } = await ask();
      assert.equal(payloadOf(out[0]).name, payloadOf(before).name);
    });
  });

  describe('after a deploy', () => {
    const redeploy = async (changes = {}, options = {}) => {
      const before = polls();
      await deploy([node(changes)], { signIn: false, ...options });
      return before;
    };

    it('sends what is known of one cluster at once, and polls at its turn', async () => {
      await watchFirst({ cluster: firstId(), interval: 60 });
      await time.pass(20);
      const before = await redeploy({ cluster: firstId(), interval: 60 });
      const shown = payloadOf(await status.at(0));
      assert.deepEqual([shown.clusterId, shown.online, shown.stale, polls()], [firstId(), true, false, before]);
      assert.equal(statusTexts().at(-1), 'status.idle');
      assert.deepEqual(events.all, []);
      await time.pass(30);
      assert.deepEqual([status.all.length, polls()], [1, before]);
      await time.pass(16);
      assert.deepEqual([status.all.length, polls()], [2, before + 1]);
    });

    it('sends what is known of all clusters at once, as one group', async () => {
      await flow.deploy([]);
      await deploy([node({ interval: 60 })]);
      await time.pass(70);
      const before = await redeploy({ interval: 60 });
      const messages = [await status.at(0), await status.at(1), await status.at(2)];
      assert.deepEqual(pluck(messages, 'clusterId'), clusterIds());
      assert.deepEqual(
        messages.map((msg) => [partsOf(msg)?.index, partsOf(msg)?.count, payloadOf(msg).stale]),
        [0, 1, 2].map((index) => [index, 3, false]),
      );
      assert.deepEqual([statusTexts().at(-1), polls(), status.all.length], ['status.clusters', before, 3]);
    });

    it('sends after a restart what is stored, as stale if it is old', async () => {
      await watchFirst({ cluster: firstId(), interval: 60 });
      simulator.faults.add(down);
      await bench.restart(() => time.pass(100));
      ({ flow } = bench);
      await redeploy({ cluster: firstId(), interval: 60 });
      const shown = payloadOf(await status.at(0));
      assert.deepEqual([shown.online, shown.stale, statusTexts().at(-1)], [true, true, 'status.stale']);
    });

    it('sends only what differs from the last message when set to send changes, and shows the rest', async () => {
      const changes = { cluster: firstId(), interval: 60, send: 'changes' };
      await watchFirst(changes);
      const before = await redeploy(changes);
      while (statusTexts().at(-1) !== 'status.idle') await turn();
      assert.deepEqual([status.all.length, polls()], [0, before]);
    });

    it('polls at once where the account has another service, even if its clusters have the same ids', async () => {
      await watchFirst({ cluster: firstId(), interval: 60 });
      await time.pass(11);
      const other = await startSimulator({ autoApprove: true, printers: 3, now: time.now });
      try {
        const { authUrl, apiUrl, client } = other;
        const account = { ...flow.account, authUrl, apiUrl };
        const credentials = { account: { clientId: client.id, clientSecret: client.secret } };
        await flow.deploy([], { account, credentials });
        await redeploy({ cluster: clustersOf(other)[0]?.clusterId, interval: 60 }, { account, credentials });
        await settled();
        assert.equal(other.requests.count('clusterStatus'), 1);
        assert.equal(payloadOf(await status.at(0)).stale, false);
      } finally {
        await time.until(flow.stop({ keep: true }));
        await other.close();
        await bench.startOn(flow.userDir);
        ({ flow } = bench);
      }
    });
  });

  describe('answers to a message', () => {
    it('sends the received message at once, and ends it afterwards', async () => {
      await watchFirst();
      const order: string[] = [];
      for (const name of ['status', 'completed'])
        flow.node(name).on('input', (_msg, _send, done) => {
          order.push(name);
          done();
        });
      const [req, res] = [{ req: 1 }, { res: 1 }];
      const requests = polls();
      const { out } = await ask({ _msgid: 'the-id', req, res, other: { deep: 1 }, filename: 'kept' });
      assert.equal(polls(), requests + 1);
      const [msg] = out;
      assert.ok(msg);
      assert.equal(out.length, 1);
      assert.deepEqual([msg._msgid, msg.other, msg.filename], ['the-id', { deep: 1 }, 'kept']);
      assert.ok(msg.req === req && msg.res === res);
      assert.deepEqual([msg.clusterId, payloadOf(msg).clusterId], [firstId(), firstId()]);
      await time.pass(1);
      assert.deepEqual(order, ['status', 'completed']);
    });

    it('answers for all clusters with one message each, and copies the payload to none of them', async () => {
      await watchFirst({ cluster: '' });
      const res = { res: 1 };
      const { out } = await ask({ _msgid: 'the-id', payload: Buffer.alloc(10), res, kept: true });
      assert.deepEqual(pluck(out, 'clusterId'), clusterIds());
      assert.deepEqual(out.map((msg) => partsOf(msg)?.index).join(), '0,1,2');
      for (const msg of out) assert.ok(msg._msgid === 'the-id' && msg.res === res && msg.kept === true);
      assert.equal(completed.all.length, 1);
    });

    it('reads the cluster from msg.clusterId when the setting is blank', async () => {
      await watchFirst({ cluster: '' });
      const [, second] = clusterIds();
      const { out } = await ask({ clusterId: second });
      assert.deepEqual(pluck(out, 'clusterId'), [second]);
      assert.equal(out[0]?.parts, undefined);
    });

    it('uses the cluster of the setting, whatever msg.clusterId holds', async () => {
      await watchFirst();
      const { out } = await ask({ clusterId: clusterIds()[1] });
      assert.deepEqual(pluck(out, 'clusterId'), [firstId()]);
    });

    it('reads fresh figures for every message', async () => {
      await watchFirst({ cluster: '' });
      for (const name of ['one', 'two']) {
        simulator.world.setName(1, name);
        const { out } = await ask({ poll: true });
        assert.equal(payloadOf(out[0]).name, name);
      }
    });

    for (const [clusterId, expected] of [
      ...['nobody', 'gone='].map((id) => [id, 'NOT_FOUND'] as const),
      ...['../admin', 'a/b', '..', 'a\\b', {}, ['a'], true].map((id) => [id, 'INVALID_INPUT'] as const),
    ])
      it(`ends in ${expected} for the cluster ${JSON.stringify(clusterId)}, and answers the next message`, async () => {
        await watchFirst({ cluster: '' });
        await time.pass(1);
        const before = simulator.requests.list().length;
        const { error, out, code } = await ask({ clusterId });
        assert.deepEqual([code, out, completed.all.length, caught.all.length], [expected, [], 0, 1]);
        if (expected === 'NOT_FOUND') assert.deepEqual([error?.statusCode, error?.clusterId], [404, clusterId]);
        else assert.equal(simulator.requests.list().length, before, 'no request');
        assert.equal((await ask({ clusterId: firstId() })).code, undefined);
      });

    it('answers for all clusters with fresh figures when the named message property is missing', async () => {
      await watchFirst({ cluster: 'target', clusterType: 'msg' });
      for (const name of ['one', 'two']) {
        simulator.world.setName(1, name);
        const { out } = await ask();
        assert.deepEqual(pluck(out, 'clusterId'), clusterIds());
        assert.equal(payloadOf(out[0]).name, name);
        await time.pass(6);
      }
    });

    it('answers each of many simultaneous messages once', async () => {
      await watchFirst();
      const requests = polls();
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask()));
      assert.ok(answers.every(({ out }) => out.length === 1));
      assert.equal(completed.all.length, 20);
      assert.ok(polls() - requests <= 2);
    });
  });

  describe('source of the cluster', () => {
    for (const [clusterType, value] of [
      ['str', () => clusterIds()[1]],
      ['msg', () => 'target.id'],
      ['env', () => 'TEST_CLUSTER'],
      ['str', () => '${TEST_CLUSTER}'],
      ['flow', () => 'chosen'],
      ['global', () => 'chosen'],
      ['jsonata', () => '$env("TEST_CLUSTER")'],
      ['jsonata', () => 'target.id'],
    ] as const)
      it(`reads ${clusterType} ${value.toString().slice(6, 26)}`, async () => {
        const id = clusterIds()[1];
        process.env.TEST_CLUSTER = id;
        await deploy([node({ id: 'dummy' })]);
        for (const context of ['flow', 'global'] as const) flow.node('dummy').context()[context].set('chosen', id);
        await watchFirst({ cluster: value(), clusterType });
        const { out } = await ask({ target: { id } });
        assert.deepEqual(pluck(out, 'clusterId'), [id]);
        delete process.env.TEST_CLUSTER;
      });

    it('polls only on messages when the cluster comes from the message', async () => {
      await watchFirst({ cluster: 'target', clusterType: 'msg', interval: 10 });
      await time.pass(60);
      assert.equal(polls(), 0);
      for (const target of clusterIds()) {
        const { out } = await ask({ target });
        assert.deepEqual(pluck(out, 'clusterId'), [target]);
      }
      await time.pass(60);
      assert.equal(polls(), 3);
      assert.equal(statusTexts().at(-1), 'status.idle');
    });

    for (const [clusterType, cluster] of [
      ['jsonata', '$lowercase(target)'],
      ['flow', 'target'],
      ['global', 'target'],
    ])
      it(`polls no other clusters while its ${clusterType} setting names none`, async () => {
        await watchFirst({ cluster, clusterType, interval: 10 });
        await time.pass(60);
        assert.equal(polls(), 0);
        assert.equal(statusTexts().at(-1), 'status.idle');
      });

    it('ends in INVALID_INPUT on an invalid JSONata expression, at deploy and for every message', async () => {
      await watchFirst({ cluster: '$$(', clusterType: 'jsonata' });
      assert.equal(statusTexts().at(-1), 'status.error.INVALID_INPUT');
      assert.equal((await ask()).code, 'INVALID_INPUT');
    });
  });

  describe('pause and resume by msg.poll', () => {
    for (const cluster of ['first', ''])
      it(cluster ? 'pauses and resumes one cluster' : 'pauses and resumes all clusters', async () => {
        await watchFirst({ cluster: cluster && firstId(), interval: 10 });
        const count = () => polls();
        const each = cluster ? 1 : 3;
        const before = count();
        const { out } = await ask({ poll: false });
        assert.deepEqual(out, []);
        assert.equal(count(), before);
        assert.equal(statusTexts().at(-1), 'status.paused-polling');
        await time.pass(60);
        assert.equal(count(), before);

        const { out: once } = await ask({});
        assert.equal(once.length, each);
        assert.equal(count(), before + each);
        await time.pass(60);
        assert.equal(count(), before + each);

        const { out: resumed } = await ask({ poll: true });
        assert.equal(resumed.length, each);
        assert.equal(count(), before + 2 * each);
        await ask({ poll: false });
        simulator.world.setName(1, 'renamed');
        const { out: again } = await ask({ poll: true });
        assert.equal(count(), before + 3 * each);
        assert.equal(payloadOf(again[0]).name, cluster ? payloadOf(once[0]).name : 'renamed');
        await time.pass(12);
        assert.equal(count(), before + 4 * each);
      });

    it('resumes on a message that names another cluster', async () => {
      await watchFirst({ cluster: '', interval: 10 });
      await ask({ poll: false });
      await ask({ poll: true, clusterId: clusterIds()[1] });
      await time.pass(2);
      const before = polls();
      await time.pass(12);
      assert.ok(polls() > before);
    });

    for (const poll of ['false', '', 0, {}])
      it(`refuses ${JSON.stringify(poll)} as msg.poll, and goes on polling`, async () => {
        await watchFirst({ interval: 10 });
        const before = polls();
        const { out, code } = await ask({ poll });
        assert.deepEqual([out, code, polls()], [[], 'INVALID_INPUT', before]);
        await time.pass(12);
        assert.equal(polls(), before + 1);
      });

    it('polls for a message whose msg.poll is null, as for one without it', async () => {
      await watchFirst({ interval: 10 });
      assert.equal((await ask({ poll: null })).out.length, 1);
    });
  });

  describe('events', () => {
    const print = (seconds = 1000) => simulator.world.printLocally(1, { name: 'part.gcode', seconds });
    /** Advances virtual time, then polls. */
    const later = async (seconds: number) => {
      simulator.world.advance(seconds);
      return ask();
    };

    it('reports every event of a print once', async () => {
      await watchFirst();
      const { uuid } = print();
      await ask();
      await later(5 + 90 + 10);
      await later(200);
      await later(50);
      simulator.world.pause(1);
      await later(5);
      await ask();
      simulator.world.resume(1);
      await later(5);
      await later(400);
      await later(200);
      await later(130);
      await later(60 + 1);
      await later(400);
      await ask();
      assert.deepEqual(
        jobEvents().map((msg) => [msg.topic, eventOf(msg).value]),
        [
          ['job.queued', null],
          ['job.started', null],
          ['job.progress', 25],
          ['job.paused', null],
          ['job.resumed', null],
          ['job.progress', 50],
          ['job.progress', 75],
          ['job.finished', null],
        ],
      );
      assert.deepEqual(pluck(ofType('printer.status').map(eventOf), 'value'), ['pre_print', 'printing', 'idle']);
      assert.equal(new Set(events.all.map((msg) => eventOf(msg).id)).size, events.all.length);
      assert.equal(new Set(events.all.map(({ _msgid }) => _msgid)).size, events.all.length);
      for (const msg of events.all) {
        const event = eventOf(msg);
        assert.deepEqual([msg.topic, msg.clusterId, msg.turn, event.late], [event.type, firstId(), undefined, false]);
        assert.equal(new Date(event.at).toISOString(), event.at);
        if (event.type.startsWith('job.')) assert.deepEqual([msg.clusterJobId, event.job?.name], [uuid, 'part.gcode']);
      }
      const { job } = eventOf(ofType('job.finished')[0]);
      assert.deepEqual([job?.progress, job?.timeTotal], [100, 1000]);
    });

    for (const [name, end, type] of [
      ['failed', () => simulator.world.fail(1), 'job.failed'],
      ['was aborted', () => simulator.world.abort(1), 'job.aborted'],
    ] as const)
      it(`reports a print that ${name}`, async () => {
        await watchFirst({ milestones: '' });
        print();
        await later(5 + 90 + 100);
        end();
        await later(20);
        await ask();
        await later(400);
        await ask();
        assert.deepEqual(pluck(jobEvents(), 'topic'), ['job.started', type]);
      });

    it('reports no event for the first poll', async () => {
      print();
      simulator.world.advance(200);
      await watchFirst();
      assert.deepEqual(events.all, []);
    });

    it('reports events of every cluster when it watches all', async () => {
      await watchFirst({ cluster: '' });
      print();
      simulator.world.printLocally(2, { name: 'other.gcode', seconds: 100 });
      await ask();
      const queued = ofType('job.queued').map(({ clusterId }) => clusterId);
      assert.deepEqual(queued.sort(), clusterIds().slice(0, 2).sort());
      simulator.world.removeCluster(3);
      await ask();
      assert.equal(types().includes('cluster.removed'), false, 'a single list proves nothing');
      await ask();
      assert.equal(types().includes('cluster.removed'), true);
    });

    it('reports each event once for the clusters that its messages name', async () => {
      await watchFirst({ cluster: 'target', clusterType: 'msg' });
      await ask({ target: firstId() });
      print();
      await Promise.all([1, 2, 3].map(() => ask({ target: firstId() })));
      assert.equal(ofType('job.queued').length, 1);
    });

    it('has the milestones that its form shows, if the flow was saved without the property', async () => {
      await watchFirst({ milestones: undefined });
      print();
      await later(5 + 90 + 1);
      await later(300);
      assert.deepEqual(pluck(ofType('job.progress').map(eventOf), 'value'), [25]);
    });

    it('reports events to every node on the cluster, each with its own milestones', async () => {
      const second = node({ id: 'second', cluster: firstId(), milestones: '10', wires: [[], ['others']] });
      await watchFirst({}, [second, helperNode('others')]);
      const others = flow.listen('others');
      print();
      await later(5 + 90 + 1);
      await later(300);
      const reached = [events, others].map((inbox) => pluck(ofType('job.progress', inbox).map(eventOf), 'value'));
      assert.deepEqual(reached, [[25], [10]]);
    });

    it('sends copies, so that a flow can change them safely', async () => {
      await watchFirst();
      flow.node('events').on('input', ({ payload }, _send, done) => {
        const event = payload as PrintEvent;
        if (event.job) Object.assign(event.job, { name: 'mine', state: 'mine', progress: 99, timeTotal: 1 });
        done();
      });
      print();
      await ask();
      await later(105);
      await later(2000);
      const last = status.all.at(-1) as NodeMessage;
      assert.equal(payloadOf(last).history[0]?.name, 'part.gcode');
      assert.ok(types().includes('job.finished'));
    });

    it('repeats no event after a redeploy, and marks missed events as late', async () => {
      await watchFirst();
      print();
      await later(5 + 90 + 300);
      const before = types();
      assert.ok(before.includes('job.started'));
      for (const type of ['full', 'flows', 'nodes'] as const) {
        await deploy([node({ cluster: firstId(), name: type })], { type });
        await settled();
        await ask();
        assert.deepEqual(types(), []);
      }
      const off = async () => {
        simulator.world.advance(2000);
        await time.pass(180);
      };
      ({ flow } = await bench.restart(off));
      await deploy([node({ cluster: firstId() })]);
      await settled();
      await ask();
      const ended = ofType('job.finished');
      assert.equal(ended.length, 1);
      assert.equal(eventOf(ended[0]).late, true);
      assert.deepEqual(ofType('job.started'), []);
    });
  });

  describe('shared polls', () => {
    it('polls once for several nodes on the same cluster', async () => {
      const second = node({ id: 'second', cluster: firstId(), wires: [['others'], []] });
      const third = node({ id: 'third', cluster: firstId(), interval: 120, wires: [[], []] });
      await flow.deploy([]);
      simulator.requests.clear();
      await deploy([node({ cluster: firstId() }), second, third, helperNode('others')]);
      const others = flow.listen('others');
      await settled();
      assert.equal(polls(), 1);
      await time.pass(200);
      assert.equal(polls(), 4);
      assert.equal(status.all.length, 4);
      assert.equal(others.all.length, 4);
    });

    it('polls once for a cluster that another node watches among all clusters', async () => {
      await flow.deploy([]);
      simulator.requests.clear();
      await deploy([node({ cluster: '' }), node({ id: 'second', cluster: firstId(), wires: [[], []] })]);
      await settled();
      await time.pass(140);
      const ofFirst = simulator.requests
        .list('clusterStatus')
        .filter(({ path }) => path.includes(encodeURIComponent(firstId()).replaceAll('%3D', '=')));
      assert.ok(ofFirst.length <= 4, String(ofFirst.length));
      assert.equal(new Set(ofFirst.map(({ status }) => status)).size, 1);
    });
  });

  describe('during an outage', () => {
    it('reports the outage once, repeats the last figures as stale, fails every message, and recovers', async () => {
      await watchFirst({ interval: 10 });
      const fault = simulator.faults.add(down);
      await time.pass(120);
      assert.equal(caught.all.length, 1);
      assert.equal(codeOf(caught.all[0]), 'SERVICE_ERROR');
      const stale = status.all.at(-1) as NodeMessage;
      assert.equal(payloadOf(stale).stale, true);
      assert.equal(payloadOf(stale).name, payloadOf(status.all[0]).name);
      assert.equal(statusTexts().at(-1), 'status.stale');

      for (const _ of [1, 2]) {
        const { error, out, code } = await ask({ mine: true });
        assert.deepEqual([code, error?.statusCode, error?.clusterId], ['SERVICE_ERROR', 503, firstId()]);
        assert.deepEqual([error?.mine, out.length, payloadOf(out[0]).stale], [true, 1, true]);
        assert.equal(statusTexts().at(-1), 'status.stale');
      }
      assert.equal(caught.all.length, 3);
      assert.equal(completed.all.length, 0);

      fault.remove();
      const { out, code } = await ask();
      assert.equal(code, undefined);
      assert.equal(payloadOf(out[0]).stale, false);
      assert.equal(statusTexts().at(-1), 'status.idle');
      simulator.faults.add(down);
      await time.pass(120);
      assert.equal(caught.all.length, 4);
    });

    it('sends current figures of the other clusters when one fails', async () => {
      await watchFirst({ cluster: '', interval: 10 });
      const [, second] = clusterIds();
      const path = encodeURIComponent(second ?? '').replaceAll('%3D', '=');
      simulator.faults.add({ endpoint: 'clusterStatus', path, status: 500, times: 'always' });
      const { out, code } = await ask();
      assert.equal(code, 'SERVICE_ERROR');
      assert.deepEqual(pluck(out.map(payloadOf), 'stale'), [false, true, false]);
      assert.ok(out.every((msg) => partsOf(msg)?.count === 3));
    });

    it('sends the figures of all known clusters when the list fails', async () => {
      await watchFirst({ cluster: '' });
      simulator.faults.add({ endpoint: 'clusters', reset: true, times: 'always' });
      const { out, code } = await ask();
      assert.equal(code, 'NETWORK');
      assert.deepEqual(pluck(out, 'clusterId'), clusterIds());
      assert.ok(!out.some((msg) => payloadOf(msg).stale));
    });

    it('reports an outage once and sends no status when the first poll fails', async () => {
      await flow.deploy([]);
      simulator.faults.add(down);
      await deploy([node({ cluster: firstId(), interval: 10 })]);
      await time.pass(100);
      assert.deepEqual(status.all, []);
      assert.equal(caught.all.length, 1);
      // Another poll may be in flight.
      const settled = statusTexts().filter((shown) => shown !== 'status.polling');
      assert.equal(settled.at(-1), 'status.error.SERVICE_ERROR');
    });

    it('polls less and less often', async () => {
      await watchFirst({ interval: 10 });
      simulator.faults.add({ endpoint: '*', status: 404, times: 'always' });
      const before = polls();
      await time.pass(600);
      assert.ok(polls() - before < 12);
    });
  });

  describe('while signed out', () => {
    it('asks for a sign-in, polls nothing, and starts polling after the sign-in', async () => {
      await deploy([node({ cluster: firstId(), interval: 10 })], { signIn: false });
      await time.pass(60);
      assert.equal(simulator.requests.count(), 0);
      assert.deepEqual(statusTexts(), ['status.signIn']);
      const { code, out } = await ask();
      assert.equal(code, 'NOT_SIGNED_IN');
      assert.deepEqual(out, []);
      assert.equal(simulator.requests.count(), 0);
      assert.equal(statusTexts().at(-1), 'status.signIn');
      await flow.signIn();
      await settled();
      assert.equal(payloadOf(await status.at(0)).clusterId, firstId());
      assert.equal(statusTexts().at(-1), 'status.idle');
    });

    it('stops polling after a sign-out until the next sign-in', async () => {
      await watchFirst({ interval: 10 });
      await flow.post('accounts/account/sign-out').expect(200);
      const before = simulator.requests.count();
      await time.pass(60);
      assert.equal(simulator.requests.count(), before);
      assert.equal(statusTexts().at(-1), 'status.signInSince');
      await flow.signIn();
      await settled();
      assert.equal(statusTexts().at(-1), 'status.idle');
    });
  });

  describe('invalid settings', () => {
    for (const settings of [
      ...['0', '25,x', '101', '-5', ',', ['25'], true].map((milestones) => ({ milestones })),
      ...['', 'gone', 'status'].map((account) => ({ account })),
    ])
      it(`reports NOT_CONFIGURED for ${JSON.stringify(settings)}, and polls nothing`, async () => {
        await watchFirst(settings);
        assert.equal(statusTexts().at(-1), 'status.error.NOT_CONFIGURED');
        const { code, out } = await ask();
        assert.deepEqual([code, out, polls()], ['NOT_CONFIGURED', [], 0]);
      });

    it('takes a number, such as of a variable, for text', async () => {
      await watchFirst({ milestones: 50 });
      assert.equal((await ask()).code, undefined);
    });

    it('works without milestones', async () => {
      await watchFirst({ milestones: '' });
      assert.equal((await ask()).code, undefined);
    });
  });

  describe('malformed answers', () => {
    const data = (value: unknown): Fault => ({ endpoint: 'clusterStatus', set: { data: value }, times: 'always' });
    const harmless: [what: string, fault: Fault][] = [
      ['an empty record', data({})],
      ['a list of records', data([{}])],
      ['an empty list', data([])],
      ['lists that are null', data({ printers: null, print_jobs: null, recently_completed: null })],
      ['lists that are texts', data({ printers: 'x', print_jobs: 'y', recently_completed: 7 })],
      ['lists of nulls', data({ printers: [null, 1, 'x', []], print_jobs: [null, 2], recently_completed: [[], {}] })],
      ['records for lists', data({ printers: {}, print_jobs: {}, recently_completed: {} })],
      [
        'fields of other kinds',
        data({
          is_online: 'yes',
          generated_time: 5,
          printers: [{ uuid: 5, status: {}, configuration: 'x', build_plate: [], faults: 'x' }],
        }),
      ],
      [
        'jobs of other kinds',
        data({
          print_jobs: [
            { uuid: {}, time_elapsed: 'x', time_total: -1, status: 7, configuration_changes_required: 'no' },
          ],
        }),
      ],
    ];
    for (const [what, fault] of harmless)
      it(`invents no figures and no events from ${what}`, async () => {
        await watchFirst();
        simulator.faults.add(fault);
        const { out, code } = await ask();
        assert.equal(code, undefined);
        const shown = payloadOf(out[0]);
        assert.equal(shown.clusterId, firstId());
        assert.ok([null, true].includes(shown.online));
        assert.equal(shown.generatedAt, null);
        assert.ok(Array.isArray(shown.printers) && Array.isArray(shown.jobs) && Array.isArray(shown.history));
        for (const { progress, status } of [...shown.jobs, ...shown.history])
          assert.deepEqual([progress, status], [null, null]);
        for (const { printerId, status } of shown.printers) assert.deepEqual([printerId, status], [null, null]);
        await ask();
        assert.deepEqual(jobEvents(), []);
      });

    const refused: [what: string, fault: Fault][] = [
      ['null', data(null)],
      ['a text', data('x')],
      ['a number', data(7)],
      ['a page', { endpoint: 'clusterStatus', html: true, status: 200, times: 'always' }],
      ['half an answer', { endpoint: 'clusterStatus', cut: 'body', times: 'always' }],
    ];
    for (const [what, fault] of refused)
      it(`reports SERVICE_ERROR for ${what}, and keeps the last figures`, async () => {
        await watchFirst();
        simulator.faults.add(fault);
        const { out, code } = await ask();
        assert.equal(code, 'SERVICE_ERROR');
        assert.equal(payloadOf(out[0]).stale, true);
        assert.deepEqual(events.all, []);
      });

    for (const [what, value, expected] of [
      ['nothing', [], undefined],
      ['nulls', [null, {}, 7], 'SERVICE_ERROR'],
      ['clusters without ids', [{ friendly_name: 'x' }], 'SERVICE_ERROR'],
    ] as const)
      it(`sends no message for a cluster list of ${what}, and ends ${expected ? `in ${expected}` : 'without an error'}`, async () => {
        await flow.deploy([]);
        simulator.faults.add({ endpoint: 'clusters', set: { data: value }, times: 'always' });
        await deploy([node()]);
        const { out, code } = await ask();
        assert.equal(code, expected);
        assert.deepEqual(out, []);
      });
  });

  describe('closing', () => {
    const sockets = () => process.getActiveResourcesInfo().filter((name) => name.startsWith('TCPSocket')).length;

    for (const [what, fault] of [
      ['hangs', { hang: true }],
      ['is slow', { delay: 300 }],
      ['fails', { status: 503 }],
    ] as const)
      it(`ends its message once and leaves nothing open when closed during a poll that ${what}`, async () => {
        await flow.deploy([]);
        await deploy([]);
        await settled();
        const before = { timers: time.waiting, sockets: sockets() };
        await deploy([node({ cluster: firstId() })]);
        await settled();
        assert.ok(time.waiting > before.timers);
        const known = polls();
        const hit = simulator.faults.add({ endpoint: 'clusterStatus', times: 'always', ...fault });
        // Calls the input handler directly: the flow's Catch nodes close together with the node.
        const ended: (Error | undefined)[] = [];
        const handle = (flow.node('watch') as unknown as { _inputCallback(...args: unknown[]): void })._inputCallback;
        handle.call(
          flow.node('watch'),
          { payload: 1 },
          () => undefined,
          (error?: Error) => ended.push(error),
        );
        await struck(hit);
        await flow.closesAtOnce(() => deploy([], { account: { ...flow.account, name: 'changed' } }));
        await settled();
        assert.equal(ended.length, 1);
        assert.ok(ended[0] instanceof Error);
        // The service counts a request at its end.
        while (polls() === known) await turn();
        const requests = polls();
        await time.pass(200);
        assert.equal(polls(), requests);
        assert.deepEqual({ timers: time.waiting, sockets: sockets() }, before);
      });

    it('stops polling when the node is removed and the account stays', async () => {
      await watchFirst({ interval: 10 });
      await deploy([], { type: 'flows' });
      await time.pass(1);
      const before = simulator.requests.count();
      await time.pass(100);
      assert.equal(simulator.requests.count(), before);
    });

    it('shows no status after closing, even when an answer still arrives', async () => {
      await watchFirst();
      const old = flow.node('watch');
      const shown = old.status as unknown as { args: unknown[][]; thisValues: unknown[] };
      const slow = simulator.faults.add({ endpoint: 'clusterStatus', delay: 300 });
      flow.send('watch', {});
      await struck(slow);
      await deploy([node({ cluster: firstId(), name: 'new' })], { type: 'nodes' });
      await time.pass(2);
      const last = shown.args.filter((_, index) => shown.thisValues[index] === old).at(-1);
      assert.deepEqual(last, [{}]);
    });
  });

  it('calls no endpoint but sign-in, cluster list and cluster status', async () => {
    await watchFirst({ interval: 10 });
    await time.pass(60);
    const asked = new Set(simulator.requests.list().map(({ endpoint }) => endpoint));
    assert.deepEqual([...asked].sort(), ['authorize', 'clusterStatus', 'clusters', 'token']);
    const logged = helper.log().args.flat() as { level: number }[];
    assert.ok(!logged.some(({ level }) => level <= 20));
  });
});
