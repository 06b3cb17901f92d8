import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';

import { startPostgres } from '../scripts/postgres.mjs';
import { PRINT } from './farm-answers.mjs';
import { idleCosts, nodeRed } from './farm-contenders.mjs';
import { farmFlow } from './farm-flows.mjs';
import { startFarmService } from './farm-service.mjs';
import { inRoom } from './room.mjs';
import { exitCode, grid } from './table.mjs';

const HELP = `Usage: npm run bench -- replicas [options]

  --clusters N   how many (default 1000)
  --seconds S    measured (default 60)
`;

/** Targets for a state on PostgreSQL. `cpu`: cost of a poll relative to files. `edge`: statements per ended print. */
const TARGET = { cpu: 1.2, edge: 12 };
/** Allowance for the uneven distribution of ends. */
const SPREAD_OF_ENDS = 4;
/** Seconds between the polls of a cluster. */
const INTERVAL = 10;
/** Periodic statements, independent of polls: the renewal of leases and the query of the members. */
const CLOCKWORK = /SET ends_at = greatest|AS mark/;

/**
 * Runs two Node-REDs in parallel, which watch identical farms: one with its state in files, the other on PostgreSQL.
 * @param {string[]} args of the command line
 * @returns {Promise<number>} the exit code: 0 when all targets are met, 1 when one is missed, 2 for wrong arguments, 130 when broken off
 */
export async function benchReplicas(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        clusters: { type: 'string', default: '1000' },
        seconds: { type: 'string', default: '60' },
        help: { type: 'boolean' },
      },
    });
    const [clusters, seconds] = [Number(values.clusters), Number(values.seconds)];
    const isRight = [clusters, seconds].every((number) => Number.isInteger(number) && number > 0);
    if (values.help || !isRight) {
      console.log(HELP);
      return values.help ? 0 : 2;
    }
    return await inRoom('replicas', (room) => run({ clusters, seconds, ...room }));
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    console.log(`${error.message}\n\n${HELP}`);
    return 2;
  }
}

/** @param {{ clusters: number, seconds: number } & import('./room.mjs').Room} options */
async function run({ clusters, seconds, folder, ends, signal }) {
  const database = await startPostgres({ shared_preload_libraries: 'pg_stat_statements' });
  ends.push(database.stop);
  const client = new pg.Client(database.address);
  await client.connect();
  ends.unshift(() => client.end());
  await client.query('CREATE EXTENSION pg_stat_statements');

  const [files, rows] = await Promise.all([startFarmService(ends), startFarmService(ends)]);
  const idle = await idleCosts({ folder, ends, service: files }, 20);
  signal.throwIfAborted();
  const times = { warmUp: 3 * INTERVAL + 5, window: seconds };
  const farmOf = (/** @type {string} */ url) => ({ url, clusters, interval: INTERVAL, latency: 20, long: true });
  const watch = (/** @type {typeof files} */ service, /** @type {Record<string, unknown>} */ settings) => {
    const farm = farmOf(service.url);
    return nodeRed({ folder, ends, service }, farm, times, { ...farmFlow(farm), settings });
  };
  const [withFiles, withRows, statements] = await Promise.all([
    watch(files, {}),
    watch(rows, { remotePrinting: { stateStore: database.address } }),
    counted(client, times),
  ]);
  signal.throwIfAborted();

  const cpuOf = (/** @type {typeof withFiles} */ { cpu, rate }) => ((cpu - idle.nodeRed.cpu) * 1000) / rate;
  const lineOf = (/** @type {string} */ name, /** @type {typeof withFiles} */ result) => [
    name,
    String(result.made),
    result.gap.toFixed(2),
    cpuOf(result).toFixed(3),
    (result.heap - idle.nodeRed.heap).toFixed(1),
    (result.resident - idle.nodeRed.resident).toFixed(0),
    result.delays.p99.toFixed(1),
  ];
  const heads = ['', 'polls', 'longest gap', 'CPU ms/poll', 'heap +MiB', 'RSS +MiB', 'loop p99 ms'];
  console.log(`${clusters} clusters every ${INTERVAL} s, ${seconds} s measured, side by side`);
  console.log(grid([heads, lineOf('files', withFiles), lineOf('PostgreSQL', withRows)]));
  for (const { query, calls } of statements) console.log(`${String(calls).padStart(6)} × ${query.slice(0, 90)} …`);

  const ratio = cpuOf(withRows) / cpuOf(withFiles);
  const others = statements.filter(({ query }) => !CLOCKWORK.test(query)).reduce((sum, { calls }) => sum + calls, 0);
  const edges = (clusters * seconds) / PRINT;
  const most = TARGET.edge * (edges + SPREAD_OF_ENDS * Math.sqrt(edges));
  return exitCode([
    { met: ratio <= TARGET.cpu, text: `CPU of a poll at most ${TARGET.cpu} x that with files: ${ratio.toFixed(2)}` },
    {
      met: others <= most,
      text: `no statement for a poll without an edge: ${others} for ${edges.toFixed(0)} prints in ${withRows.made} polls`,
    },
  ]);
}

/**
 * Counts the statements in the measured time, the most frequent first.
 * @param {pg.Client} client @param {import('./farm-contenders.mjs').Times} times
 */
async function counted(client, { warmUp, window }) {
  // The processes take a moment to start.
  await sleep((warmUp + 5) * 1000);
  await client.query('SELECT pg_stat_statements_reset()');
  await sleep((window - 5) * 1000);
  const { rows } = await client.query(
    `SELECT regexp_replace(left(query, 400), '\\s+', ' ', 'g') AS query, calls::int FROM pg_stat_statements
      WHERE query LIKE '%remote_printing%' AND query NOT LIKE '%pg_stat_statements%' ORDER BY calls DESC`,
  );
  return /** @type {{ query: string, calls: number }[]} */ (rows);
}
