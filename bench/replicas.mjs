import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';

import { startPostgres } from '../scripts/postgres.mjs';
import { PRINT } from './farm-answers.mjs';
import { idleCosts, watched } from './farm-contenders.mjs';
import { farmFlow, queueFlow } from './farm-flows.mjs';
import { startFarmService } from './farm-service.mjs';
import { inNodeRed } from './processes.mjs';
import { inRoom } from './room.mjs';
import { exitCode, grid } from './table.mjs';

const HELP = `Usage: npm run bench -- replicas [options]

  --clusters N   how many (default 1000)
  --interval S   between two polls of a cluster (default 10)
  --seconds S    measured (default 60)
  --runtimes N   that share the database, 1 to 5 (default 1)
  --queue        with a print queue that may use all clusters
`;

/**
 * Targets for a state on PostgreSQL. `cpu`: cost of a poll relative to files; `others`: what each further runtime adds, as its
 * queue follows each poll too. `edge`: statements per ended print, at one runtime.
 */
const TARGET = { cpu: 1.2, others: 0.4, edge: 12 };
/** Further statements per ended print: of a queue, for the plate, and of each further runtime, which reads what was shared. */
const [OF_QUEUE, OF_OTHERS] = [16, 12];
/** Allowance for the uneven distribution of ends. */
const SPREAD_OF_ENDS = 4;
const MIB = 1024 * 1024;
/** Printers whose first sight a queue certainly handles in a second. */
const FIRST_SIGHTS = 10;
/** Unit of the processor times in /proc, s. */
const TICK = 0.01;

/**
 * Statements that depend on time alone, in a minute: of each runtime, and of each pair of runtimes that read from each other.
 * A renewal of all leases every 5 s; a query of the members of each topic as often; once a minute, the claim of free printers;
 * every 10 s one record of the polls without a change, which takes two statements to write and one for each reader.
 */
const CLOCKWORK = { renewals: 12, members: 12, claims: 1, polled: 12, reads: 6 };

/** @typedef {{ clusters: number, interval: number, seconds: number, runtimes: number, hasQueue: boolean }} Wanted */

/**
 * Runs Node-REDs in parallel, which watch identical farms: one with its state in files, the others on PostgreSQL.
 * @param {string[]} args of the command line
 * @returns {Promise<number>} the exit code: 0 when all targets are met, 1 when one is missed, 2 for wrong arguments, 130 when broken off
 */
export async function benchReplicas(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        clusters: { type: 'string', default: '1000' },
        interval: { type: 'string', default: '10' },
        seconds: { type: 'string', default: '60' },
        runtimes: { type: 'string', default: '1' },
        queue: { type: 'boolean', default: false },
        help: { type: 'boolean' },
      },
    });
    const [clusters = 0, interval = 0, seconds = 0, runtimes = 0] = [
      values.clusters,
      values.interval,
      values.seconds,
      values.runtimes,
    ].map(Number);
    const isRight =
      [clusters, interval, seconds, runtimes].every((number) => Number.isInteger(number) && number > 0) &&
      runtimes <= 5;
    if (values.help || !isRight) {
      console.log(HELP);
      return values.help ? 0 : 2;
    }
    const wanted = { clusters, interval, seconds, runtimes, hasQueue: values.queue };
    return await inRoom('replicas', (room) => run(wanted, room));
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    console.log(`${error.message}\n\n${HELP}`);
    return 2;
  }
}

/** @param {Wanted} wanted @param {import('./room.mjs').Room} room */
async function run(wanted, { folder, ends, signal }) {
  const { clusters, interval, seconds, runtimes, hasQueue } = wanted;
  const database = await startPostgres({ shared_preload_libraries: 'pg_stat_statements' });
  ends.push(database.stop);
  const client = new pg.Client(database.address);
  await client.connect();
  ends.unshift(() => client.end());
  await client.query('CREATE EXTENSION pg_stat_statements');

  const [files, rows] = await Promise.all([startFarmService(ends), startFarmService(ends)]);
  const idle = (await idleCosts({ folder, ends, service: files }, 20)).nodeRed;
  signal.throwIfAborted();
  // At its first sight of a printer, a queue reads and writes the gate of the plate.
  const times = { warmUp: 3 * interval + 5 + (hasQueue ? clusters / FIRST_SIGHTS : 0), window: seconds };
  const watch = async (
    /** @type {typeof files} */ service,
    /** @type {Record<string, unknown>} */ settings,
    /** @type {number} */ count,
  ) => {
    const farm = { url: service.url, clusters, interval, latency: 20, long: true };
    await service.become(farm);
    const flow = { ...(hasQueue ? queueFlow(farm) : farmFlow(farm)), settings };
    const setting = { folder, ends, service };
    const all = Array.from({ length: count }, () =>
      inNodeRed(setting, flow, ({ pid }, socket) => watched(setting, farm, times, { pid, socket })),
    );
    return Promise.all(all);
  };
  const [[withFiles], withRows, work] = await Promise.all([
    watch(files, {}, 1),
    watch(rows, { remotePrinting: { stateStore: database.address } }, runtimes),
    databaseWork(client, times),
  ]);
  const [first] = withRows;
  signal.throwIfAborted();
  if (!withFiles || !first) throw new Error('No Node-RED was measured.');

  // The service counts the polls of all runtimes together.
  const cpuOf = (/** @type {readonly import('./farm-contenders.mjs').Watched[]} */ all) =>
    (all.reduce((sum, { cpu }) => sum + cpu - idle.cpu, 0) * 1000) / (all[0]?.rate ?? NaN);
  const lineOf = (/** @type {string} */ name, /** @type {import('./farm-contenders.mjs').Watched} */ result) => [
    name,
    ((result.cpu - idle.cpu) * 100).toFixed(1),
    (result.heap - idle.heap).toFixed(1),
    (result.resident - idle.resident).toFixed(0),
    result.delays.p99.toFixed(1),
  ];
  const queue = hasQueue ? ', with a print queue' : '';
  console.log(`${clusters} clusters every ${interval} s${queue}, ${seconds} s measured, side by side`);
  const heads = ['', 'CPU %', 'heap +MiB', 'RSS +MiB', 'loop p99 ms'];
  const lines = withRows.map((result, at) => lineOf(`PostgreSQL ${at + 1} of ${runtimes}`, result));
  console.log(grid([heads, lineOf('files', withFiles), ...lines]));
  for (const [name, { made, gap }, all] of /** @type {const} */ ([
    ['files', withFiles, [withFiles]],
    ['PostgreSQL', first, withRows],
  ]))
    console.log(
      `${name}: ${made} polls, ${cpuOf(all).toFixed(3)} ms of processor time each, longest gap ${gap.toFixed(2)} intervals`,
    );

  const perMinute = (/** @type {number} */ number) => (number * 60) / work.seconds;
  const asked = work.statements.reduce((sum, { calls }) => sum + calls, 0);
  console.log(
    `database: ${perMinute(asked).toFixed(0)} statements and ${(perMinute(work.log) / MIB).toFixed(2)} MiB of log a minute, ` +
      `${((work.cpu / work.seconds) * 100).toFixed(1)} % of a processor, ${(work.size / MIB).toFixed(1)} MiB on disk`,
  );
  for (const { query, calls } of work.statements)
    console.log(`${perMinute(calls).toFixed(1).padStart(8)} a minute: ${query.slice(0, 90)} …`);

  const ratio = cpuOf(withRows) / cpuOf([withFiles]);
  const cpu = TARGET.cpu + (hasQueue ? (runtimes - 1) * TARGET.others : 0);
  const prints = (clusters * work.seconds) / PRINT;
  const edge = TARGET.edge + (hasQueue ? OF_QUEUE : 0) + (runtimes - 1) * OF_OTHERS;
  const most = (clockwork(wanted) * work.seconds) / 60 + edge * (prints + SPREAD_OF_ENDS * Math.sqrt(prints));
  return exitCode([
    { met: ratio <= cpu, text: `CPU of a poll at most ${cpu.toFixed(1)} x that with files: ${ratio.toFixed(2)}` },
    {
      met: asked <= most,
      text: `no statement for a poll without an edge: ${asked} for ${prints.toFixed(0)} prints in ${first.made} polls, at most ${most.toFixed(0)}`,
    },
  ]);
}

/** Statements in a minute that depend on time alone. @param {Wanted} wanted */
function clockwork({ runtimes, hasQueue }) {
  const topics = hasQueue ? 2 : 1;
  const own = CLOCKWORK.renewals + CLOCKWORK.claims + topics * CLOCKWORK.members;
  // Without a queue, and with one runtime, no runtime waits for the polls of another one.
  const shared = hasQueue && runtimes > 1 ? CLOCKWORK.polled + (runtimes - 1) * CLOCKWORK.reads : 0;
  return runtimes * (own + shared);
}

/**
 * Measures the work of the database in the measured time; `log`: bytes of its write-ahead log, `cpu`: seconds.
 * @param {pg.Client} client @param {import('./farm-contenders.mjs').Times} times
 */
async function databaseWork(client, { warmUp, window }) {
  const one = async (/** @type {string} */ text) => Number((await client.query(text)).rows[0]?.value);
  const written = () => one(`SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS value`);
  const postmaster = await parentOf(await one('SELECT pg_backend_pid() AS value'));
  // The processes take a moment to start.
  await sleep((warmUp + 5) * 1000);
  const [log, cpu] = [await written(), await cpuOfFamily(postmaster)];
  await client.query('SELECT pg_stat_statements_reset()');
  const seconds = window - 5;
  await sleep(seconds * 1000);
  const { rows } = await client.query(
    `SELECT regexp_replace(left(query, 400), '\\s+', ' ', 'g') AS query, calls::int FROM pg_stat_statements
      WHERE query LIKE '%remote_printing%' AND query NOT LIKE '%pg_stat_statements%' ORDER BY calls DESC`,
  );
  return {
    seconds,
    statements: /** @type {{ query: string, calls: number }[]} */ (rows),
    log: (await written()) - log,
    cpu: (await cpuOfFamily(postmaster)) - cpu,
    size: await one('SELECT pg_database_size(current_database()) AS value'),
  };
}

/** Fields of a process behind its name, from its state on. @param {number} pid */
async function statOf(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** @param {number} pid */
const parentOf = async (pid) => Number((await statOf(pid))[1]);

/** Processor time of a process and its children, also of those that have ended, s. @param {number} pid */
async function cpuOfFamily(pid) {
  const pids = (await readdir('/proc')).map(Number).filter((number) => number > 0);
  let ticks = 0;
  for (const one of pids) {
    const fields = await statOf(one);
    if (one === pid) ticks += fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    else if (Number(fields[1]) === pid) ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * TICK;
}
