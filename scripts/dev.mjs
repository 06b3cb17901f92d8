// npm run dev: Node-RED and the service simulator on the current sources, in .dev/, with a flow to play with. After each change
// it rebuilds, restarts the processes that run changed files, and reloads the editor's pages if they show changed files.
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, sep } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { buildEditor, ensureBuilt } from './build.mjs';
import { demo, signIn, TIME_FACTOR } from './demo.mjs';
import { digest } from './digest.mjs';
import { ensureInstalledOrExit } from './install.mjs';
import { editorTheme, root, startNodeRed } from './node-red.mjs';
import { startSimulatorProcess } from './simulator.mjs';

const WATCHED = ['nodes', 'editor', 'lib', 'simulator', 'icons', 'examples'];
/** Interval between two searches for changes, ms. `fs.watch` of Node.js 20 loses a file that an editor replaces. */
const INTERVAL = 300;
const userDir = join(root, '.dev');
const flowFile = join(userDir, 'flows.json');
const reloadScript = join(userDir, 'reload.js');

/** @type {import('./node-red.mjs').RunningNodeRed | undefined} */
let nodeRed;
/** @type {import('./simulator.mjs').RunningSimulator | undefined} */
let simulator;
/** Ports of the first start: a restart uses them again, because flow and browser have the addresses. */
const ports = { nodeRed: Number(process.env['PORT'] ?? 1880), simulator: process.env['SIMULATOR_PORT'] ?? '0' };

/** Digest of the built files that each part uses. */
const digests = () => ({
  simulator: digest(root, ['dist/simulator']),
  // Node-RED reads forms, texts, icons and the list of examples at its start.
  nodeRed: digest(root, ['dist', 'examples']),
  browser: digest(root, ['resources']) + digest(root, ['dist/nodes'], /\.(html|json|css|svg)$/),
});
/** Digests of the running parts. @type {Partial<ReturnType<typeof digests>>} */
const running = {};

/** Open pages of the editor, which listen to server-sent events. @type {Set<import('node:http').ServerResponse>} */
const pages = new Set();

/** Starts the server of the events, and writes the script that Node-RED adds to the editor's page. */
async function startReloads() {
  const server = createServer((_, response) => {
    const headers = { 'content-type': 'text/event-stream', 'access-control-allow-origin': '*' };
    response.writeHead(200, headers).flushHeaders();
    pages.add(response);
    response.on('close', () => pages.delete(response));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  mkdirSync(userDir, { recursive: true });
  writeFileSync(reloadScript, `new EventSource('http://127.0.0.1:${port}').onmessage = () => location.reload();\n`);
}

async function startService() {
  await simulator?.stop();
  const dataDir = join(userDir, 'simulator');
  const options = ['--time-factor', String(TIME_FACTOR), '--auto-approve', '--history', '--data-dir', dataDir];
  simulator = await startSimulatorProcess(['--port', ports.simulator, ...options]);
  ports.simulator = new URL(simulator.controlUrl).port;
  console.log(`Printers: ${simulator.controlUrl} (the simulator's page)`);
}

/** @param {import('./simulator.mjs').RunningSimulator} service */
async function startEditor(service) {
  const isFirst = !nodeRed;
  await nodeRed?.stop();
  const { flows, account, credentials } = demo(service);
  const options = {
    userDir,
    port: ports.nodeRed,
    settings: { editorTheme: { ...editorTheme, page: { scripts: [reloadScript] } } },
    onLine: (/** @type {string} */ line) => console.log(line),
  };
  const quiet = flows.map((node) => (node.type === 'debug' ? { ...node, console: false } : node));
  nodeRed = await startNodeRed(
    existsSync(flowFile) ? { ...options, flows: moved(account, service) } : { ...options, flows: quiet, credentials },
  );
  ports.nodeRed = Number(new URL(nodeRed.url).port);
  if (!isFirst) return;
  await signIn(nodeRed.url, account).catch((error) => console.error(`No sign-in to the simulator: ${error.message}`));
  console.log(`Editor: ${nodeRed.url}`);
}

/**
 * Returns the flows of the last run, with the present addresses of the simulator.
 * @param {string} account @param {import('./simulator.mjs').RunningSimulator} service
 */
function moved(account, { authUrl, apiUrl }) {
  /** @type {{ id: string }[]} */
  const flows = JSON.parse(readFileSync(flowFile, 'utf8'));
  return flows.map((node) => (node.id === account ? { ...node, authUrl, apiUrl } : node));
}

/** Whether the last whole build succeeded. */
let isBuilt = false;

/** Rebuilds, and restarts or reloads the parts whose files differ. @param {boolean} onlyEditor */
async function update(onlyEditor) {
  if (onlyEditor && isBuilt) {
    buildEditor();
  } else {
    isBuilt = false;
    ensureBuilt();
    isBuilt = true;
  }
  const built = digests();
  if (!simulator || running.simulator !== built.simulator) await startService();
  running.simulator = built.simulator;
  if (simulator && running.nodeRed !== built.nodeRed) await startEditor(simulator);
  running.nodeRed = built.nodeRed;
  if (running.browser !== built.browser) for (const page of pages) page.write('data: reload\n\n');
  running.browser = built.browser;
}

/** Times of the last changes of all watched files. */
function times() {
  const entries = WATCHED.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()),
  );
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name));
  return new Map(paths.map((path) => [path, statSync(path, { throwIfNoEntry: false })?.mtimeMs]));
}

await ensureInstalledOrExit(root);
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    void Promise.allSettled([nodeRed?.stop(), simulator?.stop()]).then(() => process.exit(0));
  });
await startReloads();
for (let before = times(), changed = ['']; ;) {
  if (changed.length > 0)
    // tsc has printed its own errors. The running parts continue until the next change.
    await update(changed.every((path) => path.startsWith(join(root, 'editor', sep)))).catch((error) =>
      console.error(error instanceof Error ? error.message : error),
    );
  await pause(INTERVAL);
  const now = times();
  changed = [...new Set([...before.keys(), ...now.keys()])].filter((path) => before.get(path) !== now.get(path));
  before = now;
}
