// Cost of the pack in a Node-RED at its start and at rest: installed and unused, with one status node on a real
// account, and on the built-in simulator. See bench/README.md.
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

import { root, startNodeRed } from '../scripts/node-red.mjs';
import { announce, inRoom } from './room.mjs';
import { startService } from './service.mjs';
import { median } from './table.mjs';

/**
 * @typedef {{ start: number, main: number, all: number, loading: number, files: number, heap: number, rss: number }} Figures ms, ms, ms, a count, MiB, MiB
 * @typedef {{ id: string, name: string, withPack: boolean, polls: boolean, flows: object[], credentials: Record<string, object> }} Contender
 */

const probe = join(import.meta.dirname, 'start-probe.cjs');

/** @param {import('./service-process.mjs').Addresses} addresses @returns {[Contender, ...Contender[]]} */
function contenders({ authUrl, apiUrl, apiToken }) {
  const none = { flows: [], credentials: {}, polls: false };
  const tab = { id: 'tab', type: 'tab', label: 'bench' };
  const status = {
    id: 'status',
    z: 'tab',
    type: 'remote-printing-cluster-status',
    account: 'account',
    wires: [[], []],
  };
  const account = { id: 'account', type: 'remote-printing-account', name: 'bench' };
  return [
    { id: 'bare', name: 'no pack', withPack: false, ...none },
    { id: 'unused', name: 'unused', withPack: true, ...none },
    {
      id: 'status',
      name: 'status node',
      withPack: true,
      polls: true,
      flows: [tab, { ...account, service: 'remote', signIn: 'token', authUrl, apiUrl }, status],
      credentials: { account: { apiToken } },
    },
    {
      id: 'simulator',
      name: 'simulator',
      withPack: true,
      polls: true,
      flows: [tab, { ...account, service: 'simulator' }, status],
      credentials: {},
    },
  ];
}

/**
 * Excludes all core nodes except the one for requests. They need most of the start time, so their variation would hide
 * the measured cost. The modules of Node.js that the request node loads are present in every Node-RED.
 */
const core = join(dirname(createRequire(import.meta.url).resolve('@node-red/nodes/package.json')), 'core');
const nodesExcludes = readdirSync(core, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.js'))
  .map((path) => basename(path))
  .filter((file) => file !== '21-httprequest.js');

/** Highest cost compared with a Node-RED without the pack: ms, MiB. @type {Record<string, { start: number, heap: number }>} */
const GOALS = { unused: { start: 15, heap: 4 }, 'status node': { start: 40, heap: 12 } };

/** Installs the packed files and their dependencies into a user directory, in npm's layout. @param {string} userDir */
async function install(userDir) {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=silent'], {
    cwd: root,
    encoding: 'utf8',
  });
  const [{ name, files }] = JSON.parse(packed);
  const modules = join(userDir, 'node_modules');
  for (const { path } of files) {
    const target = join(modules, name, path);
    await mkdir(dirname(target), { recursive: true });
    await cp(join(root, path), target);
  }
  const { dependencies, version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  for (const dependency of [...Object.keys(dependencies), 'signal-exit'])
    await symlink(join(root, 'node_modules', dependency), join(modules, dependency));
  await writeFile(join(userDir, 'package.json'), JSON.stringify({ name: 'bench', dependencies: { [name]: version } }));
}

/**
 * Measures one start in a user directory that was used before.
 * @param {string} userDir @param {Contender} contender @param {import('./room.mjs').Room['ends']} ends
 * @returns {Promise<Figures>}
 */
async function start(userDir, { polls, flows, credentials }, ends) {
  const env = { NODE_OPTIONS: `--require ${JSON.stringify(probe)}`, ...(polls ? { BENCH_POLLS: '1' } : {}) };
  /** @type {(figures: Figures) => void} */
  let tell = () => undefined;
  const told = new Promise((/** @type {(figures: Figures) => void} */ resolve) => (tell = resolve));
  const onLine = (/** @type {string} */ line) => {
    const [, figures] = /^BENCH (.*)$/.exec(line) ?? [];
    if (figures) tell(JSON.parse(figures));
  };
  const settings = { nodesExcludes };
  const nodeRed = await startNodeRed({ userDir, withPack: false, settings, flows, credentials, env, onLine });
  ends.push(nodeRed.kill);
  const ended = nodeRed.exited.then(() => Promise.reject(new Error('Node-RED ended')));
  const late = setTimeout(() => void nodeRed.kill(), 60_000);
  try {
    return await Promise.race([told, ended]);
  } catch {
    throw new Error(`Node-RED did not come to rest:\n${nodeRed.log.slice(-20).join('\n')}`);
  } finally {
    clearTimeout(late);
    await nodeRed.stop();
    ends.splice(ends.indexOf(nodeRed.kill), 1);
  }
}

/** First and third quartile. @param {number[]} numbers */
function quartiles(numbers) {
  const sorted = numbers.toSorted((one, other) => one - other);
  const at = (/** @type {number} */ part) => sorted[Math.round(part * (sorted.length - 1))] ?? NaN;
  return [at(0.25), at(0.75)];
}

/**
 * @param {string[]} args of the command line: how many rounds
 * @returns {Promise<number>} the exit code: 0 when all targets are met, 1 when one is missed or it is not clear, 2 for wrong arguments, 130 when broken off
 */
export async function benchStart([given = '15']) {
  const rounds = Number(given);
  if (!Number.isInteger(rounds) || rounds < 1) {
    console.log('Usage: npm run bench -- start [ROUNDS]');
    return 2;
  }
  return inRoom('start', async (room) => report(await run({ rounds, ...room })));
}

/**
 * @param {{ rounds: number } & import('./room.mjs').Room} options
 * @returns {Promise<Map<string, Figures[]>>} by contender, round by round
 */
async function run({ rounds, folder, ends, signal }) {
  announce(`Starts of a Node-RED, ${rounds} rounds`);
  const { addresses } = await startService(join(folder, 'service'), ends);
  const all = contenders(addresses).map((contender) => ({ ...contender, userDir: join(folder, contender.id) }));
  /** @type {Map<string, Figures[]>} */
  const seen = new Map(all.map(({ name }) => [name, []]));
  for (const contender of all) {
    await mkdir(contender.userDir);
    if (contender.withPack) await install(contender.userDir);
    // The first start in a folder writes files that later starts read.
    await start(contender.userDir, contender, ends);
  }
  for (let round = 0; round < rounds; round++) {
    // Each round starts with a different contender, so that none always runs after the same one.
    for (const contender of [...all.slice(round % all.length), ...all.slice(0, round % all.length)]) {
      signal.throwIfAborted();
      seen.get(contender.name)?.push(await start(contender.userDir, contender, ends));
    }
  }
  return seen;
}

/**
 * Judges a result; makes no claim on a machine that is too busy for one.
 * @param {{ start: number, heap: number }} goal @param {{ start: number[], heap: number }} seen
 */
function judge(goal, { start: [low = NaN, high = NaN], heap }) {
  if (low > goal.start || heap > goal.heap) return 'MISSED ';
  return high <= goal.start ? 'met    ' : 'UNCLEAR';
}

/** @param {Map<string, Figures[]>} seen @returns {number} the exit code */
function report(seen) {
  const [[, bare = []] = []] = seen;
  const all = (/** @type {Figures[]} */ rounds, /** @type {keyof Figures} */ figure) =>
    rounds.map((round) => round[figure]);
  const absolute = (/** @type {keyof Figures} */ figure) => median(all(bare, figure)).toFixed(0);
  console.log(`no pack: start ${absolute('start')} ms, heap ${absolute('heap')} MiB, resident ${absolute('rss')} MiB`);
  let missed = 0;
  for (const [name, rounds] of [...seen].slice(1)) {
    const usual = (/** @type {keyof Figures} */ figure) => median(all(rounds, figure)) - median(all(bare, figure));
    const middle = (/** @type {keyof Figures} */ figure) =>
      quartiles(rounds.map((round, at) => round[figure] - (bare[at]?.[figure] ?? NaN)));
    const time = (/** @type {keyof Figures} */ figure) => {
      const [low, high] = middle(figure).map((number) => number.toFixed(0));
      return `${usual(figure).toFixed(0)} ms (half of the rounds ${low} to ${high})`;
    };
    const goal = GOALS[name];
    const verdict = goal ? judge(goal, { start: middle('start'), heap: usual('heap') }) : '       ';
    if (goal && verdict !== 'met    ') missed++;
    const limits = goal ? ` (at most ${goal.start} ms of start, ${goal.heap} MiB of heap)` : '';
    console.log(`${verdict} ${name}${limits}, over no pack:
         start ${time('start')}
         a second later ${time('main')}, all threads ${time('all')}
         heap ${usual('heap').toFixed(1)} MiB, resident ${usual('rss').toFixed(1)} MiB, ${rounds[0]?.files} files loaded in ${median(all(rounds, 'loading')).toFixed(1)} ms`);
  }
  return missed > 0 ? 1 : 0;
}
