import assert from 'node:assert/strict';
import { csvOf as csvInTurns, PastPrints } from '../../../lib/board/history';
import type { BoardItem, BoardPrint, PastPrint } from '../../../lib/board/shapes';
import { systemClock } from '../../../lib/time/clock';
import { Turns } from '../../../lib/time/concurrency';
import { MOST } from '../../helpers/hostile-texts';
import { nominalStand } from '../../helpers/nominal-time';

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

async function historyOf(items: readonly BoardItem<string>[]): Promise<PastPrint<string>[]> {
  const past = new PastPrints<string>(new Turns(systemClock));
  for (const one of items) await past.add(one);
  return past.sorted();
}
const csvOf = (prints: readonly PastPrint<string>[]) =>
  csvInTurns(prints, (reason) => `shown ${reason}`, new Turns(systemClock));

describe('lib/board/history', () => {
  it('lists the prints that have ended, the newest first', async () => {
    const ends = ['26T10:00:00.001', '26T11:00:00.000', '26T10:00:00.002', '26T10:00:00.001', '25T23:00:00.000'];
    const ended = ends.map((at, nth) => print({ copy: nth + 1, endedAt: `2026-11-${at}Z` }));
    const prints = [...ended, print({ copy: 6, endedAt: null })];
    assert.deepEqual(
      (await historyOf([item({ prints })])).map(({ copy }) => copy),
      [2, 3, 1, 4, 5],
    );
  });

  it(`blocks the event loop for less than ${MOST} ms with 50,000 prints`, async () => {
    const prints = Array.from({ length: 50_000 }, (_, nth) =>
      print({ copy: nth, endedAt: new Date(Date.UTC(2026, 10) - ((nth * 7919) % 7_000_000) * 1000).toISOString() }),
    );
    const items = prints.map((one, nth) => item({ itemId: `i${nth}`, prints: [one] }));
    let past: PastPrint<string>[] = [];
    assert.ok((await nominalStand(async () => (past = await historyOf(items)), MOST)) < MOST);
    assert.equal(past.length, prints.length);
    assert.ok((await nominalStand(() => csvOf(past), MOST)) < MOST);
  });

  it('adds up what was used, and knows no sum where a part is unknown', async () => {
    const used = (...weights: (number | null)[]) => ({ used: weights.map((weight) => ({ weight })) });
    const past = await historyOf([used(1.5, 2), used(1, null), {}].map((more) => item({ prints: [print(more)] })));
    assert.deepEqual(
      past.map(({ weight }) => weight),
      [3.5, null, null],
    );
  });

  it('writes cells that no table program runs', async () => {
    for (const name of ['=1+1', '+1', '-1', '@x', ' =1', '\t=1', '\r=1', '＝1', '\n=1'])
      assert.ok((await csvOf(await historyOf([item({ name })]))).includes(`,"'${name}",`), JSON.stringify(name));
    assert.ok((await csvOf(await historyOf([item({ name: 'a=b' })]))).includes(',a=b,'));
  });

  it('quotes separators, quotes and line ends', async () => {
    const csv = await csvOf(await historyOf([item({ name: 'a,"b"\r\nc;d', prints: [print({ reason: 'jam' })] })]));
    assert.ok(csv.includes(',shown jam,'));
    assert.ok(csv.includes(',"a,""b""\r\nc;d",'));
    assert.match(csv, /^\ufeffendedAt,printer,item,/);
  });
});
