import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';

import { coreFlow, packFlow, ACCOUNT, PATH } from './flows.mjs';
import { measure } from './measure.mjs';
import { ending, inNodeRed, inProcess, killed } from './processes.mjs';

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

/** Time for a new process to settle after its start, before the measurement, ms. */
export const SETTLE = 1500;

/** Our node first, the yardstick last. @type {Contender[]} */
export const contenders = [
  { name: 'upload node', run: uploadNode },
  { name: 'curl -T', run: curl },
  { name: 'core nodes', run: coreNodes },
  { name: 'bare undici', run: (setting) => bareUndici(setting) },
  { name: 'bare, 1 MiB', run: (setting) => bareUndici(setting, 1024 * 1024) },
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
  const end = killed(
    child,
    gone.catch(() => undefined),
  );
  return ending(ends, end, async () => {
    let said = '';
    child.stderr.on('data', (text) => (said += text));
    await once(child, 'spawn');
    return measure(/** @type {number} */ (child.pid), undefined, async () => {
      const [code] = await gone;
      if (code !== 0) throw new Error(said.trim() || `curl ended with ${code}`);
      return () => service.check(jobId, file);
    });
  });
}

/** @param {Setting} setting @param {number} [chunk] bytes of a read */
async function bareUndici({ service, file, ...setting }, chunk) {
  const { url, contentType, jobId } = await service.register(file);
  return inProcess(setting, ['bare-process.mjs'], async (pid, socket, ask) => {
    await sleep(SETTLE);
    return measure(pid, socket, async () => {
      const status = await ask({ path: file.path, size: file.size, url, contentType, chunk });
      if (status !== 200) throw new Error(`the store answered ${status}`);
      return () => service.check(jobId, file);
    });
  });
}

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
