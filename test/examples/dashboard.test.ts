import assert from 'node:assert/strict';
import { chromium, type Browser, type Locator } from 'playwright-core';

import { ensureChromium } from '../../scripts/debian.mjs';
import { assertAccessible } from '../helpers/accessibility';
import { newestRuntimes } from '../helpers/real-node-red';
import { ExampleBench } from './example-bench';
import { onEach as runOnEach } from './on-each';
import { dashboardPack, PHONE, Wall } from './wall';

const EXAMPLE = '05-wall-dashboard';
const HOURS = 36_000;
/** Virtual seconds from the start of a print to its first layer. */
const HEATING = 100;

/** Background of the page in the example's theme and in the dark theme that the example's comment describes. */
const THEMES = {
  light: { background: 'rgb(241, 243, 245)', colors: {} },
  dark: {
    background: 'rgb(18, 21, 25)',
    colors: { surface: '#1c2127', primary: '#8ab4f8', bgPage: '#121519', groupBg: '#1c2127', groupOutline: '#4a525c' },
  },
};

interface Place {
  bench: ExampleBench;
  screen: Wall;
  phone: Wall;
}

/** Runs each exercise on all wanted Node-REDs in parallel. */
describe('the cards on a dashboard', () => {
  const places = new Map<string, Place>();
  let browser: Browser;
  before(async () => {
    browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] });
    const start = async (runtime: (typeof newestRuntimes)[number]) => {
      const bench = await ExampleBench.start(runtime, [dashboardPack]);
      // A notice must not disappear before a slow machine reads it.
      await bench.import(EXAMPLE, {}, (node) =>
        node.type === 'ui-notification' ? { ...node, displayTime: '0' } : node,
      );
      const [screen, phone] = await Promise.all([Wall.open(browser, bench.url), Wall.open(browser, bench.url, PHONE)]);
      places.set(runtime.name, { bench, screen, phone });
    };
    await Promise.all(newestRuntimes.map(start));
  });
  after(async () => {
    await browser.close();
    await Promise.all([...places.values()].map(({ bench }) => bench.close()));
  });

  const onEach = (title: string, exercise: (place: Place) => Promise<void>) => runOnEach(places, title, exercise);

  onEach('show each printer with its picture, on a phone and on a screen', async ({ bench, screen, phone }) => {
    const names = (await bench.accountClusters()).map(({ friendlyName }) => friendlyName);
    for (const wall of [screen, phone]) {
      await wall.showsOnly(names);
      const picture = wall.card('Workbench printer').getByRole('img', { name: 'Camera of Workbench printer' });
      await picture.waitFor();
      const width = await picture.evaluate(async (element: unknown) => {
        const image = element as { decode(): Promise<void>; naturalWidth: number };
        await image.decode();
        return image.naturalWidth;
      });
      assert.equal(width, 640);
      await wall.page.getByText('an hour of theirs takes a minute').waitFor();
      await shows(bench, wall.card('Workbench printer'), /idle\s+\w+ PLA/);
      await wall.assertFits();
    }
  });

  onEach('show a print, and pause, resume and abort it', async ({ bench, screen, phone }) => {
    await bench.world('print-locally', { cluster: 2, name: 'chosen.gcode', seconds: HOURS });
    await bench.pass(HEATING + 3600);
    for (const wall of [screen, phone])
      await shows(bench, wall.card('Window printer'), /printing: chosen\.gcode\s+1\d %, \d+ min left/);
    await phone.button('Pause chosen.gcode on Window printer').click();
    for (const wall of [screen, phone]) await shows(bench, wall.card('Window printer'), /paused: chosen\.gcode/);
    await screen.button('Resume chosen.gcode on Window printer').click();
    await shows(bench, phone.card('Window printer'), /printing: chosen\.gcode/);

    const questions: string[] = [];
    screen.page.on('dialog', (dialog) => {
      questions.push(dialog.message());
      void (questions.length === 1 ? dialog.dismiss() : dialog.accept());
    });
    const abort = screen.button('Abort chosen.gcode on Window printer');
    await abort.click();
    await bench.settle();
    assert.equal((await bench.prints('chosen.gcode'))[0]!.status, 'printing');
    await abort.click();
    await bench.until(async () => /^abort|^wait_cleanup$/.test((await bench.prints('chosen.gcode'))[0]!.status));
    assert.deepEqual([...new Set(questions)], ['Abort chosen.gcode on Window printer?']);
  });

  onEach('show what went wrong to the one who pressed', async ({ bench, screen, phone }) => {
    await bench.world('print-locally', { cluster: 1, name: 'local.gcode', seconds: HOURS });
    await bench.pass(HEATING + 100);
    await bench.world('actions', { cluster: 1, outcome: 'failed' });
    await shows(bench, phone.card('Workbench printer'), /printing: local\.gcode/);
    await phone.button('Pause local.gcode on Workbench printer').click();
    await phone.notice.filter({ hasText: /pause.*failed/ }).waitFor();
    await assertAccessible(phone.notice, 'the notice');
    assert.equal(await screen.notice.count(), 0, 'only who pressed is told');
    await phone.button('Close').click();
    await phone.notice.waitFor({ state: 'detached' });
    await bench.world('actions', { cluster: 1 });
  });

  onEach(
    'are there again after a deploy and after a restart, with no old figures',
    async ({ bench, screen, phone }) => {
      const names = (await bench.accountClusters()).map(({ friendlyName }) => friendlyName);
      await bench.import(EXAMPLE);
      for (const wall of [screen, phone]) await wall.showsOnly(names);
      assert.deepEqual(bench.complaints(), []);
      await bench.restart();
      await bench.world('offline', { cluster: 2 });
      const fresh = await Wall.open(browser, bench.url);
      for (const wall of [fresh, screen, phone]) {
        await shows(bench, wall.card('Window printer'), /offline/);
        await wall.showsOnly(names);
      }
      await bench.world('online', { cluster: 2 });
      for (const wall of [fresh, screen, phone])
        await bench.until(async () => !(await wall.card('Window printer').innerText()).includes('offline'));
      await fresh.page.close();
      assert.deepEqual(fresh.problems, []);
      assert.deepEqual(bench.complaints(), []);
    },
  );

  for (const [theme, { background, colors }] of Object.entries(THEMES))
    onEach(`pass the accessibility checks, ${theme}`, async ({ bench, screen, phone }) => {
      await bench.import(EXAMPLE, {}, (node) =>
        node.type === 'ui-theme' ? { ...node, colors: { ...(node.colors as object), ...colors } } : node,
      );
      for (const wall of [screen, phone]) {
        await bench.until(async () => (await wall.background()) === background && (await wall.notice.count()) === 0);
        await wall.card('Workbench printer').getByRole('progressbar').waitFor();
        await assertAccessible(wall.page.locator('html'), `the page, ${theme}`);
      }
    });

  onEach('contact no other host, receive no foreign address and log no error', async ({ screen, phone }) => {
    await Promise.resolve();
    assert.deepEqual([screen.problems, phone.problems], [[], []]);
  });
});

/** Waits until a card shows this text, and polls the printers meanwhile. */
const shows = (bench: ExampleBench, card: Locator, text: RegExp): Promise<void> =>
  bench.until(async () => (await card.count()) === 1 && text.test(await card.innerText()));
