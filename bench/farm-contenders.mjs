import { setTimeout as sleep } from 'node:timers/promises';

import { coreFlow, farmFlow, idleFlow, singlesFlow } from './farm-flows.mjs';
import { memoryOf, startProbe } from './measure.mjs';
import { inNodeRed, inProcess } from './processes.mjs';

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

const BARE = ['farm-bare-process.mjs'];

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
    bare: await inProcess(setting, BARE, cost),
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
  return inProcess(setting, BARE, async (pid, socket, ask) => {
    await ask(farm);
    return watched(setting, farm, times, { pid, socket });
  });
}

/**
 * @param {Setting} setting @param {Pick<Farm, 'interval'>} farm @param {Times} times @param {{ pid: number, socket: string }} process
 * @returns {Promise<Watched>}
 */
export async function watched({ service }, { interval }, { warmUp, window }, { pid, socket }) {
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
