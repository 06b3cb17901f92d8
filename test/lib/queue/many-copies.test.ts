import assert from 'node:assert/strict';
import { newItem, released, removed, retried, updated } from '../../../lib/queue/model/item-changes';
import { awaitedPrints, waitingCopies } from '../../../lib/queue/model/item';
import { rankAfter } from '../../../lib/queue/model/rank';
import { readRules } from '../../../lib/queue/model/rules';
import type { CopyState, ItemChanges, ItemRecord } from '../../../lib/queue/model/types';
import { movedRanks } from '../../../lib/queue/records/items';
import { MOST } from '../../helpers/hostile-texts';
import { nominalTime } from '../../helpers/nominal-time';

const COPIES = 10_000;
const context = { queueId: 'q', now: 1e12, lived: 0, rules: readRules({}) };
const numbers = Array.from({ length: COPIES }, (_, at) => at + 1);

const itemOf = (changes: ItemChanges): ItemRecord =>
  newItem(
    {
      ...{ itemId: 'i', queueKey: null, name: 'n', rank: 'a0', awaitsApproval: false, changes },
      files: [{ jobId: 'j', filename: 'a.gcode', size: 1, facts: null, isGone: false }],
    },
    context,
  );
/** An item of copies in one state, each with a print that ended so. */
const touchedItem = (state: CopyState, ended: 'failed' | 'finished' = 'failed'): ItemRecord => ({
  ...itemOf({ copies: COPIES }),
  touched: Object.fromEntries(numbers.map((copy) => [copy, state])),
  prints: numbers.map((copy) => ({ copy, attempt: 1, state: ended, counts: true, recall: null }) as never),
});
const copiesIn = (record: ItemRecord, state: CopyState) =>
  Object.values(record.touched).filter((one) => one === state).length;

describe(`queue: an item of ${COPIES} copies`, () => {
  const copies = itemOf({ copies: COPIES });
  const parts = itemOf({ wanted: COPIES });
  const inFront: ItemRecord = { ...copies, front: numbers };
  const failed = touchedItem('failed');
  const held = touchedItem('held');
  const printed = touchedItem('active', 'finished');
  /** The last copies have begun, so that those before them can only be dropped. */
  const begun: ItemRecord = { ...parts, touched: { [COPIES]: 'failed' } };
  const CHANGES: Record<string, [() => ItemRecord, (record: ItemRecord) => unknown, unknown]> = {
    'is removed': [() => removed(copies, context), (after) => copiesIn(after, 'cancelled'), COPIES],
    'is removed, with parts': [() => removed(parts, context), (after) => copiesIn(after, 'cancelled'), COPIES],
    'is removed after its copies failed': [
      () => removed(failed, context),
      (after) => copiesIn(after, 'cancelled'),
      COPIES,
    ],
    'is retried': [() => retried(failed, context), (after) => waitingCopies(after).length, COPIES],
    'is released': [() => released(held, context), (after) => waitingCopies(after).length, COPIES],
    'is to have fewer copies': [() => updated(copies, { copies: 1 }, 'a1', context), ({ copies: left }) => left, 1],
    'is to have fewer parts': [() => updated(parts, { wanted: 1 }, 'a1', context), ({ copies: left }) => left, 1],
    'is to have fewer parts while a copy has failed': [
      () => updated(begun, { wanted: 2 }, 'a1', context),
      (after) => copiesIn(after, 'dropped'),
      COPIES - 2,
    ],
    'waits for a verdict on each of its prints': [() => printed, (after) => awaitedPrints(after).length, COPIES],
    'has them in front of all others': [() => inFront, (after) => waitingCopies(after).length, COPIES],
  };
  for (const [title, [change, read, wanted]] of Object.entries(CHANGES))
    it(`costs less than ${MOST} ms when it ${title}`, async () => {
      const ms = await nominalTime(() => assert.equal(read(change()), wanted), MOST);
      assert.ok(ms < MOST, `${ms} ms`);
    });
});

describe('queue: 10,000 items of which half are moved', () => {
  it(`costs less than ${MOST} ms, and gives each a short rank`, async () => {
    const all: ItemRecord[] = [];
    for (const nth of numbers)
      all.push({ ...itemOf({}), itemId: `i${nth}`, rank: rankAfter(all.at(-1)?.rank ?? null) });
    const moved = all.slice(COPIES / 2);
    const order = all.map(({ itemId }) => itemId);
    const orderWith = (ranks: ReadonlyMap<string, string>) => {
      const ranked = all.map(({ itemId, rank }) => ({ itemId, rank: ranks.get(itemId) ?? rank }));
      return ranked.sort((one, other) => (one.rank < other.rank ? -1 : 1)).map(({ itemId }) => itemId);
    };
    let longest = 0;
    const ms = await nominalTime(() => {
      const ranks = movedRanks(moved, all, { order, orderWith }, { position: 2 });
      longest = Math.max(...[...ranks.values()].map(({ length }) => length));
      const [first, second] = orderWith(ranks);
      assert.deepEqual([first, second, ranks.size], ['i1', `i${COPIES / 2 + 1}`, moved.length]);
    }, MOST);
    assert.ok(ms < MOST, `${ms} ms`);
    assert.ok(longest <= 8, `${longest} characters`);
  });
});
