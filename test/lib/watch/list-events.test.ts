import assert from 'node:assert/strict';
import { readCluster, type Cluster } from '../../../lib/service/cluster';
import { advanceList, type ListPosition } from '../../../lib/watch/list-events';

const cluster = (clusterId: string, hostGuid: string | null = `guid-${clusterId}`): Cluster => {
  const read = readCluster({ cluster_id: clusterId, host_guid: hostGuid, friendly_name: `name-${clusterId}` });
  assert(read);
  return read;
};

/** Lists one after the other; what each brought, in short. */
function tell(...lists: Cluster[][]) {
  let position: ListPosition | null = null;
  const ids: string[] = [];
  const told = lists.map((clusters) => {
    const step = advanceList(position, clusters, { at: '2026-01-01T00:00:00.000Z', random: () => 0.5 });
    position = JSON.parse(JSON.stringify(step.position)) as ListPosition;
    ids.push(...step.events.map(({ id }) => id));
    return step.events.map(({ type, clusterId }) => `${type} ${clusterId}`);
  });
  assert.equal(new Set(ids).size, ids.length, 'an id is repeated');
  return told;
}

describe('advanceList', () => {
  it('tells nothing at first sight', () => {
    assert.deepEqual(tell([cluster('a')]), [[]]);
  });

  it('tells what came and went, as often as it does', () => {
    const [a, b] = [cluster('a'), cluster('b')];
    assert.deepEqual(tell([a], [a, b], [a], [a, b]), [
      [],
      ['cluster.added b'],
      ['cluster.removed b'],
      ['cluster.added b'],
    ]);
  });

  it('tells a new id of the same machine alone (trap 13)', () => {
    const before = advanceList(null, [cluster('a', 'G')], { at: '' }).position;
    const step = advanceList(before, [cluster('b', 'G')], { at: '', late: true });
    const [event] = step.events;
    assert.equal(step.events.length, 1);
    assert.equal(event?.type, 'cluster.rebound');
    assert.equal(event.previous, 'a');
    assert.equal(event.value, 'b');
    assert.equal(event.clusterName, 'name-b');
    assert.equal(event.late, true);
    assert.deepEqual(
      step.rebounds.map(({ previous, cluster: { clusterId } }) => [previous, clusterId]),
      [['a', 'b']],
    );
  });

  it('takes it as another cluster while the old id is still there, or without a guid', () => {
    assert.deepEqual(tell([cluster('a', 'G')], [cluster('a', 'G'), cluster('b', 'G')]), [[], ['cluster.added b']]);
    assert.deepEqual(tell([cluster('a', null)], [cluster('b', null)]), [[], ['cluster.removed a', 'cluster.added b']]);
  });
});
