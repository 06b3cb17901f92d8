// npm run replicas [-- N] [--database ADDRESS]: N Node-REDs (default 3) with one flow on one PostgreSQL, a service simulator,
// and a table of their work. Commands: kill 2, pause 2, resume 2, start 2, stop 2, database stop, database start, quit.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { ensureBuilt } from './build.mjs';
import { demo, signIn, TIME_FACTOR } from './demo.mjs';
import { ensureInstalled } from './install.mjs';
import { root } from './node-red.mjs';
import { startPostgres } from './postgres.mjs';
import { Replica } from './replica.mjs';
import { startSimulatorProcess } from './simulator.mjs';

const PRINTERS = 12;
/** Interval between two updates of the table, ms. */
const REFRESH = 2_000;
/** Number of log lines to show. */
const NEWS = 6;
const COMMANDS = 'kill N, pause N, resume N, stop N, start N, database stop, database start, quit';

/** Functions that end the started processes, the latest first. @type {(() => Promise<unknown>)[]} */
const ends = [];
/** @type {Promise<void> | undefined} */
let ending;

/** @param {number} code */
function end(code) {
  ending ??= (async () => {
    for (const stop of ends.reverse()) await stop().catch(() => undefined);
    process.exit(code);
  })();
  return ending;
}

/** Member as one replica reports it. @typedef {{ id: string, self: boolean, printers: number, leaseAge: number }} Member */
/** @typedef {{ replicas: Member[] | null, refreshes: number }} Shares */

/** @param {Replica} replica @param {string} account @returns {Promise<Shares | undefined>} */
async function sharesOf(replica, account) {
  if (replica.state !== 'running') return undefined;
  try {
    const url = `${replica.url}remote-printing/accounts/${account}/replicas`;
    const response = await fetch(url, { signal: AbortSignal.timeout(REFRESH) });
    return response.ok ? /** @type {Shares} */ (await response.json()) : undefined;
  } catch {
    return undefined;
  }
}

/** Member id of each replica, also while it is paused. @type {Map<Replica, string>} */
const memberIds = new Map();

/** Returns the work of each replica as lines of a table. @param {Replica[]} replicas @param {string} account */
async function tableOf(replicas, account) {
  const told = await Promise.all(replicas.map((replica) => sharesOf(replica, account)));
  const all = told.find((one) => one?.replicas)?.replicas ?? [];
  const rows = replicas.map((replica, at) => {
    const own = told[at]?.replicas?.find(({ self }) => self)?.id;
    if (own) memberIds.set(replica, own);
    const member = all.find(({ id }) => id === memberIds.get(replica));
    return [
      String(replica.number),
      replica.state,
      replica.state === 'off' || replica.state === 'starting' ? '' : replica.url,
      member?.id ?? '',
      String(member?.printers ?? ''),
      member ? `${member.leaseAge.toFixed(0)} s ago` : '',
    ];
  });
  // A killed replica stays a member until its lease expires. Its successor has another id.
  const known = [...memberIds.values()];
  const others = all.filter(({ id }) => !known.includes(id));
  for (const { id, printers, leaseAge } of others)
    rows.push(['', '', '', id, String(printers), `${leaseAge.toFixed(0)} s ago`]);
  const refreshes = told.find((one) => one)?.refreshes ?? 0;
  const table = [['', 'state', 'editor', 'member', 'printers', 'lease renewed'], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => (row[column] ?? '').length))) ?? [];
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [...lines, `${refreshes} refreshes of the sign-in in all`];
}

/** Runs a command and returns its result. @param {string} line @param {Replica[]} replicas @param {import('./postgres.mjs').RunningPostgres | undefined} own */
async function obey(line, replicas, own) {
  const [verb = '', whom = ''] = line.trim().split(/\s+/);
  if (verb === '') return '';
  if (verb === 'quit') await end(0);
  if (verb === 'database') {
    if (!own) throw new Error('the database is not ours to stop');
    if (whom === 'stop') await own.halt();
    if (whom === 'start') await own.start();
    if (whom === 'stop' || whom === 'start') return `the database: ${whom}`;
  }
  const replica = replicas.find(({ number }) => String(number) === whom);
  if (replica && ['kill', 'pause', 'resume', 'stop', 'start'].includes(verb)) {
    await replica[/** @type {'kill' | 'pause' | 'resume' | 'stop' | 'start'} */ (verb)]();
    return `${whom} is ${replica.state}`;
  }
  throw new Error(`${line.trim()}? There is: ${COMMANDS}`);
}

async function main() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { database: { type: 'string' } } });
  const count = Number(positionals[0] ?? 3);
  if (!Number.isInteger(count) || count < 1 || count > 20) throw new Error('npm run replicas -- N: 1 to 20 of them');
  await ensureInstalled(root);
  ensureBuilt();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void end(0));

  const given = values.database || process.env['REMOTE_PRINTING_STATE_STORE'] || undefined;
  const own = given ? undefined : await startPostgres();
  if (own) ends.push(() => own.stop());
  const service = await startSimulatorProcess([
    ...['--port', process.env['SIMULATOR_PORT'] ?? '0', '--printers', String(PRINTERS)],
    ...['--time-factor', String(TIME_FACTOR), '--auto-approve', '--access-token-lifetime', '60'],
  ]);
  ends.push(() => service.stop());
  const { flows, account, credentials } = demo(service);
  const folder = mkdtempSync(join(tmpdir(), 'replicas-'));
  ends.push(async () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

  /** @type {string[]} */
  const news = [];
  const port = Number(process.env['PORT'] ?? 1880);
  const settings = {
    credentialSecret: randomBytes(32).toString('hex'),
    remotePrinting: { stateStore: given ?? own?.address },
  };
  const replicas = Array.from({ length: count }, (_, at) => {
    const userDir = join(folder, `replica-${at + 1}`);
    return new Replica(at + 1, {
      ...{ userDir, flows, credentials, settings, port: port === 0 ? 0 : port + at },
      onLine: (line) => {
        if (/\[remote-printing|debug:errors|\[error\]/.test(line)) news.push(`${at + 1}: ${line}`);
      },
    });
  });
  ends.push(() => Promise.all(replicas.map((replica) => replica.stop())));
  await Promise.all(replicas.map((replica) => replica.start()));
  await signIn(replicas[0]?.url ?? '', account);

  const { isTTY = false } = process.stdout;
  const input = createInterface({ input: process.stdin, output: isTTY ? process.stdout : undefined, prompt: '> ' });
  input.on('line', (line) => {
    obey(line, replicas, own)
      .catch((error) => (error instanceof Error ? error.message : String(error)))
      .then((done) => news.push(...[done].filter(Boolean)));
  });
  input.on('SIGINT', () => void end(0));
  input.on('close', () => void end(0));
  for (let shown = ''; ;) {
    news.splice(0, Math.max(0, news.length - NEWS));
    const lines = [
      `Printers: ${service.controlUrl} (the simulator's page)`,
      ...(await tableOf(replicas, account)),
      ...news,
      COMMANDS,
    ];
    if (ending) return;
    const text = lines.join('\n');
    // A terminal replaces the last table. Other outputs get a new table only if more than the leases' age has changed.
    const fresh = text.replace(/\d+ s ago/g, '');
    if (isTTY) console.log(`\u001b[H\u001b[2J${text}`);
    else if (fresh !== shown) console.log(text);
    shown = fresh;
    if (isTTY) input.prompt(true);
    await pause(REFRESH);
  }
}

main().catch((error) => {
  console.error(error instanceof Error ? error.message : error);
  void end(1);
});
