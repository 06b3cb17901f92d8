import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';

import { root } from '../../scripts/node-red.mjs';

interface Row {
  plateKey: string;
  isReachable: boolean;
  isPrinting: boolean;
  paused: boolean;
  text: string;
  last: { text: string; isPart: boolean } | null;
}

interface Board {
  printers: Row[];
  items: { text: string; reasons: string[] }[];
  blocked: number;
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
  show(shown: { printer: object; prints: object[] }): Row {
    return this.board(shown).printers[0]!;
  }

  /** Returns the board of one printer and one item. */
  board({
    printer,
    prints,
    ...more
  }: {
    printer: object;
    prints: object[];
    state?: string;
    waitingFor?: object[];
  }): Board {
    const copies = { total: 2, good: 1, active: 0, waiting: 1, held: 0, failed: 0, unknown: 0, rejected: 0 };
    const item = { itemId: 'item 1', name: 'part.gcode', state: 'waiting', position: 1, held: false, copies };
    const items = [
      { ...item, orderId: null, estimate: { seconds: 60 }, endedAt: null, waitingFor: [], prints, ...more },
    ];
    const row = {
      clusterId: CLUSTER,
      printerId: null,
      clusterName: 'Workbench',
      text: null,
      current: null,
      paused: null,
    };
    const explained = { printers: [{ ...row, ...printer }], paused: null, waiting: 1 };
    const board = this.#run('what the page shows', { payload: { at: TIME, items: [] }, items, explained });
    return (board as { payload: Board }).payload;
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
/** Print of the queue that ended well, and the queue's words for its part on the plate. */
const OURS = { copy: 1, attempt: 1, clusterJobId: 'ours' };
const ENDED = { ...OURS, clusterId: CLUSTER, printerId: null, state: 'finished', endedAt: TIME };
const WITH_PART = { ...AWAITING, current: { itemId: 'item 1', ...OURS } };
const job = (clusterJobId: string, name: string, status: string) => ({
  ...{ printerId: 'printer 1', clusterJobId, name },
  ...{ status, state: status === 'wait_cleanup' ? 'aborted' : status, timeElapsed: status === 'queued' ? 0 : 30 },
});

describe('the flow of the board', () => {
  let flow: BoardFlow;
  beforeEach(() => {
    flow = new BoardFlow();
  });

  it('asks for a verdict on a print of the queue, before and after the status with its end', () => {
    flow.see({ history: [job('foreign', 'vase', 'finished')] });
    for (const status of ['queued', 'printing', 'wait_cleanup']) {
      flow.see({ jobs: [job('ours', 'part.gcode', status)] });
      const { last, plateKey } = flow.show({ printer: WITH_PART, prints: [ENDED] });
      assert.deepEqual([last!.text, last!.isPart], ['part.gcode, copy 1 of 2: finished', true]);
      assert.equal(plateKey, `${KEY} ${TIME}`);
    }
  });

  it('asks for a verdict before any status has arrived after a restart', () => {
    assert.equal(flow.show({ printer: WITH_PART, prints: [ENDED] }).last?.isPart, true);
  });

  it('asks for no verdict on a failed print', () => {
    const { last } = flow.show({ printer: WITH_PART, prints: [{ ...ENDED, state: 'failed' }] });
    assert.deepEqual([last!.text, last!.isPart], ['part.gcode, copy 1 of 2: failed', false]);
  });

  it('names a print of somebody else that has followed one of the queue', () => {
    flow.see({ jobs: [job('foreign', 'vase', 'printing')], history: [job('ours', 'part.gcode', 'finished')] });
    const { last, plateKey } = flow.show({ printer: AWAITING, prints: [ENDED] });
    assert.deepEqual([last!.text, last!.isPart], ['vase, not of this queue', false]);
    assert.equal(plateKey, `${KEY} foreign`);
  });

  it('names nothing while no status shows what followed the print of the queue', () => {
    assert.equal(flow.show({ printer: AWAITING, prints: [ENDED] }).last, null);
    flow.see({ jobs: [job('other', 'vase', 'queued')], history: [job('ours', 'part.gcode', 'finished')] });
    assert.equal(flow.show({ printer: AWAITING, prints: [ENDED] }).last, null);
  });

  it('asks for no verdict while a copy of the queue waits behind the plate of somebody else', () => {
    flow.see({ jobs: [job('foreign', 'vase', 'wait_cleanup'), job('ours', 'part.gcode', 'queued')] });
    const { last, isPrinting } = flow.show({
      printer: WITH_PART,
      prints: [{ ...ENDED, state: 'dispatched', endedAt: null }],
    });
    assert.deepEqual([last!.text, last!.isPart, isPrinting], ['vase, not of this queue', false, false]);
  });

  it('keeps the name of the print on the plate of a printer that goes offline', () => {
    flow.see({ jobs: [job('foreign', 'vase', 'printing')] });
    flow.see({ online: false });
    const { last, isReachable } = flow.show({ printer: AWAITING, prints: [ENDED] });
    assert.deepEqual([last!.text, isReachable], ['vase, not of this queue', false]);
  });

  it('shows a printer as offline, and as online again, as soon as the queue does', () => {
    const show = (printer: object) => {
      const { text, isReachable } = flow.show({ printer: { plate: 'clear', ...printer }, prints: [] });
      return [text, isReachable];
    };
    flow.see({});
    const offline = { code: 'OFFLINE', text: 'The printer is offline.' };
    assert.deepEqual(show(offline), ['The printer is offline.', false]);
    flow.see({ online: false });
    assert.deepEqual(show({ code: 'BUSY', text: 'It is printing.' }), ['offline · It is printing.', false]);
    assert.deepEqual(show({ code: null }), ['free', true]);
  });

  it('offers to resume a printer that was paused while it prints', () => {
    const busy = { plate: 'clear', code: 'BUSY', text: 'The printer is busy.' };
    const of = (printer: object) => {
      const { text, paused } = flow.show({ printer, prints: [] });
      return [text, paused];
    };
    assert.deepEqual(of(busy), ['The printer is busy.', false]);
    const paused = { until: null, reason: null };
    assert.deepEqual(of({ ...busy, paused }), ['The printer is busy. · paused: no new prints', true]);
    const idle = { plate: 'clear', code: 'PAUSED', text: 'The printer is paused.', paused };
    assert.deepEqual(of(idle), ['The printer is paused.', true]);
  });

  it('counts what is blocked, and says so at the item', () => {
    const free = { printer: { plate: 'clear', code: null }, prints: [] };
    const waiting = flow.board(free);
    assert.equal(waiting.blocked, 0);
    assert.doesNotMatch(waiting.items[0]!.text, /blocked/);
    const blocked = flow.board({ ...free, state: 'blocked' });
    assert.equal(blocked.blocked, 1);
    assert.match(blocked.items[0]!.text, /^2 copies: .* · blocked$/);
  });

  it('counts the printers of a reason once', () => {
    const waitingFor = [
      { code: 'BUSY', printers: 4, text: '4 suitable printers are busy.' },
      { code: 'MATERIAL', printers: 3, text: 'It needs PLA and has ABS.' },
      { code: 'MODEL', printers: 1, text: 'It needs another model.' },
    ];
    const [item] = flow.board({ printer: { plate: 'clear', code: null }, prints: [], waitingFor }).items;
    const [busy, material, model] = waitingFor.map(({ text }) => text);
    assert.deepEqual([...item!.reasons], [busy, `${material} (And 2 more like this.)`, model]);
  });
});
