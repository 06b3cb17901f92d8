import assert from 'node:assert/strict';
import { QueueBoard } from '../../../lib/queue/board/board';
import type { QueueContext } from '../../../lib/queue/run/context';
import { readClusterStatus } from '../../../lib/service/cluster';
import { systemClock } from '../../../lib/time/clock';
import { MOST } from '../../helpers/hostile-texts';
import { nominalStand } from '../../helpers/nominal-time';

const PRINTERS = 10_000;

/** A queue without items whose printers all print. */
function queueOf(clusterIds: readonly string[]): QueueContext {
  const forecast = { at: '', items: [], prints: [], orders: [], idleAt: null, materials: [] };
  const explained = (clusterId: string) => ({
    ...{ clusterId, printerId: null, clusterName: clusterId, printerName: null, free: false, plate: 'clear' },
    ...{ judges: null, code: 'BUSY', text: null, paused: null, lastUsedAt: null, hours: 0, current: null },
  });
  const viewOf = (clusterId: string) => {
    const print_jobs = [{ uuid: `job of ${clusterId}`, status: 'printing', time_elapsed: 10, time_total: 99 }];
    const wire = { is_online: true, printers: [{ uuid: clusterId, status: 'printing' }], print_jobs };
    const status = readClusterStatus(wire, { clusterId, receivedAt: '', identity: null });
    return { status, printers: status.printers, age: 0 };
  };
  const views = new Map(clusterIds.map((clusterId) => [clusterId, viewOf(clusterId)]));
  return {
    ...{ queueId: 'q', clock: systemClock, rules: { gate: 'confirm' }, obstacle: () => null, views },
    data: {
      items: new Map(),
      gates: { of: () => undefined, all: [] },
      plates: { verdicts: () => new Map() },
    },
    view: {
      ...{ looks: 0, changes: 0, isComplete: false, listed: () => [] },
      recentForecast: () => Promise.resolve({ forecast, next: new Map() }),
      explainedPrinters: () => clusterIds.map(explained).values(),
    },
  } as unknown as QueueContext;
}

describe('queue/board of many printers', () => {
  it(`blocks the event loop for less than ${MOST} ms with ${PRINTERS} printers`, async () => {
    const queue = queueOf(Array.from({ length: PRINTERS }, (_, nth) => `C${nth}`));
    const board = new QueueBoard(queue);
    const ms = await nominalStand(async () => {
      // Each look makes another board.
      queue.view.looks++;
      const { printers } = await board.make();
      assert.equal(printers.length, PRINTERS);
      assert.equal(printers[0]?.state, 'printing');
    }, MOST);
    assert.ok(ms < MOST, `${ms} ms`);
  });
});
