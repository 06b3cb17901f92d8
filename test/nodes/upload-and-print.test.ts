import assert from 'node:assert/strict';
import { startSimulator, type Simulator } from '../../simulator';
import { catchNode, Flow, helperNode, type Definition } from '../helpers/flow';

const GCODE = [';FLAVOR:Marlin', ';TIME:600', 'G28', ...Array.from({ length: 500 }, (_, n) => `G1 X${n % 100} Y${n % 70} E1`)].join('\n');

describe('nodes/upload-and-print', () => {
  let simulator: Simulator;
  let flow: Flow;
  const node = (changes = {}): Definition => ({
    id: 'print',
    type: 'remote-printing-upload-and-print',
    account: 'account',
    source: 'payload',
    timeout: 20,
    wires: [['result'], ['progress']],
    ...changes,
  });
  const all = (changes = {}) => [node(changes), helperNode('result'), helperNode('progress'), helperNode('caught'), catchNode(['caught'])];

  before(async () => {
    simulator = await startSimulator({ autoApprove: true, timeFactor: 600 });
  });
  after(() => simulator.close());
  beforeEach(async () => {
    flow = await Flow.start(simulator);
  });
  afterEach(() => flow.stop());

  it('prints a string from the payload', async () => {
    await flow.deploy(all());
    const { body: clusters } = await flow.get('accounts/account/clusters');
    const result = flow.listen('result');
    const progress = flow.listen('progress');
    const caught = flow.listen('caught');
    flow.send('print', { payload: GCODE, filename: 'cube.gcode', clusterId: clusters[0].clusterId, other: 'kept' });
    const winner = await Promise.race([result.at(0), caught.at(0)]);
    console.log(JSON.stringify(winner, null, 1), progress.all.map((m) => m.topic));
    assert.equal((winner.payload as { printed: boolean }).printed, true);
    assert.equal(winner.other, 'kept');
  });
});
