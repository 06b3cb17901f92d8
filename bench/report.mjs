// node bench/report.mjs [rounds] [rows]: streams a long report through the node in a real Node-RED, and the same bytes
// through csv-parse alone. Needs a build.
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'csv-parse';
import { request } from 'undici';

import { SETTLE } from './contenders.mjs';
import { measure } from './measure.mjs';
import { inNodeRed, inProcess, startProcess } from './processes.mjs';
import { inRoom } from './room.mjs';
import { exitCode, median } from './table.mjs';

/** @typedef {import('./measure.mjs').Figures} Figures */

const TARGET = { growth: 64, ratio: 0.8 };

/** Main functions of the child processes, by the first argument. @type {Record<string, () => Promise<void>>} */
const roles = { service: serve, parser: parseBare };
const [role = '', argument] = process.argv.slice(2);

/** Runs the simulator, which completes reports at once. It answers each message with the address of a new report. */
async function serve() {
  /** @type {typeof import('../simulator/index.js')} */
  const { startSimulator } = createRequire(import.meta.url)('../dist/simulator/index.js');
  const simulator = await startSimulator({ reportDelay: 0, accessTokenLifetime: 86_400 });
  simulator.world.setReports({ rows: Number(argument) });
  const [user] = simulator.users;
  const apiToken = user?.apiToken ?? '';
  const clusters = simulator.world.clusters(user?.organizations[0]?.organizationId);
  const order = JSON.stringify({
    data: {
      cluster_ids: clusters.map(({ clusterId }) => clusterId),
      start_date: '2030-01-01T00:00:00.000Z',
      end_date: '2030-01-08T00:00:00.000Z',
      report_type: 'print_jobs',
    },
  });
  const headers = { authorization: `Bearer ${apiToken}`, 'content-type': 'application/json' };
  process.on('disconnect', () => process.exit());
  process.on('message', async () => {
    const answer = await request(`${simulator.apiUrl}/report/v1/reports`, { method: 'PUT', headers, body: order });
    const { data } = /** @type {any} */ (await answer.body.json());
    process.send?.(data.download_url);
  });
  process.send?.({ authUrl: simulator.authUrl, apiUrl: simulator.apiUrl, apiToken });
}

/** Baseline: csv-parse as in its documentation, with rows as objects. Answers an address with the number of rows. */
async function parseBare() {
  process.on('disconnect', () => process.exit());
  process.on('message', async (/** @type {string} */ url) => {
    const { body } = await request(url);
    let rows = 0;
    for await (const row of body.pipe(parse({ columns: true, bom: true }))) rows += row ? 1 : 0;
    process.send?.(rows);
  });
  process.send?.('ready');
}

/** Node that only counts the rows: the minimum work of a flow. */
const SINK = `module.exports = (RED) => RED.nodes.registerType('bench-sink', function (config) {
  RED.nodes.createNode(this, config);
  let rows = 0;
  this.on('input', (msg, send, done) => {
    rows++;
    if (msg.parts.count !== undefined) {
      send({ req: msg.req, res: msg.res, payload: { rows, count: msg.parts.count } });
      rows = 0;
    }
    done();
  });
});`;
const SINK_FORM = `<script type="text/javascript">RED.nodes.registerType('bench-sink', { category: 'x', defaults: {} })</script>`;

/** @param {import('./room.mjs').Room} room */
async function main(room) {
  const [rounds, rows] = [Number(role || 3), Number(argument ?? 1_000_000)];
  const { first, ask } = await startProcess(room.ends, ['report.mjs', 'service', String(rows)]);
  /** @type {Record<string, Figures[]>} */
  const results = { node: [], 'csv-parse': [] };
  // The first round does not count. Each round starts with the other contender.
  for (let round = 0; round <= rounds; round++) {
    for (const turn of [0, 1]) {
      room.signal.throwIfAborted();
      const isNode = (round + turn) % 2 === 0;
      const figures = isNode ? await ofNode(room, first, rows) : await ofParser(room, () => ask('order'), rows);
      const name = isNode ? 'node' : 'csv-parse';
      if (round > 0) results[name]?.push(figures);
      console.log(`${String(round || 'warm-up').padEnd(8)}${line(name, figures, rows)}`);
    }
  }
  return exitCode(judge(results));
}

/** @param {string} name @param {Figures} figures @param {number} rows */
function line(name, { seconds, growth, probed }, rows) {
  const { cpu = NaN, delays } = probed ?? {};
  const rate = `${seconds.toFixed(2)} s, ${(rows / seconds / 1000).toFixed(0)} k rows/s`;
  const work = `${((cpu / rows) * 1e6).toFixed(1)} µs of processor a row`;
  const held = `loop delay p99 ${delays?.p99.toFixed(1)} ms, max ${delays?.max.toFixed(1)} ms`;
  return `${name.padEnd(10)} ${rate}, ${work}, memory +${growth.toFixed(0)} MiB, ${held}`;
}

/** @param {Record<string, Figures[]>} results */
function judge({ node = [], 'csv-parse': parser = [] }) {
  const ratio = median(node.map(({ seconds }, round) => (parser[round]?.seconds ?? NaN) / seconds));
  const growth = Math.max(...node.map((figures) => figures.growth));
  return [
    {
      met: growth < TARGET.growth,
      text: `memory grows by less than ${TARGET.growth} MiB: ${growth.toFixed(0)} MiB at most`,
    },
    {
      met: ratio >= TARGET.ratio,
      text: `rate is at least ${TARGET.ratio} of csv-parse's: ${ratio.toFixed(2)} in the median round`,
    },
  ];
}

/** @param {import('./room.mjs').Room} room @param {{ authUrl: string, apiUrl: string, apiToken: string }} service @param {number} rows */
async function ofNode(room, { authUrl, apiUrl, apiToken }, rows) {
  const z = 'tab';
  const report = { format: 'stream', from: 'last 7 days', fromType: 'relative', timeout: 600 };
  const flows = [
    { id: z, type: 'tab', label: 'bench' },
    { id: 'account', type: 'remote-printing-account', service: 'remote', signIn: 'token', authUrl, apiUrl },
    { id: 'ask', z, type: 'http in', url: '/report', method: 'get', wires: [['report']] },
    { id: 'report', z, type: 'remote-printing-report-generator', account: 'account', ...report, wires: [['sink']] },
    { id: 'sink', z, type: 'bench-sink', wires: [['answer']] },
    { id: 'catch', z, type: 'catch', scope: null, wires: [['failed']] },
    { id: 'failed', z, type: 'function', func: 'msg.payload = msg.error; return msg;', wires: [['answer']] },
    { id: 'answer', z, type: 'http response', wires: [] },
  ];
  const nodes = { 'bench-sink.js': SINK, 'bench-sink.html': SINK_FORM };
  return inNodeRed(room, { flows, credentials: { account: { apiToken } }, nodes }, async (nodeRed, socket) => {
    await sleep(SETTLE);
    return measure(nodeRed.pid, socket, async () => {
      const { body } = await request(`${nodeRed.url}report`, { headersTimeout: 0 });
      const counted = /** @type {any} */ (await body.json());
      return async () => {
        if (counted.rows !== rows || counted.count !== rows) throw new Error(JSON.stringify(counted));
      };
    });
  });
}

/** @param {import('./room.mjs').Room} room @param {() => Promise<string>} order @param {number} rows */
async function ofParser(room, order, rows) {
  return inProcess(room, ['report.mjs', 'parser'], async (pid, socket, ask) => {
    await sleep(SETTLE);
    const url = await order();
    return measure(pid, socket, async () => {
      const counted = await ask(url);
      return async () => {
        if (counted !== rows) throw new Error(`${counted} rows`);
      };
    });
  });
}

const run = roles[role];
if (run) await run();
else process.exitCode = await inRoom('report', main);
