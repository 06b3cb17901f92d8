import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { QueueItem } from '../../lib/queue/model/types';
import { startSimulator, type Simulator } from '../../simulator';
import { catchNode, Flow, helperNode, type Inbox } from '../helpers/flow';
import { TurnedTime } from '../helpers/turned-time';
import { codeOf } from './support';

const GCODE = ';FLAVOR:Marlin\n;TIME:600\nG28\nG1 X1 Y1 E1\n';
const QUEUE = {
  ...{ id: 'queue', type: 'remote-printing-queue', account: 'account', name: 'Farm' },
  ...{ match: 'lenient', material: 'any', gate: 'automatic' },
};

describe('nodes/print-queue: at the simulator', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  let answers: Inbox;
  let events: Inbox;
  let caught: Inbox;

  const deploy = async (changes: object = {}, account: object = {}, queue: object = {}, signIn = true) => {
    const node = { id: 'node', type: 'remote-printing-print-queue', queue: 'queue', wires: [['answers'], ['events']] };
    const nodes = [
      { ...node, source: 'payload', waitFor: 'finished', ...changes },
      ...['answers', 'events', 'caught'].map(helperNode),
      catchNode(['caught']),
    ];
    const more = [{ ...QUEUE, ...queue }];
    await time.until(flow.deploy(nodes, { account: { ...flow.account, ...account }, more, signIn }));
    [answers, events, caught] = ['answers', 'events', 'caught'].map((id) => flow.listen(id)) as [Inbox, Inbox, Inbox];
  };
  const types = () => events.all.map(({ topic }) => topic);

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ autoApprove: true, now: time.now, accessTokenLifetime: 1e7 });
    flow = await Flow.start(simulator);
    await deploy();
  });
  afterEach(async () => {
    await time.until(flow.stop());
    await simulator.close();
    time.restore();
  });

  it('prints each copy of an item once, and answers when all are finished', async () => {
    flow.send('node', { payload: GCODE, filename: 'cube.gcode', queueKey: 'order', copies: 2, topic: 'mine' });
    const { payload, topic } = await time.until(answers.at(0));
    const { state, copies, prints } = payload as QueueItem;
    assert.deepEqual([state, copies.good, prints.length, topic], ['finished', 2, 2, 'mine']);
    await time.settled();
    assert.equal(simulator.requests.count('print'), 2);
    for (const [type, count] of Object.entries({ 'item.queued': 1, 'print.started': 2, 'item.finished': 1 }))
      assert.equal(types().filter((one) => one === type).length, count, `${type}: ${types().join()}`);
    flow.send('node', { payload: GCODE, filename: 'cube.gcode', queueKey: 'order' });
    const again = await time.until(answers.at(1));
    assert.deepEqual(
      [again.duplicate, again.itemId, simulator.requests.count('print')],
      [true, (payload as QueueItem).itemId, 2],
    );
    assert.equal(caught.all.length, 0);
  });

  it('names two files with the same bytes as each was added', async () => {
    const added = async (index: number, filename: string) => {
      flow.send('node', { payload: GCODE, filename });
      const { state, name, jobId } = (await time.until(answers.at(index))).payload as QueueItem;
      return [state, name, simulator.world.storedJob(jobId ?? '').jobName];
    };
    assert.deepEqual(await added(0, 'left.gcode'), ['finished', 'left.gcode', 'left.gcode']);
    assert.deepEqual(await added(1, 'right.gcode'), ['finished', 'right.gcode', 'right.gcode']);
    assert.deepEqual(await added(2, 'left.gcode'), ['finished', 'left.gcode', 'left.gcode']);
    assert.equal(simulator.requests.count('storagePut'), 2);
  });

  it('prints a file of the type that msg.mediaType gives', async () => {
    const item = { payload: GCODE, filename: 'cube.nc' };
    for (const [index, [msg, code]] of (
      [
        [item, 'UNSUPPORTED_FILE_TYPE'],
        [{ ...item, mediaType: 'nc' }, 'INVALID_INPUT'],
      ] as const
    ).entries()) {
      flow.send('node', msg);
      assert.equal(codeOf(await time.until(caught.at(index))), code);
    }
    flow.send('node', { ...item, mediaType: 'text/x-gcode' });
    const { state, name } = (await time.until(answers.at(0))).payload as QueueItem;
    const [job] = simulator.world.storedJobs();
    assert.deepEqual([state, name, job?.contentType], ['finished', 'cube.nc', 'text/x-gcode']);
  });

  it('counts its items and the wait of each copy in the metrics', async () => {
    await deploy({}, { metrics: true });
    flow.send('node', { payload: GCODE, filename: 'cube.gcode', copies: 2 });
    await time.until(answers.at(0));
    const { text } = await time.until(flow.get('metrics').expect(200));
    const labels = 'account="account",queue="queue",name="Farm"';
    for (const line of [
      `queue_items{${labels},state="finished"} 1`,
      `queue_items{${labels},state="waiting"} 0`,
      `queue_wait_seconds_count{${labels}} 2`,
    ])
      assert.ok(text.includes(`remote_printing_${line}\n`), `${line} in\n${text}`);
  });

  it('prints a file that states a GUID with another material of the same type, where that is enough', async () => {
    const { world } = simulator;
    world.load(1, 0, { material: 'PLA', color: 'Red' });
    world.load(2, 0, { material: 'PLA', color: 'White' });
    for (const other of [2, 3]) world.setEnabled(other, false);
    const { guid } = world.clusters()[1]!.printers[0]!.extruders[0]!.material!;
    await deploy({}, {}, { material: 'type' });
    const head = [`FLAVOR:Griffin`, `EXTRUDER_TRAIN.0.MATERIAL.GUID:${guid}`, 'PRINT.TIME:600'];
    const payload = [';START_OF_HEADER', ...head.map((line) => `;${line}`), ';END_OF_HEADER', 'G28\n'].join('\n');
    flow.send('node', { payload, filename: 'white.gcode' });
    await time.until(events.find(({ topic }) => topic === 'item.queued'));
    await time.settled();
    assert.equal(simulator.requests.count('print'), 1);
    const { state, prints, requires } = (await time.until(answers.at(0))).payload as QueueItem;
    assert.deepEqual([state, prints[0]?.clusterId], ['finished', world.clusters()[0]!.clusterId]);
    assert.deepEqual(requires.materials, [{ guid, type: 'PLA', brand: 'Generic', color: 'White' }]);
  });

  it('counts no print that waits for its plate to be judged as printing', async () => {
    await deploy({ waitFor: 'queued' }, {}, { gate: 'confirm' });
    flow.send('node', { payload: GCODE, filename: 'cube.gcode' });
    await time.until(events.find(({ topic }) => topic === 'print.finished'));
    await time.settled();
    assert.equal(flow.statuses('node').at(-1)?.text, 'status.idle');
  });

  describe('blocks an item whose only printer the service does not know', () => {
    const head = ['FLAVOR:Griffin', 'TARGET_MACHINE.NAME:Simulated Maker One', 'PRINT.TIME:600'];
    const payload = [';START_OF_HEADER', ...head.map((line) => `;${line}`), ';END_OF_HEADER', 'G28\n'].join('\n');
    const waitFor = 'queued';
    const blocked = async () => {
      const event = await time.until(events.find(({ topic }) => topic === 'item.blocked'));
      await time.settled();
      assert.deepEqual(
        types().filter((type) => type?.startsWith('item.')),
        ['item.queued', 'item.blocked'],
      );
      const status = flow.statuses('node').at(-1);
      assert.deepEqual([status?.fill, status?.text], ['red', 'status.blockedBy.NO_PRINTER']);
      const { item } = event.payload as { item: QueueItem };
      return item.waitingFor.map(({ code }) => code).join();
    };

    it('as it belongs to another workspace', async () => {
      const stranger = simulator.world.clusters().at(-1)!.clusterId;
      const known = simulator.world.clusters()[0]!.clusterId;
      await deploy({ waitFor }, {}, { printers: JSON.stringify([known, stranger]) });
      flow.send('node', { payload, filename: 'cube.gcode', require: { printers: [stranger] } });
      assert.equal(await blocked(), 'NO_PRINTER,NOT_CHOSEN,STALE');
    });

    it('as it has got another cluster id', async () => {
      const { world } = simulator;
      const { clusterId } = world.clusters()[0]!;
      world.setEnabled(clusterId, false);
      await deploy({ waitFor }, {}, { printers: JSON.stringify([clusterId]) });
      flow.send('node', { payload, filename: 'cube.gcode' });
      await time.until(answers.at(0));
      await time.settled();
      world.rebind(clusterId);
      assert.equal(await blocked(), 'NO_PRINTER,STALE');
    });
  });

  describe('whose account is not signed in', () => {
    const restart = async (meanwhile: () => Promise<void> = async () => {}) => {
      await time.until(flow.stop({ keep: true }));
      await meanwhile();
      flow = await Flow.start(simulator, flow.userDir);
      await deploy({ action: 'msg.action' }, {}, {}, false);
    };
    /** The payload of the answer, or the code of the error. */
    const ask = async (action: string, msg: object = {}) => {
      const [answered, failed] = [answers.all.length, caught.all.length];
      flow.send('node', { ...msg, action });
      const { payload } = await time.until(
        Promise.race([
          answers.at(answered),
          caught.at(failed).then((error) => ({ payload: codeOf(error) as unknown })),
        ]),
      );
      return payload;
    };
    const listed = async () => ((await ask('list')) as QueueItem[]).map(({ name, queueKey }) => [name, queueKey]);
    const isPaused = async () => ((await ask('explain')) as { paused: unknown }).paused !== null;
    const item = { payload: GCODE, filename: 'cube.gcode', queueKey: 'order', held: true };

    beforeEach(async () => {
      await deploy({ action: 'msg.action', waitFor: 'queued' });
      await ask('add', item);
    });

    for (const [when, again] of [
      ['a restart', () => restart()],
      ['a full deploy', () => deploy({ action: 'msg.action' }, {}, {}, false)],
    ] as const)
      it(`keeps its items and takes a pause after a sign-out and ${when}`, async () => {
        await time.until(flow.post('accounts/account/sign-out').expect(200));
        await again();
        assert.deepEqual(await listed(), [['cube.gcode', 'order']]);
        await ask('pause');
        await ask('release', { queueKey: 'order' });
        await time.until(flow.signIn());
        await time.pass(60);
        assert.deepEqual([await isPaused(), simulator.requests.count('print')], [true, 0]);
        const { state } = await time.until(flow.get('accounts/account').expect(200)).then(({ body }) => body);
        assert.equal(state, 'signed-in');
        await ask('resume');
        await time.pass(60);
        assert.equal(simulator.requests.count('print'), 1);
      });

    it('lists no item as lost while no sign-in names the workspace', async () => {
      const grants = join(flow.userDir, 'remote-printing', 'grant');
      await restart(async () => {
        for (const name of await readdir(grants)) await writeFile(join(grants, name), '{');
      });
      for (const action of ['list', 'pause', 'explain', 'release'])
        assert.equal(await ask(action, { queueKey: 'order' }), 'NOT_SIGNED_IN', action);
      await time.until(flow.signIn());
      assert.deepEqual(await listed(), [['cube.gcode', 'order']]);
    });
  });

  it('answers late after a restart', async () => {
    flow.send('node', { payload: GCODE, filename: 'cube.gcode', topic: 'mine' });
    await time.until(events.find(({ topic }) => topic === 'print.started'));
    await time.until(flow.stop({ keep: true }));
    flow = await Flow.start(simulator, flow.userDir);
    await deploy();
    const { payload, topic, late } = await time.until(answers.at(0));
    assert.deepEqual([(payload as QueueItem).state, topic, late], ['finished', 'mine', true]);
    await time.settled();
    assert.deepEqual([simulator.requests.count('print'), answers.all.length], [1, 1]);
  });
});
