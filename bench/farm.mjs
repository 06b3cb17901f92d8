import { parseArgs } from 'node:util';

import { farmContenders, idleCosts, yardstick } from './farm-contenders.mjs';
import { startFarmService } from './farm-service.mjs';
import { farmTable, judgeFarm, titleOf } from './farm-table.mjs';
import { announce, inRoom } from './room.mjs';
import { exitCode } from './table.mjs';

const HELP = `Usage: npm run bench -- farm [options]

  --clusters N     how many, such as 100,1000 (default: the usual settings, about twenty minutes)
  --latency MS     of the service's answers, such as 0,150 (default 150)
  --kb 18          size of an answer: 18 or 2, or both as 18,2
  --seconds S      measured (default 20), for the pack lengthened to whole intervals: 10 s, 60 s from 10,000 clusters on
  --only NAMES     such as 'status node,core nodes'
`;

/** @typedef {Pick<import('./farm-contenders.mjs').Farm, 'clusters' | 'latency' | 'long'>} Kind */
/** @type {Kind[]} */
const USUAL = [
  { clusters: 100, latency: 150, long: true },
  { clusters: 1000, latency: 0, long: false },
  { clusters: 1000, latency: 150, long: true },
  { clusters: 10_000, latency: 150, long: true },
];

/**
 * Watches farms of several sizes, with the pack and without, and prints the costs.
 * @param {string[]} args of the command line
 * @returns {Promise<number>} the exit code: 0 when all targets are met, 1 when one is missed, 2 for wrong arguments, 130 when broken off
 */
export async function benchFarm(args) {
  const options = readArguments(args);
  if (typeof options === 'string') {
    console.log(options);
    return options === HELP ? 0 : 2;
  }
  return inRoom('farm', (room) => run({ ...options, ...room }));
}

/** @param {string[]} args @returns {{ kinds: Kind[], seconds: number | null, only: string[] } | string} a text where there is nothing to run */
function readArguments(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        clusters: { type: 'string' },
        latency: { type: 'string', default: '150' },
        kb: { type: 'string', default: '18' },
        seconds: { type: 'string' },
        only: { type: 'string' },
        help: { type: 'boolean' },
      },
    });
    if (values.help) return HELP;
    const numbers = (/** @type {string} */ text, /** @type {number} */ least, /** @type {number} */ most) =>
      text.split(',').map((word) => {
        const number = Number(word);
        if (!Number.isInteger(number) || number < least || number > most) throw new Error(`${word} can't be that.`);
        return number;
      });
    const kinds =
      values.clusters === undefined
        ? USUAL
        : numbers(values.clusters, 1, 100_000).flatMap((clusters) =>
            numbers(values.latency, 0, 10_000).flatMap((latency) =>
              numbers(values.kb, 2, 18).map((kb) => ({ clusters, latency, long: kb === 18 })),
            ),
          );
    const seconds = values.seconds === undefined ? null : Number(numbers(values.seconds, 5, 3600)[0]);
    return { kinds, seconds, only: values.only?.split(',') ?? farmContenders.map(({ name }) => name) };
  } catch (error) {
    return `${error instanceof Error ? error.message : error}\n\n${HELP}`;
  }
}

/** @param {{ kinds: Kind[], seconds: number | null, only: string[] } & import('./room.mjs').Room} options */
async function run({ kinds, seconds, only, folder, ends, signal }) {
  announce('Watching many clusters');
  const setting = { folder, ends, service: await startFarmService(ends) };
  const beside = { folder, ends, service: await startFarmService(ends) };
  const idle = await idleCosts(setting, 30);
  signal.throwIfAborted();

  /** @type {import('./farm-table.mjs').Run[]} */
  const runs = [];
  for (const kind of kinds) {
    const farm = { ...kind, url: setting.service.url, interval: kind.clusters >= 10_000 ? 60 : 10 };
    /** @type {import('./farm-table.mjs').Run} */
    const finished = { farm, rows: [] };
    for (const contender of farmContenders) {
      if (!only.includes(contender.name) || contender.fits?.(farm) === false) continue;
      const times = timesOf(farm, seconds, contender.remembers);
      const failed = (/** @type {Error} */ error) => ({ failed: error.message });
      // A processor's speed varies over time, so each contender runs at the same time as a baseline.
      const [result, bare] = await Promise.all([
        contender.run(setting, farm, times).catch(failed),
        yardstick.run(beside, { ...farm, url: beside.service.url }, times).catch(failed),
      ]);
      signal.throwIfAborted();
      finished.rows.push({ name: contender.name, result, bare });
    }
    runs.push(finished);
    console.log(`\n${titleOf(finished)}\n${farmTable(finished, idle)}`);
  }
  console.log();
  return exitCode(judgeFarm(runs, idle));
}

/** Number of polls before the measurement, until all code is compiled, and the longest time for them, s. */
const POLLS_BEFORE = 6000;
const LONGEST_WARM_UP = 60;
/** Minimum number of polls in the window for a meaningful cost per poll. */
const POLLS_MEASURED = 600;

/**
 * Times of a measurement. A contender with a memory is measured after it has seen all clusters, for whole intervals.
 * Other contenders have a constant cost after the warm-up.
 * @param {import('./farm-contenders.mjs').Farm} farm @param {number | null} seconds @param {boolean} remembers
 */
function timesOf({ clusters, interval }, seconds, remembers) {
  const each = interval / clusters;
  const window = Math.max(seconds ?? 20, Math.ceil(POLLS_MEASURED * each));
  const warm = Math.max(12, Math.min(LONGEST_WARM_UP, POLLS_BEFORE * each));
  if (!remembers) return { warmUp: warm, window };
  return { warmUp: Math.max(warm, interval * 2.5 + 4), window: Math.ceil(window / interval) * interval };
}
