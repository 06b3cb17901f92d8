import assert from 'node:assert/strict';
import { chromium, type Browser, type Locator, type Page } from 'playwright-core';
import { ensureChromium } from '../../scripts/debian.mjs';
import { assertAccessible } from '../helpers/accessibility';
import { startSimulator, type Simulator } from '../../simulator';

describe('simulator: the page of the control host', function () {
  let browser: Browser;
  let simulator: Simulator;
  let page: Page;
  let problems: string[];
  let elsewhere: string[];

  before(async () => {
    browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] });
  });
  after(() => browser.close());
  beforeEach(async () => {
    // The printers' time advances only by `advance` and by the page's buttons, however slow the browser is.
    const instant = Date.now();
    simulator = await startSimulator({ actionDelay: 0, now: () => instant });
    page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    [problems, elsewhere] = [[], []];
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(simulator.controlUrl) && !url.startsWith('data:')) elsewhere.push(url);
    });
  });
  afterEach(async () => {
    await page.close();
    await simulator.close();
    assert.deepEqual([problems, elsewhere], [[], []]);
  });

  const open = async (): Promise<Locator> => {
    await page.goto(simulator.controlUrl);
    return page.getByRole('article').filter({ hasText: 'Workbench printer' });
  };
  const said = (text: string): Promise<void> => page.getByRole('status').filter({ hasText: text }).waitFor();
  const startPrint = (): string => {
    const { uuid } = simulator.world.printLocally(1, { name: 'vase.gcode', seconds: 600 });
    simulator.world.advance(395);
    return uuid;
  };

  it('shows the time factor', async () => {
    await open();
    await page.getByText("The printers' times are real.").waitFor();
    const fast = await startSimulator({ timeFactor: 60 });
    try {
      const shown = await browser.newPage();
      await shown.goto(fast.controlUrl);
      await shown.getByText('run 60 times as fast as a clock: an hour takes a minute.').waitFor();
      await shown.close();
    } finally {
      await fast.close();
    }
  });

  it('shows printers, their pictures and their prints', async () => {
    startPrint();
    const card = await open();
    await card.getByRole('listitem').filter({ hasText: 'vase.gcode' }).waitFor();
    const names = simulator.world.clusters().map(({ friendlyName }) => friendlyName);
    assert.deepEqual(await page.getByRole('article').getByRole('heading', { level: 3 }).allTextContents(), names);
    const progress = card.getByRole('progressbar', { name: 'Progress of vase.gcode' });
    assert.equal(await progress.getAttribute('value'), '50');
    const picture = card.getByRole('img', { name: /^Workbench printer: printing, vase\.gcode 50 %$/ });
    const size = await picture.evaluate(async (element: unknown) => {
      const image = element as { decode(): Promise<void>; naturalWidth: number };
      await image.decode();
      return image.naturalWidth;
    });
    assert.equal(size, 640);

    const before = await picture.getAttribute('src');
    simulator.world.advance(60);
    const later = card.getByRole('img', { name: /vase\.gcode 60 %$/ });
    await later.waitFor();
    assert.notEqual(await later.getAttribute('src'), before);
  });

  it('names the print of each printer of a group', async () => {
    simulator.world.printLocally(4, { name: 'vase.gcode', seconds: 600 });
    simulator.world.printLocally(4, { name: 'hinge.gcode', seconds: 600 });
    simulator.world.advance(395);
    await open();
    await page.getByRole('img', { name: 'Shelf printer: printing, vase.gcode 50 %' }).waitFor();
    await page.getByRole('img', { name: 'Shelf printer 2: printing, hinge.gcode 50 %' }).waitFor();
  });

  it('controls print jobs', async () => {
    const uuid = startPrint();
    const card = await open();
    await card.getByRole('button', { name: 'Pause: vase.gcode' }).click();
    await said('Done: Pause: vase.gcode.');
    assert.equal(simulator.world.printJob(uuid).status, 'pausing');
    simulator.world.advance(5);
    await card.getByRole('button', { name: 'Resume: vase.gcode' }).click();
    await said('Done: Resume: vase.gcode.');
    simulator.world.advance(5);
    await card.getByRole('button', { name: 'Stall: vase.gcode', exact: true }).click();
    await said('Done: Stall: vase.gcode.');
    assert.equal(simulator.world.printJob(uuid).stalled, true);
    await card.getByRole('button', { name: 'Unstall: vase.gcode' }).click();
    await said('Done: Unstall: vase.gcode.');
    assert.equal(simulator.world.printJob(uuid).stalled, undefined);
    await card.getByRole('button', { name: 'Abort: vase.gcode' }).click();
    await said('Done: Abort: vase.gcode.');
    await page.getByRole('button', { name: '1 minute' }).click();
    await said('Done: 1 minute.');
    simulator.world.advance(10);
    await card.getByRole('button', { name: 'Clear the plate: vase.gcode' }).click();
    await card.getByText('vase.gcode: aborted').waitFor();
    await card.getByText('Nothing to print.').waitFor();
    assert.equal(simulator.world.printJob(uuid).status, 'aborted');

    const next = startPrint();
    await card.getByRole('button', { name: 'Vanish: vase.gcode' }).click();
    await said('Done: Vanish: vase.gcode.');
    assert.throws(() => simulator.world.printJob(next));
  });

  it('changes printers', async () => {
    const card = await open();
    const count = simulator.world.clusters().length;
    await card.getByText('Change this printer').click();
    await card.getByLabel('Online').uncheck();
    await card.getByRole('img', { name: 'Workbench printer: offline' }).waitFor();
    assert.equal(simulator.world.cluster(1).online, false);
    await card.getByLabel('Online').check();
    await said('online');
    assert.equal(simulator.world.cluster(1).online, true);
    await card.getByLabel('Trouble').selectOption('error');
    await said('trouble');
    await card.getByRole('combobox', { name: 'New prints' }).selectOption('wait_approval');
    await said('dispatch');
    await card.getByLabel('Actions').selectOption('stuck');
    await said('actions');
    await card.getByLabel('New prints need another material').check();
    await said('required-changes');
    const cluster = simulator.world.cluster(1);
    assert.deepEqual(
      [cluster.printers[0]!.trouble, cluster.dispatch, cluster.actionSwitch, cluster.requiredChanges.length],
      ['error', 'wait_approval', { outcome: 'stuck' }, 1],
    );
    await card.getByRole('button', { name: 'Add a fault' }).click();
    await card.getByText('material low').waitFor();
    await card.getByRole('button', { name: 'Remove' }).click();
    await card.waitFor({ state: 'detached' });
    assert.equal(simulator.world.clusters().length, count - 1);
    await page.getByRole('button', { name: 'Add a printer' }).click();
    await said('Add a printer');
    assert.equal(simulator.world.clusters().length, count);
  });

  it('lets a person clear plates, print at the printer, and disconnect it', async () => {
    const card = await open();
    await card.getByText('Change this printer').click();
    await card.getByLabel('Plates are cleared').selectOption('none');
    await said('cleaning');
    await card.getByLabel('A file for another printer').selectOption('queued');
    await said('mismatch');
    assert.equal(simulator.world.cluster(1).mismatch, 'queued');
    await card.getByText('AA 0.4 with PLA').waitFor();

    await card.getByRole('button', { name: 'Print from a USB stick' }).click();
    await said('Print from a USB stick');
    await card.getByRole('button', { name: "Queue somebody else's print" }).click();
    await said('Queue somebody else');
    await page.getByRole('button', { name: '1 hour' }).click();
    await card.getByText('From the USB stick.gcode: finished').waitFor();
    await card.getByRole('button', { name: 'Clear the plate: Workbench printer' }).click();
    await card.getByText('A part is on the plate').waitFor({ state: 'detached' });
    assert.equal(simulator.world.cluster(1).printers[0]!.uncleared, false);

    await card.getByRole('button', { name: 'Remove: Somebody else.gcode' }).click();
    await card.getByText('Nothing to print.').waitFor();
    await card.getByRole('button', { name: 'Offline for an hour' }).click();
    await card.getByRole('img', { name: 'Workbench printer: offline' }).waitFor();
    await page.getByRole('button', { name: '1 hour' }).click();
    await card.getByRole('img', { name: 'Workbench printer: idle' }).waitFor();
  });

  it('shows why a job waits', async () => {
    simulator.world.setRequiredChanges(1);
    const { clusterId, organizationId, userId } = simulator.world.cluster(1);
    const announced = { organizationId, userId, fileSize: 4, contentType: 'text/plain' };
    const stored = simulator.world.register({
      ...announced,
      ...{ origin: null, libraryProjectId: null, jobName: 'vase.gcode', sourceFileId: null },
    });
    simulator.world.stored(stored, { size: 4, sha256: '', printSeconds: 600, parsed: true, needs: [] });
    simulator.world.print(simulator.world.cluster(clusterId), stored, userId, true);
    simulator.world.advance(10);
    const card = await open();
    await card.getByText('queued, material change').waitFor();
  });

  it('keeps a change when an older answer arrives after it', async () => {
    const card = await open();
    await card.getByText('Change this printer').click();
    const online = card.getByLabel('Online');
    let asked = (): void => undefined;
    let answer = (): void => undefined;
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const mayAnswer = new Promise<void>((resolve) => (answer = resolve));
    await page.route(
      '**/overview',
      async (route) => {
        const response = await route.fetch();
        asked();
        await mayAnswer;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    await isAsked;
    await online.uncheck();
    await said('offline');
    const shown = page.waitForResponse('**/overview');
    answer();
    await (await shown).finished();
    await page.evaluate('new Promise((resolve) => setTimeout(resolve))');
    assert.equal(await online.isChecked(), false);
  });

  it('adds faults, expires tokens, switches uploads, and configures reports', async () => {
    await open();
    await page.getByLabel('The storage host is').selectOption('plain');
    await said('uploads');
    assert.equal(simulator.world.uploadMode, 'plain');
    await page.getByLabel(/^\s*Call/).selectOption('print');
    await page.getByLabel('Effect').selectOption('breaks after the work is done');
    await page.getByLabel(/^\s*Times/).selectOption('always');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('list', { name: 'Active faults' }).getByText('print: {').waitFor();
    assert.deepEqual(simulator.faults.list(), [
      { endpoint: 'print', times: 'always', after: 0, reset: true, when: 'after' },
    ]);
    await page.getByRole('button', { name: 'Remove all' }).click();
    await said('faults removed');
    assert.deepEqual(simulator.faults.list(), []);

    await page.getByLabel('An expired token answers').selectOption('403');
    await said('expired tokens');
    await page.getByRole('button', { name: 'End all sign-ins' }).click();
    await said('End all sign-ins');
    assert.equal(simulator.tokens.expiredStatus, 403);

    await page.getByLabel('Separator').selectOption('tab');
    await page.getByLabel('Invented lines').fill('7');
    await page.getByLabel('Byte order mark').check();
    await page.getByRole('button', { name: 'Use' }).click();
    await said('reports');
    const { clusterId, organizationId } = simulator.world.cluster(1);
    const { made } = simulator.world.order({ organizationId, clusterIds: [clusterId], from: 0, to: 1 });
    assert.deepEqual(made, { outcome: 'success', separator: '\t', rows: 7, bom: true });
  });

  it('reports refusals', async () => {
    startPrint();
    // A second overview would show the pause and replace the button.
    await page.route('**/overview', () => undefined);
    await page.route('**/overview', (route) => route.continue(), { times: 1 });
    const card = await open();
    const button = card.getByRole('button', { name: 'Pause: vase.gcode' });
    await button.waitFor();
    problems = [];
    simulator.world.pause(1);
    await button.click();
    await said('No print job is in a state for this');
    // The browser itself logs every answer other than 200.
    assert.match(problems.join(), /^Failed to load resource[^,]*409[^,]*$/);
    problems = [];
  });

  it('supports keyboard and screen reader, in light and dark colours', async () => {
    startPrint();
    const card = await open();
    const pause = card.getByRole('button', { name: 'Pause: vase.gcode' });
    await pause.focus();
    // The focus survives a refresh of the page.
    await page.waitForResponse((response) => response.url().endsWith('/overview'));
    await page.waitForResponse((response) => response.url().endsWith('/overview'));
    const focused = await pause.evaluate((button: unknown) => {
      const { ownerDocument } = button as { ownerDocument: { activeElement: unknown } };
      return ownerDocument.activeElement === button;
    });
    assert.ok(focused);
    await page.keyboard.press('Enter');
    await said('Done: Pause: vase.gcode.');

    await card.getByText('Change this printer').click();
    const names = (await page.locator('body').ariaSnapshot()).split('\n');
    const unnamed = names.filter((line) =>
      /^\s*- (textbox|combobox|checkbox|spinbutton|button|img|progressbar)(?! ")/.test(line),
    );
    assert.deepEqual(unnamed, []);

    const colors = async (scheme: 'dark' | 'light'): Promise<string> => {
      await page.emulateMedia({ colorScheme: scheme });
      await assertAccessible(page.locator('html'), `the page, ${scheme}`);
      return page.evaluate(
        "getComputedStyle(document.body).color + ' on ' + getComputedStyle(document.body).backgroundColor",
      );
    };
    assert.deepEqual(
      [await colors('light'), await colors('dark')],
      ['rgb(29, 34, 41) on rgb(244, 245, 247)', 'rgb(230, 233, 237) on rgb(21, 24, 29)'],
    );
  });
});
