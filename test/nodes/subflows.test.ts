import assert from 'node:assert/strict';
import { startSimulator, type Simulator } from '../../simulator';
import { catchNode, Flow, helperNode, type Inbox } from '../helpers/flow';
import { TurnedTime } from '../helpers/turned-time';
import { codeOf } from './support';

const GCODE = ';FLAVOR:Marlin\n;TIME:600\nG28\nG1 X1 Y1 E1\n';
const COPIES = 2;

/** A subflow with one input and two outputs, which is used twice. */
describe('nodes: in a subflow that is used twice', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ autoApprove: true, now: time.now, accessTokenLifetime: 1e7 });
    flow = await Flow.start(simulator);
  });
  afterEach(async () => {
    await time.until(flow.stop());
    await simulator.close();
    time.restore();
  });

  const inside = (id: string, type: string, properties: object) => ({ id, type, z: 'sub', x: 1, y: 1, ...properties });
  /** Deploys the nodes inside the subflow; `env`: what the second instance sets. */
  const deploy = async (node: string, nodes: ReturnType<typeof inside>[], env: object[] = []) => {
    const [wires, out] = [[{ id: node }], [0, 1].map((port) => ({ x: 1, y: 1, wires: [{ id: node, port }] }))];
    const subflow = { id: 'sub', type: 'subflow', name: 'sub', in: [{ x: 1, y: 1, wires }], out };
    const helpers = ['answers', 'events one', 'events two', 'caught'];
    const isWithin = nodes.some(({ type }) => type === 'remote-printing-account');
    await time.until(
      flow.deploy(
        [
          { id: 'one', type: 'subflow:sub', wires: [['answers'], ['events one']] },
          { id: 'two', type: 'subflow:sub', wires: [['answers'], ['events two']], env },
          ...helpers.map(helperNode),
          catchNode(['caught']),
        ],
        {
          more: [subflow, ...nodes],
          signIn: !isWithin,
          credentials: { ...flow.credentials, inner: flow.credentials.account },
        },
      ),
    );
    if (isWithin) await time.until(flow.signInAnew('inner'));
    return helpers.map((id) => flow.listen(id)) as [Inbox, Inbox, Inbox, Inbox];
  };
  const queue = (account: string, properties: object = {}) =>
    inside('queue', 'remote-printing-queue', {
      ...{ account, name: 'Farm', match: 'lenient', material: 'any', gate: 'automatic' },
      ...properties,
    });
  const printQueue = inside('node', 'remote-printing-print-queue', {
    ...{ queue: 'queue', source: 'payload', waitFor: 'finished', wires: [[], []] },
  });
  const account = () => inside('inner', 'remote-printing-account', { ...flow.account, id: 'inner', z: 'sub' });

  for (const [title, id] of [
    ['its account', 'inner'],
    ['an account outside', 'account'],
  ] as const)
    it(`a queue with ${title} prints every copy once, and tells every event at both`, async () => {
      const inner = id === 'inner' ? [account()] : [];
      const [answers, one, two] = await deploy('node', [...inner, queue(id), printQueue]);
      flow.send('one', { payload: GCODE, filename: 'cube.gcode', queueKey: 'order', copies: COPIES });
      await time.until(answers.at(0));
      await time.settled();
      assert.equal(simulator.requests.count('print'), COPIES);
      const told = ({ all }: Inbox) => all.map(({ topic }) => topic);
      assert.equal(told(one).filter((type) => type === 'print.finished').length, COPIES);
      assert.deepEqual(told(two), told(one));
    });

  it('a queue with other settings in one of them is refused there', async () => {
    const [answers, , , caught] = await deploy(
      'node',
      [queue('account', { hours: '${HOURS}' }), Object.assign({ action: 'explain' }, printQueue)],
      [{ name: 'HOURS', type: 'str', value: 'Mon-Sun 00:00-12:00' }],
    );
    for (const id of ['one', 'two']) flow.send(id, {});
    assert.equal(codeOf(await time.until(caught.at(0))), 'NOT_CONFIGURED');
    await time.until(answers.at(0));
    assert.equal(caught.all.length, 1);
  });

  it('a cluster status node gets every event of the account in both', async () => {
    const status = inside('node', 'remote-printing-cluster-status', {
      account: 'inner',
      interval: 10,
      wires: [[], []],
    });
    const [, one, two] = await deploy('node', [account(), status]);
    await time.settled();
    simulator.world.setOnline(1, false);
    const told = ({ all }: Inbox) => all.map(({ topic }) => topic);
    for (const inbox of [one, two]) await time.until(inbox.at(0));
    await time.settled();
    assert.deepEqual([told(one), told(two)], [['printer.offline'], ['printer.offline']]);
  });
});
