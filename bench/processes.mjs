import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { startNodeRed } from '../scripts/node-red.mjs';

const probe = join(import.meta.dirname, 'probe.cjs');

/**
 * Forks a program of this folder. It sends a message once it is ready, and answers each message.
 * @param {string[]} program file and arguments
 * @param {import('node:child_process').ForkOptions} [options]
 */
function forked([file = '', ...args], options) {
  const child = fork(join(import.meta.dirname, file), args, options);
  const gone = once(child, 'exit');
  const crashed = gone.then(() => Promise.reject(new Error(`${file} ended`)));
  crashed.catch(() => undefined);
  const answer = async () => {
    const [message] = await Promise.race([once(child, 'message'), crashed]);
    return message;
  };
  const ask = (/** @type {import('node:child_process').Serializable} */ message) => {
    child.send(message);
    return answer();
  };
  return { pid: /** @type {number} */ (child.pid), end: killed(child, gone), crashed, answer, ask };
}

/**
 * Starts a service, which runs until the end of the benchmark.
 * @param {(() => Promise<unknown>)[]} ends
 * @param {string[]} program file and arguments
 */
export async function startProcess(ends, program) {
  const { end, answer, ask } = forked(program);
  ends.push(end);
  return { first: await answer(), ask };
}

/**
 * Runs a measured program during `work`.
 * @template T
 * @param {Pick<import('./room.mjs').Room, 'folder' | 'ends'>} room
 * @param {string[]} program file and arguments
 * @param {(pid: number, socket: string, ask: ReturnType<typeof forked>['ask']) => Promise<T>} work
 */
export async function inProcess({ folder, ends }, program, work) {
  const socket = join(await mkdtemp(join(folder, 'process-')), 'probe');
  const env = { ...process.env, BENCH_PROBE: socket };
  const { pid, end, crashed, answer, ask } = forked(program, { execArgv: ['--require', probe], env });
  return ending(ends, end, async () => {
    await answer();
    return Promise.race([work(pid, socket, ask), crashed]);
  });
}

/**
 * Runs a measured Node-RED during `work`.
 * @template T
 * @param {Pick<import('./room.mjs').Room, 'folder' | 'ends'>} room
 * @param {{ flows: object[], credentials: Record<string, object>, withPack?: boolean, settings?: Record<string, unknown>, nodes?: Record<string, string> }} flow `nodes`: files of its own node types
 * @param {(nodeRed: import('../scripts/node-red.mjs').RunningNodeRed, socket: string) => Promise<T>} work
 */
export async function inNodeRed({ folder, ends }, { nodes = {}, ...flow }, work) {
  const userDir = await mkdtemp(join(folder, 'node-red-'));
  await mkdir(join(userDir, 'nodes'));
  for (const [name, text] of Object.entries(nodes)) await writeFile(join(userDir, 'nodes', name), text);
  const socket = join(userDir, 'probe');
  const env = { NODE_OPTIONS: `--require ${JSON.stringify(probe)}`, BENCH_PROBE: socket };
  const nodeRed = await startNodeRed({ userDir, env, ...flow });
  const crashed = nodeRed.exited.then(({ code, signal }) => {
    throw new Error(`Node-RED ended (${signal ?? code}): ${nodeRed.log.slice(-5).join(' ')}`);
  });
  return ending(ends, nodeRed.kill, () => Promise.race([work(nodeRed, socket), crashed]));
}

/**
 * Ends a process after `work`.
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
