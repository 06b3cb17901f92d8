import assert from 'node:assert/strict';
import { PrintingError } from '../../../lib/service/errors';
import type { Key } from '../../../lib/state/store';
import { phrase } from '../../../lib/words/sentence';
import { QueueFarm, type Runtime } from '../../helpers/queue-farm';

const KEYS = ['a', 'b', 'c', 'd'];
const full = () => new PrintingError('FILE_NOT_WRITABLE', phrase`The disk is full.`);
const isOf = (kind: string, id: string) => (key: Key) => key[0] === kind && key.includes(id);

describe('queue: one failure among many', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => {
    all = new QueueFarm();
    all.farm.clusters.set('C3', {});
  });
  afterEach(() => all.close());

  const begin = async () => (one = await all.begin({ printers: ['C1', 'C2', 'C3'] }));
  const add = async (keys: readonly string[]) => {
    for (const key of keys) await one.add(key, { jobId: `job of ${key}` });
  };
  const failing = (fails: (key: Key) => boolean) =>
    one.beforeUpdates((key) => {
      if (fails(key)) throw full();
    });
  const jobs = () => all.farm.sent.map((sent) => sent.slice(3)).sort();
  const outcomes = async (keys: readonly string[]) => Promise.all(keys.map((key) => one.outcome(key)));
  const told = (key: string) => one.events.filter(({ item }) => item?.queueKey === key).map(({ type }) => type);
  const GOOD = 'finished: finished; 1 good';
  const ALL = ['item.queued', 'print.dispatched', 'print.started', 'print.finished', 'item.finished'];

  /** Four items on three printers. Returns the number of updates. */
  const run = async (fails: (count: number) => boolean) => {
    await begin();
    await one.pause();
    await add(KEYS);
    await one.resume();
    let count = 0;
    failing(() => fails(++count));
    await all.pass(260);
    return count;
  };

  it('prints every copy once and tells every event once, whichever update fails, once or for a while', async () => {
    const updates = await run(() => false);
    assert.ok(updates > 20, `${updates} updates`);
    for (const length of [1, 5])
      for (let first = 1; first <= updates; first++) {
        const where = `updates ${first} to ${first + length - 1}`;
        await all.close();
        all = new QueueFarm();
        all.farm.clusters.set('C3', {});
        await run((count) => count >= first && count < first + length);
        assert.deepEqual(
          jobs(),
          KEYS.map((key) => `job of ${key}`),
          where,
        );
        for (const key of KEYS) {
          assert.equal(await one.outcome(key), GOOD, where);
          assert.deepEqual(told(key), ALL, where);
        }
      }
  });

  const [first, ...others] = KEYS;

  it('prints the other items while the record of one can’t be written', async () => {
    await begin();
    await one.pause();
    await add(KEYS);
    const { itemId } = await one.item(first ?? '');
    await one.resume();
    failing(isOf('queue-item', itemId));
    await all.pass(240);
    assert.deepEqual(
      await outcomes(others),
      others.map(() => GOOD),
    );
    for (const key of others) assert.deepEqual(told(key), ALL);
  });

  it('prints at the other printers while the reservation of one can’t be written', async () => {
    await begin();
    failing(isOf('queue-printer', 'C1'));
    await add(KEYS);
    await all.pass(300);
    for (const outcome of await outcomes(KEYS)) assert.equal(outcome, GOOD);
  });

  it('prints at the other printers while the gate of one can’t be written', async () => {
    await begin();
    await add(KEYS.slice(0, 3));
    await all.pass(10);
    failing(([kind, ...ids]) => kind === 'queue-plate' && String(ids.at(-1)).includes('P of C1'));
    await add(KEYS.slice(3));
    await all.pass(300);
    assert.equal((await outcomes(KEYS)).filter((outcome) => outcome === GOOD).length, 3);
  });

  it('prints the other items at the only printer while the assignment of one can’t be written', async () => {
    one = await all.begin({ printers: ['C1'] });
    await one.pause();
    await add(KEYS);
    const { itemId } = await one.item(first ?? '');
    failing(isOf('queue-item', itemId));
    await one.resume();
    await all.pass(400);
    assert.deepEqual(
      jobs(),
      others.map((key) => `job of ${key}`),
    );
  });

  it('records the ends of the other prints while the end of one can’t be written', async () => {
    await begin();
    await add(KEYS.slice(0, 3));
    await all.pass(20);
    const { itemId } = await one.item(first ?? '');
    failing(isOf('queue-item', itemId));
    await all.pass(120);
    assert.deepEqual(await outcomes(['b', 'c']), [GOOD, GOOD]);
    assert.deepEqual(told('b'), ALL);
  });

  it('holds the items of an order that can be held, and names the refusal of the other one', async () => {
    await begin();
    all.farm.dispatch = 'unanswered';
    await one.add('a', { orderId: 'order' });
    await all.pass(10);
    await one.pause();
    for (const key of ['b', 'c']) await one.add(key, { orderId: 'order' });
    const hold = one.ask((queue, deadline) => queue.hold({ orderId: 'order' }, deadline));
    await assert.rejects(hold, { code: 'QUEUE_ITEM_BUSY' });
    await one.resume();
    await all.pass(20);
    assert.deepEqual((await one.list()).map(({ queueKey, held }) => [queueKey, held]).sort(), [
      ['a', false],
      ['b', true],
      ['c', true],
    ]);
    all.farm.answer();
  });

  it('plans at a start although the outcome of one dispatch is open', async () => {
    await begin();
    Object.assign(all.farm, { dispatch: 'unanswered', isHidden: true });
    await add(['a']);
    await all.pass(10);
    all.kill(one);
    Object.assign(all.farm, { dispatch: 'accepted', isHidden: false });
    all.farm.become(all.farm.prints[0], '');
    await begin();
    await add(['b']);
    await all.pass(70);
    const [open = '', other] = await outcomes(['a', 'b']);
    assert.match(open, /assigned|unknown/);
    assert.equal(other, GOOD);
  });
});
