// @ts-nocheck The built library has no types.
// Time of a scrape on the event loop's thread, compared with JSON.stringify of the same statuses, and the cost of the
// figures per poll and in memory. Needs Linux, for the processor time of the thread.
import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { timed } from './thread-time.mjs';

/** Path of the build, in a variable so that the type check does not follow it: the source is checked as TypeScript. */
const built = '../dist/lib/';
const load = createRequire(import.meta.url);
const { AccountMetrics } = load(`${built}metrics/account-metrics.js`);
const { scrape } = load(`${built}metrics/scrape.js`);
const { readClusterStatus } = load(`${built}service/cluster.js`);
const { systemClock } = load(`${built}time/clock.js`);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');
const heap = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed / 2 ** 20;
};

const median = (values) => values.toSorted((one, other) => one - other)[values.length >> 1];

const hex = (nth, length) => nth.toString(16).padStart(length, '0');
const clusterIdOf = (nth) => `bench-cluster-${hex(nth, 30)}`;

/** The status of a printer at work, with two extruders. */
function statusOf(nth, tick) {
  const uuid = `b4a0f3c6-9d1e-4c55-8a77-${hex(nth, 12)}`;
  const name = `Printer ${nth}`;
  const configuration = [0, 1].map((extruder_index) => ({
    extruder_index,
    print_core_id: 'AA 0.4',
    estimated_material_volume: 100_000 - tick,
    original_material_volume: 300_000,
    material: { guid: uuid, brand: 'Generic', color: 'Red', material: 'PLA' },
  }));
  const job = { uuid, status: 'printing', time_elapsed: 1000 + tick, time_total: 9000, printer_uuid: uuid };
  const wire = {
    is_online: true,
    printers: [{ uuid, friendly_name: name, status: 'printing', maintenance_required: false, configuration }],
    print_jobs: [{ ...job, time_remaining: 8000 - tick, name: 'part.ufp' }],
    recently_completed: [],
  };
  const identity = { name, hostGuid: uuid, model: 'bench', authorized: true, maintenanceDue: false };
  return readClusterStatus(wire, { clusterId: clusterIdOf(nth), receivedAt: '2030-01-01T00:00:00.000Z', identity });
}

/** Measures scrapes of a farm; each figure is the median of the rounds. */
export function benchMetrics(args) {
  const rounds = Number(args[0] ?? 25);
  const rows = [1_000, 10_000].map((count) => {
    const metrics = new AccountMetrics('bench-account', systemClock);
    const polled = Array.from({ length: count }, (_, nth) => ({ clusterId: clusterIdOf(nth), isStale: false }));
    const state = { signInState: () => 'signed-in', polled: () => polled, unresolved: () => 0, leaseAge: () => 1000 };
    metrics.attach(state);
    let statuses = Array.from({ length: count }, (_, nth) => statusOf(nth, 0));
    const observe = () => statuses.forEach((status) => metrics.observed(status.clusterId, status));
    const before = heap();
    observe();
    const memory = heap() - before;
    const taken = { scrape: [], longest: [], json: [], observe: [] };
    let bytes = 0;
    for (let round = 1; round <= rounds; round++) {
      statuses = statuses.map((_, nth) => statusOf(nth, round));
      taken.observe.push((timed(observe) * 1000) / count);
      taken.json.push(timed(() => Buffer.from(JSON.stringify(statuses))));
      bytes = 0;
      const pieces = scrape([{ metrics, name: 'Bench', simulated: false }], 'openmetrics');
      const times = [];
      for (let done = false; !done;)
        times.push(
          timed(() => {
            const next = pieces.next();
            done = next.done;
            if (!done) bytes += Buffer.from(next.value).length;
          }),
        );
      taken.scrape.push(times.reduce((sum, time) => sum + time, 0));
      taken.longest.push(Math.max(...times));
    }
    return {
      printers: count,
      'scrape, ms': median(taken.scrape).toFixed(1),
      'longest piece, ms': median(taken.longest).toFixed(1),
      'JSON.stringify, ms': median(taken.json).toFixed(1),
      ratio: (median(taken.scrape) / median(taken.json)).toFixed(2),
      'text, MB': (bytes / 1e6).toFixed(1),
      'figures per poll, µs': median(taken.observe).toFixed(1),
      'heap, MiB': memory.toFixed(1),
    };
  });
  console.table(rows);
  const [farm] = rows;
  const isMet = Number(farm['scrape, ms']) <= 20;
  console.log(`${isMet ? 'met' : 'MISSED'}: a scrape of 1,000 printers takes at most 20 ms of the event loop`);
  return isMet ? 0 : 1;
}
