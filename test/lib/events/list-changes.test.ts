import assert from 'node:assert/strict';
import { readCluster, type Cluster } from '../../../lib/service/cluster';
import { advanceList, reboundEvent, type ListCheckpoint } from '../../../lib/events/list-changes';

const cluster = (clusterId: string, hostGuid: string | null = `guid-${clusterId}`, online?: boolean): Cluster => {
  const name = `name-${clusterId}`;
  const read = readCluster({ cluster_id: clusterId, host_guid: hostGuid, friendly_name: name, is_online: online });
  assert(read);
  return read;
};

/** Advances through successive lists; returns the events of each, in short form. */
function deliver(...lists: Cluster[][]) {
  let checkpoint: ListCheckpoint | null = null;
  const ids: string[] = [];
  const delivered = lists.map((clusters) => {
    const step = advanceList(checkpoint, clusters, { at: '2026-01-01T00:00:00.000Z' });
    checkpoint = JSON.parse(JSON.stringify(step.checkpoint)) as ListCheckpoint;
    ids.push(...step.events.map(({ id }) => id));
    return [
      ...step.events.map(({ type, clusterId }) => `${type} ${clusterId}`),
      ...step.rebounds.map(({ previous, cluster: { clusterId } }) => `${previous} to ${clusterId}`),
    ];
  });
  assert.equal(new Set(ids).size, ids.length, 'an id is repeated');
  return delivered;
}

describe('advanceList', () => {
  it('makes no events of the first list', () => {
    assert.deepEqual(deliver([cluster('a')]), [[]]);
  });

  it('reports every addition and removal', () => {
    const [a, b] = [cluster('a'), cluster('b')];
    assert.deepEqual(deliver([a], [a, b], [a], [a], [a, b]), [
      [],
      ['cluster.added b'],
      [],
      ['cluster.removed b'],
      ['cluster.added b'],
    ]);
  });

  it('does not report a removal when a single list lacks a cluster', () => {
    const [a, b] = [cluster('a'), cluster('b')];
    assert.deepEqual(deliver([a, b], [], [a, b], [a], [b], [a, b]), [[], [], [], [], [], []]);
  });

  it('reports only the new id of a rebound machine (trap 13)', () => {
    const before = advanceList(null, [cluster('a', 'G')], { at: '' }).checkpoint;
    const step = advanceList(before, [cluster('b', 'G')], { at: '', late: true });
    assert.deepEqual(step.events, []);
    assert.deepEqual(
      step.rebounds.map(({ previous, cluster: { clusterId } }) => [previous, clusterId]),
      [['a', 'b']],
    );
  });

  it('reports one cluster as removed and another as added where both have the nil GUID as their host’s', () => {
    const [a, b] = ['a', 'b'].map((id) => cluster(id, '00000000-0000-0000-0000-000000000000')) as [Cluster, Cluster];
    assert.deepEqual(deliver([a], [b], [b]), [[], ['cluster.added b'], ['cluster.removed a']]);
  });

  it('reports only the new id of a machine whose former id was removed or is offline', () => {
    const [old, next, other] = [cluster('a', 'G'), cluster('b', 'G', true), cluster('other')];
    const offline = cluster('a', 'G', false);
    assert.deepEqual(deliver([old, other], [other], [other], [other], [next, other], [next, other]), [
      [],
      [],
      ['cluster.removed a'],
      [],
      ['a to b'],
      [],
    ]);
    assert.deepEqual(deliver([old], [offline, next], [offline, next], [next], [next], [old], [old]), [
      [],
      ['a to b'],
      [],
      [],
      [],
      ['b to a'],
      [],
    ]);
  });

  it('reports no move back to a former id that is listed as offline while a single list lacks the new one', () => {
    const [old, next] = [cluster('a', 'G', false), cluster('b', 'G', true)];
    assert.deepEqual(deliver([cluster('a', 'G')], [old, next], [old], [old, next]), [[], ['a to b'], [], []]);
  });

  it('follows the list of an older checkpoint, which remembers no removed clusters', () => {
    const { removed: _removed, ...older } = advanceList(null, [cluster('a')], { at: '' }).checkpoint;
    assert.deepEqual(advanceList(older, [cluster('a')], { at: '' }).events, []);
  });

  it('remembers the last 100 removed clusters', () => {
    const some = Array.from({ length: 101 }, (_, index) => cluster(`${index}`));
    const [first = cluster('0'), second = cluster('1')] = some;
    const moved = [cluster('x', first.hostGuid), cluster('y', second.hostGuid)];
    assert.deepEqual(deliver(some, [], [], moved).at(-1), ['cluster.added x', '1 to y']);
  });

  it('identifies a rebound in both directions', () => {
    const known = { since: '2026-01-01T00:00:00.000Z' };
    const late = { at: '2026-01-01T00:00:00.000Z', late: true, known };
    const event = reboundEvent('a', cluster('b', 'G'), late);
    assert.deepEqual(
      [event.type, event.previous, event.value, event.clusterName, event.late],
      ['cluster.rebound', 'a', 'b', 'name-b', true],
    );
    assert.notEqual(event.id, reboundEvent('b', cluster('a', 'G'), late).id);
    assert.equal(event.id, reboundEvent('a', cluster('b', 'G'), { ...late, at: '2026-01-02T00:00:00.000Z' }).id);
    for (const other of [{ ...known, moves: 1 }, { since: '2026-01-03T00:00:00.000Z' }, null])
      assert.notEqual(event.id, reboundEvent('a', cluster('b', 'G'), { ...late, known: other }).id);
  });

  it('adds a cluster while the old id is still listed, or without a guid', () => {
    assert.deepEqual(deliver([cluster('a', 'G')], [cluster('a', 'G'), cluster('b', 'G')]), [[], ['cluster.added b']]);
    const [a, b] = [cluster('a', null), cluster('b', null)];
    assert.deepEqual(deliver([a], [b], [b]), [[], ['cluster.added b'], ['cluster.removed a']]);
  });
});
