import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';

/**
 * Report of the probe in a Node.js process: processor time of all its threads (s), delays of its event loop and, if asked
 * for, the longest stop in processor time of its thread (ms), number of written state files of the pack, and the heap after garbage
 * collection (MiB).
 * @typedef {{ p50: number, p99: number, max: number }} Delays
 * @typedef {{ cpu: number, delays: Delays, stop?: number, writes: number, heap: number }} Probed
 * @typedef {object} Figures
 * @property {number} seconds
 * @property {number} growth of resident memory, from just before to its peak, MiB
 * @property {Probed} [probed]
 */

/** Interval between two memory samples, ms. */
const PERIOD = 50;

/**
 * Measures a process while it works.
 * @param {number} pid
 * @param {string | undefined} socket where the probe in the process listens; none in a process that only begins now
 * @param {() => Promise<() => Promise<void>>} work starts it and waits for it; gives a check that is no longer timed
 * @param {{ stops?: boolean }} [options] `stops`: find stops, which costs processor time itself
 * @returns {Promise<Figures>}
 */
export async function measure(pid, socket, work, { stops = false } = {}) {
  const probe = socket === undefined ? undefined : await startProbe(socket, stops);
  const memory = await watchMemory(pid, socket === undefined);
  try {
    const began = performance.now();
    const check = await work();
    const seconds = (performance.now() - began) / 1000;
    const growth = await memory.growth();
    const figures = { seconds, growth, ...(probe ? { probed: await probe.read() } : {}) };
    await check();
    return figures;
  } finally {
    memory.stop();
    probe?.stop();
  }
}

/** @param {number} pid @param {boolean} fromNothing whether all of its memory counts as growth */
async function watchMemory(pid, fromNothing) {
  // Linux then resets the peak, so that no peak between two samples is missed.
  const resets = await writeFile(`/proc/${pid}/clear_refs`, '5').then(
    () => true,
    () => false,
  );
  const read = (/** @type {'VmRSS' | 'VmHWM'} */ field) => memoryOf(pid, field);
  const before = fromNothing ? 0 : await read('VmRSS');
  let peak = before;
  const look = async () => {
    peak = Math.max(peak, await read(resets ? 'VmHWM' : 'VmRSS'));
  };
  const timer = setInterval(() => void look(), PERIOD);
  return {
    async growth() {
      await look();
      return peak - before;
    },
    stop: () => clearInterval(timer),
  };
}

/** MiB. @param {number} pid @param {'VmRSS' | 'VmHWM'} field */
export async function memoryOf(pid, field) {
  // An ended process has no figures.
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) / 1024;
}

/** Starts the probe, which measures while its connection is open (see probe.cjs). @param {string} socket @param {boolean} [stops] */
export async function startProbe(socket, stops = false) {
  const connection = createConnection({ path: socket, allowHalfOpen: true });
  connection.on('error', () => undefined);
  await once(connection, 'data');
  if (stops) connection.write('stops');
  return {
    /** @returns {Promise<Probed>} */
    async read() {
      connection.end();
      return JSON.parse(await text(connection));
    },
    stop: () => connection.destroy(),
  };
}
