import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

export const root = resolve(import.meta.dirname, '..');

/** An editor without tours, projects and the catalogue of palettes. */
export const editorTheme = { tours: false, palette: { catalogues: [] }, projects: { enabled: false } };

/** Settings of a Node-RED that communicates only with its editor. */
const quiet = {
  uiHost: '127.0.0.1',
  lang: 'en-US',
  flowFile: 'flows.json',
  telemetry: { enabled: false, updateNotification: false },
  editorTheme,
};

/**
 * @typedef {object} NodeRedOptions
 * @property {string} userDir made if it is missing; holds settings.js, the flows and the credentials
 * @property {string} [node] the Node.js binary, by default this one
 * @property {string} [nodeRed] folder of the node-red package, by default the one in node_modules
 * @property {number} [port] 0, the default, takes any free port
 * @property {boolean} [withPack] load this checkout's built pack, default true
 * @property {Record<string, unknown>} [settings] laid over the settings of a quiet Node-RED; plain data only
 * @property {readonly object[]} [flows] written as the flow file; without it, the one that lies there is used
 * @property {Record<string, object>} [credentials] by node id; written beside the flow file
 * @property {NodeJS.ProcessEnv} [env] laid over this process's environment
 * @property {(line: string) => void} [onLine] gets every line that Node-RED prints
 */

/**
 * Node-RED in a separate process, ready with its flows running.
 * @typedef {object} RunningNodeRed
 * @property {string} url address of editor and admin API, ends in a slash
 * @property {number} pid
 * @property {string} userDir
 * @property {string[]} log every line so far
 * @property {Promise<{ code: number | null, signal: NodeJS.Signals | null }>} exited
 * @property {(deploy: () => Promise<void>) => Promise<void>} started deploys, and resolves once the nodes run; Node-RED answers earlier
 * @property {() => Promise<{ code: number | null, signal: NodeJS.Signals | null, ms: number }>} stop SIGTERM, and the wait for the end; SIGKILL after 30 s
 * @property {() => Promise<void>} kill SIGKILL: a crash, as the disk sees it
 */

/** Longest wait for Node-RED, ms; generous, since cores and disk may be busy. */
export const PATIENCE = 180_000;

/** The end of a start. Node-RED logs in English and, in tests, in German. */
const STARTED =
  /Started (modified )?(flows|nodes)|(Flows|Nodes) sind gestartet|Waiting for missing types|Flows stopped in safe mode/;

/**
 * Starts a real Node-RED and resolves once it answers and its flows are started.
 * Rejects with the end of its log if it exits before that or takes longer than 180 s.
 * @param {NodeRedOptions} options
 * @returns {Promise<RunningNodeRed>}
 */
export async function startNodeRed(options) {
  const { userDir, node = process.execPath, nodeRed = join(root, 'node_modules', 'node-red'), port = 0 } = options;
  const settings = {
    ...quiet,
    credentialSecret: 'secret of this Node-RED alone',
    uiPort: port,
    ...(options.withPack === false ? {} : { nodesDir: [root] }),
    ...options.settings,
  };
  await mkdir(userDir, { recursive: true });
  const settingsFile = join(userDir, 'settings.js');
  await writeFile(settingsFile, `module.exports = ${JSON.stringify(settings, null, 2)};\n`, { mode: 0o600 });
  if (options.flows) await writeFile(join(userDir, 'flows.json'), JSON.stringify(options.flows, null, 2));
  if (options.credentials) {
    // Node-RED takes plain credentials and encrypts them with the next deploy.
    await writeFile(join(userDir, 'flows_cred.json'), JSON.stringify(options.credentials), { mode: 0o600 });
  }
  if (!existsSync(join(nodeRed, 'red.js'))) throw new Error(`no Node-RED in ${nodeRed}`);

  const child = spawn(node, [join(nodeRed, 'red.js'), '--userDir', userDir, '--settings', settingsFile], {
    cwd: userDir,
    env: { ...process.env, NODE_RED_HOME: undefined, NODE_RED_ENABLE_PROJECTS: undefined, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  /** @type {string[]} */
  const log = [];
  const starts = new EventEmitter();
  /** @type {RunningNodeRed['exited']} */
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  const orphan = () => child.kill('SIGKILL');
  process.on('exit', orphan);
  exited.then(
    () => process.off('exit', orphan),
    () => process.off('exit', orphan),
  );

  const url = await new Promise((started, failed) => {
    const fail = (/** @type {string} */ why) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      failed(new Error(`Node-RED ${why}:\n${log.slice(-30).join('\n')}`));
    };
    const timer = setTimeout(() => fail(`did not start within ${PATIENCE / 1000} s`), PATIENCE);
    let address = '';
    const read = (/** @type {string} */ line) => {
      log.push(line);
      options.onLine?.(line);
      if (STARTED.test(line)) starts.emit('start');
      address ||= /Server .* (http\S+)/.exec(line)?.[1] ?? '';
      if (!address || !log.some((text) => STARTED.test(text))) return;
      clearTimeout(timer);
      started(address.endsWith('/') ? address : `${address}/`);
    };
    createInterface({ input: child.stdout }).on('line', read);
    createInterface({ input: child.stderr }).on('line', read);
    child.on('error', (error) => fail(`can't be run (${error.message})`));
    exited.then(({ code, signal }) => fail(`ended before it was up (${signal ?? code})`), fail);
  });

  return {
    url,
    pid: /** @type {number} */ (child.pid),
    userDir,
    log,
    exited,
    async started(deploy) {
      const failed = (/** @type {string} */ why) => () =>
        Promise.reject(new Error(`Node-RED ${why}:\n${log.slice(-30).join('\n')}`));
      const start = once(starts, 'start', { signal: AbortSignal.timeout(PATIENCE) }).catch(failed('started no flows'));
      const end = exited.then(failed('ended'));
      await Promise.race([Promise.all([deploy(), start]), end]);
    },
    async stop() {
      const began = performance.now();
      const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
      child.kill('SIGTERM');
      const end = await exited;
      clearTimeout(timer);
      return { ...end, ms: Math.round(performance.now() - began) };
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
