// npm run bench: speed and resource use of a large upload and a long report download. See bench/README.md.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

import { build } from './build.mjs';
import { ensureInstalled } from './install.mjs';

try {
  const root = resolve(import.meta.dirname, '..');
  await ensureInstalled(root);
  build();
  if (process.argv[2] === 'board') {
    const { benchBoard } = await import('../bench/board.mjs');
    process.exit(await benchBoard(process.argv.slice(3)));
  }
  if (process.argv[2] === 'ends') {
    await import('../bench/ends.mjs');
    process.exit();
  }
  if (process.argv[2] === 'farm') {
    const { benchFarm } = await import('../bench/farm.mjs');
    process.exit(await benchFarm(process.argv.slice(3)));
  }
  if (process.argv[2] === 'metrics') {
    const { benchMetrics } = await import('../bench/metrics.mjs');
    process.exit(benchMetrics(process.argv.slice(3)));
  }
  if (process.argv[2] === 'queue') {
    const { benchQueue } = await import('../bench/queue.mjs');
    const { benchQueueStore } = await import('../bench/queue-store.mjs');
    process.exit((await benchQueue(process.argv.slice(3))) || (await benchQueueStore()));
  }
  if (process.argv[2] === 'queue-store') {
    const { benchQueueStore } = await import('../bench/queue-store.mjs');
    process.exit(await benchQueueStore());
  }
  if (process.argv[2] === 'replicas') {
    const { benchReplicas } = await import('../bench/replicas.mjs');
    process.exit(await benchReplicas(process.argv.slice(3)));
  }
  if (process.argv[2] === 'stops') {
    const { benchStops } = await import('../bench/stops.mjs');
    process.exit(await benchStops(process.argv.slice(3)));
  }
  if (process.argv[2] === 'start') {
    const { benchStart } = await import('../bench/start.mjs');
    process.exit(await benchStart(process.argv.slice(3)));
  }
  const { bench } = await import('../bench/bench.mjs');
  const uploads = await bench(process.argv.slice(2));
  const report = spawnSync(process.execPath, [resolve(root, 'bench/report.mjs')], { stdio: 'inherit' });
  process.exitCode = uploads || (report.status ?? 1);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
