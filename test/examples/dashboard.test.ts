import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Browser, type Locator, type Page } from 'playwright-core';

import { ensureChromium } from '../../scripts/debian.mjs';
import { assertAccessible } from '../helpers/accessibility';
import { newestRuntimes } from '../helpers/real-node-red';
import { ExampleBench, type Cluster } from './example-bench';
import { onEach as runOnEach } from './on-each';
import { dashboardPack, PHONE, SCREEN, Wall } from './wall';

const EXAMPLE = '05-wall-dashboard';
const gcode = (name: string, seconds: number) =>
  `;${name}\n;FLAVOR:Griffin\n;TIME:${seconds}\nG28\nG1 X20 Y20 E1\nM104 S0\n`;
const HOURS = 36_000;
/** Volume of the simulator's full spool, mm³. */
const SPOOL = 604_800;
/** Virtual seconds from the start of a print to its first layer. */
const HEATING = 100;
/** Colour of the chart's first line. */
const BLUE = [0, 149, 255] as const;

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

/** Presses Tab until this button has the focus; a dialog has two buttons at most. */
async function tabTo(page: Page, button: Locator): Promise<void> {
  const hasFocus = () =>
    button.evaluate((element: unknown) => (element as { matches(css: string): boolean }).matches(':focus'));
  await page.locator('[role=dialog]:focus-within, [role=dialog]:focus').first().waitFor();
  for (let tabs = 0; !(await hasFocus()); tabs += 1) {
    assert.ok(tabs < 5, 'no way to the button');
    await page.keyboard.press('Tab');
  }
}

/** Runs each exercise on all wanted Node-REDs in parallel. */
describe('the wall dashboard', () => {
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
      for (const cluster of [1, 2, 3]) await bench.world('cleaning', { cluster, value: 'manual' });
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

  onEach(
    'shows a card with a picture for each printer, on a phone and on a screen',
    async ({ bench, screen, phone }) => {
      const names = (await bench.accountClusters()).map(({ friendlyName }) => friendlyName);
      for (const wall of [screen, phone]) {
        await wall.card('Workbench printer').getByText('idle').waitFor();
        const picture = wall.card('Workbench printer').getByRole('img', { name: 'Camera of Workbench printer' });
        await picture.waitFor();
        const width = await picture.evaluate(async (element: unknown) => {
          const image = element as { decode(): Promise<void>; naturalWidth: number };
          await image.decode();
          return image.naturalWidth;
        });
        assert.equal(width, 640);
        // The whole picture is shown, with the caption at its lower edge.
        const { width: shownWidth, height } = (await picture.boundingBox())!;
        assert.ok(Math.abs(shownWidth / height - 640 / 480) < 0.02, `${shownWidth} x ${height}`);
        assert.match((await picture.getAttribute('src'))!, /^data:image\/png;base64,/);
        await wall.showsOnly(names);
        await wall.page.getByText('an hour of theirs takes a minute').waitFor();
        await wall.assertFits();
      }
      await screen.card('Workbench printer').getByText('or drop it on this card').waitFor();
    },
  );

  onEach('shows how much material is left, and due maintenance', async ({ bench, screen, phone }) => {
    const [{ model }] = (await bench.clusters()) as [Cluster];
    await bench.world('load', { cluster: 1, extruder: 0, color: 'Red', volumeLeft: 0.0512 * SPOOL });
    await bench.world('load', { cluster: 1, extruder: 1, color: 'Blue', material: 'PETG', volumeLeft: SPOOL });
    await bench.world('maintenance-due', { cluster: 1, value: [`${model}_clean_fans`] });
    for (const wall of [screen, phone]) {
      const card = wall.card('Workbench printer');
      await shows(bench, card, /Material: ⚠ Red PLA 5\s%, Blue PETG 100\s% ⚠ maintenance is due/);
      assert.doesNotMatch(await wall.card('Window printer').innerText(), /maintenance/);
      // Its second extruder is empty.
      assert.match(await wall.card('Window printer').innerText(), /Material: \w+ PLA \d+\s%\n/);
      await wall.assertFits();
    }
  });

  onEach('prints a file that is dropped on a card, to 100 %', async ({ bench, screen, phone }) => {
    const card = phone.card('Back room printer');
    const [dropped, second] = [join(bench.userDir, 'dropped.gcode'), join(bench.userDir, 'second.gcode')];
    await writeFile(dropped, gcode('dropped', 600));
    await writeFile(second, gcode('second', 600));
    // No element above the first card can move the card during the drop.
    await phone.drop(card, dropped);
    await phone.answer('Print dropped.gcode on Back room printer?', 'Cancel');
    await phone.drop(card, dropped);
    await phone.answer('Print dropped.gcode on Back room printer?', 'Print');
    await bench.until(async () => (await bench.prints('dropped.gcode')).length === 1);
    await bench.pass(HEATING + 300);
    await shows(bench, card, /printing: dropped\.gcode.*\d\d %, [45] min left, done \w+,? \d\d:\d\d/s);
    // A second print has to wait.
    await phone.drop(card, second);
    await phone.answer('Print second.gcode on Back room printer?', 'Print');
    await shows(bench, card, /Next: second\.gcode/);
    await bench.pass(600);
    for (const wall of [screen, phone]) {
      await shows(bench, wall.card('Back room printer'), /finished: dropped\.gcode\s+100 %/);
      const bar = wall.card('Back room printer').getByRole('progressbar', { name: 'Progress of dropped.gcode' });
      assert.equal(await bar.getAttribute('aria-valuenow'), '100');
      await wall.assertFits();
    }
  });

  onEach('charts the progress', async ({ bench, screen, phone }) => {
    for (const wall of [screen, phone]) await bench.until(async () => (await wall.drawn(...BLUE)) > 50);
  });

  onEach('pauses, resumes and aborts, each after a question', async ({ bench, screen }) => {
    const card = screen.card('Window printer');
    const chooser = screen.page.waitForEvent('filechooser');
    await screen.button('Print a file on Window printer').click();
    await (await chooser).setFiles({ name: 'chosen.gcode', mimeType: '', buffer: Buffer.from(gcode('chosen', HOURS)) });
    await screen.answer('Print chosen.gcode on Window printer?', 'Print');
    await bench.until(async () => (await bench.prints('chosen.gcode')).length === 1);
    await bench.pass(HEATING + 100);
    await shows(bench, card, /printing: chosen\.gcode/);

    const pause = screen.button('Pause chosen.gcode on Window printer');
    await pause.click();
    await screen.answer('Pause chosen.gcode on Window printer?', 'Cancel');
    assert.equal((await bench.prints('chosen.gcode'))[0]!.status, 'printing');
    // Uses the keyboard alone; the open dialog has the focus. A busy page can discard a key press.
    const dialog = screen.page.getByRole('dialog');
    const opens = () =>
      dialog.waitFor({ timeout: 5000 }).then(
        () => true,
        () => false,
      );
    await bench.until(async () => {
      await pause.press('Enter');
      return opens();
    });
    await tabTo(screen.page, dialog.getByRole('button', { name: 'Pause', exact: true }));
    await screen.page.keyboard.press('Enter');
    await shows(bench, card, /paused: chosen\.gcode/);
    await screen.button('Resume chosen.gcode on Window printer').click();
    await screen.answer('Resume chosen.gcode on Window printer?', 'Resume');
    await shows(bench, card, /printing: chosen\.gcode/);
    await screen.button('Abort chosen.gcode on Window printer').click();
    await screen.answer('Abort chosen.gcode on Window printer?', 'Abort');
    // The print stops within moments and then stays on the plate.
    await bench.until(async () => /^abort|^wait_cleanup$/.test((await bench.prints('chosen.gcode'))[0]!.status));
    await bench.pass(60);
    await shows(bench, card, /aborted: chosen\.gcode/);
  });

  onEach('shows what went wrong', async ({ bench, screen, phone }) => {
    const chooser = screen.page.waitForEvent('filechooser');
    await screen.button('Print a file on Workbench printer').click();
    await (await chooser).setFiles({ name: 'model.stl', mimeType: '', buffer: Buffer.from('solid') });
    await screen.answer('Print model.stl on Workbench printer?', 'Print');
    await screen
      .card('Workbench printer')
      .getByText(/model.*slice/)
      .waitFor();
    // The message disappears when the printer starts another print.
    await bench.world('print-locally', { cluster: 1, name: 'brief.gcode', seconds: 60 });
    await shows(bench, screen.card('Workbench printer'), /brief\.gcode/);
    assert.doesNotMatch(await screen.card('Workbench printer').innerText(), /slice/);
    await bench.pass(HEATING + 100 + 60);
    await bench.world('clean', { cluster: 1 });
    // The browser itself logs this line.
    assert.match(screen.problems.splice(0).join(), /^Failed to load resource[^,]* 400 [^,]*$/);

    const sent = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'G28' };
    const [{ clusterId }] = (await bench.clusters()) as [Cluster];
    const answer = await fetch(new URL(`print-file?printer=${clusterId}&name=foreign.gcode`, bench.url), sent);
    assert.equal(answer.status, 400, 'from a form of another site');
    assert.deepEqual(await bench.prints('foreign.gcode'), []);

    await bench.world('print-locally', { cluster: 1, name: 'local.gcode', seconds: HOURS });
    await bench.pass(HEATING + 100);
    await bench.world('actions', { cluster: 1, outcome: 'failed' });
    await shows(bench, phone.card('Workbench printer'), /printing: local\.gcode/);
    await phone.button('Pause local.gcode on Workbench printer').click();
    await phone.answer('Pause local.gcode on Workbench printer?', 'Pause');
    await phone.notice.filter({ hasText: /pause.*failed/ }).waitFor();
    await assertAccessible(phone.notice, 'the notice');
    assert.equal(await screen.notice.count(), 0, 'only who pressed is told');
    await phone.button('Close').click();
    await phone.notice.waitFor({ state: 'detached' });
    await bench.world('actions', { cluster: 1 });
  });

  onEach(
    'shows its cards again after a deploy and after a restart, without a warning in the log',
    async ({ bench, screen, phone }) => {
      const names = (await bench.accountClusters()).map(({ friendlyName }) => friendlyName);
      const card = (wall: Wall) => wall.card('Back room printer').getByText('second.gcode').first();
      await bench.import(EXAMPLE);
      for (const wall of [screen, phone]) await card(wall).waitFor();
      assert.deepEqual(bench.complaints(), []);
      await bench.restart();
      const fresh = await Wall.open(browser, bench.url);
      for (const wall of [fresh, screen, phone]) {
        await card(wall).waitFor();
        await wall.showsOnly(names);
      }
      // A page shows a change only once it is connected again. The dashboard forgets a page that connects during a deploy.
      const printerCards = [fresh, screen, phone].map((wall) => wall.card('Window printer'));
      await bench.world('offline', { cluster: 2 });
      for (const printer of printerCards) await shows(bench, printer, /offline/);
      await bench.world('online', { cluster: 2 });
      for (const printer of printerCards)
        await bench.until(async () => !(await printer.innerText()).includes('offline'));
      await fresh.page.close();
      assert.deepEqual(fresh.problems, []);
      assert.deepEqual(bench.complaints(), []);
    },
  );

  for (const [theme, { background, colors }] of Object.entries(THEMES))
    onEach(`passes the accessibility checks, ${theme}`, async ({ bench, screen, phone }) => {
      await bench.import(EXAMPLE, {}, (node) =>
        node.type === 'ui-theme' ? { ...node, colors: { ...(node.colors as object), ...colors } } : node,
      );
      for (const wall of [screen, phone]) {
        await bench.until(async () => (await wall.background()) === background && (await wall.notice.count()) === 0);
        await wall.card('Workbench printer').getByRole('img').waitFor();
        await assertAccessible(wall.page.locator('html'), `the page, ${theme}`);
      }
      await screen.drop(screen.card('Back room printer'), join(bench.userDir, 'dropped.gcode'));
      const dialog = screen.page.getByRole('dialog', { name: 'Print dropped.gcode on Back room printer?' });
      await assertAccessible(dialog, `the question, ${theme}`);
      await dialog.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
    });

  onEach('shows thirty printers side by side, one of them offline', async ({ bench, screen, phone }) => {
    const clusters = await bench.accountClusters();
    const { organizationId } = clusters[0]!;
    for (let number = clusters.length + 1; number <= 30; number += 1)
      await bench.world('add-cluster', { name: `Printer ${number}`, organizationId });
    await bench.world('offline', { cluster: 2 });
    await bench.press('at the start, then every minute');
    for (const wall of [screen, phone]) {
      await bench.until(async () => (await wall.cards.count()) === 30);
      await shows(bench, wall.card('Window printer'), /offline/);
      assert.ok(await wall.button('Print a file on Window printer').isDisabled());
      await wall.assertFits();
    }
    const last = await screen.cards.last().boundingBox();
    assert.ok(last && last.y + last.height <= SCREEN.height, 'not all on one screen');
  });

  onEach('reports that there are no printers', async ({ bench, screen, phone }) => {
    for (const { clusterId } of await bench.clusters()) await bench.world('remove-cluster', { cluster: clusterId });
    await bench.press('at the start, then every minute');
    for (const wall of [screen, phone]) await wall.page.getByText('The account has no printers.').waitFor();
  });

  onEach('contacts no other host, receives no foreign address and logs no error', async ({ screen, phone }) => {
    await Promise.resolve();
    assert.deepEqual([screen.problems, phone.problems], [[], []]);
  });
});

/** Waits until a card shows this text, and polls the printers meanwhile. */
const shows = (bench: ExampleBench, card: Locator, text: RegExp): Promise<void> =>
  bench.until(async () => text.test(await card.innerText()));
