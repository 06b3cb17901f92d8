import assert from 'node:assert/strict';
import type { PrintQueue } from '../../../lib/queue/print-queue';
import { EXPLAINED } from '../../../lib/rules/limits';
import { underDeadline } from '../../../lib/time/deadline';
import { listFields } from '../../../nodes/print-queue/messages';
import { QueueFarm, type Runtime } from '../../helpers/queue-farm';

/** Turns of the event loop while `work` runs, with a clock at which every stretch of work is long. */
async function turnsIn(clock: { monotonic: () => number }, work: () => Promise<unknown>): Promise<number> {
  const { monotonic } = clock;
  let [turns, over, now] = [0, false, monotonic()];
  clock.monotonic = () => (now += 11);
  const turn = () => {
    turns++;
    if (!over) setImmediate(turn);
  };
  setImmediate(turn);
  try {
    await work();
  } finally {
    over = true;
    clock.monotonic = monotonic;
  }
  return turns;
}

describe('queue: answers of many items', () => {
  let all: QueueFarm;
  let one: Runtime;

  beforeEach(() => void (all = new QueueFarm()));
  afterEach(() => all.close());

  const begin = async (printers: number, items: number) => {
    const ids = Array.from({ length: printers }, (_, nth) => `C${nth}`);
    for (const id of ids) {
      all.farm.clusters.set(id, {});
      all.farm.printByHand(id, [[0, 'printing']]);
    }
    one = await all.begin({ printers: ids });
    const request = { source: null, jobId: 'job', jobName: '', orderId: 'order', onProgress: () => undefined };
    const added = underDeadline(all.clock, { ms: 600_000 }, (deadline) =>
      Promise.all(
        Array.from({ length: items }, (_, nth) => one.queue.add({ ...request, queueKey: `k${nth}`, deadline })),
      ),
    );
    await all.clock.advance(60_000);
    await added;
  };
  const ORDER = { orderId: 'order' };

  it('lets the event loop turn between the items of a list, an explanation and a message', async () => {
    await begin(2, 60);
    const { clock } = one.memory;
    const works: ((queue: PrintQueue) => Promise<unknown>)[] = [
      (queue) => queue.list({ from: 0, limit: 60 }),
      (queue) => queue.explain(ORDER),
      async (queue) =>
        listFields({ _: () => 'en-US' } as never, await queue.list({ from: 0, limit: 60 }), false, clock),
    ];
    await one.queue.list({ from: 0, limit: 1 });
    const fewest = await turnsIn(clock, () => one.queue.list({ from: 0, limit: 1 }));
    const turns = [];
    for (const work of works) turns.push((await turnsIn(clock, () => work(one.queue))) - fewest);
    assert.ok(
      turns.every((more, at) => more >= [50, 50, 100][at]!),
      turns.join(', '),
    );
  });

  it('refuses the explanation of an order that has too many reasons, and explains each of its items', async () => {
    const [printers, items] = [500, Math.ceil(EXPLAINED / 500) + 1];
    await begin(printers, items);
    await assert.rejects(one.queue.explain(ORDER), { code: 'INVALID_INPUT', message: /msg\.itemId/ });
    const [item] = await one.queue.explain({ queueKey: 'k7' });
    assert.equal(item?.waitingFor.filter(({ code }) => code === 'BUSY').length, printers);
    assert.equal((await one.queue.list({ from: 0, limit: 1_000, ...ORDER })).length, items);
  });
});
