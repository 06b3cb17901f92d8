import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Environment of a benchmark run: a folder of its own, and functions that end the running processes.
 * @typedef {{ folder: string, ends: (() => Promise<unknown>)[], signal: AbortSignal }} Room
 */

/** Prints the subject of a benchmark, and whether the machine is too busy for it. @param {string} subject */
export function announce(subject) {
  console.log(`${subject}; Node.js ${process.version}, ${cpus().length} CPUs`);
  const [load = 0] = loadavg();
  if (load > 1) console.log(`The machine is busy (load ${load.toFixed(1)}): the figures will swing.`);
}

/**
 * Runs a benchmark, on Linux alone (its figures are read from /proc) and without what the environment says of proxies and
 * of Node.js: all of it stays on this machine, and is measured as it is. Nothing is left at the end, also when broken off.
 * @param {string} name
 * @param {(room: Room) => Promise<number>} run gives the exit code
 * @returns {Promise<number>} 130 when broken off
 */
export async function inRoom(name, run) {
  if (process.platform !== 'linux') throw new Error('Figures are read from /proc: the benchmark runs on Linux only.');
  for (const variable of Object.keys(process.env))
    if (/^(https?|all)_proxy$|^node_/i.test(variable)) delete process.env[variable];

  const folder = await mkdtemp(join(tmpdir(), `remote-printing-${name}-`));
  /** @type {Room['ends']} */
  const ends = [];
  const endAll = () => Promise.all(ends.splice(0).map((end) => end().catch(() => undefined)));
  const broken = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.once(signal, () => {
      broken.abort();
      void endAll();
    });
  try {
    return await run({ folder, ends, signal: broken.signal });
  } catch (error) {
    if (broken.signal.aborted) return 130;
    throw error;
  } finally {
    await endAll();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
