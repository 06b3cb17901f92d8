import assert from 'node:assert/strict';
import type { BoardItem, Need } from '../../lib/board/shapes';
import { FakeDocument, type FakeNode, load } from './dom';
import { ANSWERS, itemOf, needOf, printerOf } from './farm';

interface PageModules {
  draw: (parent: FakeNode) => void;
  set: (changes: object) => void;
  current: () => { failure: string | null };
}

/** What a press sends. */
interface Sent {
  action: string;
  properties: Record<string, unknown>;
}

/** Time in which the page draws a change, and begins to follow it. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 100));

describe('what the page of a print board draws', () => {
  let document: FakeDocument;
  let page: PageModules;
  /** Presses, and the addresses of all other requests. */
  let sent: Sent[];
  let asked: string[];
  let answer: string;
  const facts = { title: 'Workshop', version: '1', allow: 'all', hasQueue: true, currency: null };

  beforeEach(() => {
    [sent, asked, answer] = [[], [], '{"ok":true}'];
  });

  /** Draws one component of the page. */
  const open = async (component: string, from: string, changes: object) => {
    document = new FakeDocument();
    const source = `
      import { render, createElement } from 'preact';
      import { ${component} } from './${from}';
      export { set, current } from './state';
      export const draw = (parent) => render(createElement(${component}), parent);`;
    const fetch = (path: string, { body }: { body?: string } = {}) => {
      if (body === undefined) asked.push(path);
      else sent.push(JSON.parse(body) as Sent);
      const text = path.startsWith('history') ? '{"total":120,"prints":[]}' : answer;
      return Promise.resolve({
        ok: true,
        status: 200,
        text: () => Promise.resolve(text),
        json: () => JSON.parse(text),
      });
    };
    class XMLHttpRequest {
      upload = {};
      status = 200;
      responseText = answer;
      onload = () => undefined;
      open(_: string, path: string): void {
        asked.push(path);
      }
      setRequestHeader(): void {}
      send(): void {
        setTimeout(() => this.onload());
      }
    }
    page = load(source, document, { fetch, XMLHttpRequest }) as PageModules;
    const values = { facts, open: 0, counts: {}, endedAt: null };
    page.set({ values, isLive: true, printers: [], items: [], orders: [], todo: [], ...plain(changes) });
    page.draw(document.body);
    await turn();
  };
  const show = async (changes: object) => {
    page.set(plain(changes));
    await turn();
  };
  /** As the stream brings it. */
  const plain = (changes: object) => JSON.parse(JSON.stringify(changes)) as object;
  const all = (name: string) => document.all.filter(({ localName }) => localName === name);
  const labelled = (label: string, within: readonly FakeNode[] = document.all) =>
    within.find(({ attributes }) => attributes.get('aria-label') === label) ?? assert.fail(label);
  const press = async (label: string) => {
    labelled(label).fire('click');
    await turn();
  };
  const type = async (field: FakeNode, value: string, event = 'input') => {
    field.value = value;
    field.fire(event);
    await turn();
  };
  const presses = () => sent.map(({ action, properties }) => ({ action, properties }));

  describe('of the connection', () => {
    it("names its beginning by the runtime's clock, whatever the browser's says", async () => {
      document = new FakeDocument();
      document.hidden = false;
      answer = '{"liveSince":"Live since {time}"}';
      const streams: EventSource[] = [];
      class EventSource {
        onmessage: (message: { data: string }) => void = () => undefined;
        constructor() {
          streams.push(this);
        }
      }
      load("import './index'", document, {
        EventSource,
        fetch: () => Promise.resolve({ json: () => JSON.parse(answer) as unknown }),
      });
      await turn();
      const now = Date.now() + 5 * 3_600_000;
      streams[0]?.onmessage({ data: JSON.stringify({ values: { now, facts } }).replace('"version":"1",', '') });
      await turn();
      const time = new Intl.DateTimeFormat('en-US', { hour: '2-digit', minute: '2-digit' });
      const [early, late] = [now, now + 1_000].map((at) => `Live since ${time.format(at)}`);
      const { text } = labelled('a11y.connection');
      assert.ok(text === early || text === late, text);
    });
  });

  describe('of a silent connection', () => {
    const { now } = Date;
    afterEach(() => void (Date.now = now));

    it("reads the board anew, also after the browser's clock was set back by hours", async () => {
      document = new FakeDocument();
      document.hidden = false;
      const ticks: (() => void)[] = [];
      const setInterval = (tick: () => void) => void ticks.push(tick);
      class EventSource {
        close = () => undefined;
      }
      const fetch = (path: string) => {
        asked.push(path);
        return Promise.resolve({ ok: false, status: 503, json: () => ({}) });
      };
      const window = {
        setInterval,
        addEventListener: () => undefined,
        clearTimeout: () => undefined,
        setTimeout: () => 0,
      };
      load("import './index'", document, { EventSource, fetch, window });
      await turn();
      asked.length = 0;
      Date.now = () => now() - 5 * 3_600_000 + 40_000;
      for (const tick of ticks) tick();
      assert.deepEqual(asked, ['board.json']);
    });
  });

  describe('of the needs', () => {
    const blocked = (...printers: string[]): Need<unknown> => ({
      ...needOf('blocked', { itemId: 'd' }),
      answers: ANSWERS.blocked('d', ...printers).map((one) => ({ ...one, kind: 'printOn' })),
    });

    it('prints on the chosen printer, also after another one has left the list', async () => {
      const printers = ['1', '2', '3'].map((id) => printerOf(id));
      await open('Needs', 'needs', { printers, items: [itemOf('d')], todo: [blocked('1', '2', '3')] });
      await press('a11y.printOn');
      const [select] = all('select');
      const option = select?.all.find(({ text }) => text === 'Printer 2');
      assert.ok(select && option);
      await type(select, option.value, 'change');
      await show({ todo: [blocked('2', '3')] });
      await press('a11y.save');
      assert.deepEqual(presses(), [{ action: 'update', properties: { itemId: 'd', require: { printers: ['2'] } } }]);
    });

    it('takes all parts for good where no number is given', async () => {
      const [good] = ANSWERS.plate('j1', { goodParts: 8 });
      const plate = needOf('plate', { clusterId: '1', answers: good ? [{ ...good, kind: 'good' }] : [] });
      await open('Needs', 'needs', { printers: [printerOf('1')], todo: [plate] });
      await type(labelled('a11y.goodParts'), '');
      await press('a11y.good');
      await press('a11y.good');
      assert.deepEqual(presses(), [
        { action: 'plate-cleared', properties: { judges: 'j1', good: true, goodParts: 8 } },
      ]);
    });
  });

  describe('of the printers', () => {
    it('shows the switch as it was where a pause is refused', async () => {
      answer = '{"ok":false,"code":"NO_STORE","message":"The disk is full."}';
      await open('Printers', 'printers', { printers: [printerOf('1')] });
      const box = labelled('a11y.noNewPrints') as FakeNode & { checked: boolean };
      box.checked = true;
      box.fire('change');
      await turn();
      assert.equal(page.current().failure, 'The disk is full.');
      assert.equal(box.checked, false);
    });
  });

  describe('of the queue', () => {
    const items = (...ids: string[]): BoardItem<unknown>[] =>
      ids.map((id, at) => itemOf(id, { position: at + 1, orderId: id.startsWith('a') ? 'A' : null }));
    const article = (id: string) => all('article').find(({ dataset }) => dataset.item === id) ?? assert.fail(id);
    /** Moves an item with the pointer to the lower half of another one. */
    const drag = async (id: string, to: string) => {
      const grip = labelled('a11y.drag', article(id).all);
      const target = () => (document.contains(grip) ? grip : document.body);
      grip.fire('pointerdown', { pointerId: 1, clientX: 1, clientY: 1 });
      document.pointed = article(to);
      for (let step = 0; step < 2; step++) {
        target().fire('pointermove', { pointerId: 1, clientX: 1, clientY: 9, movementY: 4 });
        await turn();
      }
      target().fire('pointerup', { pointerId: 1 });
      await turn();
    };

    it('moves an item with the pointer', async () => {
      await open('Queue', 'queue', { items: items('b', 'c', 'd') });
      await drag('c', 'd');
      assert.deepEqual(presses(), [{ action: 'move', properties: { itemId: 'c', position: 3 } }]);
    });

    it('moves an item out of its order with the pointer', async () => {
      await open('Queue', 'queue', { items: items('a1', 'a2', 'b') });
      await drag('a1', 'b');
      assert.deepEqual(presses(), [{ action: 'move', properties: { itemId: 'a1', position: 3 } }]);
    });

    it('moves items with the pointer after one that was taken up has gone', async () => {
      await open('Queue', 'queue', { items: items('b', 'c', 'd') });
      labelled('a11y.drag', article('b').all).fire('click');
      await turn();
      await show({ items: items('c', 'd') });
      await drag('c', 'd');
      assert.deepEqual(presses(), [{ action: 'move', properties: { itemId: 'c', position: 2 } }]);
    });

    it('saves only what was changed in the dialog, whatever others change meanwhile', async () => {
      await open('Queue', 'queue', { items: items('b') });
      await press('a11y.edit');
      const fields = all('dialog').flatMap((dialog) => dialog.all.filter(({ localName }) => localName === 'input'));
      await type(fields[2] ?? assert.fail(), '2030-01-31 18:00');
      await show({
        items: items('b').map((item) => ({ ...item, priority: 50, copies: { ...item.copies, total: 9 } })),
      });
      await press('a11y.save');
      const at = new Date('2030-01-31T18:00').toISOString();
      assert.deepEqual(presses(), [{ action: 'update', properties: { itemId: 'b', deadline: at } }]);
    });
  });

  describe('of the history', () => {
    it('is read anew when Node-RED is back', async () => {
      await open('History', 'history', {});
      await show({ isLive: false });
      await press('a11y.older');
      asked.length = 0;
      await show({ isLive: true });
      assert.deepEqual(asked, ['history?page=1']);
    });
  });

  describe('of added files', () => {
    const drop = async (...names: string[]) => {
      const dataTransfer = { types: ['Files'], files: names.map((name) => ({ name })) };
      document.fire('drop', { dataTransfer, preventDefault: () => undefined });
      await turn();
    };

    it('prints on the printer that the dialog shows first, also when that goes offline', async () => {
      await open('Files', 'files', { printers: ['1', '2'].map((id) => printerOf(id)) });
      await show({ values: { facts: { ...facts, hasQueue: false } } });
      await drop('a.gcode');
      await show({ printers: [printerOf('1', { state: 'offline' }), printerOf('2')] });
      await press('a11y.add');
      assert.deepEqual(
        asked.map((path) => new URLSearchParams(path.split('?')[1]).get('printer')),
        ['1'],
      );
    });

    it('names every file that was refused', async () => {
      answer = '{"ok":false,"code":"UNSUPPORTED_FILE_TYPE","message":"Slice it first."}';
      await open('Files', 'files', {});
      await drop('a.stl', 'b.stl');
      await press('a11y.add');
      assert.equal(page.current().failure, 'a.stl: Slice it first. b.stl: Slice it first.');
    });
  });
});
