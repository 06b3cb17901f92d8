import assert from 'node:assert/strict';
import type { NodeMessage } from 'node-red';
import type { Simulator } from '../../simulator';
import type { Definition, Flow } from '../helpers/flow';
import type { TurnedTime } from '../helpers/turned-time';
import { clustersOf, codeOf, TimedBench } from './support';

type Cluster = ReturnType<typeof clustersOf>[number];

const node = (id: string, cluster?: Cluster): Definition => ({
  ...{ id, type: 'remote-printing-home-assistant', account: 'account', interval: 10 },
  ...{ discoveryPrefix: 'homeassistant', topicPrefix: 'remote-printing', controls: true, picture: 0 },
  ...(cluster && { cluster: cluster.clusterId, clusterType: 'str' }),
  wires: [['sent']],
});

interface Sent extends NodeMessage {
  topic: string;
  payload: string;
  retain: boolean;
}

describe('nodes/home-assistant, several nodes below one prefix', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let flow: Flow;
  let one: Cluster;
  let two: Cluster;
  /** Messages that a broker retains. */
  let retained: Map<string, string>;
  const bench = new TimedBench('sent');

  beforeEach(async () => {
    ({ time, simulator, flow } = await bench.start());
    const [first, second] = clustersOf(simulator);
    assert.ok(first && second);
    [one, two] = [first, second];
    retained = new Map();
    await flow.deploy([]);
  });
  afterEach(() => bench.stop());

  const deploy = async (nodes: Definition[], type: 'full' | 'nodes' = 'full') => {
    await bench.deploy(nodes, { type });
    await time.pass(300);
    const { args } = flow.node('ha1').send as unknown as { args: [Sent | undefined][] };
    for (const [message] of args) if (message?.retain) retained.set(message.topic, message.payload);
  };
  const topicsOf = ({ hostGuid }: Cluster) => {
    const id = hostGuid.toLowerCase();
    const own = ['state', 'availability'].map((what) => `remote-printing/${id}/${what}`);
    return [`homeassistant/device/remote_printing_${id}/config`, ...own];
  };
  const missing = (...clusters: Cluster[]) => clusters.flatMap(topicsOf).filter((topic) => !retained.get(topic));

  it('keeps every printer when one node for all becomes two for one each', async () => {
    await deploy([node('ha1')]);
    await deploy([node('ha1', one), node('ha2', two)]);
    assert.deepEqual(missing(one, two), []);
    const others = clustersOf(simulator).filter((cluster) => cluster !== one && cluster !== two);
    assert.deepEqual(missing(...others), others.flatMap(topicsOf), 'the others are removed');
  });

  it('keeps both printers when two nodes swap them', async () => {
    await deploy([node('ha1', one), node('ha2', two)]);
    await deploy([node('ha1', two), node('ha2', one)]);
    assert.deepEqual(missing(one, two), []);
  });

  it('keeps the printers of a node for all when another node leaves one for another', async () => {
    await deploy([node('ha1'), node('ha2', one)]);
    await deploy([node('ha1'), node('ha2', two)], 'nodes');
    assert.deepEqual(missing(one, two), []);
  });

  it('carries out a command in the node of its printer, and ignores it in the others', async () => {
    await deploy([node('ha1', one), node('ha2', two)]);
    const command = (ha: string, id: string) =>
      bench.run(ha, { topic: `remote-printing/${id}/command`, payload: 'pause', qos: 1, retain: false });
    const idle = await command('ha1', one.hostGuid.toLowerCase());
    assert.equal(codeOf(idle.error), 'NOT_ACCEPTED', 'nothing prints');
    const ignored = await command('ha2', one.hostGuid.toLowerCase());
    assert.equal(ignored.error, undefined);
    assert.equal(codeOf((await command('ha2', 'nobody')).error), 'NOT_FOUND');
  });
});
