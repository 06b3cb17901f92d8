import assert from 'node:assert/strict';
import { UNLOSABLE_LOCK } from '../../../../lib/state/locks';
import type { Assigned, Membership } from '../../../../lib/state/membership';
import { Assignments } from '../../../../lib/watch/replication/assignments';
import type { Wants } from '../../../../lib/watch/replication/fair-share';
import { ManualClock } from '../../../helpers/manual-clock';

const CLUSTERS = Array.from({ length: 9 }, (_, n) => `cluster-${n}`);
const ALL: Wants = { workspace: 'w', all: true, clusters: [], waits: [] };

/** One of two runtimes that want the same; the other one takes nothing until it is told to. */
function oneOfTwo() {
  const clock = new ManualClock();
  const free = new Set(['*', ...CLUSTERS]);
  const theirs = new Set<string>();
  let isTaking = false;
  const changed = () => {
    // The other has room for half.
    for (const item of free) if (isTaking && theirs.size < 5 && free.delete(item)) theirs.add(item);
    tenure.changed();
  };
  const membership: Membership = {
    id: 'own',
    members: ['own', 'other'].map((id, since) => ({ id, name: id, since, wants: ALL })),
    lock: UNLOSABLE_LOCK,
    want: () => undefined,
    take: async (items, most) => {
      const taken = items.filter((item) => free.has(item)).slice(0, most);
      for (const item of taken) free.delete(item);
      return taken.map((item): Assigned => ({ item, note: null, idle: 0 }));
    },
    release: async (notes) => {
      for (const item of notes.keys()) free.add(item);
      changed();
    },
    holders: async () => new Map(),
    leave: async () => undefined,
  };
  const tenure = new Assignments(membership, clock, {
    wants: () => ALL,
    listed: () => CLUSTERS,
    gained: () => undefined,
    finish: async () => undefined,
    note: () => null,
    lost: () => undefined,
    shifted: () => undefined,
    fault: () => undefined,
  });
  tenure.changed();
  return { clock, tenure, theirs, wake: () => (isTaking = true) };
}

describe('what two runtimes share out', () => {
  it('is taken whole by one while the other takes none of it', async () => {
    const { clock, tenure } = oneOfTwo();
    await clock.advance(100);
    assert.equal(tenure.held.size, 5, 'its share at once');
    await clock.advance(10_000);
    assert.equal(tenure.held.size, 10, 'then what is left over');
  });

  it('becomes even by itself once the other one takes its part', async () => {
    const { clock, tenure, theirs, wake } = oneOfTwo();
    await clock.advance(10_000);
    wake();
    await clock.advance(70_000);
    assert.deepEqual([tenure.held.size, theirs.size], [5, 5]);
    await clock.advance(300_000);
    assert.deepEqual([tenure.held.size, theirs.size], [5, 5]);
  });

  it('is nobody’s for some seconds in a minute at most where the other one still takes none', async () => {
    const { clock, tenure } = oneOfTwo();
    await clock.advance(20_000);
    let away = 0;
    for (let second = 0; second < 300; second++) {
      await clock.advance(1_000);
      away += 10 - tenure.held.size;
    }
    assert.ok(away > 0, 'it was offered');
    assert.ok(away <= 5 * 5 * 8, `${away} seconds of 3,000 in all`);
  });

  it('leaves no timer behind', async () => {
    const { clock, tenure } = oneOfTwo();
    await clock.advance(20_000);
    await tenure.leave();
    assert.equal(clock.waiting, 0);
  });
});
