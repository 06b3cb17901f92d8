import assert from 'node:assert/strict';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { ensureChromium } from '../../scripts/debian.mjs';
import { assertAccessible } from '../helpers/accessibility';
import { ANSWERS, Farm, itemOf, needOf, printerOf, printOf, refused } from './farm';
import { Sentence } from '../../lib/words/sentence';

const said = (text: string) => new Sentence(text);
const soon = (ms: number) => new Date(Date.now() + ms).toISOString();
const HOSTILE = `<img src=x onerror=alert(1)>"'\u202Eסוף${'Ω'.repeat(270)}`;

describe('the page of a print board', function () {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let farm: Farm;
  let problems: string[];

  before(async () => {
    browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] });
  });
  after(() => browser.close());
  beforeEach(async () => {
    farm = await new Farm().start();
    problems = [];
    context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 900 } });
    page = await newPage();
  });
  afterEach(async () => {
    await context.close();
    await farm.stop();
    assert.deepEqual(problems, []);
  });

  const newPage = async (of = context): Promise<Page> => {
    const opened = await of.newPage();
    opened.setDefaultTimeout(15_000);
    opened.on('pageerror', (error) => problems.push(String(error)));
    opened.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    opened.on('request', (request) => {
      if (!request.url().startsWith(farm.url)) problems.push(request.url());
    });
    return opened;
  };
  const open = async (query = ''): Promise<void> => {
    await page.goto(farm.url + query);
    await page.getByRole('status', { name: 'Connection' }).filter({ hasText: /^Live/ }).waitFor();
  };
  const hide = (isHidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);
  /** Hides the page, and waits for the end of its stream: the next one reads the farm anew. */
  const leave = async () => {
    await hide(true);
    while (farm.board.streams.size > 0) await new Promise((resolve) => setImmediate(resolve));
  };
  const message = (text: string) => page.getByRole('status', { name: 'Messages' }).filter({ hasText: text }).waitFor();
  /** Shows the page that the farm has changed: it adds a printer, and waits for it. */
  const change = async () => {
    farm.printers = [...farm.printers, printerOf('99')];
    farm.changed();
    await page.getByRole('article', { name: 'Printer 99' }).waitFor();
  };
  /** A farm with something of everything. */
  const fill = (): void => {
    farm.printers = [
      printerOf('1', {
        ...{ state: 'printing', sentence: said('Printing'), progress: 42.5, endAt: soon(3_600_000) },
        job: { clusterJobId: 'job-1', name: 'vase.gcode', state: 'printing' },
        next: { itemId: 'a', name: 'a.gcode' },
      }),
      printerOf('2', {
        state: 'plate',
        sentence: said('Nobody has confirmed that the plate is clear.'),
        plate: 'awaiting',
      }),
      printerOf('3', { state: 'offline', sentence: said('The printer is offline.') }),
      printerOf('4'),
    ];
    farm.items = [
      itemOf('a', { orderId: 'W-17', owner: 'Ada', eta: { startAt: soon(1_000), endAt: soon(7_200_000) } }),
      itemOf('b', { orderId: 'W-17', position: 2 }),
      itemOf('c', { position: 3, priority: 5 }),
      itemOf('d', { state: 'blocked', position: null }),
      itemOf('e', {
        state: 'failed',
        prints: [printOf(), printOf({ copy: 2, state: 'failed', reason: said('It came off.') })],
      }),
    ];
    farm.orders = [{ orderId: 'W-17', good: 1, wanted: 6, endAt: soon(7_200_000), late: false }];
    farm.todo = [
      needOf('plate', { clusterId: '2', answers: ANSWERS.plate('j2') }),
      needOf('unknown', { itemId: 'c', answers: ANSWERS.unknown('c') }),
      needOf('blocked', { itemId: 'd', answers: ANSWERS.blocked('d', '4', '1') }),
      needOf('failed', { itemId: 'e', answers: ANSWERS.failed('e') }),
      needOf('offline', { clusterId: '3' }),
    ];
    const planned = { itemId: 'a', startAt: soon(3_700_000), endAt: soon(7_200_000), printerId: null };
    farm.forecast = [
      { ...planned, clusterId: '1', copies: 1 },
      { ...planned, clusterId: '4', copies: 2 },
    ];
  };

  it('has the title, the sections and the connection', async () => {
    fill();
    await open();
    await page.getByRole('banner').getByRole('heading', { level: 1, name: 'Workshop' }).waitFor();
    for (const name of ['Needs you', 'Printers', 'Queue', 'Timeline', 'History'])
      await page
        .getByRole('main')
        .getByRole('region', { name, exact: true })
        .getByRole('heading', { level: 2, name, exact: true })
        .waitFor();
    assert.equal(await page.title(), '(5) Workshop');
  });

  it('says that nothing needs anybody', async () => {
    farm.printers = [printerOf('1')];
    await open();
    await page.getByRole('region', { name: 'Needs you' }).getByText('Nothing needs you').waitFor();
    assert.equal(await page.title(), 'Workshop');
  });

  it('shows a printer with its print', async () => {
    fill();
    await open();
    const card = page
      .getByRole('region', { name: 'Printers' })
      .getByRole('list')
      .getByRole('article', { name: 'Printer 1' });
    await card.getByRole('heading', { level: 3, name: 'Printer 1' }).waitFor();
    assert.equal(
      await card.getByRole('progressbar', { name: 'Progress: Printer 1' }).getAttribute('aria-valuenow'),
      '42',
    );
    await card.getByText('vase.gcode').waitFor();
    await card.getByText('Next: a.gcode').waitFor();
    await card.getByRole('img', { name: /^Picture: Printer 1, \d+ s ago$/ }).waitFor();
    const names = await page
      .getByRole('region', { name: 'Printers' })
      .getByRole('heading', { level: 3 })
      .allTextContents();
    assert.deepEqual(names, ['Printer 2', 'Printer 3', 'Printer 1', 'Printer 4']);
  });

  it('names a printer by the list of the account while its queue has not seen it', async () => {
    farm.list.set('1', { name: 'Workbench', online: true });
    farm.printers = [printerOf('1', { clusterName: null })];
    await open();
    await page.getByRole('article', { name: 'Workbench' }).waitFor();
    farm.printers = [printerOf('1', { clusterName: 'Renamed' })];
    farm.changed();
    await page.getByRole('article', { name: 'Renamed' }).waitFor();
  });

  it('sends an answer after ten seconds, and keeps the focus on it', async () => {
    fill();
    await page.clock.install();
    await open();
    // The page's clock stands still from here on, however long the steps take.
    await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1_000));
    const need = page
      .getByRole('region', { name: 'Needs you' })
      .getByRole('list')
      .getByRole('group', { name: 'Plate: Printer 2' });
    const good = need.getByRole('button', { name: 'Good: Printer 2' });
    await good.click();
    assert.equal(await good.getAttribute('aria-pressed'), 'true');
    await need.getByRole('button', { name: 'Undo: Printer 2' }).waitFor();
    assert.equal(await good.evaluate((element) => element === document.activeElement), true);
    await page.clock.fastForward(9_000);
    assert.deepEqual(farm.acted, []);
    await page.clock.fastForward(1_500);
    await message('Done: Good: Printer 2');
    assert.deepEqual(farm.onlyAct, { action: 'plate-cleared', properties: { judges: 'j2', good: true } });
  });

  it('takes an answer back, and sends it at once with a second press', async () => {
    fill();
    await page.clock.install();
    await open();
    const need = page.getByRole('group', { name: 'Plate: Printer 2' });
    await need.getByRole('button', { name: 'Bad: Printer 2' }).click();
    await need.getByRole('button', { name: 'Undo: Printer 2' }).click();
    await page.clock.fastForward(20_000);
    assert.deepEqual(farm.acted, []);
    await need.getByRole('button', { name: 'Bad: Printer 2' }).click();
    await need.getByRole('button', { name: 'Bad: Printer 2' }).click();
    await message('Done: Bad: Printer 2');
    assert.deepEqual(farm.onlyAct, { action: 'plate-cleared', properties: { judges: 'j2', good: false } });
  });

  it('keeps an answer pressed until the board shows what it did, and sends it once', async () => {
    fill();
    await open();
    const need = page.getByRole('group', { name: 'Plate: Printer 2' });
    const good = need.getByRole('button', { name: 'Good: Printer 2' });
    let answer: () => void = () => undefined;
    await page.route('**/press', (route) =>
      new Promise<void>((resolve) => (answer = resolve)).then(() => route.continue()),
    );
    const sent = page.waitForRequest('**/press');
    await good.dblclick();
    await sent;
    await good.click();
    await need.getByRole('button', { name: 'Bad: Printer 2' }).click();
    assert.equal(await good.getAttribute('aria-pressed'), 'true');
    assert.equal(await need.getByRole('button', { name: 'Undo: Printer 2' }).count(), 0);
    farm.failure = refused;
    answer();
    await page.getByRole('alert').filter({ hasText: 'The printer is offline.' }).waitFor();
    await need.and(page.locator(':not(.waiting)')).waitFor();
    assert.equal(farm.pressed.length, 1);
  });

  it('presses good for all plates, and clear where the print did not end well', async () => {
    farm.printers = [printerOf('1'), printerOf('2')];
    farm.todo = [
      needOf('plate', { clusterId: '1', answers: ANSWERS.plate('j1') }),
      needOf('plate', { clusterId: '2', answers: ANSWERS.clear('j2', false) }),
    ];
    await page.clock.install();
    await open();
    await page.getByRole('button', { name: 'Clear: Printer 2' }).waitFor();
    await page.getByRole('button', { name: 'All good' }).click();
    await page.clock.fastForward(10_500);
    await page.waitForFunction(() => document.querySelector('.messages')?.textContent?.startsWith('Done'));
    while (farm.acted.length < 2) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(farm.acted.map(({ properties }) => properties.judges).sort(), ['j1', 'j2']);
  });

  it('names every need by what it is about, and says why', async () => {
    fill();
    farm.todo = [
      ...farm.todo,
      needOf('fault', { clusterId: '4' }),
      needOf('material', { text: said('Material is short: B PLA Red, 40 g.') }),
      needOf('sign-in'),
    ];
    farm.materials = [{ material: { guid: null, brand: 'B', type: 'PLA', color: 'Red' }, shortAt: soon(1_000) }];
    await open();
    const list = page.getByRole('region', { name: 'Needs you' }).getByRole('list');
    for (const name of [
      ...['Plate: Printer 2', 'Unknown: c.gcode', 'Blocked: d.gcode', 'Failed: e.gcode', 'Offline: Printer 3'],
      ...['Fault: Printer 4', 'Material: B PLA Red', 'Sign-in'],
    ])
      await list.getByRole('group', { name, exact: true }).filter({ hasText: /\./ }).waitFor();
    for (const name of ['It printed: c.gcode', 'It did not print: c.gcode', 'Again: e.gcode', 'Remove: d.gcode'])
      await list.getByRole('button', { name, exact: true }).waitFor();
  });

  it('sends the answers of all plates at once with a second press', async () => {
    farm.printers = [printerOf('1'), printerOf('2')];
    farm.todo = ['1', '2'].map((clusterId) => needOf('plate', { clusterId, answers: ANSWERS.plate(`j${clusterId}`) }));
    await open();
    await page.getByRole('button', { name: 'Bad: Printer 2' }).click();
    const all = page.getByRole('button', { name: 'All good' });
    await all.click();
    assert.equal(await all.getAttribute('aria-pressed'), 'true');
    await all.click();
    await message('Done: Good: Printer 1');
    assert.deepEqual(farm.onlyAct, { action: 'plate-cleared', properties: { judges: 'j1', good: true } });
    assert.equal(await page.getByRole('button', { name: 'Bad: Printer 2' }).getAttribute('aria-pressed'), 'true');
  });

  it('asks how many of several parts are good', async () => {
    farm.printers = [printerOf('1')];
    farm.todo = [needOf('plate', { clusterId: '1', answers: ANSWERS.plate('j1', { goodParts: 8 }) })];
    await open();
    const parts = page.getByRole('spinbutton', { name: 'Good parts: Printer 1' });
    assert.equal(await parts.inputValue(), '8');
    await parts.fill('6');
    await page.getByRole('button', { name: 'Good: Printer 1' }).dblclick();
    await message('Done: Good: Printer 1');
    assert.deepEqual(farm.onlyAct, { action: 'plate-cleared', properties: { judges: 'j1', good: true, goodParts: 6 } });
  });

  it('counts all parts as good where no number is given', async () => {
    farm.printers = [printerOf('1')];
    farm.todo = [needOf('plate', { clusterId: '1', answers: ANSWERS.plate('j1', { goodParts: 8 }) })];
    await open();
    await page.getByRole('spinbutton', { name: 'Good parts: Printer 1' }).fill('');
    await page.getByRole('button', { name: 'Good: Printer 1' }).dblclick();
    await message('Done: Good: Printer 1');
    assert.deepEqual(farm.onlyAct, { action: 'plate-cleared', properties: { judges: 'j1', good: true, goodParts: 8 } });
  });

  for (const [locale, language] of [
    ['en-US', 'en-US'],
    ['de-DE', 'de'],
  ] as const)
    it(`is used by keyboard alone, in the order in which it is read, in ${language}`, async () => {
      farm.printers = [printerOf('1')];
      farm.todo = [needOf('plate', { clusterId: '1', answers: ANSWERS.plate('j1') })];
      farm.items = [itemOf('a')];
      farm.onAct = () => (farm.todo = []);
      const { say } = farm.words(language);
      const own = await browser.newContext({ locale });
      const other = await newPage(own);
      await other.goto(farm.url);
      await other.getByRole('article', { name: 'a.gcode' }).waitFor();
      const visited: string[] = [];
      for (let at = 0; at < 17; at++) {
        await other.keyboard.press('Tab');
        const name = await other.evaluate(() => {
          const { activeElement: focused } = document;
          const label =
            focused?.getAttribute('aria-label') ?? focused?.closest('label')?.querySelector('span')?.textContent;
          return label ?? focused?.textContent ?? '';
        });
        visited.push(name);
      }
      const holes = { printer: 'Printer 1', item: 'a.gcode', name: 'Printer 1' };
      const named = (...keys: string[]) => keys.map((key) => say(`a11y.${key}`, holes));
      assert.deepEqual(visited, [
        ...named(
          'addFiles',
          'good',
          'bad',
          'open',
          'noNewPrints',
          'search',
          'state',
          'printer',
          'orderFilter',
          'owner',
        ),
        ...named('select', 'drag', 'hold', 'edit', 'explain', 'remove', 'csv'),
      ]);
      await other.getByRole('button', { name: say('a11y.good', holes) }).focus();
      await other.keyboard.press('Enter');
      await other.getByRole('button', { name: say('a11y.undo', holes) }).waitFor();
      await other.keyboard.press('Enter');
      const done = say('done', { what: say('a11y.good', holes) });
      await other
        .getByRole('status', { name: say('a11y.messages') })
        .filter({ hasText: done })
        .waitFor();
      await other.getByText(say('a11y.nothing')).waitFor();
      await other.waitForFunction(() => document.activeElement?.id === 'needs-heading');
      await own.close();
    });

  it('sends a press again whose answer was lost, and it is done once', async () => {
    fill();
    await open();
    await page.route('**/press', (route) => route.fetch().then(() => route.abort()), { times: 1 });
    await page.getByRole('button', { name: 'Hold: a.gcode' }).click();
    await message('Done: Hold: a.gcode');
    assert.deepEqual(farm.onlyAct, { action: 'hold', properties: { itemId: 'a' } });
    problems = problems.filter((problem) => !problem.includes('net::ERR_FAILED'));
  });

  it('sends a press again that came before Node-RED had opened the board', async () => {
    fill();
    await open();
    await page.route('**/press', (route) => route.fulfill({ status: 404, body: '<h1>Cannot POST</h1>' }), { times: 1 });
    await page.getByRole('button', { name: 'Hold: a.gcode' }).click();
    await message('Done: Hold: a.gcode');
    assert.deepEqual(farm.onlyAct, { action: 'hold', properties: { itemId: 'a' } });
    assert.equal(await page.getByRole('alert').count(), 0);
    problems = problems.filter((problem) => !problem.includes('404'));
  });

  it('sends a file again whose answer was lost, under the same key', async () => {
    await open();
    const keys: (string | null)[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PUT') keys.push(new URL(request.url()).searchParams.get('key'));
    });
    await page.route('**/file?*', (route) => route.fetch().then(() => route.abort()), { times: 1 });
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'ring.gcode', mimeType: 'text/plain', buffer: Buffer.from('G28') });
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await message('Done: ring.gcode');
    assert.equal(farm.files.length, 1);
    assert.deepEqual([keys.length, keys[0]], [2, keys[1]]);
    problems = problems.filter((problem) => !problem.includes('net::ERR_FAILED'));
  });

  it('closes its stream while it is hidden, and reads anew when it is shown', async () => {
    fill();
    await open();
    await leave();
    farm.printers = [printerOf('7')];
    await hide(false);
    await page.getByRole('article', { name: 'Printer 7' }).waitFor();
    assert.equal(farm.board.streams.size, 1);
  });

  it('keeps an open dialog, its focus and what was typed while it reads anew', async () => {
    fill();
    await open();
    await page.getByRole('button', { name: 'Edit: b.gcode' }).click();
    const copies = page.getByRole('dialog', { name: 'b.gcode' }).getByRole('spinbutton', { name: 'Copies' });
    await copies.fill('42');
    await leave();
    farm.items = farm.items.flatMap((item) => {
      if (item.itemId === 'a') return [];
      return item.itemId === 'c' ? itemOf('c', { position: 3, sentence: said('It is next.') }) : item;
    });
    await hide(false);
    await page.locator('[data-item=c]').getByText('It is next.').waitFor();
    await page.locator('[data-item=a]').waitFor({ state: 'detached' });
    assert.equal(await copies.inputValue(), '42');
    assert.equal(await copies.evaluate((element) => element === document.activeElement), true);
  });

  it('says why a press failed', async () => {
    fill();
    farm.failure = refused;
    await open();
    await page.getByRole('button', { name: 'Hold: a.gcode' }).click();
    await page.getByRole('alert').filter({ hasText: 'The printer is offline.' }).waitFor();
  });

  it('asks on which printer to print, and before it prints anyway', async () => {
    fill();
    await open();
    const need = page.getByRole('group', { name: 'Blocked: d.gcode' });
    await need.getByRole('button', { name: 'Print on…: d.gcode' }).click();
    const dialog = page.getByRole('dialog', { name: 'Print on…: d.gcode' });
    await dialog.getByRole('combobox', { name: 'Printer' }).selectOption({ label: 'Printer 1' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await message('Done: Print on…: d.gcode');
    assert.deepEqual(farm.onlyAct, { action: 'update', properties: { itemId: 'd', require: { printers: ['1'] } } });
    farm.acted.length = 0;
    await need.getByRole('button', { name: 'Print anyway: d.gcode' }).click();
    await page.keyboard.press('Escape');
    assert.deepEqual(farm.acted, []);
    const focused = await need
      .getByRole('button', { name: 'Print anyway: d.gcode' })
      .evaluate((element) => element === document.activeElement);
    assert.equal(focused, true);
    await need.getByRole('button', { name: 'Print anyway: d.gcode' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Print anyway' }).click();
    await message('Done: Print anyway: d.gcode');
    assert.deepEqual(farm.onlyAct, {
      action: 'update',
      properties: { itemId: 'd', require: { printers: ['4'], materials: [null] } },
    });
  });

  it('prints on the chosen printer although another one has left the list meanwhile', async () => {
    farm.printers = ['1', '2', '3'].map((id) => printerOf(id));
    farm.items = [itemOf('d', { state: 'blocked', position: null })];
    const blockedAt = (...printers: string[]) => [
      needOf('blocked', { itemId: 'd', answers: ANSWERS.blocked('d', ...printers) }),
    ];
    farm.todo = blockedAt('1', '2', '3');
    await open();
    await page.getByRole('button', { name: 'Print on…: d.gcode' }).click();
    const dialog = page.getByRole('dialog', { name: 'Print on…: d.gcode' });
    await dialog.getByRole('combobox', { name: 'Printer' }).selectOption({ label: 'Printer 2' });
    farm.todo = blockedAt('2', '3');
    await change();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await message('Done: Print on…: d.gcode');
    assert.deepEqual(farm.onlyAct, { action: 'update', properties: { itemId: 'd', require: { printers: ['2'] } } });
  });

  it('shows the switch of a printer as it was where a pause is refused', async () => {
    farm.printers = [printerOf('1')];
    farm.failure = refused;
    await open();
    const pause = page.getByRole('switch', { name: 'No new prints: Printer 1' });
    await pause.click();
    await page.getByRole('alert').filter({ hasText: 'The printer is offline.' }).waitFor();
    assert.equal(await pause.isChecked(), false);
  });

  it('controls a print, and takes an abort back', async () => {
    fill();
    await page.clock.install();
    await open();
    await page.getByRole('button', { name: 'Pause print: Printer 1' }).click();
    await message('Done: Pause print: Printer 1');
    assert.deepEqual(farm.onlyAct, { action: 'pause-print', properties: { clusterId: '1', clusterJobId: 'job-1' } });
    farm.acted.length = 0;
    await page.getByRole('button', { name: 'Abort print: Printer 1' }).click();
    await page.getByRole('article', { name: 'Printer 1' }).getByRole('button', { name: 'Undo: Printer 1' }).click();
    await page.clock.fastForward(20_000);
    assert.deepEqual(farm.acted, []);
    await page.getByRole('switch', { name: 'No new prints: Printer 4' }).click();
    await message('Done: No new prints: Printer 4');
    assert.deepEqual(farm.onlyAct, { action: 'pause', properties: { clusterId: '4' } });
  });

  it('shows one printer alone under an address of its own', async () => {
    fill();
    await open();
    await page.getByRole('link', { name: 'Open: Printer 1' }).click();
    await page
      .getByRole('region', { name: 'Printer 1' })
      .getByRole('progressbar', { name: 'Progress: Printer 1' })
      .waitFor();
    assert.match(page.url(), /\?open=1$/);
    await page.reload();
    await page.getByRole('region', { name: 'Printer 1' }).getByRole('link', { name: 'Back' }).click();
    await page.getByRole('region', { name: 'Printers' }).waitFor();
    await page.goBack();
    await page.getByRole('region', { name: 'Printer 1' }).waitFor();
  });

  describe('the queue', () => {
    const queue = () => page.getByRole('region', { name: 'Queue' });
    const names = () => queue().getByRole('article').getByRole('heading', { level: 3 }).allTextContents();

    it('shows items with their reasons, and orders as groups', async () => {
      fill();
      await open();
      const order = queue().getByRole('list').getByRole('group', { name: 'Order W-17' });
      await order.getByRole('article', { name: 'a.gcode' }).getByText('Waits for a free printer.').waitFor();
      assert.equal(await order.getByRole('article').count(), 2);
      const explain = queue().getByRole('button', { name: 'Explain: a.gcode' });
      assert.equal(await explain.getAttribute('aria-expanded'), 'false');
      await explain.click();
      assert.equal(await explain.getAttribute('aria-expanded'), 'true');
      await queue().getByText('Printer 1: It prints.').waitFor();
    });

    it('explains an item anew when it changes', async () => {
      fill();
      await open();
      await queue().getByRole('button', { name: 'Explain: c.gcode' }).click();
      await queue().getByText('Printer 1: It prints.').waitFor();
      farm.reason = said('It is offline.');
      farm.items = farm.items.map((item) =>
        item.itemId === 'c' ? itemOf('c', { position: 3, sentence: said('No printer is online.') }) : item,
      );
      farm.changed();
      await queue().getByText('No printer is online.').waitFor();
      await queue().getByText('Printer 1: It is offline.').waitFor();
      assert.equal(await queue().getByText('Printer 1: It prints.').count(), 0);
    });

    it('stays as it is where an item has gone before it is explained', async () => {
      fill();
      await open();
      const explain = queue().getByRole('button', { name: 'Explain: a.gcode' });
      await explain.waitFor();
      farm.items = farm.items.filter(({ itemId }) => itemId !== 'a');
      const answer = page.waitForResponse('**/explain?*');
      await explain.click();
      assert.equal((await answer).status(), 400);
      await queue().getByRole('button', { name: 'Explain: b.gcode' }).click();
      await queue().getByText('Printer 1: It prints.').waitFor();
      problems = problems.filter((problem) => !problem.includes('400'));
    });

    it('moves an item with the keyboard, and keeps the focus on its button', async () => {
      fill();
      farm.items = ['a', 'b', 'c'].map((id, at) => itemOf(id, { position: at + 1 }));
      farm.onAct = (action) => {
        if (action === 'move') farm.items = ['b', 'c', 'a'].map((id, at) => itemOf(id, { position: at + 1 }));
      };
      await open();
      const drag = queue().getByRole('button', { name: 'Drag: a.gcode' });
      await drag.focus();
      await page.keyboard.press('Space');
      assert.equal(await drag.getAttribute('aria-pressed'), 'true');
      await message('a.gcode is taken up, place 1');
      await page.keyboard.press('ArrowDown');
      await message('a.gcode, place 2');
      assert.deepEqual(await names(), ['b.gcode', 'a.gcode', 'c.gcode']);
      await page.keyboard.press('ArrowDown');
      assert.equal(await drag.evaluate((element) => element === document.activeElement), true);
      await page.keyboard.press('Enter');
      await message('a.gcode is put down, place 3');
      assert.deepEqual(farm.onlyAct, { action: 'move', properties: { itemId: 'a', position: 3 } });
      assert.equal(await drag.evaluate((element) => element === document.activeElement), true);
      // The queue has the new order.
      await page.locator('.item.moving').waitFor({ state: 'detached' });
      await page.keyboard.press('Space');
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('Escape');
      await message('a.gcode is put back');
      assert.deepEqual(await names(), ['b.gcode', 'c.gcode', 'a.gcode']);
      assert.equal(farm.acted.length, 1);
    });

    /** Moves an item with the pointer to the upper or the lower half of another one. */
    const drag = async (id: string, to: string, half: 'upper' | 'lower') => {
      const handle = await queue()
        .getByRole('button', { name: `Drag: ${id}.gcode` })
        .boundingBox();
      const other = await queue()
        .getByRole('article', { name: `${to}.gcode` })
        .boundingBox();
      assert.ok(handle && other);
      const ends = [other.y + 5, other.y + other.height - 5];
      const [before, at] = half === 'lower' ? ends : ends.reverse();
      await page.mouse.move(handle.x + 5, handle.y + 5);
      await page.mouse.down();
      for (const y of [before, at]) await page.mouse.move(handle.x + 5, y ?? 0, { steps: 5 });
      await page.mouse.up();
    };
    const itemsOf = (...ids: string[]) =>
      ids.map((id, at) => itemOf(id, { position: at + 1, orderId: id.startsWith('order') ? 'W-17' : null }));

    it('moves an item with the pointer', async () => {
      farm.items = itemsOf('a', 'b', 'c');
      await open();
      await drag('c', 'a', 'upper');
      await message('c.gcode is put down, place 1');
      assert.deepEqual(farm.onlyAct, { action: 'move', properties: { itemId: 'c', before: 'a' } });
    });

    it('moves an item out of its order with the pointer', async () => {
      farm.items = itemsOf('order-1', 'order-2', 'b');
      await open();
      await drag('order-1', 'b', 'lower');
      await message('order-1.gcode is put down, place 3');
      assert.deepEqual(farm.onlyAct, { action: 'move', properties: { itemId: 'order-1', position: 3 } });
    });

    it('moves items with the pointer after one that was taken up has gone', async () => {
      farm.items = itemsOf('b', 'c', 'd');
      await open();
      await queue().getByRole('button', { name: 'Drag: b.gcode' }).focus();
      await page.keyboard.press('Space');
      await message('b.gcode is taken up, place 1');
      farm.items = itemsOf('c', 'd');
      farm.changed();
      await page.locator('[data-item=b]').waitFor({ state: 'detached' });
      await drag('c', 'd', 'lower');
      await message('c.gcode is put down, place 2');
      assert.deepEqual(farm.onlyAct, { action: 'move', properties: { itemId: 'c', position: 2 } });
    });

    it('edits an item in a dialog that holds the focus', async () => {
      fill();
      await open();
      const button = queue().getByRole('button', { name: 'Edit: c.gcode' });
      await button.click();
      const dialog = page.getByRole('dialog', { name: 'c.gcode' });
      await dialog.getByRole('spinbutton', { name: 'Priority' }).fill('7');
      await dialog.getByRole('spinbutton', { name: 'Copies' }).fill('4');
      await dialog.getByRole('textbox', { name: 'Deadline' }).fill('2027-01-31 18:00');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await message('Done: Edit: c.gcode');
      const deadline = new Date('2027-01-31T18:00').toISOString();
      assert.deepEqual(farm.onlyAct, {
        action: 'update',
        properties: { itemId: 'c', priority: 7, copies: 4, deadline },
      });
      assert.equal(await button.evaluate((element) => element === document.activeElement), true);
    });

    it('saves only what was changed in its dialog, whatever others have changed meanwhile', async () => {
      farm.items = [itemOf('b')];
      await open();
      await queue().getByRole('button', { name: 'Edit: b.gcode' }).click();
      const dialog = page.getByRole('dialog', { name: 'b.gcode' });
      await dialog.getByRole('textbox', { name: 'Deadline' }).fill('2030-01-31 18:00');
      const copies = { total: 9, waiting: 9, active: 0, good: 0, failed: 0, held: 0 };
      farm.items = [itemOf('b', { priority: 50, copies })];
      await change();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await message('Done: Edit: b.gcode');
      const deadline = new Date('2030-01-31T18:00').toISOString();
      assert.deepEqual(farm.onlyAct, { action: 'update', properties: { itemId: 'b', deadline } });
    });

    it('names the parts of an item of parts', async () => {
      farm.items = [itemOf('p', { parts: { wanted: 12, perPrint: 4, good: 3, rejected: 1, owed: 5 } })];
      await open();
      await queue().getByText('3 of 12 good').waitFor();
      await queue().getByRole('button', { name: 'Edit: p.gcode' }).click();
      await page.getByRole('dialog').getByRole('spinbutton', { name: 'Parts' }).fill('20');
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await message('Done');
      assert.deepEqual(farm.onlyAct, { action: 'update', properties: { itemId: 'p', wanted: 20 } });
    });

    it('searches the whole queue, and keeps the search in the address', async () => {
      farm.items = Array.from({ length: 300 }, (_, at) => itemOf(`item-${at}`, { owner: at === 277 ? 'Ada' : null }));
      await open();
      await queue().getByText('200 of 300').waitFor();
      const found = page.getByRole('search');
      await found.getByRole('searchbox', { name: 'Search' }).fill('item-277');
      await message('1 found');
      assert.deepEqual(await names(), ['item-277.gcode']);
      assert.match(page.url(), /\?q=item-277$/);
      await found.getByRole('combobox', { name: 'State' }).selectOption('held');
      await queue().getByText('No item matches.').waitFor();
      await page.goto(`${farm.url}?owner=Ada`);
      await queue().getByRole('article', { name: 'item-277.gcode' }).waitFor();
      assert.equal(await queue().getByRole('article').count(), 1);
    });

    it('shows more than 200 items on demand', async () => {
      farm.items = Array.from({ length: 250 }, (_, at) => itemOf(`item-${at}`));
      await open();
      await queue().getByRole('article').nth(199).waitFor();
      assert.equal(await queue().getByRole('article').count(), 200);
      await queue().getByRole('button', { name: 'Show more' }).click();
      await queue().getByRole('article', { name: 'item-249.gcode' }).waitFor();
      assert.equal(await queue().getByRole('article').count(), 250);
    });

    it('shows all items when more are asked for before the first ones have arrived', async () => {
      await page.clock.install();
      farm.items = Array.from({ length: 250 }, (_, at) => itemOf(`item-${at}`));
      await page.clock.pauseAt(Date.now() + 1_000);
      await page.goto(farm.url);
      await page.clock.runFor(30);
      await queue().getByRole('button', { name: 'Show more' }).click();
      assert.ok((await queue().getByRole('article').count()) < 200);
      await page.clock.resume();
      // The last ones may come before the others of the stream have arrived.
      await queue().getByRole('article').nth(249).waitFor();
      assert.equal(await queue().getByRole('article').count(), 250);
    });

    it('shows more items although the first answers fail', async () => {
      await page.clock.install();
      farm.items = Array.from({ length: 250 }, (_, at) => itemOf(`item-${at}`));
      let failures = 0;
      await page.route('**/items?*', (route) => (++failures <= 2 ? route.abort() : route.continue()));
      await open();
      await queue().getByRole('article').nth(199).waitFor();
      await queue().getByRole('button', { name: 'Show more' }).click();
      for (let second = 0; second < 15 && failures <= 2; second++) await page.clock.runFor(1_000);
      await queue().getByRole('article', { name: 'item-249.gcode' }).waitFor();
      assert.equal(await queue().getByRole('article').count(), 250);
      const [problem] = problems;
      assert.match(problem ?? '', /ERR_FAILED/);
      assert.deepEqual(problems.splice(0), [problem, problem]);
    });

    /** A queue of 250 items that are all shown. */
    const showAll = async () => {
      farm.printers = [printerOf('1')];
      farm.items = Array.from({ length: 250 }, (_, at) => itemOf(`i${at + 1}`, { position: at + 1, owner: 'Ada' }));
      await open();
      // Each piece that arrives moves the button, so a click could miss it.
      await queue().getByRole('article').nth(199).waitFor();
      await queue().getByRole('button', { name: 'Show more' }).click();
      await page.locator('[data-item=i250]').waitFor();
    };

    it('reads items that it shows on demand again', async () => {
      await page.clock.install();
      await showAll();
      farm.items = farm.items.flatMap((item) => {
        if (item.itemId === 'i220') return [];
        if (item.itemId === 'i1') return itemOf('i1', { sentence: said('It prints.') });
        return item.itemId === 'i221' ? itemOf('i221', { sentence: said('It is next.') }) : item;
      });
      farm.items.push(itemOf('i251'), itemOf('i252'));
      farm.changed();
      // The stream has brought the change.
      await page.locator('[data-item=i1]').getByText('It prints.').waitFor();
      await page.clock.fastForward(30_000);
      await page.locator('[data-item=i252]').waitFor();
      await page.locator('[data-item=i221]').getByText('It is next.').waitFor();
      assert.equal(await page.locator('[data-item=i220]').count(), 0);
      assert.equal(await queue().getByRole('article').count(), 251);
    });

    it('shows at once what a press did to an item that it shows on demand', async () => {
      await showAll();
      farm.onAct = () =>
        (farm.items = farm.items.map((item) => (item.itemId === 'i240' ? itemOf('i240', { held: true }) : item)));
      await page.getByRole('button', { name: 'Hold: i240.gcode' }).click();
      await page.getByRole('button', { name: 'Release: i240.gcode' }).waitFor();
    });

    it('lists each result of a search once when it shows more of them', async () => {
      farm.items = Array.from({ length: 250 }, (_, at) => itemOf(`i${at + 1}`, { position: at + 1, owner: 'Ada' }));
      await page.goto(`${farm.url}?owner=Ada`);
      await queue().getByRole('button', { name: 'Show more' }).click();
      await page.locator('[data-item=i250]').waitFor();
      farm.items = farm.items.slice(1);
      farm.changed();
      await page.getByRole('button', { name: 'Hold: i2.gcode', exact: true }).click();
      await page.locator('[data-item=i1]').waitFor({ state: 'detached' });
      const all = await names();
      assert.deepEqual([all.length, new Set(all).size], [249, 249]);
    });

    it('moves an item that it shows on demand, with the keyboard and with the pointer', async () => {
      await showAll();
      await queue().getByRole('button', { name: 'Drag: i240.gcode' }).focus();
      await page.keyboard.press('Space');
      await message('i240.gcode is taken up, place 240');
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('Space');
      await message('i240.gcode is put down, place 239');
      assert.deepEqual(farm.onlyAct, { action: 'move', properties: { itemId: 'i240', before: 'i239' } });
      await page.locator('.item.moving').waitFor({ state: 'detached' });
      await page.locator('[data-item=i249]').scrollIntoViewIfNeeded();
      const handle = await queue().getByRole('button', { name: 'Drag: i249.gcode' }).boundingBox();
      const other = await page.locator('[data-item=i248]').boundingBox();
      assert.ok(handle && other);
      await page.mouse.move(handle.x + 5, handle.y + 5);
      await page.mouse.down();
      await page.mouse.move(handle.x + 5, other.y + 5, { steps: 10 });
      await page.mouse.up();
      await message('i249.gcode is put down, place 248');
      assert.deepEqual(farm.acted.at(-1)?.properties, { itemId: 'i249', before: 'i248' });
    });

    it('moves a result of a search behind the last one', async () => {
      farm.items = Array.from({ length: 9 }, (_, at) =>
        itemOf(`i${at + 1}`, { position: at + 1, owner: at % 3 === 0 ? 'Ada' : null }),
      );
      await page.goto(`${farm.url}?owner=Ada`);
      await queue().getByRole('button', { name: 'Drag: i1.gcode' }).focus();
      await page.keyboard.press('Space');
      await page.keyboard.press('ArrowDown');
      await message('i1.gcode, place 4');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Space');
      await message('i1.gcode is put down, place 7');
      assert.deepEqual(await names(), ['i4.gcode', 'i7.gcode', 'i1.gcode']);
      assert.deepEqual(farm.onlyAct, { action: 'move', properties: { itemId: 'i1', position: 7 } });
    });

    it('acts on several items', async () => {
      fill();
      await open();
      for (const name of ['a', 'c'])
        await queue()
          .getByRole('checkbox', { name: `Select: ${name}.gcode` })
          .check();
      await queue().getByRole('button', { name: 'Hold the selected items' }).click();
      await message('Done for 2');
      while (farm.acted.length < 2) await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(
        farm.acted.map(({ action, properties }) => [action, properties.itemId]),
        [
          ['hold', 'a'],
          ['hold', 'c'],
        ],
      );
    });

    it('says how many of several items a press was done for, and why not for the others', async () => {
      fill();
      await open();
      for (const name of ['a', 'b', 'c'])
        await queue()
          .getByRole('checkbox', { name: `Select: ${name}.gcode` })
          .check();
      farm.onAct = (_, { itemId }) => {
        if (itemId !== 'c') throw refused;
      };
      await queue().getByRole('button', { name: 'Hold the selected items' }).click();
      await message('Done for 1');
      assert.equal(await page.getByRole('alert').textContent(), 'Not done for 2: The printer is offline.');
    });

    it('takes the removal of several items back, also after others were chosen', async () => {
      fill();
      await page.clock.install();
      await open();
      const select = (name: string) => queue().getByRole('checkbox', { name: `Select: ${name}.gcode` });
      for (const name of ['a', 'b']) await select(name).check();
      const remove = queue().getByRole('button', { name: 'Remove the selected items' });
      await remove.click();
      assert.equal(await remove.evaluate((element) => element === document.activeElement), true);
      for (const name of ['a', 'b']) await select(name).uncheck();
      await select('c').check();
      await queue().getByRole('button', { name: 'Undo: a.gcode, b.gcode' }).click();
      await page.clock.fastForward(20_000);
      assert.deepEqual(farm.acted, []);
      await remove.dblclick();
      await message('Done for 1');
      assert.deepEqual(farm.onlyAct, { action: 'remove', properties: { itemId: 'c' } });
    });
  });

  it('tells the bars of the timeline in order', async () => {
    fill();
    await open();
    await page
      .getByRole('list', { name: 'Timeline' })
      .getByRole('listitem')
      .filter({ hasText: /Printer 1.*vase\.gcode, until .*; a\.gcode, planned .* to / })
      .waitFor();
    await page
      .getByRole('list', { name: 'Timeline' })
      .getByRole('listitem')
      .filter({ hasText: /Printer 4.*2 × a\.gcode, planned .* to / })
      .waitFor();
  });

  it('lists the history in pages, and as CSV', async () => {
    farm.items = Array.from({ length: 60 }, (_, at) => {
      const endedAt = new Date(Date.UTC(2026, 10, 1) - at * 60_000).toISOString();
      return itemOf(`i${at}`, { state: 'finished', position: null, prints: [printOf({ endedAt })] });
    });
    await open();
    const table = page.getByRole('table', { name: 'History' });
    await table.getByRole('row').nth(50).waitFor();
    assert.equal(await table.getByRole('row').count(), 51);
    await page.setViewportSize({ width: 390, height: 844 });
    const heights = await table
      .getByRole('columnheader')
      .evaluateAll((headers) => headers.map((header) => header.getBoundingClientRect().height));
    assert.ok(Math.max(...heights) < 45, `words break on a phone: ${heights.join()}`);
    await page.getByRole('button', { name: 'Older' }).click();
    await table.getByText('i59.gcode').waitFor();
    assert.equal(await table.getByRole('row').count(), 11);
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download CSV' }).click();
    assert.equal((await download).suggestedFilename(), 'prints.csv');
  });

  it('reads a page of the history that was turned while Node-RED was away', async () => {
    farm.items = Array.from({ length: 60 }, (_, at) => {
      const endedAt = new Date(Date.UTC(2026, 10, 1) - at * 60_000).toISOString();
      return itemOf(`i${at}`, { state: 'finished', position: null, prints: [printOf({ endedAt })] });
    });
    await open();
    const table = page.getByRole('table', { name: 'History' });
    await table.getByText('i49.gcode').waitFor();
    await farm.close();
    const connection = page.getByRole('status', { name: 'Connection' });
    await connection.filter({ hasText: /^Offline since/ }).waitFor();
    await page.getByRole('button', { name: 'Older' }).click();
    farm.open();
    await table.getByText('i59.gcode').waitFor();
    problems = problems.filter((problem) => !/404|Failed to load/.test(problem));
  });

  it('lists an ended print of an item that goes on', async () => {
    const ended = (copy: number, at: string) => printOf({ copy, endedAt: `2026-11-26T${at}:00.000Z` });
    const running = (copy: number) => printOf({ copy, state: 'printing', endedAt: null });
    farm.items = [itemOf('vases', { state: 'active', prints: [ended(1, '10:00'), running(2)] })];
    await open();
    const table = page.getByRole('table', { name: 'History' });
    await table.getByRole('row').nth(1).waitFor();
    farm.items = [itemOf('vases', { state: 'active', prints: [ended(1, '10:00'), ended(2, '11:00'), running(3)] })];
    farm.changed();
    await table.getByRole('row').nth(2).waitFor();
  });

  it('adds files after a question, each with a progress bar', async () => {
    fill();
    await open();
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'ring.gcode', mimeType: 'text/plain', buffer: Buffer.from('G28') });
    const dialog = page.getByRole('dialog', { name: 'Add files' });
    await dialog.getByText('ring.gcode').waitFor();
    await dialog.getByRole('spinbutton', { name: 'Copies: ring.gcode' }).fill('12');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await message('Done: ring.gcode');
    assert.deepEqual(farm.files, [{ name: 'ring.gcode', size: 3, text: 'G28', copies: '12' }]);
  });

  it('names every file that was refused', async () => {
    farm.failure = refused;
    await open();
    const files = ['a.gcode', 'b.gcode'].map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from('G28') }));
    await page.locator('input[type=file]').setInputFiles(files);
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    const failures = 'a.gcode: The printer is offline. b.gcode: The printer is offline.';
    await page.getByRole('alert').filter({ hasText: failures }).waitFor();
  });

  it('prints a file on the printer that its dialog shows first, although that goes offline', async () => {
    await farm.close();
    for (const id of ['1', '2']) farm.list.set(id, { clusterId: id, name: `Printer ${id}`, online: true });
    farm.open({ hasQueue: false });
    await open();
    const asked: (string | null)[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PUT') asked.push(new URL(request.url()).searchParams.get('printer'));
    });
    const card = page.getByRole('article', { name: 'Printer 1' });
    await card.waitFor();
    const file = { name: 'ring.gcode', mimeType: 'text/plain', buffer: Buffer.from('G28') };
    await page.locator('input[type=file]').setInputFiles(file);
    farm.list.set('1', { clusterId: '1', name: 'Printer 1', online: false });
    await page.getByRole('article', { name: 'Printer 1' }).and(page.locator('.offline')).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await message('Done: ring.gcode');
    assert.deepEqual(asked, ['1']);
  });

  it('takes files that are dropped anywhere', async () => {
    await open();
    const dropped = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(['G28'], 'dropped.gcode'));
      return data;
    });
    await page.dispatchEvent('h1', 'drop', { dataTransfer: dropped });
    await page.getByRole('dialog', { name: 'Add files' }).getByText('dropped.gcode').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    assert.deepEqual(farm.files, []);
  });

  it('shows notices', async () => {
    await open();
    farm.board.notices.add('The filament is in the cupboard.', 'warn');
    await page.getByRole('note').filter({ hasText: 'The filament is in the cupboard.' }).waitFor();
  });

  it('leaves out what the board does not allow', async () => {
    fill();
    await farm.close();
    farm.open({ allow: 'press' });
    await open();
    await page.getByRole('button', { name: 'Pause print: Printer 1' }).waitFor();
    for (const name of [/^Abort/, /^Remove/, 'Add files'])
      assert.equal(await page.getByRole('button', { name }).count(), 0);
    // A page that asks for something while no board is there reports an error.
    await page.goto('about:blank');
    await farm.close();
    farm.open({ allow: 'look' });
    await open();
    await page.getByRole('article', { name: 'Printer 1' }).waitFor();
    const buttons = await page.getByRole('button').all();
    for (const button of buttons) assert.match((await button.getAttribute('aria-label')) ?? '', /^Explain/);
    assert.equal(await page.getByRole('checkbox').count(), 0);
  });

  it('shows hostile names as text, whole for a screen reader', async () => {
    farm.printers = [printerOf('1', { clusterName: HOSTILE, sentence: said(HOSTILE) })];
    farm.items = [itemOf('a', { name: HOSTILE, orderId: HOSTILE, owner: HOSTILE, sentence: said(HOSTILE) })];
    farm.todo = [needOf('plate', { clusterId: '1', text: said(HOSTILE), answers: ANSWERS.plate('j') })];
    await open();
    await page.getByRole('button', { name: `Good: ${HOSTILE}`, exact: true }).waitFor();
    await page.getByRole('article', { name: HOSTILE }).first().waitFor();
    assert.equal(await page.locator('img[src="x"]').count(), 0);
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    assert.equal(overflow, 0);
  });

  it('greys itself while Node-RED is away, and heals by itself', async () => {
    fill();
    await open();
    await farm.close();
    const connection = page.getByRole('status', { name: 'Connection' });
    await connection.filter({ hasText: /^Offline since/ }).waitFor();
    farm.printers = [printerOf('9')];
    farm.open();
    await connection.filter({ hasText: /^Live since/ }).waitFor();
    await page.getByRole('article', { name: 'Printer 9' }).waitFor();
    assert.equal(await page.getByRole('article', { name: 'Printer 1' }).count(), 0);
    problems = problems.filter((problem) => !/404|Failed to load/.test(problem));
  });

  it("says since when it is live by the clock of Node-RED, whatever the browser's clock says", async () => {
    await page.clock.install({ time: Date.now() - 5 * 3_600_000 });
    const before = Date.now();
    await open();
    const live = await page.getByRole('status', { name: 'Connection' }).textContent();
    const time = new Intl.DateTimeFormat('en-US', { hour: '2-digit', minute: '2-digit' });
    assert.ok(
      [before, Date.now()].some((at) => live?.includes(time.format(at))),
      `${live}`,
    );
  });

  it("notices a silent connection, also after the browser's clock was set back", async () => {
    await page.clock.install();
    await open();
    await page.clock.setSystemTime(Date.now() - 5 * 3_600_000);
    const read = page.waitForRequest('**/board.json');
    await page.clock.fastForward(60_000);
    await read;
  });

  it('reloads itself once for another version', async () => {
    await open();
    await farm.close();
    farm.version = 'another';
    farm.open();
    await page.waitForFunction(() => document.body.dataset.version === 'another');
    await page.getByRole('status', { name: 'Connection' }).filter({ hasText: /^Live/ }).waitFor();
    problems = problems.filter((problem) => !/404|Failed to load/.test(problem));
  });

  it('speaks the language of the browser, and nothing else', async () => {
    fill();
    farm.items[0] = itemOf('a', { priority: 3, deadline: soon(9_000_000), eta: farm.items[0]?.eta ?? null });
    const [english, { all: german, say }] = [farm.words('en-US'), farm.words('de')];
    const own = await browser.newContext({ locale: 'de-DE' });
    const other = await newPage(own);
    await other.goto(farm.url);
    await other.getByRole('region', { name: 'Drucker', exact: true }).waitFor();
    assert.equal(await other.locator('html').getAttribute('lang'), 'de');
    const foreign = Object.entries(english.all).flatMap(([key, text]) => (german[key] === text ? [] : [exactly(text)]));
    const check = async (shown: string) => {
      const texts = await other.evaluate(textsOfPage);
      assert.ok(texts.length > 20, shown);
      assert.deepEqual(
        { shown, left: texts.filter((text) => foreign.some((one) => one.test(text))) },
        { shown, left: [] },
      );
    };
    await other.getByRole('button', { name: 'Gut: Printer 2' }).click();
    await other.getByRole('button', { name: 'Erklären: a.gcode' }).click();
    await other.getByRole('checkbox', { name: 'Auswählen: b.gcode' }).check();
    await other.getByRole('table', { name: 'Verlauf' }).waitFor();
    await check('the board');
    await other.getByRole('button', { name: 'Bearbeiten: a.gcode' }).click();
    await check('the dialog of an item');
    await other.keyboard.press('Escape');
    await other.getByRole('button', { name: say('a11y.printAnyway', { item: 'd.gcode' }) }).click();
    await check('the dialog of an answer');
    await other.keyboard.press('Escape');
    const file = { name: 'ring.gcode', mimeType: 'text/plain', buffer: Buffer.from('G28') };
    await other.locator('input[type=file]').setInputFiles(file);
    await check('the dialog of files');
    await other.keyboard.press('Escape');
    await other.getByRole('link', { name: 'Öffnen: Printer 1' }).click();
    await other.getByRole('region', { name: 'Printer 1' }).getByRole('link', { name: 'Zurück' }).waitFor();
    await check('a printer alone');
    await own.close();
  });

  for (const [device, viewport, locales] of [
    ['a phone', { width: 390, height: 844 }, { light: 'de-DE', dark: 'en-US' }],
    ['a tablet', { width: 820, height: 1180 }, { light: 'en-US', dark: 'de-DE' }],
    ['a wall', { width: 1920, height: 1080 }, { light: 'de-DE', dark: 'en-US' }],
  ] as const)
    for (const colorScheme of ['light', 'dark'] as const)
      it(`has no accessibility fault on ${device} in ${colorScheme}, in ${locales[colorScheme]}`, async () => {
        fill();
        const locale = locales[colorScheme];
        const own = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce', locale });
        const other = await newPage(own);
        await other.goto(farm.url);
        await other.getByRole('article', { name: 'Printer 1' }).waitFor();
        await assertAccessible(other.locator('html'), `${device}, ${colorScheme}`);
        const overflow = await other.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.equal(overflow, 0);
        await own.close();
      });

  it('shows eight printers and six plates on a wall without scrolling', async () => {
    farm.printers = Array.from({ length: 8 }, (_, at) =>
      printerOf(String(at), {
        ...{ state: 'printing', progress: 40, endAt: soon(3_600_000), sentence: said('Printing') },
        job: { clusterJobId: `j${at}`, name: 'vase.gcode', state: 'printing' },
        next: { itemId: 'a', name: 'a.gcode' },
      }),
    );
    farm.todo = Array.from({ length: 6 }, (_, at) =>
      needOf('plate', { clusterId: String(at), answers: ANSWERS.plate(`j${at}`) }),
    );
    await page.setViewportSize({ width: 1920, height: 1080 });
    await open();
    await page.getByRole('article', { name: 'Printer 7' }).waitFor();
    const bottom = await page.evaluate(() =>
      Math.max(
        ...[...document.querySelectorAll('.printers-list article')].map((card) => card.getBoundingClientRect().bottom),
      ),
    );
    assert.ok(bottom <= 1080, String(bottom));
  });
});

/** Matches a text of the catalogue with anything in its holes, and nothing else. */
const exactly = (text: string): RegExp =>
  new RegExp(`^${text.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '.+')}$`);

/** All texts that a person sees or hears on a page. */
function textsOfPage(): string[] {
  const attributes = ['aria-label', 'title', 'alt', 'placeholder'];
  return [...document.querySelectorAll('body, body *')]
    .flatMap((element) => [
      ...[...element.childNodes]
        .filter(({ nodeType }) => nodeType === Node.TEXT_NODE)
        .map((node) => node.textContent ?? ''),
      ...attributes.map((name) => element.getAttribute(name) ?? ''),
    ])
    .flatMap((text) => text.split(' · '))
    .map((text) => text.trim())
    .filter((text) => text !== '');
}
