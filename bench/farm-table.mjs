import { PRINT } from './farm-answers.mjs';
import { grid } from './table.mjs';

/**
 * @typedef {import('./farm-contenders.mjs').Watched} Watched
 * @typedef {Awaited<ReturnType<typeof import('./farm-contenders.mjs').idleCosts>>} Idle
 * @typedef {{ name: string, result: Watched | { failed: string } }} Row
 * @typedef {{ farm: import('./farm-contenders.mjs').Farm, rows: Row[] }} Run
 */

/**
 * What watching is held to. `spread`: the busiest second to the mean; `cpu` to bare undici; `even`: the same ratio of most
 * clusters to that of fewest; `writes` for each print that ended.
 */
const TARGET = { polls: 0.99, gap: 1.1, spread: 2, cpu: 1.4, even: 1.15, memory: 150, p99: 20, writes: 2 };
/** Ends do not come evenly, and the list of clusters has a file as well. */
const SPREAD_OF_ENDS = 4;
const ACCOUNT_WRITES = 5;
const BARE = 'bare undici';
/** What is held to the targets. */
const OURS = ['status node', 'node each'];

/** Milliseconds of processor time for a poll, beyond what the process costs without any. @param {Row} row @param {Idle} idle */
function cpuOf({ name, result }, idle) {
  if ('failed' in result) return NaN;
  return ((result.cpu - (name === BARE ? idle.bare : idle.nodeRed).cpu) * 1000) / result.rate;
}

/** @param {Run} run @param {Idle} idle @param {string} name */
function ratioOf({ rows }, idle, name) {
  const [row, bare] = [name, BARE].map((wanted) => rows.find((other) => other.name === wanted));
  return row && bare ? cpuOf(row, idle) / cpuOf(bare, idle) : NaN;
}

/** Resident memory over an idle process of the kind, MiB. @param {Row} row @param {Idle} idle */
function memoryOf({ name, result }, idle) {
  return 'failed' in result ? NaN : result.resident - (name === BARE ? idle.bare : idle.nodeRed).resident;
}

/** @param {Run} run */
export const titleOf = ({ farm: { clusters, latency, interval, long } }) =>
  `${clusters} clusters, every ${interval} s, answers of ${long ? 18 : 2} kB after ${latency} ms`;

/** @param {Run} run @param {Idle} idle */
export function farmTable(run, idle) {
  const heads = ['', 'polls', 'busiest s', 'longest gap', 'CPU ms/poll', 'to bare', 'RSS +MiB', 'heap +MiB'];
  const lines = run.rows.map((row) => {
    const { name, result } = row;
    if ('failed' in result) return [name, `failed: ${result.failed}`];
    const { made, wanted, busiest, gap, heap, delays, writes } = result;
    return [
      name,
      `${((100 * made) / wanted).toFixed(0)} %`,
      `${busiest.toFixed(2)} x`,
      `${gap.toFixed(2)} i`,
      cpuOf(row, idle).toFixed(2),
      ratioOf(run, idle, name).toFixed(2),
      memoryOf(row, idle).toFixed(0),
      (heap - (name === BARE ? idle.bare : idle.nodeRed).heap).toFixed(1),
      delays.p50.toFixed(1),
      delays.p99.toFixed(1),
      delays.max.toFixed(0),
      String(writes),
    ];
  });
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
      const [ratio, memory] = [ratioOf(run, idle, name), memoryOf(row, idle)];
      return [
        told(made >= TARGET.polls * wanted, `polls made: ${made} of ${wanted.toFixed(0)}`),
        told(busiest <= TARGET.spread, `busiest second at most ${TARGET.spread} x the mean: ${busiest.toFixed(2)}`),
        told(gap <= TARGET.gap, `gaps of at most ${TARGET.gap} intervals: ${gap.toFixed(2)}`),
        ...(Number.isNaN(ratio)
          ? []
          : [told(ratio <= TARGET.cpu, `CPU at most ${TARGET.cpu} x bare undici: ${ratio.toFixed(2)}`)]),
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
    const [few, many] = [fewest, most].map((run) => ratioOf(run, idle, 'status node'));
    verdicts.push({
      met: Number(many) <= TARGET.even * Number(few),
      text: `CPU to bare undici is the same at ${most.farm.clusters} clusters as at ${fewest.farm.clusters}: ${many?.toFixed(2)} and ${few?.toFixed(2)}`,
    });
  }
  return verdicts;
}
