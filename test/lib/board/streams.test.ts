import assert from 'node:assert/strict';
import type { BoardView } from '../../../lib/board/document';
import type { BoardItem, Change } from '../../../lib/board/shapes';
import { HEARTBEAT, type Sink, Streams } from '../../../lib/board/streams';
import { type Clock, systemClock } from '../../../lib/time/clock';
import { phrase, type Sentence } from '../../../lib/words/sentence';
import { ManualClock, settle } from '../../helpers/manual-clock';

const item = (itemId: string, changes: Partial<BoardItem<Sentence>> = {}): BoardItem<Sentence> => ({
  ...{ itemId, name: `${itemId}.gcode`, orderId: null, owner: null, state: 'waiting', held: false, priority: 0 },
  ...{ position: 1, createdAt: '', deadline: null, endedAt: null, eta: null, prints: [] },
  copies: { total: 1, waiting: 1, active: 0, good: 0, failed: 0, held: 0 },
  estimate: { seconds: null, cost: null },
  sentence: phrase`The printer is offline.`,
  ...changes,
});

const viewOf = (items: BoardItem<Sentence>[], todo: BoardView['state']['todo'] = []): BoardView => ({
  facts: { version: '1', title: 'Workshop', allow: 'press', hasQueue: true, currency: null },
  state: { at: '', printers: [], items, orders: [], todo, counts: {}, forecast: null },
  notices: [],
});

class Page implements Sink {
  readonly changes: Change[] = [];
  isBehind = false;
  isEnded = false;
  constructor(readonly language = 'en-US') {}
  write(text: string): void {
    assert.match(text, /^data: [^\n]*\n\n$/);
    this.changes.push(JSON.parse(text.slice('data: '.length)) as Change);
  }
  end(): void {
    this.isEnded = true;
  }
  get items() {
    return this.changes.map(({ sections }) => sections?.items);
  }
}

describe('lib/board/streams', () => {
  let clock: ManualClock;
  let view: BoardView;
  let reads: number;
  let streams: Streams;
  beforeEach(() => {
    clock = new ManualClock();
    view = viewOf([item('a'), item('b')]);
    reads = 0;
    streams = new Streams({
      clock,
      read: async () => {
        reads++;
        return view;
      },
      translate: (language) => (sentence) => (language === 'de' ? `DE ${String(sentence)}` : String(sentence)),
    });
  });
  afterEach(() => {
    streams.close();
    assert.equal(clock.waiting, 0);
  });
  const change = async (next: BoardView) => {
    view = next;
    streams.changed();
    await clock.advance(1_000);
  };

  it('sends the whole first, then only what changed', async () => {
    const page = new Page();
    streams.open(page);
    await clock.advance(0);
    assert.deepEqual([page.changes[0]?.isWhole, page.items[0]?.ids], [true, ['a', 'b']]);
    await change(viewOf([item('a'), item('b', { priority: 5 }), item('c')]));
    assert.equal(page.changes[1]?.isWhole, undefined);
    assert.deepEqual(page.items[1]?.ids, ['a', 'b', 'c']);
    assert.deepEqual(Object.keys(page.items[1]?.set ?? {}), ['b', 'c']);
    await change(viewOf([item('c'), item('a'), item('b', { priority: 5 })]));
    assert.deepEqual([page.items[2]?.ids, page.items[2]?.set], [['c', 'a', 'b'], undefined]);
  });

  it('sends nothing where nothing changed, and at most one message a second', async () => {
    const page = new Page();
    streams.open(page);
    await clock.advance(0);
    await change(viewOf([item('a'), item('b')]));
    assert.equal(page.changes.length, 1);
    for (let at = 0; at < 40; at++) {
      view = viewOf([item('a', { priority: at })]);
      streams.changed();
      await clock.advance(100);
    }
    assert.ok(page.changes.length <= 6, String(page.changes.length));
    await clock.advance(1_000);
    assert.ok(JSON.stringify(page.items.at(-1)).includes('"priority":39'));
  });

  it('reads nothing while no page is open', async () => {
    streams.changed();
    await clock.advance(60_000);
    assert.equal(reads, 0);
    streams.open(new Page())();
    await clock.advance(60_000);
    assert.equal(reads, 1);
  });

  it('makes the document of a language once for all its pages', async () => {
    const pages = [new Page(), new Page(), new Page('de')];
    for (const page of pages) streams.open(page);
    await clock.advance(0);
    const sentences = pages.map(({ items }) => (items[0]?.set?.a as { sentence: string } | undefined)?.sentence);
    assert.deepEqual(sentences, ['The printer is offline.', 'The printer is offline.', 'DE The printer is offline.']);
    reads = 0;
    await change(viewOf([item('a', { priority: 1 })]));
    assert.equal(reads, 1);
  });

  it('lets a slow page skip changes and sends it the whole once it has caught up', async () => {
    const [slow, quick] = [new Page(), new Page()];
    streams.open(slow);
    streams.open(quick);
    await clock.advance(0);
    slow.isBehind = true;
    await change(viewOf([item('a', { priority: 1 })]));
    await change(viewOf([item('a', { priority: 2 })]));
    assert.deepEqual([slow.changes.length, quick.changes.length], [1, 3]);
    slow.isBehind = false;
    await change(viewOf([item('a', { priority: 3 })]));
    assert.deepEqual([slow.changes.at(-1)?.isWhole, quick.changes.at(-1)?.isWhole], [true, undefined]);
  });

  it('lets the event loop turn while it makes and sends a large document', async () => {
    let time = 0;
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    const large = viewOf(Array.from({ length: 100 }, (_, at) => item(`${at}`)));
    const ticking: Clock = { ...systemClock, monotonic: () => (time += 6) };
    const slow = new Streams({ clock: ticking, read: async () => large, translate: () => String });
    const [first, leaving] = [new Page(), new Page()];
    slow.open(first);
    const leave = slow.open(leaving);
    const written = new Promise<number>((resolve) => {
      first.write = () => {
        resolve(turns);
        setImmediate(leave);
      };
    });
    turn();
    const before = await written;
    isOver = true;
    await settle();
    const { size } = slow;
    slow.close();
    assert.ok(before >= 20, `only ${before} turns`);
    assert.deepEqual([size, leaving.changes.length], [1, 0]);
  });

  it('cuts off a page that reads nothing for a minute', async () => {
    const page = new Page();
    streams.open(page);
    await clock.advance(0);
    page.isBehind = true;
    await clock.advance(2 * HEARTBEAT);
    assert.equal(page.isEnded, false);
    await clock.advance(8 * HEARTBEAT);
    assert.deepEqual([page.isEnded, streams.size], [true, 0]);
  });

  it('shows a quiet page that it lives', async () => {
    const page = new Page();
    streams.open(page);
    await clock.advance(3 * HEARTBEAT + 100);
    assert.ok(page.changes.slice(1).some(({ values }) => values?.now !== undefined));
  });

  it('keeps the pages as they are while the board can not be read', async () => {
    const page = new Page();
    streams.open(page);
    await clock.advance(0);
    const fault = new Streams({ clock, read: () => Promise.reject(new Error('gone')), translate: () => String });
    const other = new Page();
    fault.open(other);
    await clock.advance(5_000);
    assert.equal(other.changes.length, 0);
    fault.close();
  });

  it('goes on after a board that can not be written as JSON', async () => {
    const page = new Page();
    streams.open(page);
    await clock.advance(0);
    await change(viewOf([item('a', { owner: 7n as never })]));
    await change(viewOf([item('c')]));
    assert.deepEqual(page.items.at(-1)?.ids, ['c']);
  });

  it('sends the first 200 open items, and those that need a person', async () => {
    const many = Array.from({ length: 2_000 }, (_, at) => item(`i${at}`));
    const todo: BoardView['state']['todo'] = [
      {
        ...{ id: 'n', kind: 'blocked', text: phrase`The printer is offline.`, clusterId: null, printerId: null },
        ...{ itemId: 'i1500', since: null, answers: [] },
      },
    ];
    view = viewOf([...many, item('done', { state: 'finished' })], todo);
    const page = new Page();
    streams.open(page);
    await clock.advance(0);
    const ids = page.items[0]?.ids ?? [];
    assert.deepEqual([ids.length, ids.at(-1), page.changes[0]?.values?.open], [201, 'i1500', 2_000]);
  });

  it('leaves out the prints of an item, of which it may have thousands', async () => {
    const prints = Array.from({ length: 5_000 }, (_, at) => ({ copy: at }) as never);
    view = viewOf([item('a', { prints })]);
    const page = new Page();
    streams.open(page);
    await clock.advance(0);
    assert.ok(JSON.stringify(page.changes).length < 2_000);
  });
});
