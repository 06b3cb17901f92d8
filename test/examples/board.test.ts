import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Browser, type Locator } from 'playwright-core';

import { ensureChromium } from '../../scripts/debian.mjs';
import { assertAccessible } from '../helpers/accessibility';
import { newestRuntimes } from '../helpers/real-node-red';
import { ExampleBench } from './example-bench';
import { onEach as runOnEach } from './on-each';
import { dashboardPack, PHONE, SCREEN, Wall } from './wall';

const EXAMPLE = '06-print-queue-with-a-board';
/** The two shelf printers are a group. */
const PRINTERS = [
  'Workbench printer',
  'Window printer',
  'Back room printer',
  'Shelf printer',
  'Shelf printer 2',
  'Lab printer',
];
/** Virtual seconds from the start of a print to its first layer. */
const HEATING = 100;
const SECONDS = 1200;
/** Error of the phone's clock, ms. */
const AHEAD = 3_600_000;

const gcode = (name: string, model: string) =>
  `;START_OF_HEADER\n;FLAVOR:Griffin\n;TARGET_MACHINE.NAME:${model}\n;PRINT.TIME:${SECONDS}\n;END_OF_HEADER\n;${name}\n;TIME:${SECONDS}\nG28\nG1 X20 Y20 E1\nM104 S0\n`;

interface Place {
  bench: ExampleBench;
  screen: Wall;
  phone: Wall;
}

/** Runs each exercise on all wanted Node-REDs in parallel. */
describe('the board of the print queue', () => {
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
      const open = (viewport: typeof SCREEN, ahead = 0) => Wall.open(browser, bench.url, viewport, 'queue', ahead);
      const [screen, phone] = await Promise.all([open(SCREEN), open(PHONE, AHEAD)]);
      places.set(runtime.name, { bench, screen, phone });
    };
    await Promise.all(newestRuntimes.map(start));
  });
  after(async () => {
    await browser.close();
    await Promise.all([...places.values()].map(({ bench }) => bench.close()));
  });

  const onEach = (title: string, exercise: (place: Place) => Promise<void>) => runOnEach(places, title, exercise);

  onEach('asks for each plate at first, with a picture beside the button', async ({ bench, screen, phone }) => {
    for (const wall of [screen, phone]) {
      for (const name of PRINTERS) await wall.card(`Plate of ${name}`).waitFor();
      const picture = wall.page.getByRole('img', { name: 'Camera of Workbench printer' });
      await picture.waitFor();
      assert.match((await picture.getAttribute('src'))!, /^data:image\/png;base64,/);
      assert.equal(await wall.page.getByText('no news').count(), 0, 'the clock of the page does not matter');
      await wall.assertFits();
      await assertAccessible(wall.page.locator('html'), 'the page with plates to clear');
    }
    for (const name of PRINTERS) await phone.button(`It is clear: ${name}`).click();
    for (const wall of [screen, phone]) {
      for (const name of PRINTERS) await wall.card(`Plate of ${name}`).waitFor({ state: 'detached' });
      await shows(bench, wall.card('Workbench printer'), /free/);
    }
  });

  onEach('pauses each printer of a group', async ({ bench, screen }) => {
    // They have the model of the workbench printer, which then gets each print of the tests that follow.
    for (const name of ['Shelf printer', 'Shelf printer 2']) {
      await screen.button(`Pause ${name}`).click();
      await screen.button(`Resume ${name}`).waitFor();
      await shows(bench, screen.card(name), /paused/);
    }
  });

  onEach('prints the copies of a dropped file one after the other', async ({ bench, screen, phone }) => {
    const file = join(bench.userDir, 'dropped.gcode');
    await writeFile(file, gcode('dropped', 'Simulated Maker One'));
    await phone.drop(phone.page.locator('.board'), file);
    const dialog = phone.page.getByRole('dialog', { name: 'Add dropped.gcode to the queue?' });
    await dialog.getByLabel('Copies').fill('2');
    await phone.answer('Add dropped.gcode to the queue?', 'Add');
    for (const wall of [screen, phone]) {
      await shows(bench, item(wall, 'dropped.gcode'), /2 copies: 1 under way, 1 waiting/);
      await shows(bench, wall.card('Workbench printer'), /dropped\.gcode, copy 1 of 2/);
      await wall.page
        .getByRole('img', {
          name: /^Forecast of Workbench printer: dropped\.gcode until .*, dropped\.gcode, more copies until /,
        })
        .waitFor();
      await wall.assertFits();
    }
    assert.equal((await bench.prints('dropped.gcode')).length, 1);
  });

  onEach('prints a bad part again, and counts the good ones', async ({ bench, screen }) => {
    const { page } = screen;
    const plate = screen.card('Plate of Workbench printer');
    const waiting = async () => {
      await bench.pass(HEATING + SECONDS + 1000);
      await bench.until(async () => (await plate.count()) === 1);
      await plate.getByRole('img').waitFor();
    };
    await waiting();
    await shows(bench, plate, /dropped\.gcode, copy 1 of 2: finished/);
    await shows(bench, item(screen, 'dropped.gcode'), /2 copies: 1 to clear, 1 waiting/);
    await page.getByText('0 printing, 1 plate to clear, 1 waiting').waitFor();
    // The copy that follows once the plate is clear.
    await page.getByRole('img', { name: /^Forecast of Workbench printer: dropped\.gcode until [^,]*$/ }).waitFor();
    await bench.settle();
    assert.equal((await bench.prints('dropped.gcode')).length, 1, 'the plate is not cleared');
    await screen.button('Workbench printer is clear, the print is bad').click();
    await screen.answer('Was dropped.gcode on Workbench printer bad? It will be printed again.', 'Bad');
    await plate.waitFor({ state: 'detached' });
    await bench.until(async () => (await bench.prints('dropped.gcode')).length === 2);
    await waiting();
    await shows(bench, item(screen, 'dropped.gcode'), /2 copies: 1 to clear, 1 waiting · 1 print was bad/);
    await screen.button('Workbench printer is clear, the print is good').click();
    await plate.waitFor({ state: 'detached' });
    await bench.until(async () => (await bench.prints('dropped.gcode')).length === 3);
    await waiting();
    await screen.button('Workbench printer is clear, the print is good').click();
    await page.getByText(/^dropped\.gcode: finished, 2 of 2 good/).waitFor();
    assert.equal((await bench.prints('dropped.gcode')).length, 3);
  });

  onEach('asks for no verdict on a print that the queue did not send', async ({ bench, screen }) => {
    await bench.world('print-locally', { cluster: 1, name: 'by hand', seconds: 60 });
    await bench.pass(HEATING + 1000);
    const plate = screen.card('Plate of Workbench printer');
    await shows(bench, plate, /by hand, not of this queue/);
    assert.equal(await plate.getByRole('button').count(), 1);
    await screen.button('It is clear: Workbench printer').click();
    await plate.waitFor({ state: 'detached' });
    assert.match(await screen.page.getByText(/^dropped\.gcode: finished/).innerText(), /2 of 2 good/);
  });

  onEach('sends no press of a button while there is no connection to Node-RED', async ({ bench, screen, phone }) => {
    const plate = phone.card('Plate of Window printer');
    await bench.world('print-locally', { cluster: 2, name: 'by hand', seconds: 60 });
    await bench.pass(HEATING + 1000);
    await bench.until(async () => (await plate.count()) === 1);
    await bench.restart(async () => {
      await phone.page.getByText('⚠ no connection since').waitFor();
      await phone.button('It is clear: Window printer').click();
      await phone.page.getByText('Nothing was done: there is no connection to Node-RED.').waitFor();
      assert.equal(await plate.count(), 1, 'the plate still waits');
    });
    await phone.page.getByText('⚠').waitFor({ state: 'detached' });
    await bench.settle();
    // Nothing was sent after the connection was back.
    for (const wall of [screen, phone]) await wall.card('Plate of Window printer').waitFor();
    await phone.button('It is clear: Window printer').click();
    await screen.card('Plate of Window printer').waitFor({ state: 'detached' });
    assert.equal(await phone.page.getByText('Nothing was done').count(), 0);
  });

  onEach('is sorted by dragging and with the keyboard, while paused', async ({ bench, screen, phone }) => {
    await screen.button('Pause the queue').click();
    await screen.button('Resume the queue').waitFor();
    await bench.press('six squares');
    const heads = (wall: Wall) => wall.page.locator('ol h3').allInnerTexts();
    await bench.until(async () => (await heads(screen)).length === 2);
    // Both files are stored at the same time.
    const [first, second] = (await heads(screen)).map((head) => head.replace(/^\d\. /, '')) as [string, string];
    assert.deepEqual([first, second].sort(), ['bracket.gcode', 'cover.gcode']);
    const areListed = (wall: Wall, ...names: string[]) => {
      const wanted = names.map((name, at) => `${at + 1}. ${name}`);
      return bench.until(async () => (await heads(wall)).join() === wanted.join());
    };
    for (const wall of [screen, phone]) {
      await areListed(wall, first, second);
      await shows(bench, item(wall, 'cover.gcode'), /The queue is paused/);
    }
    const grip = (wall: Wall, name: string) => wall.page.getByRole('button', { name: new RegExp(`^Move ${name}`) });
    const from = (await grip(screen, second).boundingBox())!;
    const to = (await grip(screen, first).boundingBox())!;
    const { mouse } = screen.page;
    await mouse.move(from.x + 5, from.y + 5);
    await mouse.down();
    await mouse.move(to.x + 5, to.y - 5, { steps: 5 });
    await mouse.up();
    for (const wall of [screen, phone]) await areListed(wall, second, first);
    await grip(phone, second).press('ArrowDown');
    for (const wall of [screen, phone]) await areListed(wall, first, second);
  });

  onEach('holds, releases and removes items, and says what went wrong', async ({ bench, screen, phone }) => {
    await phone.button('Hold: cover.gcode').click();
    await phone.button('Release: cover.gcode').click();
    await phone.button('Hold: cover.gcode').waitFor();
    await phone.button('Remove: cover.gcode').click();
    await phone.answer('Remove cover.gcode? Prints under way go on.', 'Remove');
    await screen.page.getByText(/^cover\.gcode: cancelled/).waitFor();

    const chooser = screen.page.waitForEvent('filechooser');
    await screen.button('Add files').click();
    await (await chooser).setFiles({ name: 'model.stl', mimeType: '', buffer: Buffer.from('solid') });
    await screen.answer('Add model.stl to the queue?', 'Add');
    await screen.page.getByText(/model.*slice/).waitFor();
    // The browser itself logs this line.
    assert.match(screen.problems.splice(0).join(), /^Failed to load resource[^,]* 400 [^,]*$/);

    const sent = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'G28' };
    const answer = await fetch(new URL('queue-file?name=foreign.gcode&copies=1', bench.url), sent);
    assert.equal(answer.status, 400, 'from a form of another site');
    assert.equal(await item(screen, 'foreign.gcode').count(), 0);
  });

  onEach('shows the queue again after a deploy and after a restart', async ({ bench, screen, phone }) => {
    await bench.import(EXAMPLE);
    for (const wall of [screen, phone]) await item(wall, 'bracket.gcode').waitFor();
    assert.deepEqual(bench.complaints(), []);
    await bench.restart();
    const fresh = await Wall.open(browser, bench.url, SCREEN, 'queue');
    for (const wall of [fresh, screen, phone]) await shows(bench, item(wall, 'bracket.gcode'), /The queue is paused/);
    await fresh.page.close();
    assert.deepEqual(fresh.problems, []);
    assert.deepEqual(bench.complaints(), []);
    await screen.button('Resume the queue').click();
    await shows(bench, item(screen, 'bracket.gcode'), /1 under way, 3 waiting/);
  });

  onEach('says that a printer is offline with its print', async ({ bench, screen }) => {
    const card = screen.card('Workbench printer');
    await bench.world('offline', { cluster: 1 });
    await shows(bench, card, /offline with bracket\.gcode, copy 1 of 4/);
    await bench.world('online', { cluster: 1 });
    await shows(bench, card, /printing: bracket\.gcode, copy 1 of 4/);
  });

  onEach('asks after a failed print only whether the plate is clear', async ({ bench, screen }) => {
    await bench.world('fail', { cluster: 1 });
    await shows(bench, screen.card('Plate of Workbench printer'), /bracket\.gcode, copy 1 of 4: failed/);
    assert.equal(await screen.button('Workbench printer is clear, the print is bad').count(), 0);
    await screen.button('It is clear: Workbench printer').click();
    await shows(bench, item(screen, 'bracket.gcode'), /4 copies: 1 under way, 2 waiting, 1 failed/);
  });

  onEach('passes the accessibility checks', async ({ screen, phone }) => {
    for (const wall of [screen, phone]) await assertAccessible(wall.page.locator('html'), 'the page');
    await screen.button('Remove: bracket.gcode').click();
    const dialog = screen.page.getByRole('dialog', { name: 'Remove bracket.gcode? Prints under way go on.' });
    await assertAccessible(dialog, 'the question');
    await screen.answer('Remove bracket.gcode? Prints under way go on.', 'Cancel');
  });

  onEach('contacts no other host, receives no foreign address and logs no error', async ({ screen, phone }) => {
    await Promise.resolve();
    assert.deepEqual([screen.problems, phone.problems], [[], []]);
  });
});

const item = (wall: Wall, name: string): Locator => wall.page.locator('ol li', { hasText: name });

/** Waits until a part of the page shows this text, and polls the printers meanwhile. */
const shows = (bench: ExampleBench, part: Locator, text: RegExp): Promise<void> =>
  bench.until(async () => (await part.count()) === 1 && text.test(await part.innerText()));
