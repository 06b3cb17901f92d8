import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { ending, inNodeRed, killed, probe } from './contenders.mjs';
import { coreFlow, farmFlow, idleFlow, singlesFlow } from './farm-flows.mjs';
import { memoryOf, startProbe } from './measure.mjs';

/**
 * @typedef {import('./farm-flows.mjs').Wanted & { latency: number, long: boolean }} Farm
 * @typedef {{ warmUp: number, window: number }} Times seconds
 * @typedef {Pick<import('./contenders.mjs').Setting, 'folder' | 'ends'> & { service: import('./farm-service.mjs').FarmService }} Setting
 *
 * @typedef {object} Cost of a process over its window
 * @property {number} cpu seconds of processor time in each second
 * @property {{ p50: number, p99: number, max: number }} delays
 * @property {number} writes
 * @property {number} heap after garbage collection, MiB
 * @property {number} resident the most of it, MiB
 * @typedef {Cost & import('./farm-polls.mjs').Polls & { bytes: number }} Watched
 *
 * @typedef {object} Contender
 * @property {string} name
 * @property {boolean} remembers what it saw of a cluster, until the next poll
 * @property {(farm: Farm) => boolean} [fits]
 * @property {(setting: Setting, farm: Farm, times: Times) => Promise<Watched>} run
 */

/** @type {Contender} */
export const yardstick = { name: 'bare undici', remembers: false, run: bare };

/** @type {Contender[]} */
export const farmContenders = [
  {
    name: 'status node',
    remembers: true,
    run: (setting, farm, times) => nodeRed(setting, farm, times, farmFlow(farm)),
  },
  {
    name: 'node each',
    remembers: true,
    fits: ({ clusters }) => clusters <= 1000,
    run: (setting, farm, times) => nodeRed(setting, farm, times, singlesFlow(farm)),
  },
  {
    name: 'core nodes',
    remembers: false,
    run: (setting, farm, times) => nodeRed(setting, farm, times, coreFlow(farm)),
  },
];

/** Cost of an idle process, measured for some seconds. @param {Setting} setting @param {number} seconds */
export async function idleCosts(setting, seconds) {
  const cost = async (/** @type {number} */ pid, /** @type {string} */ socket) => {
    await sleep(3000);
    return costOf(pid, socket, seconds);
  };
  return {
    nodeRed: await inNodeRed(setting, idleFlow, ({ pid }, socket) => cost(pid, socket)),
    bare: await inBare(setting, ({ pid }, socket) => cost(/** @type {number} */ (pid), socket)),
  };
}

/** @param {Setting} setting @param {Farm} farm @param {Times} times @param {Parameters<typeof inNodeRed>[1]} flow */
export async function nodeRed(setting, farm, times, flow) {
  await setting.service.become(farm);
  return inNodeRed(setting, flow, ({ pid }, socket) => watched(setting, farm, times, { pid, socket }));
}

/** @param {Setting} setting @param {Farm} farm @param {Times} times */
async function bare(setting, farm, times) {
  await setting.service.become(farm);
  return inBare(setting, async (child, socket) => {
    child.send(farm);
    await once(child, 'message');
    return watched(setting, farm, times, { pid: /** @type {number} */ (child.pid), socket });
  });
}

/** @param {Setting} setting @param {Farm} farm @param {Times} times @param {{ pid: number, socket: string }} process */
async function watched({ service }, { interval }, { warmUp, window }, { pid, socket }) {
  const began = Date.now();
  await sleep(warmUp * 1000);
  const from = Date.now();
  const cost = await costOf(pid, socket, window);
  return { ...cost, ...(await service.figures({ began, from, to: from + window * 1000, interval: interval * 1000 })) };
}

/** @param {number} pid @param {string} socket @param {number} seconds @returns {Promise<Cost>} */
async function costOf(pid, socket, seconds) {
  const running = await startProbe(socket);
  try {
    const began = performance.now();
    let resident = 0;
    while (performance.now() - began < seconds * 1000) {
      await sleep(Math.min(500, Math.max(0, seconds * 1000 - (performance.now() - began))));
      resident = Math.max(resident, await memoryOf(pid, 'VmRSS'));
    }
    const measured = (performance.now() - began) / 1000;
    const { cpu, ...probed } = await running.read();
    return { cpu: cpu / measured, ...probed, resident };
  } finally {
    running.stop();
  }
}

/**
 * @template T
 * @param {Pick<Setting, 'folder' | 'ends'>} setting
 * @param {(child: import('node:child_process').ChildProcess, socket: string) => Promise<T>} work
 */
async function inBare({ folder, ends }, work) {
  const socket = join(await mkdtemp(join(folder, 'bare-')), 'probe');
  const child = fork(join(import.meta.dirname, 'farm-bare-process.mjs'), {
    execArgv: ['--require', probe],
    env: { ...process.env, BENCH_PROBE: socket },
  });
  const gone = once(child, 'exit');
  const crashed = gone.then(() => Promise.reject(new Error('the process ended')));
  return ending(ends, killed(child, gone), async () => {
    await Promise.race([once(child, 'message'), crashed]);
    return Promise.race([work(child, socket), crashed]);
  });
}
