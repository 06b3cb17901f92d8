import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const built = join(resolve(import.meta.dirname, '..'), 'dist/simulator/cli.js');

/**
 * Simulated service in a separate process, as `npx remote-printing-simulator` starts it.
 * @typedef {object} RunningSimulator
 * @property {string} authUrl
 * @property {string} apiUrl
 * @property {string} controlUrl
 * @property {string} clientId
 * @property {string} clientSecret
 * @property {Promise<unknown>} exited
 * @property {() => Promise<void>} stop SIGTERM, and the wait for the end; SIGKILL after 1.5 s
 */

/**
 * @param {string[]} args
 * @param {string} cli the command's file, by default this checkout's build
 * @returns {Promise<RunningSimulator>}
 */
export async function startSimulatorProcess(args = [], cli = built) {
  const child = spawn(process.execPath, [cli, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const orphan = () => child.kill('SIGKILL');
  process.on('exit', orphan);
  exited.then(
    () => process.off('exit', orphan),
    () => process.off('exit', orphan),
  );
  /** @type {Record<string, string>} */
  const facts = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, value] = /^(\w+): +(\S+)$/.exec(line) ?? [];
    if (name && value) facts[name] = value;
    const { authUrl, apiUrl, controlUrl, clientId, clientSecret } = facts;
    if (authUrl && apiUrl && controlUrl && clientId && clientSecret)
      return { authUrl, apiUrl, controlUrl, clientId, clientSecret, exited, stop };
  }
  throw new Error('the simulator ended before it said where it is');

  async function stop() {
    child.kill('SIGTERM');
    const timer = setTimeout(orphan, 1500);
    await exited;
    clearTimeout(timer);
  }
}
