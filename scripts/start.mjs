// npm start: from a fresh clone to a finished print. Installs, builds, starts the service simulator and a Node-RED with this
// pack and the first example, signs in as a browser would, and presses the example's button.
import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { build } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { root, startNodeRed } from './node-red.mjs';
import { startSimulatorProcess } from './simulator.mjs';

/** The example's cube takes 18 minutes to print; so it takes about 20 s. */
const TIME_FACTOR = 50;

const userDir = join(root, '.demo');

/** Ends the processes started so far, the youngest first. @type {(() => Promise<unknown>)[]} */
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

/**
 * The first example, on the simulator's process instead of the one inside the runtime, its debug nodes printing.
 * @param {import('./simulator.mjs').RunningSimulator} service
 */
function demo({ authUrl, apiUrl, clientId, clientSecret }) {
  /** @type {{ id: string, type: string, name?: string }[]} */
  const example = JSON.parse(readFileSync(join(root, 'examples/12-print-a-file.json'), 'utf8'));
  const flows = example.map((node) => {
    if (node.type === 'remote-printing-account')
      return { ...node, name: 'simulator', service: 'remote', authUrl, apiUrl };
    if (node.type === 'debug') return { ...node, console: true };
    return node;
  });
  const idOf = (/** @type {string} */ type) => example.find((node) => node.type === type)?.id ?? '';
  const account = idOf('remote-printing-account');
  return { flows, account, button: idOf('inject'), credentials: { [account]: { clientId, clientSecret } } };
}

/**
 * Does what a user does in the account's dialog and on the service's sign-in page.
 * @param {string} editor
 * @param {string} account
 */
async function signIn(editor, account) {
  const redirectUri = `${editor}remote-printing/callback`;
  const asked = await post(`${editor}remote-printing/accounts/${account}/sign-in`, { redirectUri });
  const { authorizeUrl } = /** @type {{ authorizeUrl: string }} */ (await asked.json());
  const ended = await fetch(authorizeUrl);
  if (!ended.ok || !ended.url.startsWith(redirectUri))
    throw new Error(`the sign-in ended at ${ended.status} ${ended.url}`);
}

/** @param {string} url @param {object} body */
async function post(url, body) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${new URL(url).pathname} answered ${response.status}: ${await response.text()}`);
  return response;
}

async function main() {
  await ensureInstalled(root);
  build();
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
  // The demo starts afresh each time: another simulator knows nothing of the last one's tokens and prints.
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
