// Preloaded into a Node-RED. Prints the cost of its start as one line when Node-RED is idle.
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { setFlagsFromString } = require('node:v8');
const { runInNewContext } = require('node:vm');
/** Events of Node-RED, which its types omit. @type {{ events: import('node:events') }} */
const { events } = /** @type {any} */ (require('@node-red/util'));

/** Idle time after the start of the flows, or after the first poll of a polling node, ms. */
const REST = 1000;
const MIB = 1024 * 1024;

const polls = process.env['BENCH_POLLS'] !== undefined;

/** Processor time so far, ms: of the JavaScript thread and of all threads. */
function taken() {
  const [thread] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
  const { user, system } = process.cpuUsage();
  return { main: Number(thread) / 1e6, all: (user + system) / 1000 };
}

/** Files of the pack and of its dependencies. Node-RED itself needs none of them. */
const ours = /node_modules.(@remote-printing|csv-parse|oauth4webapi|undici|yauzl)\W.*\.c?js$/;

/** Of the main thread, for what was loaded of them, ms: the outermost `require` of each, whose figure is hardly disturbed. */
let loading = 0;
let isLoading = false;
const loader =
  /** @type {{ _load: (request: string, parent?: { filename?: string }, ...more: unknown[]) => unknown }} */ (
    /** @type {unknown} */ (Module)
  );
const load = loader._load;
/** @param {string} request @param {{ filename?: string }} [parent] @param {unknown[]} more */
loader._load = (request, parent, ...more) => {
  if (isLoading || !(ours.test(request) || ours.test(parent?.filename ?? ''))) return load(request, parent, ...more);
  isLoading = true;
  const { main } = taken();
  try {
    return load(request, parent, ...more);
  } finally {
    loading += taken().main - main;
    isLoading = false;
  }
};

function tell() {
  const { main: start } = started;
  const { main, all } = taken();
  const files = Object.keys(require.cache).filter((file) => ours.test(file)).length;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  collect();
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  console.log(
    `BENCH ${JSON.stringify({ start, main, all, loading, files, heap: (heapUsed + external) / MIB, rss: rss / MIB })}`,
  );
}

const rest = () => setTimeout(tell, REST);
let started = taken();
events.once('flows:started', () => {
  started = taken();
  if (!polls) rest();
});
const watching = (/** @type {{ id: string, status: { fill?: string, shape?: string } }} */ { id, status }) => {
  if (!polls || id !== 'status' || status.shape !== 'dot') return;
  events.off('node-status', watching);
  rest();
};
events.on('node-status', watching);
