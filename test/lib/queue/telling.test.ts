import assert from 'node:assert/strict';
import { QueueStore } from '../../../lib/queue/records/records';
import { Telling } from '../../../lib/queue/records/telling';
import { MemoryStore } from '../../../lib/state/memory-store';
import { ManualClock } from '../../helpers/manual-clock';

describe('queue/records/telling', () => {
  const store = new QueueStore(new MemoryStore(), ['account', 'service', 'workspace']);
  const clock = new ManualClock();
  const open = new Set(['a', 'b', 'c']);

  it('claims no event that another lease has claimed since it was last read', async () => {
    const [one, two] = [new Telling(store, 'queue', clock), new Telling(store, 'queue', clock)];
    await Promise.all([one.load(), two.load()]);
    assert.deepEqual(await one.claim('1', ['a', 'b'], open), ['a', 'b']);
    assert.deepEqual(await two.claim('2', ['a', 'c'], open), ['c']);
    assert.equal(two.stateOf('a', '2'), 'left');
    await one.settle('1', new Set(['a']));
    assert.deepEqual(await two.claim('2', ['a', 'b'], open), ['b'], 'the other lease told only one of them');
    assert.equal(two.stateOf('a', '2'), 'told');
  });

  it('claims an event that a lost lease leaves for three minutes', async () => {
    const [one, two] = [new Telling(store, 'other', clock), new Telling(store, 'other', clock)];
    await one.claim('1', ['a'], open);
    assert.deepEqual(await two.claim('2', ['a'], open), []);
    await clock.advance(179_000);
    assert.deepEqual(await two.claim('2', ['a'], open), []);
    await clock.advance(1_000);
    assert.deepEqual(await two.claim('2', ['a'], open), ['a']);
  });

  it('leaves each event of a lost lease for three minutes of its own', async () => {
    const [one, two] = [new Telling(store, 'third', clock), new Telling(store, 'third', clock)];
    await one.claim('1', ['a'], open);
    await two.load();
    await clock.advance(170_000);
    await one.claim('1', ['b'], open);
    await two.load();
    await clock.advance(10_000);
    assert.deepEqual(await two.claim('2', ['a', 'b'], open), ['a']);
    await clock.advance(170_000);
    assert.deepEqual(await two.claim('2', ['b'], open), ['b']);
  });
});
