import assert from 'node:assert/strict';
import { chromium, type Browser, type Page } from 'playwright-core';
import { ensureChromium } from '../../scripts/debian.mjs';
import { lean } from '../helpers/lean';
import { startRealNodeRed, type RealNodeRed } from '../helpers/real-node-red';

const at = { z: 'tab', x: 1, y: 1 };
const FLOWS = [
  { id: 'tab', type: 'tab', label: 'test' },
  { id: 'account', type: 'remote-printing-account', service: 'simulator' },
  {
    ...{ id: 'queue', type: 'remote-printing-queue', account: 'account', name: 'The farm', match: 'lenient' },
    ...{ material: 'any', gate: 'confirm', prices: '{"currency":"EUR","hour":1.2}' },
  },
  {
    id: 'board',
    type: 'remote-printing-board',
    queue: 'queue',
    account: '',
    path: 'board',
    allow: 'all',
    wires: [[]],
    ...at,
  },
];
const GCODE = ';FLAVOR:Marlin\n;TIME:600\nG28\nG1 X1 Y1 E1\n';

describe('a print board of a queue in a real Node-RED', function () {
  let nodeRed: RealNodeRed;
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  before(async () => {
    nodeRed = await startRealNodeRed({ flows: FLOWS, settings: lean() });
    for (;;) if ((await fetch(`${nodeRed.url}board/`)).status === 200) break;
    browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] });
    page = await browser.newPage();
    page.setDefaultTimeout(90_000);
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    await page.goto(`${nodeRed.url}board/`);
  });
  after(async () => {
    await browser.close();
    await nodeRed.kill();
  });

  it('prints a dropped file, asks for its plate, and finishes its item with a press', async () => {
    await page.getByRole('heading', { level: 1, name: 'The farm' }).waitFor();
    await page.getByRole('article').first().waitFor();
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'vase.gcode', mimeType: 'text/plain', buffer: Buffer.from(GCODE) });
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('region', { name: 'Queue' }).getByRole('article', { name: 'vase.gcode' }).waitFor();
    const need = page.getByRole('region', { name: 'Needs you' }).getByRole('group', { name: /^Plate: / });
    await need.first().waitFor();
    // The queue confirms plates, and nobody has said yet that those of the printers are clear.
    await page.getByRole('button', { name: 'All good' }).click();
    await need
      .getByRole('button', { name: /^Good: / })
      .first()
      .dblclick();
    await page
      .getByRole('status', { name: 'Messages' })
      .filter({ hasText: /^Done: Good: / })
      .waitFor();
    await page
      .getByRole('table', { name: 'History' })
      .getByRole('row', { name: /vase\.gcode.*finished/ })
      .waitFor();
    await page.getByText('The queue is empty.').waitFor();
    assert.deepEqual(problems, []);
  });
});
