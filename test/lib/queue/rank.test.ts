import assert from 'node:assert/strict';
import fc from 'fast-check';
import { rankAfter, rankBefore, rankBetween } from '../../../lib/queue/model/rank';

const isSorted = (ranks: readonly string[]) => ranks.every((rank, at) => at === 0 || (ranks[at - 1] ?? '') < rank);

describe('queue/rank', () => {
  it('keeps the order of items that are inserted anywhere', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 300 }), (places) => {
        const ranks: string[] = [];
        for (const place of places) {
          const at = place % (ranks.length + 1);
          ranks.splice(at, 0, rankBetween(ranks[at - 1] ?? null, ranks[at] ?? null));
        }
        assert.ok(isSorted(ranks), ranks.join(' '));
      }),
      { numRuns: 300 },
    );
  });

  for (const [name, keep] of [
    ['always before the same item', (round: number) => round >= 0],
    ['always behind the same item', (round: number) => round < 0],
    ['alternately before and behind the last one', (round: number) => round % 2 === 0],
  ] as const)
    it(`keeps the order of 10,000 items that are inserted ${name}, with a digit for five of them`, () => {
      let [low, high] = [rankBetween(null, null), rankAfter(rankBetween(null, null))];
      for (let round = 0; round < 10_000; round++) {
        const rank = rankBetween(low, high);
        assert.ok(low < rank && rank < high, `${low} ${rank} ${high}`);
        if (keep(round)) low = rank;
        else high = rank;
      }
      assert.ok(Math.max(low.length, high.length) <= 2_010, `${low.length} ${high.length}`);
    });

  it('needs four digits for a hundred thousand items at either end', () => {
    let [low, high] = ['a0', 'a0'];
    for (let item = 0; item < 100_000; item++) {
      const [below, above] = [rankBefore(low), rankAfter(high)];
      assert.ok(below < low && above > high, `${below} ${low} ${high} ${above}`);
      [low, high] = [below, above];
    }
    assert.ok(low.length <= 4 && high.length <= 4, `${low} ${high}`);
  });

  it('keeps apart two items that are added behind the same one, with room between them', () => {
    const ids = fc.uniqueArray(fc.stringMatching(/^[1-9a-f]{8}$/), { minLength: 2, maxLength: 2 });
    fc.assert(
      fc.property(ids, (given) => {
        const [one = '', other = ''] = given.map((id) => rankAfter('a5', id)).sort();
        const between = rankBetween(one, other);
        assert.ok(one < between && between < other, `${one} ${between} ${other}`);
        assert.ok(rankAfter(other, 'x') > other && rankBefore(one) < 'a5x');
      }),
    );
  });
});
