import assert from 'node:assert/strict';
import { OFFLINE, QueueFarm, type Runtime } from '../../helpers/queue-farm';

/** A model that no printer of the farm has. */
const OTHER = { require: { models: ['Other'] } };

describe('queue: a start and a takeover', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(async () => {
    all = new QueueFarm();
    for (const clusterId of all.farm.clusters.keys())
      all.farm.changes.set(clusterId, {
        printers: [{ uuid: `P of ${clusterId}`, status: 'idle', enabled: true, machine_variant: 'Model' }],
      });
    one = await all.begin({ match: 'strict' });
  });
  afterEach(() => all.close());

  const restart = () => {
    all.kill(one);
    one = all.start({ match: 'strict' });
  };
  const types = (from: Runtime) => from.types().filter((type) => /blocked|idle/.test(type));

  for (const [what, next] of [
    ['a restart', restart],
    [
      'a deploy',
      async () => {
        const closed = one.queue.close();
        await all.clock.advance(20_000);
        await closed;
        restart();
      },
    ],
  ] as const)
    it(`reports a blocked item and an idle queue once, and not again after ${what}`, async () => {
      await one.add('a', OTHER);
      await all.pass(60);
      assert.deepEqual(types(one), ['item.blocked']);
      await next();
      // One printer is read before the other.
      await all.clock.advance(40_000);
      all.poll('C1');
      await all.clock.advance(10_000);
      assert.deepEqual(types(one), []);
      await all.pass(60);
      assert.deepEqual(types(one), []);
      await one.does('remove', 'a');
      await all.pass(20);
      assert.deepEqual(types(one), ['item.unblocked']);
    });

  it('reports an item as blocked only once every printer was seen', async () => {
    restart();
    await one.add('a', OTHER);
    all.poll('C1');
    await all.clock.advance(10_000);
    assert.deepEqual(types(one), []);
    await all.pass(20);
    assert.deepEqual(types(one), ['item.blocked']);
  });

  it('reports what a person has decided at once, whether or not every printer was seen', async () => {
    all.farm.dispatch = 'absent';
    await one.add('b', { require: { models: ['Model'] }, copies: 1 });
    await all.pass(120);
    assert.equal(types(one)[0], 'item.blocked');
    all.farm.changes.set('C2', OFFLINE);
    all.farm.unreadable.add('C2');
    restart();
    await all.pass(60);
    await one.settle('b', 'printed');
    await all.pass(20);
    assert.ok(types(one).includes('item.unblocked'), one.types().join());
  });
});
