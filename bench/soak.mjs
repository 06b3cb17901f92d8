// npm run soak [-- --minutes 60]: a real Node-RED with every node type at work against the simulator: polls that messages ask
// for, prints, pictures, reports, library files, and deploys of all kinds. Memory, handles, timers and listeners must stay flat
// after the first ten minutes.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { build } from '../scripts/build.mjs';
import { ensureInstalled } from '../scripts/install.mjs';
import { root, startNodeRed } from '../scripts/node-red.mjs';
import { startSimulatorProcess } from '../scripts/simulator.mjs';
import { drive, flowsOf, signIn } from './soak-flow.mjs';

/** Interval between samples, ms. */
const EVERY = 30_000;
/** Time until caches are full and code is compiled, ms. */
const WARM_UP = 10 * 60_000;
/** Limits for the median of the last third, relative to the first: a factor and an allowance for noise. */
const MOST = /** @type {const} */ ({
  heap: [1.05, 1],
  rss: [1.1, 8],
  emitters: [1.1, 20],
  signals: [1.1, 20],
  timers: [1.1, 5],
  sockets: [1.1, 5],
  files: [1.1, 5],
  listeners: [1, 0],
});

/** @typedef {Record<keyof typeof MOST, number>} Sample */

/** @param {number[]} values */
const median = (values) => [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN;

/** Prints one line for each figure; returns whether all are flat. @param {Sample[]} samples */
function judge(samples) {
  const third = Math.floor(samples.length / 3);
  let flat = third > 0;
  console.log(
    `\n${'figure'.padEnd(10)} ${'first third'.padStart(12)} ${'last third'.padStart(12)} ${'highest'.padStart(9)}`,
  );
  for (const [name, [factor, more]] of Object.entries(MOST)) {
    const values = samples.map((sample) => sample[/** @type {keyof Sample} */ (name)]);
    const [before, after] = [median(values.slice(0, third)), median(values.slice(-third))];
    const good = after <= before * factor + more;
    flat &&= good;
    const figures = [before, after].map((value) => value.toFixed(1).padStart(12)).join(' ');
    console.log(
      `${name.padEnd(10)} ${figures} ${Math.max(...values)
        .toFixed(1)
        .padStart(9)}  ${good ? 'flat' : 'GROWS'}`,
    );
  }
  return flat;
}

async function main() {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' } } });
  const lasts = Number(values.minutes) * 60_000;
  await ensureInstalled(root);
  build();
  const room = mkdtempSync(join(tmpdir(), 'soak-'));
  const simulator = await startSimulatorProcess([
    ...['--printers', '6', '--time-factor', '60', '--access-token-lifetime', '60', '--history', '--auto-approve'],
    ...['--upload-mode', 'session', '--action-delay', '200', '--report-delay', '200'],
  ]);
  /** @type {Sample[]} */
  const samples = [];
  /** @type {(() => void) | undefined} */
  let sampled;
  let ended = '';
  const nodeRed = await startNodeRed({
    userDir: join(room, 'user'),
    flows: flowsOf(simulator, room),
    credentials: { account: { clientId: simulator.clientId, clientSecret: simulator.clientSecret } },
    env: { NODE_OPTIONS: `--require ${join(root, 'bench/soak-probe.cjs')}`, NODE_PATH: join(root, 'node_modules') },
    onLine: (line) => {
      if (!line.startsWith('SOAK ')) return;
      samples.push(JSON.parse(line.slice('SOAK '.length)));
      sampled?.();
    },
  });
  try {
    await signIn(nodeRed.url);
    const exited = nodeRed.exited.then(({ code, signal }) => {
      ended = `Node-RED ended (${signal ?? code}):\n${nodeRed.log.slice(-20).join('\n')}`;
    });
    const began = performance.now();
    const load = drive(nodeRed, simulator, room);
    while (performance.now() - began < lasts && ended === '') {
      await Promise.race([pause(EVERY), exited]);
      if (ended !== '') break;
      const arrived = new Promise((resolve) => (sampled = () => resolve(undefined)));
      process.kill(nodeRed.pid, 'SIGWINCH');
      await Promise.race([arrived, exited, pause(EVERY)]);
      const minutes = ((performance.now() - began) / 60_000).toFixed(1).padStart(5);
      console.log(`${minutes} min  ${JSON.stringify(samples.at(-1))}  ${load.summary()}`);
    }
    await load.stop();
    if (ended !== '') throw new Error(ended);
    const settled = samples.filter((_, at) => (at + 1) * EVERY > Math.min(WARM_UP, lasts / 3));
    const flat = judge(settled);
    const complaints = nodeRed.log.filter((line) => /\[(error|fatal)\]|Uncaught|Unhandled|MaxListeners/.test(line));
    console.log(`\n${load.summary()}\n${complaints.length} complaints in the log`);
    for (const line of complaints.slice(0, 10)) console.log(line);
    if (!flat || load.failed > 0 || complaints.length > 0) process.exitCode = 1;
  } finally {
    await nodeRed.stop();
    await simulator.stop();
    rmSync(room, { recursive: true, force: true });
  }
}

await main();
