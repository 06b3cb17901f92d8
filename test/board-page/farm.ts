import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { Board, type BoardQueue } from '../../lib/board/board';
import type {
  Allow,
  Answer,
  BoardItem,
  BoardOrder,
  BoardPrint,
  BoardPrinter,
  BoardState,
  Need,
} from '../../lib/board/shapes';
import { PrintingError } from '../../lib/service/errors';
import { MemoryStore } from '../../lib/state/memory-store';
import { systemClock } from '../../lib/time/clock';
import { phrase, Sentence } from '../../lib/words/sentence';
import { type Assets, readAssets } from '../../nodes/board/assets';
import { nodeRedGuards } from '../../nodes/shared/guards';
import { webPaths } from '../../nodes/shared/web-paths';
import { answererOf, type PressReport } from '../../nodes/board/requests';
import { inLanguage } from '../../nodes/shared/language';
import { buildBoard } from '../../scripts/build.mjs';
import { catalogue, languages, readNodes } from '../../scripts/nodes.mjs';

const said = (text: string) => new Sentence(text);
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

export const printerOf = (
  clusterId: string,
  changes: Partial<BoardPrinter<Sentence>> = {},
): BoardPrinter<Sentence> => ({
  ...{ clusterId, printerId: null, clusterName: `Printer ${clusterId}`, printerName: null, state: 'idle' },
  ...{ sentence: said('Ready'), job: null, progress: null, endAt: null, pictureAt: null, next: null },
  ...{ plate: 'clear', paused: null, current: null },
  materials: [
    { extruder: 0, slot: null, material: { guid: null, brand: 'B', name: 'PLA', color: 'Red' }, left: 0.5, volume: 1 },
  ],
  ...changes,
});

export const itemOf = (itemId: string, changes: Partial<BoardItem<Sentence>> = {}): BoardItem<Sentence> => ({
  ...{ itemId, name: `${itemId}.gcode`, orderId: null, owner: null, state: 'waiting', held: false, priority: 0 },
  ...{ position: 1, createdAt: '2026-11-26T08:00:00.000Z', deadline: null, endedAt: null, eta: null, prints: [] },
  copies: { total: 3, waiting: 3, active: 0, good: 0, failed: 0, held: 0 },
  estimate: { seconds: 3600, cost: null },
  sentence: said('Waits for a free printer.'),
  ...changes,
});

export const printOf = (changes: Partial<BoardPrint<Sentence>> = {}): BoardPrint<Sentence> => ({
  ...{ copy: 1, attempt: 1, clusterId: '1', clusterName: 'Printer 1', printerId: null, clusterJobId: 'j' },
  ...{
    state: 'finished',
    reason: null,
    startedAt: null,
    endedAt: '2026-11-25T10:00:00.000Z',
    seconds: 4500,
    cost: 2.5,
  },
  ...changes,
});

export const needOf = (kind: Need<Sentence>['kind'], changes: Partial<Need<Sentence>> = {}): Need<Sentence> => ({
  ...{ id: `${kind} ${changes.clusterId ?? ''} ${changes.itemId ?? ''}`, kind, text: said('Somebody is needed.') },
  ...{ clusterId: null, printerId: null, itemId: null, since: null, answers: [] },
  ...changes,
});

const answer = (label: string, action: string, properties: Answer<Sentence>['properties']): Answer<Sentence> => ({
  ...{ label: said(label), action, properties },
});

/** The answers of a queue's needs, as its action `board` has them. */
export const ANSWERS = {
  plate: (judges: string, more: object = {}) => [
    answer('Good', 'plate-cleared', { judges, good: true, ...more }),
    answer('Bad', 'plate-cleared', { judges, good: false }),
  ],
  clear: (judges: string, good = true) => [answer('Clear', 'plate-cleared', { judges, good })],
  unknown: (itemId: string) => [
    answer('It printed', 'settle', { itemId, copy: 1, attempt: 1, outcome: 'printed' }),
    answer('It did not print', 'settle', { itemId, copy: 1, attempt: 1, outcome: 'not-printed' }),
  ],
  blocked: (itemId: string, ...printers: string[]) => [
    ...printers.map((printer) =>
      answer(`Print on Printer ${printer}`, 'update', { itemId, require: { printers: [printer] } }),
    ),
    answer('Print anyway', 'update', { itemId, require: { printers: ['4'], materials: [null] } }),
    answer('Remove', 'remove', { itemId }),
  ],
  failed: (itemId: string) => [answer('Again', 'retry', { itemId, copy: 1 })],
};

interface FarmOptions {
  allow?: Allow;
  /** Whether the board has a queue; default true. */
  hasQueue?: boolean;
  title?: string;
}

/** Writes the texts of the node as the build does. */
export function writeCatalogues(folder: string): void {
  const node = readNodes().find(({ name }) => name === 'board') ?? assert.fail();
  for (const language of languages()) {
    const place = join(folder, 'locales', language);
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'remote-printing-board.json'), JSON.stringify(catalogue(node, language)));
  }
}

let built: Assets | undefined;

/** The files of the page, built once. */
function page(): Assets {
  if (built) return built;
  const folder = mkdtempSync(join(tmpdir(), 'board-page-'));
  try {
    buildBoard(folder);
    writeCatalogues(folder);
    return (built = readAssets(folder, join(folder, 'locales')));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A board with a queue of the documented shape, whose state the test sets. */
export class Farm {
  printers: BoardPrinter<Sentence>[] = [];
  /** The account's list of printers. */
  readonly list = new Map<string, { clusterId?: string; name: string; online: boolean }>();
  items: BoardItem<Sentence>[] = [];
  orders: BoardOrder[] = [];
  todo: Need<Sentence>[] = [];
  forecast: NonNullable<BoardState<Sentence>['forecast']>['prints'] = [];
  materials: NonNullable<NonNullable<BoardState<Sentence>['forecast']>['materials']> = [];
  /** Why Printer 1 takes no item. */
  reason = said('It prints.');
  /** Why presses fail; null: they don't. */
  failure: PrintingError | null = null;
  readonly pressed: PressReport[] = [];
  readonly acted: { action: string; properties: Readonly<Record<string, unknown>> }[] = [];
  readonly files: { name: string; size: number; text: string; copies: string }[] = [];
  board!: Board;
  url!: string;
  #server!: Server;
  #app = express();
  #release: () => void = () => undefined;
  version: string | null = null;
  readonly #watchers = new Set<() => void>();

  async start(options: FarmOptions = {}): Promise<this> {
    this.open(options);
    this.#server = createServer(this.#app);
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/print-board/`;
    return this;
  }

  /** The page's texts in a language, by key, with their holes filled. */
  words(language: string): {
    all: Record<string, string>;
    say: (key: string, holes?: Record<string, string>) => string;
  } {
    const bytes = page().get(`words.${language}.json`)?.bytes ?? assert.fail(language);
    const all = JSON.parse(bytes.toString()) as Record<string, string>;
    const say = (key: string, holes: Record<string, string> = {}) =>
      (all[key] ?? assert.fail(key)).replace(/\{(\w+)\}/g, (_, name: string) => holes[name] ?? assert.fail(name));
    return { all, say };
  }

  /** Opens the board, as a deploy does. */
  open({ allow = 'all', hasQueue = true, title = 'Workshop' }: FarmOptions = {}): void {
    const assets = page();
    const version = this.version ?? assets.version;
    const queue: BoardQueue = {
      board: async () => this.#state(),
      count: async () => this.items.length,
      list: async ({ from, limit }) => this.items.slice(from, from + limit),
      explain: async (target) => {
        if (!this.items.some(({ itemId }) => 'itemId' in target && itemId === target.itemId)) throw gone;
        const at = { clusterId: '1', printerId: null, clusterName: 'Printer 1' };
        return [{ waitingFor: [{ ...at, code: 'BUSY', text: this.reason }] }] as never;
      },
      watchBoard: (onBoard) => {
        const send = () => onBoard({ value: this.#state() });
        this.#watchers.add(send);
        send();
        return () => this.#watchers.delete(send);
      },
    };
    const board = new Board({
      ...{ boardId: 'board', clock: systemClock, store: new MemoryStore(), service: {} as never },
      signIn: { state: 'signed-in', usable: true, onChange: () => () => undefined },
      watcher: {
        clusterList: { last: this.list, read: async () => this.list },
        hold: () => () => undefined,
        onObservation: () => () => undefined,
      } as never,
      queue: hasQueue ? queue : null,
      facts: { version, title, allow, hasQueue, currency: 'EUR' },
      takePicture: async () => ({ image: PIXEL, contentType: 'image/png', takenAt: new Date().toISOString() }),
      act: async (action, properties) => {
        if (this.failure) throw this.failure;
        this.acted.push({ action, properties });
        this.onAct(action, properties);
        this.changed();
      },
      translate: (language) => (sentence) => inLanguage(language, sentence),
    });
    this.board = board;
    const answer = answererOf({
      ...{ board, clock: systemClock, guards: nodeRedGuards({}), token: null, hosts: [] },
      assets: { ...assets, version },
      signal: new AbortController().signal,
      pressed: (report) => this.pressed.push(report),
      addFile: async ({ name, size, content, copies }) => {
        const parts: Buffer[] = [];
        for await (const part of content as AsyncIterable<Buffer>) parts.push(part);
        if (this.failure) throw this.failure;
        this.files.push({ name, size, text: Buffer.concat(parts).toString(), copies });
      },
    });
    this.#release = webPaths(this.#app).claim('/print-board', { answer, granted: () => undefined }).release;
  }

  /** Changes of an action. */
  onAct: (action: string, properties: Readonly<Record<string, unknown>>) => void = () => undefined;

  #state(): BoardState<Sentence> {
    const { printers, items, orders, todo } = this;
    const at = new Date().toISOString();
    return {
      at,
      printers,
      items,
      orders,
      todo,
      counts: {},
      forecast: { at, items: this.forecast, prints: this.forecast, materials: this.materials },
    };
  }

  changed(): void {
    for (const send of this.#watchers) send();
  }

  /** Closes the board, as a deploy or a restart does. */
  async close(): Promise<void> {
    await this.board.close();
    this.#release();
  }

  async stop(): Promise<void> {
    await this.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The one action so far. */
  get onlyAct() {
    assert.equal(this.acted.length, 1, JSON.stringify(this.acted));
    return this.acted[0];
  }
}

export const refused = new PrintingError('NOT_ACCEPTED', phrase`The printer is offline.`);
const gone = new PrintingError('QUEUE_ITEM_NOT_FOUND', phrase`The queue has no such item.`);
