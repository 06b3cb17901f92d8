// Loaded into a measured process: tells what it did while someone was connected.
const { createServer } = require('node:net');
const { monitorEventLoopDelay } = require('node:perf_hooks');

const delay = monitorEventLoopDelay({ resolution: 1 });
const ms = (/** @type {number} */ nanoseconds) => nanoseconds / 1e6;

createServer({ allowHalfOpen: true }, (connection) => {
  connection.on('error', () => undefined);
  const begun = process.cpuUsage();
  delay.reset();
  delay.enable();
  connection.write(' ');
  connection.resume().on('end', () => {
    delay.disable();
    const { user, system } = process.cpuUsage(begun);
    const delays = { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) };
    const figures = { cpu: (user + system) / 1e6, delays };
    connection.end(JSON.stringify(figures));
  });
})
  .listen(process.env['BENCH_PROBE'])
  .unref();
