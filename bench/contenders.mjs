import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';

import { startNodeRed } from '../scripts/node-red.mjs';
import { coreFlow, packFlow, ACCOUNT, PATH } from './flows.mjs';
import { measure } from './measure.mjs';

/**
 * @typedef {object} Setting
 * @property {string} folder for temporary files
 * @property {import('./service.mjs').GcodeFile} file
 * @property {import('./service.mjs').Service} service
 * @property {(() => Promise<unknown>)[]} ends
 *
 * @typedef {object} Contender
 * @property {string} name
 * @property {(setting: Setting) => Promise<import('./measure.mjs').Figures>} run one upload in a new process; rejects when the file did not get there
 */

export const probe = join(import.meta.dirname, 'probe.cjs');
/** Time for a new process to settle after its start, before the upload, ms. */
const SETTLE = 1500;

/** @type {Contender[]} */
export const contenders = [
  { name: 'upload node', run: uploadNode },
  { name: 'curl -T', run: curl },
  { name: 'core nodes', run: coreNodes },
  { name: 'bare undici', run: bareUndici },
];

/**
 * Uploads with the pack's node in a new Node-RED, with default settings except `print`, which is off. Measures
 * everything from the path to a confirmed upload.
 * @param {Setting} setting
 */
async function uploadNode({ service, file, ...setting }) {
  return inNodeRed(setting, packFlow(service.addresses), async (nodeRed, socket) => {
    await signIn(nodeRed.url);
    await sleep(SETTLE);
    return measure(nodeRed.pid, socket, async () => {
      const { jobId } = await post(nodeRed.url + PATH, { filename: file.path });
      return () => service.check(String(jobId), file);
    });
  });
}

/**
 * Uploads with core nodes alone: `file in`, then `http request`. The upload was registered before.
 * @param {Setting} setting
 */
async function coreNodes({ service, file, ...setting }) {
  return inNodeRed(setting, coreFlow, async (nodeRed, socket) => {
    const { url, jobId } = await service.register(file);
    await sleep(SETTLE);
    return measure(nodeRed.pid, socket, async () => {
      const { status } = await post(nodeRed.url + PATH, { filename: file.path, url });
      if (status !== 200) throw new Error(`the store answered ${status}`);
      return () => service.check(jobId, file);
    });
  });
}

/** @param {Setting} setting */
async function curl({ service, file, ends }) {
  const { url, contentType, jobId } = await service.register(file);
  const headers = [`Content-Type: ${contentType}`, 'Expect:'].flatMap((header) => ['-H', header]);
  const child = spawn('curl', ['-q', '-sS', '--fail', '-o', '/dev/null', ...headers, '-T', file.path, url], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const gone = once(child, 'close');
  return ending(
    ends,
    killed(
      child,
      gone.catch(() => undefined),
    ),
    async () => {
      let said = '';
      child.stderr.on('data', (text) => (said += text));
      await once(child, 'spawn');
      return measure(/** @type {number} */ (child.pid), undefined, async () => {
        const [code] = await gone;
        if (code !== 0) throw new Error(said.trim() || `curl ended with ${code}`);
        return () => service.check(jobId, file);
      });
    },
  );
}

/** @param {Setting} setting */
async function bareUndici({ service, file, folder, ends }) {
  const { url, contentType, jobId } = await service.register(file);
  const socket = join(await mkdtemp(join(folder, 'bare-')), 'probe');
  const child = fork(join(import.meta.dirname, 'bare-process.mjs'), {
    execArgv: ['--require', probe],
    env: { ...process.env, BENCH_PROBE: socket },
  });
  const gone = once(child, 'exit');
  const crashed = gone.then(() => Promise.reject(new Error('the process ended')));
  const work = async () => {
    await once(child, 'message');
    await sleep(SETTLE);
    return measure(/** @type {number} */ (child.pid), socket, async () => {
      child.send({ path: file.path, size: file.size, url, contentType });
      const [status] = await once(child, 'message');
      if (status !== 200) throw new Error(`the store answered ${status}`);
      return () => service.check(jobId, file);
    });
  };
  return ending(ends, killed(child, gone), () => Promise.race([work(), crashed]));
}

/**
 * @template T
 * @param {Pick<Setting, 'folder' | 'ends'>} setting
 * @param {{ flows: object[], credentials: Record<string, object>, withPack?: boolean, settings?: Record<string, unknown> }} flow
 * @param {(nodeRed: import('../scripts/node-red.mjs').RunningNodeRed, socket: string) => Promise<T>} work
 */
export async function inNodeRed({ folder, ends }, flow, work) {
  const userDir = await mkdtemp(join(folder, 'node-red-'));
  const socket = join(userDir, 'probe');
  const env = { NODE_OPTIONS: `--require ${JSON.stringify(probe)}`, BENCH_PROBE: socket };
  const nodeRed = await startNodeRed({ userDir, env, ...flow });
  const crashed = nodeRed.exited.then(({ code, signal }) => {
    throw new Error(`Node-RED ended (${signal ?? code}): ${nodeRed.log.slice(-5).join(' ')}`);
  });
  return ending(ends, nodeRed.kill, () => Promise.race([work(nodeRed, socket), crashed]));
}

/**
 * @template T
 * @param {(() => Promise<unknown>)[]} ends
 * @param {() => Promise<unknown>} end called once after `work`, or when the whole benchmark is broken off
 * @param {() => Promise<T>} work
 */
export async function ending(ends, end, work) {
  ends.push(end);
  try {
    return await work();
  } finally {
    const at = ends.indexOf(end);
    if (at >= 0) {
      ends.splice(at, 1);
      await end();
    }
  }
}

/** @param {import('node:child_process').ChildProcess} child @param {Promise<unknown>} gone */
export const killed = (child, gone) => () => {
  child.kill('SIGKILL');
  return gone;
};

/**
 * Signs in as a user does in the account's dialog and on the service's page, which approves every sign-in.
 * @param {string} nodeRed its address
 */
async function signIn(nodeRed) {
  const redirectUri = `${nodeRed}remote-printing/callback`;
  const { authorizeUrl } = await post(`${nodeRed}remote-printing/accounts/${ACCOUNT}/sign-in`, { redirectUri });
  const ended = await fetch(String(authorizeUrl));
  if (!ended.ok || !ended.url.startsWith(redirectUri)) throw new Error(`the sign-in ended with ${ended.status}`);
}

/** @param {string} url @param {object} body @returns {Promise<Record<string, unknown>>} */
async function post(url, body) {
  const headers = { 'content-type': 'application/json' };
  // The answer arrives at the end of the upload, which may take longer than undici's default timeout.
  const answer = await request(url, { method: 'POST', headers, body: JSON.stringify(body), headersTimeout: 0 });
  const text = await answer.body.text();
  if (answer.statusCode > 299) throw new Error(text.slice(0, 300) || `status ${answer.statusCode}`);
  return JSON.parse(text);
}
