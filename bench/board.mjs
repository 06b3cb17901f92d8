// npm run bench -- board: what 20 pages of a print board cost Node-RED, with 200 printers and 2,000 items.
import { get } from 'node:http';
import { parseArgs } from 'node:util';

import { chromium } from 'playwright-core';

import { ensureChromium } from '../scripts/debian.mjs';
import { startFarmService } from './farm-service.mjs';
import { measure } from './measure.mjs';
import { inNodeRed } from './processes.mjs';
import { announce, inRoom } from './room.mjs';
import { grid } from './table.mjs';

const HELP = `Usage: npm run bench -- board [options]

  --seconds S      measured without pages, and again with them (default 600)
  --printers N     (default 200)
  --items N        of the queue (default 2000)
  --pages N        one of them in a browser (default 20)
`;
/** Time for the first polls, and for the pages to open, ms. */
const SETTLES = 75_000;
/** Targets: share of a core that the pages add, longest stop of the event loop in processor time, first content and longest frame, ms. */
const MOST = { share: 0.02, stop: 50, first: 2_000, frame: 50 };

/** @param {string[]} args @returns {Promise<number>} the exit code: 0 when all targets are met, 1 when one is missed */
export async function benchBoard(args) {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '600' },
      printers: { type: 'string', default: '200' },
      items: { type: 'string', default: '2000' },
      pages: { type: 'string', default: '20' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const [seconds, printers, items, pages] = [values.seconds, values.printers, values.items, values.pages].map(Number);
  return inRoom('board', (room) =>
    run({ seconds: seconds ?? 0, printers: printers ?? 0, items: items ?? 0, pages: pages ?? 0 }, room),
  );
}

/** @typedef {{ seconds: number, printers: number, items: number, pages: number }} Setting */

/** @param {Setting} setting @param {import('./room.mjs').Room} room */
async function run({ seconds, printers, items, pages }, { folder, ends }) {
  announce(`A board with ${printers} printers and ${items} items`);
  const service = await startFarmService(ends);
  await service.become({ clusters: printers, latency: 20, long: false });
  return inNodeRed({ folder, ends }, flow(service.url, items), async ({ url, pid }, socket) => {
    const page = `${url}print-board/`;
    await until(async () => (await fetch(`${url}added`)).status === 200);
    await until(async () => (await fetch(page)).status === 200);
    await pause(SETTLES);
    const span = () =>
      measure(pid, socket, async () => pause(seconds * 1000).then(() => async () => undefined), { stops: true });
    const before = await span();
    const clients = await openPages(page, pages - 1);
    const shown = await openInBrowser(page, ends);
    await pause(5_000);
    clients.bytes = 0;
    await shown.forget();
    const after = await span();
    const share = (/** @type {import('./measure.mjs').Figures} */ figures) =>
      (figures.probed?.cpu ?? 0) / figures.seconds;
    const figures = {
      share: share(after) - share(before),
      stop: after.probed?.stop ?? Infinity,
      first: shown.first,
      frame: await shown.longest(),
    };
    console.log(
      grid([
        ['', 'without pages', `with ${pages} pages`, 'target'],
        ['share of a core', percent(share(before)), percent(share(after)), `${percent(MOST.share)} more`],
        [
          'longest stop, ms of processor time',
          String(Math.round(before.probed?.stop ?? 0)),
          String(Math.round(figures.stop)),
          String(MOST.stop),
        ],
        [
          'by the clock, beside the browser, ms',
          String(Math.round(before.probed?.delays.max ?? 0)),
          String(Math.round(after.probed?.delays.max ?? 0)),
          '',
        ],
        [
          'bytes per second and page',
          '',
          String(Math.round(clients.bytes / after.seconds / Math.max(1, pages - 1))),
          '',
        ],
        ['first content, ms', '', String(Math.round(figures.first)), String(MOST.first)],
        ['longest frame after that, ms', '', String(Math.round(figures.frame)), String(MOST.frame)],
      ]),
    );
    clients.end();
    const missed = Object.entries(MOST).filter(
      ([name, most]) => figures[/** @type {keyof typeof MOST} */ (name)] > most,
    );
    console.log(missed.length === 0 ? 'All targets are met.' : `Missed: ${missed.map(([name]) => name).join(', ')}.`);
    return missed.length === 0 ? 0 : 1;
  });
}

/** @param {string} url @param {number} items */
function flow(url, items) {
  const at = { z: 'tab', x: 1, y: 1 };
  const add = `if (!context.get('begun')) { context.set('begun', true);
    for (let n = 0; n < ${items}; n++) node.send([{ jobId: 'job-' + n, queueKey: 'item-' + n, orderId: 'order-' + Math.floor(n / 5) }, null]); }
    msg.statusCode = (flow.get('added') ?? 0) >= ${items} ? 200 : 404; msg.payload = ''; return [null, msg];`;
  return {
    flows: [
      { id: 'tab', type: 'tab', label: 'board' },
      { id: 'account', type: 'remote-printing-account', name: '', service: 'remote', signIn: 'token', apiUrl: url },
      {
        id: 'queue',
        type: 'remote-printing-queue',
        account: 'account',
        name: 'Farm',
        match: 'lenient',
        material: 'any',
      },
      {
        id: 'board',
        type: 'remote-printing-board',
        queue: 'queue',
        path: 'print-board',
        allow: 'all',
        wires: [[]],
        ...at,
      },
      { id: 'in', type: 'http in', url: '/added', method: 'get', wires: [['add']], ...at },
      { id: 'add', type: 'function', func: add, outputs: 2, wires: [['queued'], ['out']], ...at },
      { id: 'out', type: 'http response', wires: [], ...at },
      {
        id: 'queued',
        type: 'remote-printing-print-queue',
        queue: 'queue',
        action: 'add',
        source: 'stored',
        wires: [['count'], []],
        ...at,
      },
      {
        id: 'count',
        type: 'function',
        func: "flow.set('added', (flow.get('added') ?? 0) + 1);",
        outputs: 1,
        wires: [[]],
        ...at,
      },
    ],
    credentials: { account: { apiToken: 'token' } },
  };
}

/** Opens streams without a browser. @param {string} page @param {number} count */
async function openPages(page, count) {
  const open = Array.from({ length: count }, () => get(`${page}events`, { agent: false }));
  const clients = { bytes: 0, end: () => open.forEach((client) => client.destroy()) };
  for (const client of open)
    client.on('response', (answer) =>
      answer.on('data', (/** @type {Buffer} */ part) => {
        clients.bytes += part.length;
      }),
    );
  for (const client of open) client.on('error', () => undefined);
  return clients;
}

/** Opens the page in a browser, which records its long frames. @param {string} page @param {(() => Promise<unknown>)[]} ends */
async function openInBrowser(page, ends) {
  const browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] });
  ends.push(() => browser.close());
  const opened = await browser.newPage();
  await opened.addInitScript(`globalThis.longFrames = [];
    new PerformanceObserver((list) => longFrames.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: 'longtask', buffered: true });`);
  const began = performance.now();
  await opened.goto(page);
  await opened.getByRole('article').first().waitFor({ timeout: 60_000 });
  return {
    first: performance.now() - began,
    forget: () => opened.evaluate('longFrames.length = 0'),
    /** @returns {Promise<number>} */
    longest: () => opened.evaluate('Math.max(0, ...longFrames)'),
  };
}

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {() => Promise<boolean>} holds */
async function until(holds) {
  while (!(await holds().catch(() => false))) await pause(200);
}

const percent = (/** @type {number} */ share) => `${(share * 100).toFixed(1)} %`;
