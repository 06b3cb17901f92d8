import assert from 'node:assert/strict';
import { csvOf, historyOf } from '../../../lib/board/history';
import type { BoardItem, BoardPrint } from '../../../lib/board/shapes';

const print = (changes: Partial<BoardPrint<string>> = {}): BoardPrint<string> => ({
  ...{ copy: 1, attempt: 1, clusterId: 'c', clusterName: 'Printer', printerId: null, clusterJobId: 'j' },
  ...{ state: 'finished', reason: null, startedAt: null, endedAt: '2026-11-26T10:00:00.000Z', seconds: 60, cost: null },
  ...changes,
});
const item = (changes: Partial<BoardItem<string>> = {}): BoardItem<string> => ({
  ...{ itemId: 'i', name: 'vase.gcode', orderId: null, owner: null, state: 'finished', held: false, priority: 0 },
  ...{ position: null, createdAt: '', deadline: null, endedAt: null, eta: null, sentence: '' },
  copies: { total: 1, waiting: 0, active: 0, good: 1, failed: 0, held: 0 },
  estimate: { seconds: null, cost: null },
  prints: [print()],
  ...changes,
});

describe('lib/board/history', () => {
  it('lists the prints that have ended, the newest first', () => {
    const prints = [
      print({ copy: 1 }),
      print({ copy: 2, endedAt: '2026-11-26T11:00:00.000Z' }),
      print({ copy: 3, endedAt: null }),
    ];
    assert.deepEqual(
      historyOf([item({ prints })]).map(({ copy }) => copy),
      [2, 1],
    );
  });

  it('adds up what was used, and knows no sum where a part is unknown', () => {
    const used = (...weights: (number | null)[]) => ({ used: weights.map((weight) => ({ weight })) });
    const weights = [used(1.5, 2), used(1, null), {}].map(
      (more) => historyOf([item({ prints: [print(more)] })])[0]?.weight,
    );
    assert.deepEqual(weights, [3.5, null, null]);
  });

  it('writes cells that no table program runs', () => {
    for (const name of ['=1+1', '+1', '-1', '@x', ' =1', '\t=1', '\r=1', '＝1', '\n=1'])
      assert.ok(csvOf(historyOf([item({ name })])).includes(`,"'${name}",`), JSON.stringify(name));
    assert.ok(csvOf(historyOf([item({ name: 'a=b' })])).includes(',a=b,'));
  });

  it('quotes separators, quotes and line ends', () => {
    const csv = csvOf(historyOf([item({ name: 'a,"b"\r\nc;d' })]));
    assert.ok(csv.includes(',"a,""b""\r\nc;d",'));
    assert.match(csv, /^\ufeffendedAt,printer,item,/);
  });
});
