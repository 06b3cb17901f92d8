import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { nodeProgram, testNode } from './node-versions.mjs';

const root = resolve(import.meta.dirname, '..');
const matrix = (/** @type {string} */ path) => join(root, 'matrix/node_modules', path);

/**
 * Layer of tests in a folder of its own.
 * @typedef {object} Layer
 * @property {string} folder
 * @property {number} [processes] number that share its files in `npm test`, so that no command is long; default 1
 * @property {Record<string, number>} [weights] time of files, by name, if their size does not show it, s; an unlisted file counts as the shortest of them
 * @property {string[]} [waits] files, by name, that wait most of the time; `npm test` runs them in a process of their own
 * @property {boolean} [dealt] whether `npm test` runs each file on only one of the runtimes, which differ little
 * @property {'NODE_V8_COVERAGE' | 'EDITOR_COVERAGE'} [covers] variable that names the folder
 *   for the coverage data of its runs, in Node.js or in the browser
 * @property {('build' | 'browser')[]} [needs] prerequisites
 * @property {{ name: string, node: string, env: NodeJS.ProcessEnv }[]} [runtimes] runtimes that replace `testNode`
 */

/** The lines of Node-RED, which the tests themselves start. */
const nodeReds = ['4.1', '5.0'].map((version) => ({
  name: `Node-RED ${version}`,
  node: testNode(),
  env: { NODE_RED_LINE: version },
}));

/** @type {Record<string, Layer>} */
export const LAYERS = {
  unit: {
    folder: 'test/lib',
    waits: [
      'replicas.test.ts',
      'postgres/postgres-faults.test.ts',
      'postgres/postgres-membership.test.ts',
      'postgres/postgres-store.test.ts',
    ],
    processes: 2,
    covers: 'NODE_V8_COVERAGE',
  },
  simulator: { folder: 'test/simulator' },
  nodes: {
    folder: 'test/nodes',
    processes: 2,
    covers: 'NODE_V8_COVERAGE',
    dealt: true,
    weights: {
      'upload-and-print.test.ts': 54,
      'outages.test.ts': 40,
      'outcomes.test.ts': 39,
      'webcam-snapshot.test.ts': 38,
      'home-assistant.test.ts': 35,
      'account.test.ts': 34,
      'job-control.test.ts': 22,
      'cluster-status.test.ts': 19,
      'assistant-tools.test.ts': 19,
      'watching-faults.test.ts': 17,
      'late-results.test.ts': 15,
      'assistant.test.ts': 13,
      'odd-messages.test.ts': 12,
      'library-file.test.ts': 12,
      'hanging-files.test.ts': 11,
      'farm-events.test.ts': 11,
      'admin.test.ts': 10,
      'report-generator.test.ts': 10,
      'stalled.test.ts': 10,
      'print-queue-at-work.test.ts': 9,
      'request-streams.test.ts': 8,
      'board.test.ts': 7,
      'query.test.ts': 7,
      'exactly-once.test.ts': 6,
      'state-faults.test.ts': 6,
      'print-queue.test.ts': 5,
      'answer-dates.test.ts': 5,
      'workspaces.test.ts': 5,
      'subflows.test.ts': 5,
      'sign-in-faults.test.ts': 4,
      'request.test.ts': 4,
      'parts.test.ts': 3,
      'metrics.test.ts': 3,
      'home-assistant-several.test.ts': 2,
    },
    runtimes: [
      { name: 'Node.js 20', node: nodeProgram('20'), env: {} },
      {
        name: 'Node.js 24, Node-RED 5.0',
        node: testNode(),
        env: { NODE_RED_PATH: matrix('node-red/lib/red.js') },
      },
    ],
  },
  repository: { folder: 'test/repository' },
  faults: {
    folder: 'test/faults',
    processes: 2,
    weights: {
      'prints.test.ts': 40,
      'watching.test.ts': 24,
      'queue.test.ts': 22,
      'parts.test.ts': 20,
      'plates.test.ts': 20,
      'answers.test.ts': 14,
      'flows.test.ts': 12,
      'sign-in.test.ts': 12,
      'renewals.test.ts': 7,
      'shared.test.ts': 5,
    },
  },
  runtime: {
    folder: 'test/runtime',
    processes: 3,
    weights: {
      'replicas.test.ts': 180,
      'home-assistant.test.ts': 75,
      'packed.test.ts': 70,
      'start.test.ts': 67,
      'kill.test.ts': 61,
      'prometheus.test.ts': 40,
      'board-queue.test.ts': 38,
      'restart.test.ts': 36,
      'board.test.ts': 23,
      'postgres.test.ts': 23,
      'upgraded.test.ts': 23,
      'state-folder.test.ts': 20,
      'admin-auth.test.ts': 7,
      'assistant.test.ts': 5,
      'loaded.test.ts': 3,
      'http-in.test.ts': 2,
      'replica-rules.test.ts': 1,
    },
    needs: ['build', 'browser'],
  },
  examples: { folder: 'test/examples', dealt: true, needs: ['build', 'browser'], runtimes: nodeReds },
  editor: {
    folder: 'test/editor',
    covers: 'EDITOR_COVERAGE',
    dealt: true,
    needs: ['build', 'browser'],
    runtimes: nodeReds,
  },
  page: { folder: 'test/simulator-page', needs: ['browser'] },
  board: { folder: 'test/board-page', covers: 'NODE_V8_COVERAGE', needs: ['browser'] },
  site: { folder: 'test/site', needs: ['browser'] },
};

/** npm, tsc and others, which tests start, would leave their compiled code in the temporary folder. */
const ENV = { NODE_DISABLE_COMPILE_CACHE: '1' };

/** Runtimes on which a layer runs. @param {Layer} layer */
export const runtimesOf = ({ runtimes = [{ name: '', node: testNode(), env: {} }] }) =>
  runtimes.map((runtime) => ({ ...runtime, env: { ...ENV, ...runtime.env } }));

/** Rarer collections of young objects, which most objects of tests do not survive: less processor time for more memory. */
const YOUNG = '--max-semi-space-size=64';

/** Command that runs mocha. @param {string} node @param {string[]} args files and options */
export const mocha = (node, args) => [node, YOUNG, join(root, 'node_modules/mocha/bin/mocha.js'), ...args];

/**
 * Distributes the files of a layer, or of one share of it, evenly to its processes.
 * @param {Layer} layer @param {{ index: number, of: number }} [share] @returns {string[][]}
 */
export function parts({ folder, processes = 1, weights = {}, waits = [] }, { index, of } = { index: 0, of: 1 }) {
  const shortest = Math.min(...Object.values(weights));
  const sizeOf = (/** @type {string} */ file) =>
    Number.isFinite(shortest) ? shortest : statSync(join(root, folder, file)).size;
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && !waits.includes(file))
    .map((file) => ({ path: join(folder, file), size: weights[file] ?? sizeOf(file) }))
    .sort((one, other) => other.size - one.size);
  const dealt = Array.from({ length: processes * of }, () => ({ paths: [''].slice(1), size: 0 }));
  for (const { path, size } of files) {
    const least = dealt.reduce((one, other) => (other.size < one.size ? other : one));
    least.paths.push(path);
    least.size += size;
  }
  const mine = dealt.slice(index * processes, (index + 1) * processes);
  const waiting = waits.map((file) => join(folder, file));
  return [waiting, ...mine.map(({ paths }) => paths)].filter((paths) => paths.length > 0);
}

/**
 * Steps of a layer, one for each runtime; none if its folder is missing.
 * @param {string} name @param {string} [counts] folder for the coverage data @returns {import('./steps.mjs').Step[]}
 */
export function stepsOf(name, counts) {
  const layer = LAYERS[name];
  if (!layer || !existsSync(join(root, layer.folder))) return [];
  const coverage = layer.covers && counts ? { [layer.covers]: counts } : {};
  const runtimes = runtimesOf(layer);
  return runtimes.map(({ name: runtime, node, env }, index) => ({
    name: runtime === '' ? name : `${name}, ${runtime}`,
    commands: parts(layer, layer.dealt ? { index, of: runtimes.length } : undefined).map((files) => mocha(node, files)),
    tests: true,
    env: { ...env, ...coverage },
  }));
}
