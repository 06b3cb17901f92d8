import assert from 'node:assert/strict';
import { type FarmPrint, type Life, QueueFarm, type Runtime } from '../../helpers/queue-farm';

/** Printer of the queue with each mode. */
const PRINTERS = { printer: 'C1', confirm: 'C2', automatic: 'C3' } as const;
type Mode = keyof typeof PRINTERS;

interface End {
  life: Life;
  /** What happens after the end. */
  after?: (queue: Runtime, print: FarmPrint) => unknown;
  /** States of the item, of its prints and of its copies, in all modes or each. */
  outcome: string | Record<Mode, string>;
  /** Plates that wait to be cleared. Default: none. */
  plates?: Mode[];
}

const endsAs = (...words: string[]): Life => [
  [0, 'printing'],
  ...words.map((word, at) => [30 + 20 * at, word] as const),
];
const GOOD = 'finished: finished; 1 good';
const TO_JUDGE = { printer: GOOD, confirm: 'active: finished; 1 active', automatic: GOOD };
const BAD = 'waiting: rejected; 1 waiting, 1 rejected';
const UNKNOWN = 'blocked: unknown; 1 unknown';
const ALL = ['printer', 'confirm', 'automatic'] as const;

describe('queue/ends', () => {
  let all: QueueFarm;

  beforeEach(() => {
    all = new QueueFarm();
    all.farm.clusters.set('C3', {});
  });
  afterEach(() => all.close());

  const clear =
    (...verdicts: boolean[]) =>
    async (queue: Runtime, { clusterId }: FarmPrint) => {
      await queue.pause();
      for (const isGood of verdicts) await queue.clear(isGood, clusterId);
    };

  const ENDS: Record<string, End> = {
    'a finished print': { life: endsAs('finished'), outcome: TO_JUDGE, plates: ['printer', 'confirm'] },
    'a finished print after its cleanup': {
      ...{ life: endsAs('wait_cleanup', 'finished'), outcome: TO_JUDGE, plates: ['confirm'] },
    },
    'a good plate': { life: endsAs('finished'), after: clear(true, true), outcome: GOOD },
    'a bad plate': { life: endsAs('finished'), after: clear(false), outcome: BAD },
    'a bad plate after a good one': { life: endsAs('finished'), after: clear(true, false), outcome: BAD },
    'no good plate after a bad one': { life: endsAs('finished'), after: clear(false, true), outcome: BAD },
    'a bad plate during the cleanup, before the end is known': {
      ...{ life: endsAs('wait_cleanup'), outcome: BAD },
      after: async (queue, print) => {
        await clear(false)(queue, print);
        all.farm.become(print, 'finished');
      },
    },
    'a failed print': { life: endsAs('failed'), outcome: 'failed: failed; 1 failed', plates: [...ALL] },
    'a print that failed in its first second': {
      ...{ life: [[0, 'failed']], outcome: 'failed: failed; 1 failed', plates: [...ALL] },
    },
    'a print that failed unseen': {
      ...{ life: [[0, '']], outcome: 'failed: failed; 1 failed', plates: [...ALL] },
      after: (queue) => queue.followed.forEach(({ end }) => end({ outcome: 'failed', job: null })),
    },
    'an aborted print': { life: endsAs('aborted'), outcome: 'held: aborted; 1 held', plates: [...ALL] },
    'a print that leaves no trace': { life: endsAs(''), outcome: UNKNOWN, plates: [...ALL] },
    'a print that a poll shows after all': {
      ...{ life: endsAs(''), outcome: TO_JUDGE, plates: ['printer', 'confirm'] },
      after: (_, print) => all.farm.become(print, 'finished'),
    },
    'a print at a printer that has left the account': {
      ...{ life: [[0, 'printing']], outcome: UNKNOWN },
      after: (queue, { clusterId }) => {
        all.farm.clusters.delete(clusterId);
        for (const { end } of queue.followed) end({ outcome: 'ended', job: null, isDisconnected: true });
      },
    },
  };

  for (const [title, { life, after, outcome, plates = [] }] of Object.entries(ENDS))
    it(`records ${title}`, async () => {
      const queues = new Map<Mode, Runtime>();
      for (const gate of ALL) queues.set(gate, all.start({ printers: [PRINTERS[gate]], gate }, { queueId: gate }));
      await all.pass(20);
      all.farm.lives.push(life, life, life);
      await Promise.all([...queues.values()].map((queue) => queue.add('a')));
      await all.pass(70);
      for (const [gate, queue] of queues) {
        await after?.(
          queue,
          all.farm.prints.find(({ clusterId }) => clusterId === PRINTERS[gate])!,
        );
      }
      await all.pass(20);
      const awaiting: Mode[] = [];
      for (const [gate, queue] of queues) {
        assert.equal(await queue.outcome('a'), typeof outcome === 'string' ? outcome : outcome[gate], gate);
        if ((await queue.printers())[0]?.plate === 'awaiting') awaiting.push(gate);
      }
      assert.deepEqual(awaiting, plates);
    });

  it('prints a failed copy again elsewhere while retries last, and a retry begins anew', async () => {
    const one = await all.begin({ retries: 1, gate: 'automatic' });
    all.farm.lives.push(...Array.from({ length: 3 }, () => endsAs('failed')));
    await one.add('a');
    await all.pass(90);
    assert.equal(await one.outcome('a'), 'failed: failed, failed; 1 failed');
    for (const clusterId of ['C1', 'C2']) await one.clear(true, clusterId);
    await one.does('retry', 'a');
    await all.pass(160);
    assert.equal(await one.outcome('a'), 'finished: failed, failed, failed, finished; 1 good');
    assert.deepEqual(all.farm.sent, ['C1 job', 'C2 job', 'C1 job', 'C2 job']);
    assert.deepEqual(one.types('item.'), ['item.queued', 'item.failed', 'item.reopened', 'item.finished']);
  });
});
