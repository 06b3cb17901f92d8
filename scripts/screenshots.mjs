// npm run screenshots: takes every picture of the documentation, in docs/pictures, from a real Node-RED with the pack.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ensureBuilt } from './build.mjs';
import { ensureChromium } from './debian.mjs';
import { ensureInstalledOrExit } from './install.mjs';
import { nodeProgram } from './node-versions.mjs';
import { root, startNodeRed } from './node-red.mjs';
import { startSimulatorProcess } from './simulator.mjs';

/** @typedef {import('playwright-core').Page} Page */

/**
 * Setup for the pictures: the example of the README's first automation and that of its farm, and a service to sign in to.
 * @typedef {object} Scene
 * @property {import('playwright-core').BrowserContext} browser
 * @property {Page} editor Node-RED's, with the first example in front
 * @property {string} url of Node-RED, ends in a slash
 * @property {string} printers the page of the simulator inside Node-RED
 * @property {import('./simulator.mjs').RunningSimulator} service
 * @property {string} brackets button of the farm's example that adds files
 */

/** Functions that take the pictures, in this order. @type {Record<string, (scene: Scene) => Promise<Buffer>>} */
const SHOTS = {
  async 'flow-at-work'({ editor, printers }) {
    await press(editor, 'print something small');
    await status(editor, 'upload and print', /sent/);
    await world(printers, 'advance', { seconds: 1200 });
    await status(editor, 'message', /has finished on/);
    await press(editor, 'print something small');
    await status(editor, 'how far', /printing \d+ %/);
    const { x = 0, y = 0 } = (await editor.locator('#red-ui-workspace-chart').boundingBox()) ?? {};
    return editor.screenshot({ clip: { x, y, width: 820, height: 560 } });
  },

  async 'message-with-picture'({ browser, url }) {
    const page = await open(browser, `${url}print-chat`, { width: 760, height: 640 });
    await page.locator('img').first().waitFor();
    return page.screenshot();
  },

  async printer({ editor }) {
    await edit(editor, 'all printers');
    await editor.click('#node-input-cluster-shown');
    await editor.locator('#node-input-cluster-shown-choices').getByRole('option').nth(3).waitFor();
    return tray(editor, 560);
  },

  async account({ editor, browser, service }) {
    await editor.click('#node-input-btn-account-add');
    const { authUrl, apiUrl, clientId, clientSecret } = service;
    for (const [name, value] of Object.entries({ authUrl, apiUrl, clientId, clientSecret }))
      await editor.fill(`#node-config-input-${name}`, value);
    const opened = browser.waitForEvent('page');
    await editor.click('#remote-printing-sign-in');
    const signIn = await opened;
    await signIn.getByRole('heading', { name: 'Signed in' }).waitFor();
    await signIn.close();
    await editor.locator('#remote-printing-state', { hasText: 'signed in as' }).waitFor();
    await editor.click('#remote-printing-test');
    // Passed checks are folded.
    await editor.locator('#remote-printing-checks summary').waitFor();
    return tray(editor, 1100);
  },

  async simulator({ browser, printers }) {
    const page = await open(browser, printers, { width: 1300, height: 700 });
    await pictured(page);
    return page.screenshot();
  },

  async 'board-wall'({ browser, url, printers, brackets }) {
    // A printer without a print on its plate refuses.
    for (const cluster of [1, 2, 3]) await world(printers, 'clean', { cluster }).catch(() => undefined);
    await fetch(`${url}inject/${brackets}`, { method: 'POST' });
    const page = await open(browser, `${url}print-queue`, { width: 1440, height: 810 });
    await page.getByRole('button', { name: 'All good' }).click();
    await page.getByRole('progressbar').nth(2).waitFor();
    await world(printers, 'print-locally', { cluster: 3, name: 'lamp cover.gcode', seconds: 20_000 });
    await nextPicture(page, 'Workbench printer');
    const ended = nextPicture(page, 'Workbench printer');
    await world(printers, 'advance', { seconds: 7000 });
    await ended;
    await nextPicture(page, 'Back room printer');
    await page
      .getByRole('button', { name: /^Good: / })
      .nth(2)
      .waitFor();
    return page.screenshot();
  },

  async 'board-phone'({ browser, url }) {
    const page = await open(browser, `${url}print-queue`, { width: 390, height: 780 });
    await page
      .getByRole('img', { name: /^Picture: / })
      .first()
      .waitFor();
    return page.screenshot();
  },

  async 'board-printer'({ browser, url }) {
    const page = await open(browser, `${url}print-queue`, { width: 640, height: 780 });
    await page.getByRole('link', { name: 'Open: Back room printer', exact: true }).click();
    await page
      .getByRole('img', { name: /^Picture: / })
      .first()
      .waitFor();
    return page.screenshot();
  },
};

/** Files in docs/pictures. */
export const PICTURES = Object.keys(SHOTS).map((name) => `docs/pictures/${name}.png`);

/** @param {Page} editor @param {string} label */
const node = (editor, label) =>
  editor.locator('.red-ui-flow-node-group', {
    has: editor.locator('.red-ui-flow-node-label-text').getByText(label, { exact: true }),
  });

/** @param {Page} editor @param {string} label @param {RegExp} words */
const status = (editor, label, words) =>
  node(editor, label).locator('.red-ui-flow-node-status-label', { hasText: words }).waitFor();

/** @param {Page} editor @param {string} label */
const press = (editor, label) => node(editor, label).locator('.red-ui-flow-node-button-button').click();

/** @param {Page} editor @param {string} label */
async function edit(editor, label) {
  await node(editor, label).dblclick();
  await editor.locator('.red-ui-tray form').first().waitFor();
}

/** Picture of the open dialog, from its upper edge. @param {Page} editor @param {number} height */
async function tray(editor, height) {
  await editor.locator('.red-ui-tray form').first().hover();
  const { x = 0, y = 0, width = 0 } = (await editor.locator('.red-ui-tray').boundingBox()) ?? {};
  return editor.screenshot({ clip: { x, y, width, height } });
}

/** @param {import('playwright-core').BrowserContext} browser @param {string} url @param {{ width: number, height: number }} size */
async function open(browser, url, size) {
  const page = await browser.newPage();
  await page.setViewportSize(size);
  await page.goto(url);
  return page;
}

/** Waits for the next picture of a printer on the board. @param {Page} page @param {string} printer */
async function nextPicture(page, printer) {
  const picture = page.getByRole('article', { name: printer, exact: true }).getByRole('img');
  const before = await picture.getAttribute('src');
  while ((await picture.getAttribute('src')) === before) await page.waitForTimeout(500);
}

/** Waits until the first printers are shown with their pictures. @param {Page} page */
async function pictured(page) {
  const pictures = page.getByRole('article').getByRole('img');
  await pictures.nth(2).waitFor();
  for (const picture of await pictures.all()) await picture.evaluate((image) => /** @type {any} */ (image).decode());
}

/** Makes something happen to the printers. @param {string} printers @param {string} action @param {object} body */
async function world(printers, action, body) {
  const headers = { 'content-type': 'application/json' };
  const done = await fetch(`${printers}/world/${action}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!done.ok) throw new Error(`the simulator answered ${done.status}`);
}

/** Nodes of some examples, without duplicates. @param {string[]} names @returns {{ id: string, type: string, name?: string, template?: string }[]} */
function examples(names) {
  const nodes = names.flatMap((name) => JSON.parse(readFileSync(join(root, 'examples', `${name}.json`), 'utf8')));
  return [...new Map(nodes.map((node) => [node.id, node])).values()];
}

/** @param {(scene: Scene) => Promise<void>} shoot */
async function withScene(shoot) {
  /** A static import is impossible: on a fresh clone, the package is installed after this file is loaded. @type {typeof import('playwright-core')} */
  const { chromium } = createRequire(import.meta.url)('playwright-core');
  const userDir = mkdtempSync(join(tmpdir(), 'remote-printing-pictures-'));
  const service = await startSimulatorProcess(['--auto-approve', '--history']);
  const matrix = join(root, 'matrix/node_modules');
  const flows = examples(['01-print-ended-picture-to-a-chat', '06-print-queue-with-a-board']).map((node) =>
    // A bracket prints long enough for a picture.
    node.name === 'a bracket' ? { ...node, template: node.template?.replaceAll('TIME:1200', 'TIME:7200') } : node,
  );
  const nodeRed = await startNodeRed({
    userDir,
    node: nodeProgram('26'),
    nodeRed: join(matrix, 'node-red'),
    settings: { nodesDir: [root] },
    flows,
  });
  const browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] });
  try {
    const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1900, height: 1180 } });
    context.setDefaultTimeout(120_000);
    const editor = await context.newPage();
    await editor.goto(nodeRed.url);
    await status(editor, 'all printers', /online/);
    // Notifications would cover parts of the picture.
    await editor.evaluate('RED.notifications.hide = true');
    const account = flows.find(({ type }) => type === 'remote-printing-account')?.id;
    const about = await fetch(`${nodeRed.url}remote-printing/accounts/${account}`);
    const { simulatorUrl } = /** @type {{ simulatorUrl: string }} */ (await about.json());
    // The finished print stays in the picture.
    for (const cluster of [1, 2, 3]) await world(simulatorUrl, 'cleaning', { cluster, value: 'manual' });
    const brackets = flows.find(({ type, name }) => type === 'inject' && name === 'six brackets')?.id ?? '';
    await shoot({ browser: context, editor, url: nodeRed.url, printers: simulatorUrl, service, brackets });
  } finally {
    await browser.close();
    await nodeRed.kill();
    await service.stop();
    rmSync(userDir, { recursive: true, force: true });
  }
}

async function main() {
  await ensureInstalledOrExit(root, join(root, 'matrix'));
  ensureBuilt();
  mkdirSync(join(root, 'docs/pictures'), { recursive: true });
  await withScene(async (scene) => {
    for (const [name, shot] of Object.entries(SHOTS)) {
      const picture = await shot(scene);
      writeFileSync(join(root, `docs/pictures/${name}.png`), picture);
      console.log(`docs/pictures/${name}.png: ${Math.round(picture.length / 1000)} kB`);
    }
  });
}

if (process.argv[1] === import.meta.filename) {
  main().catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
}
