// npm run screenshots: takes every picture of the documentation, in docs/pictures, from a real Node-RED with the pack.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { build } from './build.mjs';
import { ensureChromium } from './debian.mjs';
import { ensureInstalledOrExit } from './install.mjs';
import { nodeProgram } from './node-versions.mjs';
import { root, startNodeRed } from './node-red.mjs';
import { startSimulatorProcess } from './simulator.mjs';

/** @typedef {import('playwright-core').Page} Page */

/**
 * Setup for the pictures: the first and the fifth example, and a service to sign in to.
 * @typedef {object} Scene
 * @property {import('playwright-core').BrowserContext} browser
 * @property {Page} editor Node-RED's, with the first example in front
 * @property {string} url of Node-RED, ends in a slash
 * @property {string} printers the page of the simulator inside Node-RED
 * @property {import('./simulator.mjs').RunningSimulator} service
 * @property {string[]} buttons those of the fifth example that print
 */

/** Functions that take the pictures, in this order. @type {Record<string, (scene: Scene) => Promise<Buffer>>} */
const SHOTS = {
  async dashboard({ browser, url, buttons }) {
    for (const button of buttons) await fetch(`${url}inject/${button}`, { method: 'POST' });
    const page = await open(browser, `${url}dashboard/printers`, { width: 1300, height: 800 });
    const picture = page.getByRole('article').filter({ hasText: 'printing' }).first().getByRole('img');
    const first = await picture.getAttribute('src');
    // The next camera picture shows the print.
    while ((await picture.getAttribute('src')) === first) await page.waitForTimeout(500);
    await pictured(page);
    return page.screenshot();
  },

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

/** Nodes of some examples, without duplicates. @param {string[]} names @returns {{ id: string, type: string, name?: string }[]} */
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
  const flows = examples(['01-print-ended-picture-to-a-chat', '05-wall-dashboard']);
  const nodeRed = await startNodeRed({
    userDir,
    node: nodeProgram('26'),
    nodeRed: join(matrix, 'node-red'),
    settings: { nodesDir: [root, join(matrix, '@flowfuse/node-red-dashboard')] },
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
    const buttons = flows
      .filter(({ type, name }) => type === 'inject' && name?.startsWith('print for'))
      .map(({ id }) => id);
    await shoot({ browser: context, editor, url: nodeRed.url, printers: simulatorUrl, service, buttons });
  } finally {
    await browser.close();
    await nodeRed.kill();
    await service.stop();
    rmSync(userDir, { recursive: true, force: true });
  }
}

async function main() {
  await ensureInstalledOrExit(root, join(root, 'matrix'));
  build();
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
