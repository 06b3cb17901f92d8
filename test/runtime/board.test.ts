import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { ensureChromium } from '../../scripts/debian.mjs';
import { lean } from '../helpers/lean';
import { startSimulator } from '../../simulator/index';
import { freshUserDir, startRealNodeRed, type RealNodeRed } from '../helpers/real-node-red';
import { GCODE } from '../nodes/support';

const at = { z: 'tab', x: 1, y: 1 };
const FLOWS = [
  { id: 'tab', type: 'tab', label: 'test' },
  { id: 'account', type: 'remote-printing-account', service: 'simulator' },
  {
    id: 'board',
    type: 'remote-printing-board',
    account: 'account',
    path: 'print-board',
    allow: 'all',
    wires: [[]],
    ...at,
  },
];
/** Password "secret", as md5. */
const AUTH = { user: 'ada', pass: '5ebe2294ecd0e0f08eab7690d2a6ee69' };

describe('a print board in a real Node-RED', function () {
  let nodeRed: RealNodeRed | undefined;
  afterEach(() => nodeRed?.kill());

  /** Asks until the board has opened. */
  const ask = async (path: string, headers: Record<string, string> = {}): Promise<Response> => {
    for (;;) {
      const answer = await fetch(`${nodeRed?.url}${path}`, { headers, redirect: 'manual' });
      if (answer.status !== 503) return answer;
      await answer.arrayBuffer();
    }
  };

  it('prints a file that is dropped on the page, without a dashboard', async () => {
    nodeRed = await startRealNodeRed({ flows: FLOWS, settings: lean() });
    await (await ask('print-board/')).arrayBuffer();
    const browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] });
    try {
      const page = await browser.newPage();
      const problems: string[] = [];
      page.on('pageerror', (error) => problems.push(String(error)));
      page.on('console', (message) => {
        if (message.type() === 'error') problems.push(message.text());
      });
      await page.goto(`${nodeRed.url}print-board`);
      await page.getByRole('article').first().waitFor();
      const dropped = await page.evaluateHandle((content) => {
        const data = new DataTransfer();
        data.items.add(new File([content], 'vase.gcode'));
        return data;
      }, GCODE);
      await page.dispatchEvent('h1', 'drop', { dataTransfer: dropped });
      const dialog = page.getByRole('dialog', { name: 'Add files' });
      const printer = await dialog.getByRole('combobox', { name: 'Printer' }).locator('option:checked').textContent();
      await dialog.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByRole('status', { name: 'Messages' }).filter({ hasText: 'Done: vase.gcode' }).waitFor();
      await page
        .getByRole('article', { name: printer ?? '', exact: true })
        .getByRole('progressbar')
        .waitFor({ timeout: 90_000 });
      assert.deepEqual(problems, []);
    } finally {
      await browser.close();
    }
  });

  it('is closed to other origins although Node-RED opens what lies below the editor', async () => {
    nodeRed = await startRealNodeRed({ flows: FLOWS, settings: lean() });
    const page = await ask('print-board/board.json');
    assert.equal(page.status, 200);
    assert.equal(page.headers.get('access-control-allow-origin'), null);
    assert.equal(page.headers.get('cross-origin-resource-policy'), 'same-origin');
    assert.equal((await ask('print-board/board.json', { Origin: 'https://evil.example' })).status, 403);
    const admin = await fetch(`${nodeRed.url}remote-printing/accounts/account`, {
      headers: { Origin: 'https://evil.example' },
    });
    assert.equal(admin.headers.get('access-control-allow-origin'), null);
  });

  it('prints a file once although a kill cut its press off, and answers a repeat as the first', async () => {
    const simulator = await startSimulator();
    const userDir = await freshUserDir();
    const { apiUrl, authUrl, users, world } = simulator;
    const [, ...others] = FLOWS.filter(({ id }) => id !== 'account');
    const account = { id: 'account', type: 'remote-printing-account', service: 'remote', signIn: 'token' };
    const flows = [FLOWS[0], { ...account, apiUrl, authUrl }, ...others];
    const credentials = { account: { apiToken: users[0]?.apiToken ?? '' } };
    const start = async (first: object = {}) => {
      nodeRed = await startRealNodeRed({ userDir, settings: lean(), ...first });
      await (await ask('print-board/')).arrayBuffer();
    };
    const cluster = world.clusters()[0] ?? assert.fail();
    const query = new URLSearchParams({ key: 'k'.repeat(20), name: 'vase.gcode', printer: cluster.clusterId });
    const send = async () => {
      const answer = await fetch(`${nodeRed?.url}print-board/file?${query.toString()}`, { method: 'PUT', body: GCODE });
      return (await answer.json()) as unknown;
    };
    const prints = () =>
      [...world.cluster(cluster.clusterId).queue, ...world.cluster(cluster.clusterId).history].length;
    try {
      await start({ flows, credentials });
      // The service has taken the print, and its answer never comes.
      simulator.faults.add({ endpoint: 'print', hang: true, when: 'after' });
      const cutOff = assert.rejects(send());
      while (prints() === 0) await pause(20);
      await nodeRed?.kill();
      await cutOff;
      await start();
      assert.deepEqual(await send(), { ok: true });
      assert.deepEqual(await send(), { ok: true });
      assert.equal(prints(), 1);
    } finally {
      await nodeRed?.kill();
      await simulator.close();
      await rm(userDir, { recursive: true, force: true });
    }
  });

  it('is guarded by httpNodeAuth', async () => {
    nodeRed = await startRealNodeRed({ flows: FLOWS, settings: { ...lean(), httpNodeAuth: AUTH } });
    assert.equal((await ask('print-board/')).status, 401);
    const Authorization = `Basic ${Buffer.from('ada:secret').toString('base64')}`;
    assert.equal((await ask('print-board/', { Authorization })).status, 200);
  });

  it('is not configured where Node-RED shows no pages', async () => {
    nodeRed = await startRealNodeRed({ flows: FLOWS, settings: { ...lean(), httpNodeRoot: false } });
    assert.equal((await fetch(`${nodeRed.url}print-board/`)).status, 404);
  });
});
