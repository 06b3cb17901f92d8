import assert from 'node:assert/strict';
import { systemClock } from '../../../../lib/time/clock';
import { HeldClusters } from '../../../../lib/watch/views/held-clusters';
import { ManualClock } from '../../../helpers/manual-clock';

/** Processor time that holding a cluster costs, ms: so much that a few of them fill a turn. */
const COST = 3;

/** A watcher that records which clusters are held. */
class ScriptedWatcher {
  readonly held = new Set<string>();
  refused: string | null = null;
  cost = 0;

  hold(clusterId: string): () => void {
    if (clusterId === this.refused) throw new Error('refused');
    for (const end = performance.now() + this.cost; performance.now() < end;);
    assert.ok(!this.held.has(clusterId), `${clusterId} is held twice`);
    this.held.add(clusterId);
    return () => assert.ok(this.held.delete(clusterId), `${clusterId} is released twice`);
  }
}

describe('lib/watch/views/held-clusters', () => {
  let watcher: ScriptedWatcher;
  beforeEach(() => void (watcher = new ScriptedWatcher()));
  const held = () => [...watcher.held].sort();

  it('holds those that are wanted last, and no others', async () => {
    const clusters = new HeldClusters(watcher, new ManualClock());
    await clusters.hold(['a', 'b']);
    await clusters.hold(['b', 'c']);
    assert.deepEqual(held(), ['b', 'c']);
    assert.deepEqual([clusters.has('a'), clusters.has('c')], [false, true]);
    const runs = [clusters.hold(['d', 'e']), clusters.hold(['c', 'f'])];
    assert.deepEqual([clusters.has('e'), clusters.has('f')], [false, true]);
    await Promise.all(runs);
    assert.deepEqual(held(), ['c', 'f']);
  });

  it('lets the event loop turn while it holds many', async () => {
    watcher.cost = COST;
    const clusters = new HeldClusters(watcher, systemClock);
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    await clusters.hold(Array.from({ length: 40 }, (_, nth) => `cluster ${nth}`));
    isOver = true;
    assert.ok(turns >= 5, `only ${turns} turns`);
  });

  it('holds nothing any more once it is closed, also in the middle of a run', async () => {
    watcher.cost = COST;
    const clusters = new HeldClusters(watcher, systemClock);
    const run = clusters.hold(Array.from({ length: 40 }, (_, nth) => `cluster ${nth}`));
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(watcher.held.size > 0);
    clusters.close();
    await run;
    assert.deepEqual(held(), []);
  });

  it('holds the others, and this one later, if one can not be held', async () => {
    const clusters = new HeldClusters(watcher, new ManualClock());
    const warned = new Promise((resolve) => process.once('warning', resolve));
    watcher.refused = 'b';
    await clusters.hold(['a', 'b', 'c']);
    assert.deepEqual(held(), ['a', 'c']);
    await warned;
    watcher.refused = null;
    await clusters.hold(['a', 'b', 'c']);
    assert.deepEqual(held(), ['a', 'b', 'c']);
  });
});
