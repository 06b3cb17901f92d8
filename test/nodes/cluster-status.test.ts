import assert from 'node:assert/strict';
import type { ClusterStatus } from '../../lib/service/cluster-status';
import { startSimulator, type Simulator } from '../../simulator';
import { catchNode, Flow, helperNode, type Definition } from '../helpers/flow';

describe('nodes/cluster-status', () => {
  let simulator: Simulator;
  let flow: Flow;
  const node = (changes = {}): Definition => ({
    id: 'watch',
    type: 'remote-printing-cluster-status',
    account: 'account',
    interval: 60,
    send: 'always',
    milestones: '25,50,75',
    wires: [['status'], ['events']],
    ...changes,
  });
  const all = (changes = {}) => [
    node(changes),
    helperNode('status'),
    helperNode('events'),
    helperNode('caught'),
    catchNode(['caught']),
  ];
  const clusterIds = () =>
    simulator.world.clusters(simulator.users[0]?.organizations[0]?.organizationId).map(({ clusterId }) => clusterId);

  beforeEach(async () => {
    simulator = await startSimulator({ autoApprove: true });
    flow = await Flow.start(simulator);
  });
  afterEach(async () => {
    await flow.stop();
    await simulator.close();
  });

  it('polls at deploy and gives one message per cluster, with parts', async () => {
    await flow.deploy(all());
    await flow.signIn();
    await flow.deploy(all());
    const status = flow.listen('status');
    const messages = [await status.at(0), await status.at(1), await status.at(2)];
    assert.deepEqual(
      messages.map(({ clusterId }) => clusterId),
      clusterIds(),
    );
    assert.deepEqual(
      messages.map(({ parts }) => (parts as { index: number; count: number }).index),
      [0, 1, 2],
    );
    for (const { payload, topic, clusterId, raw } of messages) {
      const shown = payload as ClusterStatus;
      assert.equal(topic, clusterId);
      assert.equal(shown.clusterId, clusterId);
      assert.equal(shown.online, true);
      assert.equal(shown.stale, false);
      assert.ok(shown.name && shown.model && shown.hostGuid);
      assert.ok((raw as { generated_time: string }).generated_time);
    }
    assert.match(flow.looks('watch').at(-1)?.text as string, /status\.clusters/);
  });
});
