import assert from 'node:assert/strict';
import { UNLOSABLE_LOCK } from '../../../../lib/state/locks';
import type { Assigned, Membership } from '../../../../lib/state/membership';
import { Assignments, type Wants } from '../../../../lib/watch/replication/assignments';
import { ManualClock } from '../../../helpers/manual-clock';

const CLUSTERS = Array.from({ length: 9 }, (_, n) => `cluster-${n}`);
const ALL: Wants = { workspace: 'w', all: true, clusters: [], waits: [] };

/** One of two runtimes that want the same items, all of them free. The other one claims none before `wake`. */
function oneOfTwo(free = new Set(['*', ...CLUSTERS])) {
  const clock = new ManualClock();
  const theirs = new Set<string>();
  let isTaking = false;
  const changed = () => {
    // The other runtime claims up to half of the items.
    for (const item of free) if (isTaking && theirs.size < 5 && free.delete(item)) theirs.add(item);
    assignments.changed();
  };
  const membership: Membership = {
    id: 'own',
    members: ['own', 'other'].map((id, since) => ({ id, name: id, since, wants: ALL })),
    lock: UNLOSABLE_LOCK,
    leaseAge: 0,
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
  const assignments = new Assignments(membership, clock, {
    wants: () => ALL,
    listed: () => CLUSTERS,
    gained: () => undefined,
    finish: async () => undefined,
    handoverOf: () => null,
    lost: () => undefined,
    reassigned: () => undefined,
    fault: () => undefined,
  });
  assignments.changed();
  return { clock, assignments, theirs, wake: () => (isTaking = true) };
}

describe('watch/replication/assignments, of two runtimes', () => {
  it('claims all items while the other runtime claims none', async () => {
    const { clock, assignments } = oneOfTwo();
    await clock.advance(100);
    assert.equal(assignments.held.size, 5, 'its share at once');
    await clock.advance(10_000);
    assert.equal(assignments.held.size, 10, 'then the leftovers');
  });

  it('evens out once the other runtime claims its share', async () => {
    const { clock, assignments, theirs, wake } = oneOfTwo();
    await clock.advance(10_000);
    wake();
    await clock.advance(70_000);
    assert.deepEqual([assignments.held.size, theirs.size], [5, 5]);
    await clock.advance(300_000);
    assert.deepEqual([assignments.held.size, theirs.size], [5, 5]);
  });

  it('leaves items unowned for a few seconds per minute at most while the other runtime claims none', async () => {
    const { clock, assignments } = oneOfTwo();
    await clock.advance(20_000);
    let away = 0;
    for (let second = 0; second < 300; second++) {
      await clock.advance(1_000);
      away += 10 - assignments.held.size;
    }
    assert.ok(away > 0, 'the surplus was released');
    assert.ok(away <= 5 * 5 * 8, `${away} seconds of 3,000 in all`);
  });

  it('claims its share within seconds of a late release, even if no notification of it arrives', async () => {
    const free = new Set<string>();
    const { clock, assignments } = oneOfTwo(free);
    // The other runtime still holds everything, as its last polls have not ended.
    await clock.advance(20_000);
    assert.equal(assignments.held.size, 0);
    for (const item of ['*', ...CLUSTERS.slice(0, 4)]) free.add(item);
    await clock.advance(4_000);
    assert.equal(assignments.held.size, 5);
  });

  it('leaves no timer behind', async () => {
    const { clock, assignments } = oneOfTwo();
    await clock.advance(20_000);
    await assignments.leave();
    assert.equal(clock.waiting, 0);
  });
});
