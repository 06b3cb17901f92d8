import assert from 'node:assert/strict';
import { Board, type BoardOptions } from '../../../lib/board/board';
import type { BoardItem } from '../../../lib/board/shapes';
import { MemoryStore } from '../../../lib/state/memory-store';
import { Deadline } from '../../../lib/time/deadline';
import type { Sentence } from '../../../lib/words/sentence';
import { phrase } from '../../../lib/words/sentence';
import { ManualClock } from '../../helpers/manual-clock';

const item = (itemId: string): BoardItem<Sentence> => ({
  ...{ itemId, name: itemId, orderId: null, owner: null, state: 'finished', held: false, priority: 0, position: null },
  ...{ createdAt: '', deadline: null, endedAt: null, eta: null, sentence: phrase`done` },
  copies: { total: 1, waiting: 0, active: 0, good: 1, failed: 0, held: 0 },
  estimate: { seconds: null, cost: null },
  prints: [
    {
      ...{ copy: 1, attempt: 1, clusterId: 'c', clusterName: 'Printer', printerId: null, clusterJobId: itemId },
      ...{ state: 'failed', reason: phrase`jam`, startedAt: null, endedAt: '2026-11-26T10:00:00.000Z', seconds: 60 },
      cost: null,
    },
  ],
});

describe('lib/board/board', () => {
  let read: string[];
  let items: BoardItem<Sentence>[];
  let board: Board;
  let facts: { allow: string };
  let todo: object[];
  let acts: unknown[];

  beforeEach(() => {
    [read, items, todo, acts] = [[], [item('a')], [], []];
    facts = { version: '1', title: 'Board', allow: 'look', hasQueue: true, currency: null } as typeof facts;
    board = new Board({
      ...{
        boardId: 'b',
        clock: new ManualClock(),
        store: new MemoryStore(),
        service: {},
        signIn: { onChange: () => () => undefined },
      },
      watcher: { clusterList: { last: new Map() }, hold: () => () => undefined, onObservation: () => () => undefined },
      queue: {
        board: async () => {
          read.push('board');
          await new Promise(setImmediate);
          return { at: '', printers: [], items: [], orders: [], todo, counts: {}, forecast: null };
        },
        list: async ({ from, limit }: { from: number; limit: number }) => {
          read.push('list');
          await new Promise(setImmediate);
          return items.slice(from, from + limit);
        },
        count: () => Promise.resolve(items.length),
      },
      facts,
      takePicture: () => Promise.reject(new Error('no camera')),
      act: (_: string, properties: object) => Promise.resolve(void acts.push(properties)),
      translate: (language: string) => (sentence: Sentence) => `${language} ${String(sentence)}`,
    } as unknown as BoardOptions);
  });
  afterEach(() => board.close());

  it('changes what an item requires as one of its answers does, and not otherwise', async () => {
    const offered = { itemId: 'i', require: { tags: ['food-safe'], printers: ['c'] } };
    todo = [{ answers: [{ action: 'remove', properties: { itemId: 'i' } }] }];
    todo.push({
      answers: [{ action: 'update', properties: { ...offered, require: { ...offered.require, models: undefined } } }],
    });
    let count = 0;
    const press = async (properties: Record<string, unknown>, key = `key-${++count}`.padEnd(20, '-')) => {
      const deadline = new Deadline(new ManualClock(), { ms: 1000 });
      const { outcome, isRepeat } = await board.press({ key, action: 'update', properties }, deadline);
      return [outcome.ok, isRepeat];
    };
    facts.allow = 'press';
    const { tags, printers } = offered.require;
    for (const wrong of [null, {}, { printers }, { tags, printers: ['d'] }, { tags: [], printers }])
      await assert.rejects(press({ itemId: 'i', require: wrong }), { code: 'FORBIDDEN' });
    await assert.rejects(press({ ...offered, itemId: 'other' }), { code: 'FORBIDDEN' });
    assert.deepEqual(acts, []);
    assert.deepEqual(await press({ itemId: 'i', require: { printers, tags } }, 'the-same-key-of-it'), [true, false]);
    assert.deepEqual(await press({ itemId: 'i', priority: 3 }), [true, false]);
    // It has helped, so it is offered no more.
    todo = [];
    assert.deepEqual(await press({ itemId: 'i', require: { printers, tags } }, 'the-same-key-of-it'), [true, true]);
    assert.equal(acts.length, 2);
    facts.allow = 'all';
    assert.deepEqual(await press({ itemId: 'i', require: {} }), [true, false]);
  });

  const many = <T>(ask: () => Promise<T>) => Promise.all(Array.from({ length: 50 }, ask));

  it('reads itself twice at most for many requests that come at the same time', async () => {
    const texts = await many(() => board.whole('en'));
    assert.equal(new Set(texts).size, 1);
    assert.match(texts[0] ?? '', /"title":"Board"/);
    assert.deepEqual(read, ['board', 'board']);
  });

  it('reads the history twice at most for many requests that come at the same time', async () => {
    const pages = await many(() => board.history(0));
    assert.ok(pages.every(({ total, prints }) => total === 1 && prints[0]?.id === 'a 1 1'));
    assert.deepEqual(read, ['list', 'list']);
  });

  it('reads the history twice at most for a table in each of several languages', async () => {
    const [english, french] = await Promise.all([many(() => board.csv('en')), many(() => board.csv('fr'))]);
    assert.ok(english.every((csv) => csv.includes(',failed,en jam,')));
    assert.ok(french.every((csv) => csv.includes(',failed,fr jam,')));
    assert.ok(read.length <= 4, read.join(' '));
  });

  it('shows a print that has ended since the last read began', async () => {
    const before = board.history(0);
    items = [item('b'), ...items];
    const after = board.history(0);
    assert.deepEqual([(await before).total > 0, (await after).total], [true, 2]);
  });

  it('lists a print once though its item moves during the read', async () => {
    items = Array.from({ length: 1_000 }, (_, nth) => item(`i${nth}`));
    const asked = board.history(0);
    await new Promise(setImmediate);
    items = [item('new'), ...items];
    const { total } = await asked;
    assert.equal(total, 1_001);
  });

  it('lists the print of an item that takes the place of another one during the read', async () => {
    items = Array.from({ length: 1_500 }, (_, nth) => item(`i${nth}`));
    const asked = board.history(0);
    await new Promise(setImmediate);
    const [first, ...others] = items;
    items = [...others, ...(first ? [first] : [])];
    const { total } = await asked;
    assert.equal(total, 1_500);
  });
});
