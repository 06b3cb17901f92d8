import assert from 'node:assert/strict';
import { phrase } from '../../../lib/words/sentence';
import { BoardCache, type BoardInput, printerBoard } from '../../../lib/queue/plan/printers';
import { answer, at, observation, type Wire } from '../events/observations';
import { GATE, NOW, RULES } from './items';

const statusOf = (clusterId: string, wire: Wire = {}) => ({ ...observation(answer(wire)).status, clusterId });

describe('queue/board-cache', () => {
  const statuses = new Map([
    ['C1', statusOf('C1')],
    ['C2', statusOf('C2')],
  ]);
  const input = (changed: Partial<BoardInput> = {}): BoardInput => ({
    clusterIds: ['C1', 'C2', 'C3'],
    viewOf: (clusterId) => {
      const status = statuses.get(clusterId);
      return status && { status, printers: status.printers, age: 0 };
    },
    gateOf: () => undefined,
    open: new Map(),
    paused: new Map(),
    refusalOf: () => null,
    usage: new Map(),
    rules: RULES,
    now: NOW,
    staleAfter: 120_000,
    suits: () => true,
    ...changed,
  });

  it('returns what changed anew, and everything else as it was', () => {
    const cache = new BoardCache();
    const first = cache.printers(input());
    assert.deepEqual(first, printerBoard(input()));
    statuses.set('C2', statusOf('C2', { print_jobs: [at('x', 'printing', 10)] }));
    const second = cache.printers(input());
    assert.deepEqual(second, printerBoard(input()));
    assert.deepEqual(
      second.map((printer, index) => printer === first[index]),
      [true, false, true],
    );
  });

  it('follows pauses, uses, gates and the age of a status', () => {
    const cache = new BoardCache();
    const changes: Partial<BoardInput>[] = [
      {},
      { paused: new Map([[JSON.stringify(['C1', null]), { until: null, reason: null }]]) },
      { usage: new Map([[JSON.stringify(['C1', null]), { lastUsedAt: NOW, usedFor: 1 }]]) },
      { gateOf: () => ({ ...GATE, clusterName: 'Left' }) },
      { refusalOf: () => ({ code: 'BUSY', sentence: phrase`Refused.` }) },
      { staleAfter: -1 },
    ];
    for (const changed of changes)
      assert.deepEqual(cache.printers(input(changed)), printerBoard(input(changed)), JSON.stringify(changed));
  });

  describe('differs', () => {
    const extruders = (volume: number) => [{ material: { guid: 'G' }, estimated_material_volume: volume }];
    const cleared = (changed: Partial<BoardInput> = {}) => input({ gateOf: () => GATE, ...changed });
    const printing = (percent: number, volume: number) => ({
      printers: [{ uuid: 'P1', status: 'printing', configuration: extruders(volume) }],
      print_jobs: [at('x', 'printing', percent)],
    });
    const idle = (volume: number) => ({
      printers: [{ uuid: 'P1', status: 'idle', configuration: extruders(volume) }],
    });
    const wires: [string, Wire, boolean][] = [
      ['the first status', printing(10, 900), true],
      ['the same once more', printing(10, 900), false],
      ['the progress of a print', printing(20, 800), false],
      ['the end of a print', idle(700), true],
      ['less material in a free printer', idle(600), true],
    ];

    it('ignores the progress of a print, and nothing else', () => {
      const cache = new BoardCache();
      const found = wires.map(([name, wire]) => {
        statuses.set('C1', statusOf('C1', wire));
        return [name, cache.differs(cleared(), 'C1')];
      });
      assert.deepEqual(
        found,
        wires.map(([name, , differs]) => [name, differs]),
      );
    });

    it('compares with the printers of the last plan', () => {
      statuses.set('C1', statusOf('C1'));
      const cache = new BoardCache();
      cache.printers(cleared());
      assert.equal(cache.differs(cleared(), 'C1'), false);
      assert.equal(cache.differs(cleared({ staleAfter: -1 }), 'C1'), true);
    });
  });
});
