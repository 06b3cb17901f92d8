import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';

import { root } from '../../scripts/node-red.mjs';

interface Row {
  plateKey: string;
  isReachable: boolean;
  text: string;
  last: { text: string; isPart: boolean } | null;
}

const CLUSTER = 'cluster 1';
const KEY = `${CLUSTER} null`;
const TIME = '2026-11-25T08:00:00.000Z';

/** The function nodes of the board, which share one flow context. */
class BoardFlow {
  readonly #functions = new Map<string, string>();
  readonly #flow = new Map<string, unknown>();

  constructor() {
    const text = readFileSync(join(root, 'examples/06-print-queue-with-a-board.json'), 'utf8');
    const nodes = JSON.parse(text) as { type: string; name: string; func: string }[];
    for (const { type, name, func } of nodes) if (type === 'function') this.#functions.set(name, func);
  }

  /** Hands a status of the cluster to the flow. */
  see(status: { online?: boolean; jobs?: object[]; history?: object[] }): void {
    const payload = { online: true, printers: [{ printerId: 'printer 1' }], jobs: [], history: [], ...status };
    this.#run('last seen', { topic: CLUSTER, payload });
  }

  /** Returns the row of the only printer. */
  show({ printer, prints }: { printer: object; prints: object[] }): Row {
    const copies = { total: 2, good: 1, active: 0, waiting: 1, held: 0, failed: 0, unknown: 0, rejected: 0 };
    const item = { itemId: 'item 1', name: 'part.gcode', state: 'waiting', position: 1, held: false, copies };
    const items = [{ ...item, orderId: null, estimate: { seconds: 60 }, endedAt: null, waitingFor: [], prints }];
    const shown = { clusterId: CLUSTER, printerId: null, clusterName: 'Workbench', text: null, current: null };
    const explained = { printers: [{ ...shown, ...printer }], paused: null, waiting: 1 };
    const board = this.#run('what the page shows', { payload: { at: TIME, items: [] }, items, explained });
    return (board as { payload: { printers: Row[] } }).payload.printers[0]!;
  }

  #run(name: string, msg: object): unknown {
    const flow = {
      get: (key: string) => this.#flow.get(key),
      set: (key: string, value: unknown) => void this.#flow.set(key, value),
    };
    return runInNewContext(`(() => {\n${this.#functions.get(name)!}\n})()`, { msg, flow, console });
  }
}

const AWAITING = { plate: 'awaiting', code: 'PLATE_NOT_CLEARED', text: 'Nobody has confirmed yet.' };
/** Print of the queue that ended well. */
const OURS = { clusterId: CLUSTER, printerId: null, copy: 1, state: 'finished', clusterJobId: 'ours', endedAt: TIME };
const printing = (clusterJobId: string, name: string) => ({
  ...{ printerId: 'printer 1', clusterJobId, name },
  ...{ status: 'printing', timeElapsed: 30 },
});

describe('the flow of the board', () => {
  it('asks for a verdict on a print of the queue', () => {
    const flow = new BoardFlow();
    flow.see({ jobs: [{ ...printing('ours', 'part.gcode'), status: 'wait_cleanup' }] });
    const { last, plateKey } = flow.show({ printer: AWAITING, prints: [OURS] });
    assert.deepEqual([last!.text, last!.isPart], ['part.gcode, copy 1 of 2: finished', true]);
    assert.equal(plateKey, `${KEY} ${TIME}`);
  });

  it('names a print of somebody else on the plate before the status with its end arrives', () => {
    const flow = new BoardFlow();
    flow.see({ history: [{ ...printing('ours', 'part.gcode'), status: 'finished' }] });
    flow.see({ jobs: [printing('foreign', 'vase')] });
    const { last, plateKey } = flow.show({ printer: AWAITING, prints: [OURS] });
    assert.deepEqual([last!.text, last!.isPart], ['vase, not of this queue', false]);
    assert.equal(plateKey, `${KEY} foreign`);
  });

  it('asks for a verdict on a print of the queue before the status with its end arrives', () => {
    const flow = new BoardFlow();
    flow.see({ history: [{ ...printing('foreign', 'vase'), status: 'finished' }] });
    flow.see({ jobs: [printing('ours', 'part.gcode')] });
    const { last } = flow.show({ printer: AWAITING, prints: [OURS] });
    assert.deepEqual([last!.text, last!.isPart], ['part.gcode, copy 1 of 2: finished', true]);
  });

  it('ignores a job that has not begun', () => {
    const flow = new BoardFlow();
    const waiting = { ...printing('foreign', 'vase'), status: 'queued', timeElapsed: 0 };
    flow.see({ jobs: [waiting], history: [{ ...printing('ours', 'part.gcode'), status: 'finished' }] });
    const { last } = flow.show({ printer: AWAITING, prints: [OURS] });
    assert.equal(last!.isPart, true);
  });

  it('keeps the print on the plate of a printer that goes offline', () => {
    const flow = new BoardFlow();
    flow.see({ jobs: [printing('foreign', 'vase')] });
    flow.see({ online: false, jobs: [], history: [] });
    const { last, isReachable } = flow.show({ printer: AWAITING, prints: [OURS] });
    assert.deepEqual([last!.text, isReachable], ['vase, not of this queue', false]);
  });

  it('shows an idle printer as offline as soon as the queue does', () => {
    const flow = new BoardFlow();
    flow.see({});
    const printer = { plate: 'clear', code: 'OFFLINE', text: 'The printer is offline.' };
    const { text, isReachable } = flow.show({ printer, prints: [OURS] });
    assert.deepEqual([text, isReachable], ['The printer is offline.', false]);
  });
});
