import { PRINT } from './farm-answers.mjs';
import { grid } from './table.mjs';

/**
 * @typedef {import('./farm-contenders.mjs').Watched} Watched
 * @typedef {Awaited<ReturnType<typeof import('./farm-contenders.mjs').idleCosts>>} Idle
 * @typedef {Watched | { failed: string }} Result
 * @typedef {{ name: string, result: Result, bare: Result }} Row `bare`: the yardstick, which ran at the same time
 * @typedef {{ farm: import('./farm-contenders.mjs').Farm, rows: Row[] }} Run
 */

/**
 * Targets for watching. `spread`: ratio of the busiest second to the mean. `cpu`: ratio to bare undici. `even`: that
 * ratio with the most clusters, divided by that with the fewest. `writes`: number for each ended print.
 */
const TARGET = { polls: 0.99, gap: 1.1, spread: 2, cpu: 1.4, even: 1.15, memory: 150, p99: 20, writes: 2 };
/** Allowance for the uneven distribution of ends; the list of clusters also has a file. */
const SPREAD_OF_ENDS = 4;
const ACCOUNT_WRITES = 5;
/** Contenders that must meet the targets. */
const OURS = ['status node', 'node each'];

/** Processor time of a poll, without the cost of an idle process, ms. @param {Result} result @param {{ cpu: number }} idle */
const cpuOf = (result, idle) => ('failed' in result ? NaN : ((result.cpu - idle.cpu) * 1000) / result.rate);

/** @param {Row | undefined} row @param {Idle} idle */
const ratioOf = (row, idle) => (row ? cpuOf(row.result, idle.nodeRed) / cpuOf(row.bare, idle.bare) : NaN);

/** Resident memory beyond that of an idle process of the same kind, MiB. @param {Result} result @param {{ resident: number }} idle */
const memoryOf = (result, idle) => ('failed' in result ? NaN : result.resident - idle.resident);

/** @param {Run} run */
export const titleOf = ({ farm: { clusters, latency, interval, long } }) =>
  `${clusters} clusters, every ${interval} s, answers of ${long ? 18 : 2} kB after ${latency} ms`;

/** @param {Run} run @param {Idle} idle */
export function farmTable(run, idle) {
  const heads = ['', 'polls', 'busiest s', 'longest gap', 'CPU ms/poll', 'to bare', 'RSS +MiB', 'heap +MiB'];
  const lineOf = (
    /** @type {string} */ name,
    /** @type {Result} */ result,
    /** @type {Idle['bare']} */ over,
    ratio = '',
  ) => {
    if ('failed' in result) return [name, `failed: ${result.failed}`];
    const { made, wanted, busiest, gap, heap, delays, writes } = result;
    return [
      name,
      `${((100 * made) / wanted).toFixed(0)} %`,
      `${busiest.toFixed(2)} x`,
      `${gap.toFixed(2)} i`,
      cpuOf(result, over).toFixed(2),
      ratio,
      memoryOf(result, over).toFixed(0),
      (heap - over.heap).toFixed(1),
      delays.p50.toFixed(1),
      delays.p99.toFixed(1),
      delays.max.toFixed(0),
      String(writes),
    ];
  };
  const lines = run.rows.flatMap((row) => [
    lineOf(row.name, row.result, idle.nodeRed, ratioOf(row, idle).toFixed(2)),
    lineOf('  bare undici', row.bare, idle.bare),
  ]);
  return grid([[...heads, 'loop p50 ms', 'p99 ms', 'max ms', 'writes'], ...lines]);
}

/** @param {Run[]} runs @param {Idle} idle @returns {{ met: boolean, text: string }[]} */
export function judgeFarm(runs, idle) {
  const verdicts = runs.flatMap((run) =>
    run.rows.flatMap((row) => {
      const { name, result } = row;
      if (!OURS.includes(name)) return [];
      const told = (/** @type {boolean} */ met, /** @type {string} */ text) => ({
        met,
        text: `${name}, ${run.farm.clusters} clusters at ${run.farm.latency} ms (${run.farm.long ? 18 : 2} kB): ${text}`,
      });
      if ('failed' in result) return [told(false, result.failed)];
      const { made, wanted, gap, delays, busiest, writes } = result;
      const ends = (wanted * run.farm.interval) / PRINT;
      const [ratio, memory] = [ratioOf(row, idle), memoryOf(result, idle.nodeRed)];
      return [
        told(made >= TARGET.polls * wanted, `polls made: ${made} of ${wanted.toFixed(0)}`),
        told(busiest <= TARGET.spread, `busiest second at most ${TARGET.spread} x the mean: ${busiest.toFixed(2)}`),
        told(gap <= TARGET.gap, `gaps of at most ${TARGET.gap} intervals: ${gap.toFixed(2)}`),
        told(ratio <= TARGET.cpu, `CPU at most ${TARGET.cpu} x bare undici: ${ratio.toFixed(2)}`),
        told(delays.p99 <= TARGET.p99, `loop delay p99 at most ${TARGET.p99} ms: ${delays.p99.toFixed(1)}`),
        told(
          writes <= TARGET.writes * ends + SPREAD_OF_ENDS * Math.sqrt(ends) + ACCOUNT_WRITES,
          `writes for ends and starts of prints alone: ${writes} for ${ends.toFixed(0)} prints`,
        ),
        ...(name === OURS[0]
          ? [told(memory <= TARGET.memory, `at most ${TARGET.memory} MiB over an idle Node-RED: ${memory.toFixed(0)}`)]
          : []),
      ];
    }),
  );
  const sizes = runs.toSorted((one, other) => one.farm.clusters - other.farm.clusters);
  const [fewest, most] = [sizes[0], sizes.at(-1)];
  if (fewest && most && fewest.farm.clusters < most.farm.clusters) {
    const [few, many] = [fewest, most].map(({ rows }) =>
      ratioOf(
        rows.find(({ name }) => name === OURS[0]),
        idle,
      ),
    );
    verdicts.push({
      met: Number(many) <= TARGET.even * Number(few),
      text: `CPU to bare undici is the same at ${most.farm.clusters} clusters as at ${fewest.farm.clusters}: ${many?.toFixed(2)} and ${few?.toFixed(2)}`,
    });
  }
  return verdicts;
}
