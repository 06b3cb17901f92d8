// Preloaded into a measured process. Reports its activity during a connection.
const fs = require('node:fs');
const { Session } = require('node:inspector');
const { createServer } = require('node:net');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const { setFlagsFromString } = require('node:v8');
const { runInNewContext } = require('node:vm');

const delay = monitorEventLoopDelay({ resolution: 1 });
const ms = (/** @type {number} */ nanoseconds) => nanoseconds / 1e6;

/** Interval of the timer that finds stops, ms. What the event loop does besides in one of them counts as part of the stop. */
const TICK = 5;

/**
 * Finds the longest stop of the event loop in processor time of its thread (ms): beside other work, the thread also waits for a
 * processor, or for other threads that wait for one.
 */
function stops() {
  const schedule = fs.openSync('/proc/thread-self/schedstat', 'r');
  const read = Buffer.alloc(80);
  const taken = () => {
    // Brings the reading up to date.
    process.cpuUsage();
    return ms(Number(read.toString('latin1', 0, fs.readSync(schedule, read, 0, 80, 0)).split(' ')[0]));
  };
  let last = taken();
  let longest = 0;
  const timer = setInterval(() => {
    const now = taken();
    longest = Math.max(longest, now - last);
    last = now;
  }, TICK);
  return () => {
    clearInterval(timer);
    fs.closeSync(schedule);
    return longest;
  };
}

/** Number of the pack's state files moved into place, through either file system interface. */
let writes = 0;
for (const api of [fs, fs.promises]) {
  const rename = /** @type {Function} */ (api.rename);
  Reflect.set(api, 'rename', (/** @type {unknown[]} */ ...paths) => {
    if (String(paths[1]).includes('remote-printing')) writes++;
    return rename.apply(api, paths);
  });
}

/** @type {Session | undefined} */
let profiler;
if (process.env['BENCH_PROFILE']) {
  profiler = new Session();
  profiler.connect();
  profiler.post('Profiler.enable');
}

/** Heap in use after garbage collection, bytes. */
function heap() {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

createServer({ allowHalfOpen: true }, (connection) => {
  connection.on('error', () => undefined);
  const begun = process.cpuUsage();
  const before = writes;
  profiler?.post('Profiler.start');
  delay.reset();
  delay.enable();
  /** @type {(() => number) | undefined} */
  let longestStop;
  connection.once('data', () => {
    longestStop = stops();
  });
  connection.write(' ');
  connection.on('end', () => {
    delay.disable();
    const stop = longestStop?.();
    const { user, system } = process.cpuUsage(begun);
    const delays = { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) };
    const figures = { cpu: (user + system) / 1e6, delays, stop, writes: writes - before, heap: heap() / 2 ** 20 };
    profiler?.post('Profiler.stop', (_error, result) => {
      fs.writeFileSync(`${process.env['BENCH_PROFILE']}.${process.pid}.cpuprofile`, JSON.stringify(result.profile));
    });
    connection.end(JSON.stringify(figures));
  });
})
  .listen(process.env['BENCH_PROBE'])
  .unref();
