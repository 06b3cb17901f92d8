import assert from 'node:assert/strict';
import { QueueFarm, refusal, type Runtime } from '../../helpers/queue-farm';

const MINUTE = 60_000;
const RULES = { printers: ['C1'], gate: 'printer' } as const;

describe('queue: items that the forecast expects to be late', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const printsTake = (seconds: number) => all.farm.metadata.set('job', { print: { estimated_time: seconds } });
  const deadlineIn = (minutes: number) => ({ deadlineAt: all.clock.now() + minutes * MINUTE });
  const overdue = () => one.events.flatMap(({ type, item }) => (type === 'item.overdue' ? [item?.queueKey] : []));
  /** Lets the queue search, so that its next search is due in a minute. */
  const search = async () => {
    await one.add('far', { held: true, ...deadlineIn(1_000) });
    await all.pass(20);
  };
  /** When an item is expected to begin, minutes from now. */
  const startOf = async (queueKey: string) => {
    const { itemId } = await one.item(queueKey);
    const { at, items } = await one.ask((queue) => queue.forecast());
    const { startAt = null } = items.find((item) => item.itemId === itemId) ?? {};
    return startAt === null ? null : Math.ceil((Date.parse(startAt) - Date.parse(at)) / MINUTE);
  };

  it('are told once every printer was seen, as one that was not may be free', async () => {
    printsTake(40 * 60);
    one = all.start();
    await all.clock.advance(1000);
    all.poll('C1');
    await one.add('in time', { copies: 2, ...deadlineIn(60) });
    await one.add('late', { copies: 4, ...deadlineIn(60) });
    assert.deepEqual(overdue(), []);
    all.poll('C2');
    await all.pass(20);
    assert.deepEqual(overdue(), ['late']);
  });

  for (const [why, refuse, allow] of [
    ['was not free', () => all.farm.refusing.set('C1', refusal(409)), () => all.farm.refusing.clear()],
    ['could not be read', () => all.farm.unreadable.add('C1'), () => all.farm.unreadable.clear()],
  ] as const)
    it(`are not those of a printer that ${why} a moment ago`, async () => {
      one = await all.begin(RULES);
      printsTake(60);
      await search();
      refuse();
      await one.add('in time', deadlineIn(40));
      await all.pass(20);
      allow();
      const start = await startOf('in time');
      await all.pass(200);
      assert.deepEqual([overdue(), start, (await one.item('in time')).state], [[], 1, 'finished']);
    });

  it('are not those of a printer that is tried with one item at a time', async () => {
    one = await all.begin(RULES);
    all.farm.refusing.set('C1', refusal(403));
    for (const queueKey of ['a', 'b', 'c']) await one.add(queueKey);
    await all.pass(20);
    assert.deepEqual([await startOf('a'), (await one.printers())[0]?.code], [1, 'REFUSED']);
  });

  for (const word of ['failed_post_print', 'aborted_post_print'])
    it(`are not those of a printer whose print has ended: ${word}`, async () => {
      one = await all.begin(RULES);
      printsTake(60);
      await search();
      const [end] = word.split('_');
      all.farm.lives.push([
        [0, 'printing'],
        [20, word],
        [120, `${end}_wait_cleanup`],
        [180, `${end}`],
      ]);
      await one.add('ended');
      await all.pass(20);
      await one.add('in time', deadlineIn(40));
      await all.pass(10);
      const start = await startOf('in time');
      await all.pass(300);
      // People clear a plate in ten minutes.
      assert.deepEqual([overdue(), start, (await one.item('in time')).state], [[], 10, 'finished']);
    });

  it('are not those that are late only as the lengths of prints are unknown', async () => {
    one = await all.begin({ ...RULES, gate: 'automatic' });
    all.farm.printByHand('C1', [
      [0, 'printing'],
      [200, 'finished'],
    ]);
    await all.pass(10);
    await one.add('in time', deadlineIn(30));
    printsTake(300);
    await all.pass(600);
    assert.deepEqual([overdue(), (await one.item('in time')).state], [[], 'finished']);
  });
});
