// @ts-nocheck The built library has no types.
// A whole print queue on files: items that are added at once, its start, its memory, and the event loop while it prints.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Path of the build, in a variable so that the type check does not follow it: the source is checked as TypeScript. */
const built = '../dist/lib/';
const load = createRequire(import.meta.url);
const { Dispatcher } = load(`${built}print/dispatcher.js`);
const { JobListReader } = load(`${built}print/job-list-reader.js`);
const { LocalChanges } = load(`${built}queue/records/records.js`);
const { PrintQueue } = load(`${built}queue/print-queue.js`);
const { readRules } = load(`${built}queue/model/rules.js`);
const { readClusterStatus } = load(`${built}service/cluster.js`);
const { FileStore } = load(`${built}state/file-store.js`);
const { systemClock, isoTime } = load(`${built}time/clock.js`);
const { underDeadline } = load(`${built}time/deadline.js`);
const { mapConcurrent } = load(`${built}time/concurrency.js`);

/** Added items a second; time of a start, ms; memory, MiB; delay of the event loop (p99), ms. */
const TARGET = { added: 200, start: 2_000, memory: 40, delay: 10 };
const AT_ONCE = 500;
/** Time between two polls of a printer, and the time for which the event loop is watched, s. */
const [INTERVAL, WATCHED] = [60, 30];
const MIB = 2 ** 20;
const MODELS = ['Maker One', 'Maker Duo', 'Maker Trio'];
const MATERIAL = { guid: 'c0ffee00-0000-4000-8000-000000000000', brand: 'Generic', material: 'PLA', color: 'Red' };
/** What a print needs, and what is left, mm³; a printer uses some of it between two polls. */
const [NEEDED, FULL] = [10_000, 300_000];

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

/** Printers of which nine in ten are busy and use material; the others print what they get. */
class Farm {
  #prints = new Map();
  #polls = 0;

  constructor(count) {
    this.clusterIds = Array.from({ length: count }, (_, nth) => `bench-cluster-${nth}`);
  }

  status(nth) {
    const own = this.#prints.get(this.clusterIds[nth]);
    const job = own ?? (nth % 10 === 0 ? null : { uuid: `other-${nth}`, cloud_job_id: 'other' });
    return {
      is_online: true,
      printers: [
        {
          ...{ uuid: `printer-${nth}`, enabled: true, status: job ? 'printing' : 'idle' },
          machine_variant: MODELS[nth % MODELS.length],
          configuration: [
            {
              ...{ extruder_index: 0, print_core_id: 'AA 0.4', material: MATERIAL },
              estimated_material_volume: FULL - (job ? this.#polls++ : 0),
            },
          ],
        },
      ],
      print_jobs: job ? [{ ...job, status: 'printing', time_total: 3600, time_elapsed: 60 }] : [],
      recently_completed: [],
    };
  }

  async call(endpoint, { ids }) {
    const data = this.#answer(endpoint, ids);
    return { status: 200, data, body: { data } };
  }

  #answer(endpoint, { cluster_id: clusterId, job_id: jobId }) {
    if (endpoint === 'clusterStatus') return this.status(this.clusterIds.indexOf(clusterId));
    if (endpoint === 'storedJob')
      return {
        ...{ job_id: jobId, job_name: 'part.gcode', status: 'uploaded' },
        metadata: {
          ...{ machine_variant: MODELS[Number(jobId) % MODELS.length], print: { estimated_time: 3600 } },
          extruders: [
            { extruder_index: 0, print_core_id: 'AA 0.4', material: MATERIAL, estimated_material_volume: NEEDED },
          ],
        },
      };
    if (endpoint !== 'print') throw new Error(endpoint);
    const uuid = `print-${this.#prints.size}`;
    this.#prints.set(clusterId, { uuid, cloud_job_id: jobId });
    return { job_id: jobId, job_instance_uuid: uuid, status: 'queued' };
  }

  get printing() {
    return this.#prints.size;
  }
}

const failed = () => Promise.reject(new Error('is not used'));

/** Opens the queue. `poll` shows it the status of a printer, as the shared polls do. */
function open(farm, store) {
  const listeners = new Set();
  const watcher = {
    clusterList: { last: new Map(farm.clusterIds.map((clusterId) => [clusterId, null])) },
    hold: () => () => undefined,
    onObservation(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    follow: () => new Promise(() => undefined),
    markGate: () => undefined,
    isGateMarked: () => false,
  };
  const jobListReader = new JobListReader(farm);
  const queue = new PrintQueue({
    ...{ queueId: 'queue', name: 'Queue', rules: readRules({ printers: farm.clusterIds, gate: 'automatic' }) },
    ...{ service: farm, store, watcher, jobListReader, clock: systemClock, localChanges: LocalChanges.of(store) },
    scope: () => Promise.resolve(['account', 'service', 'workspace']),
    signIn: { state: 'signed-in', usable: true, onChange: () => () => undefined },
    dispatcher: new Dispatcher({ service: farm, jobListReader, clock: systemClock, warn: () => undefined }),
    ...{ jobControl: { run: failed }, uploads: { send: failed } },
    ...{ topic: ['account', 'service'], runtimeName: 'bench', interval: INTERVAL * 1_000 },
    warn: (text) => console.log(`${text}`),
  });
  queue.subscribe(() => undefined);
  const poll = (nth) => {
    const clusterId = farm.clusterIds[nth];
    const receivedAt = isoTime(systemClock.now());
    const status = readClusterStatus(farm.status(nth), { clusterId, receivedAt, identity: null });
    for (const listener of listeners) listener(clusterId, status, systemClock.monotonic());
  };
  return { queue, poll };
}

const heap = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

/** Polls every printer once within the interval, and watches the event loop. Resolves with its delays, ms. */
async function watched(poll, count) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const from = performance.now();
  for (let polled = 0; performance.now() - from < WATCHED * 1_000;) {
    const due = Math.floor(((performance.now() - from) / 1_000 / INTERVAL) * count);
    for (; polled < due; polled++) poll(polled % count);
    await sleep(20);
  }
  delay.disable();
  // The timer itself waits for its resolution.
  return { p99: delay.percentile(99) / 1e6 - 1, max: delay.max / 1e6 - 1 };
}

/** Adds items to a queue at once, and closes it. Returns the items a second. */
async function added(farm, store, items) {
  const { queue } = open(farm, store);
  const add = (nth) =>
    underDeadline(systemClock, { ms: 600_000 }, (deadline) =>
      queue.add({
        ...{ source: null, jobId: `${nth}`, jobName: '', queueKey: `key ${nth}`, copies: 1, deadline },
        onProgress: () => undefined,
      }),
    );
  const begun = performance.now();
  await mapConcurrent(
    AT_ONCE,
    Array.from({ length: items }, (_, nth) => nth),
    add,
  );
  const rate = (items / (performance.now() - begun)) * 1_000;
  await queue.close();
  return rate;
}

/** Adds items to a queue, starts it again, and lets it print. */
export async function queueAtWork({ folder, signal }, { items, printers }) {
  const farm = new Farm(printers);
  const options = { clock: systemClock, sealedKinds: [], secrets: () => [], warn: (text) => console.log(`${text}`) };
  const store = new FileStore({ ...options, folder: join(folder, 'state') });
  const before = heap();
  const rate = await added(farm, store, items);
  signal.throwIfAborted();

  const started = performance.now();
  const { queue, poll } = open(farm, store);
  const [item] = await queue.list({ from: items - 1, limit: 1 });
  const start = performance.now() - started;
  if (!item) throw new Error('Items are missing after the start.');
  const { p99, max } = await watched(poll, printers);
  const memory = (heap() - before) / MIB;
  console.log(
    `at work: ${rate.toFixed(0)} items added a second; ready after ${start.toFixed(0)} ms; ${memory.toFixed(1)} MiB; ` +
      `${farm.printing} prints sent in ${WATCHED} s, the event loop waited for at most ${max.toFixed(1)} ms\n`,
  );
  await queue.close();
  return [
    {
      met: rate >= TARGET.added,
      text: `at least ${TARGET.added} items are added a second on files: ${rate.toFixed(0)}`,
    },
    { met: start <= TARGET.start, text: `a start takes at most ${TARGET.start} ms: ${start.toFixed(0)}` },
    { met: farm.printing > 0, text: `prints are sent: ${farm.printing}` },
    { met: memory <= TARGET.memory, text: `at most ${TARGET.memory} MiB: ${memory.toFixed(1)}` },
    { met: p99 <= TARGET.delay, text: `the event loop's p99 delay is at most ${TARGET.delay} ms: ${p99.toFixed(1)}` },
  ];
}
