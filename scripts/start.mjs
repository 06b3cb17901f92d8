// npm start: from a fresh clone to a finished print. Installs, builds, starts the service simulator and a Node-RED with this
// pack and the first example, signs in as a browser would, and presses the example's button.
import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { ensureBuilt } from './build.mjs';
import { demo, post, signIn, TIME_FACTOR } from './demo.mjs';
import { ensureInstalled } from './install.mjs';
import { root, startNodeRed } from './node-red.mjs';
import { startSimulatorProcess } from './simulator.mjs';

const userDir = join(root, '.demo');

/** Functions that end the started processes, the latest first. @type {(() => Promise<unknown>)[]} */
const ends = [];
/** @type {Promise<void> | undefined} */
let ending;

/** @param {number} code */
function end(code) {
  ending ??= Promise.all(ends.reverse().map((stop) => stop().catch(() => undefined))).then(() => process.exit(code));
  return ending;
}

/** @param {string} text */
const say = (text) => console.log(text);

async function main() {
  await ensureInstalled(root);
  ensureBuilt();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void end(0));

  const port = process.env['SIMULATOR_PORT'] ?? '0';
  const options = ['--port', port, '--time-factor', String(TIME_FACTOR), '--auto-approve', '--history'];
  const service = await startSimulatorProcess(options);
  ends.push(() => service.stop());
  void service.exited.then(() => {
    if (!ending) console.error('The simulator ended by itself.');
    void end(1);
  });
  const { flows, account, button, credentials } = demo(service);
  // The demo starts from scratch each time: a new simulator does not have the previous tokens and prints.
  rmSync(userDir, { recursive: true, force: true });

  const told = new EventEmitter();
  const printersSeen = once(told, 'printers');
  let last = '';
  const nodeRed = await startNodeRed({
    userDir,
    port: Number(process.env['PORT'] ?? 1880),
    flows,
    credentials,
    settings: { credentialSecret: randomBytes(32).toString('hex') },
    onLine(line) {
      const [, name, text = ''] = /\[debug:([^\]]+)\] ?(.*)$/.exec(line) ?? [];
      if (name === 'printer status') told.emit('printers');
      else if (name === 'progress' && text !== last) say((last = text));
      else if (name === 'errors' || /\[error\]|\[warn\] \[/.test(line)) say(line);
    },
  });
  ends.push(() => nodeRed.stop());
  void nodeRed.exited.then(() => end(1));
  say(`Editor: ${nodeRed.url}`);
  say(`Printers: ${service.controlUrl} (the simulator's page)`);

  await signIn(nodeRed.url, account);
  say('Signed in to the simulated service; waiting for its printers.');
  await printersSeen;
  await post(`${nodeRed.url}inject/${button}`, {});
  say('Pressed the button of the demo flow. Ctrl+C ends it all; the demo flow starts afresh each time.');
}

main().catch((error) => {
  console.error(error instanceof Error ? error.message : error);
  void end(1);
});
