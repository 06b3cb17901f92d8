// npm run dev: a Node-RED on the current sources, rebuilt and restarted after every change.
import { watch } from 'node:fs';
import { join } from 'node:path';

import { build } from './build.mjs';
import { root, startNodeRed } from './node-red.mjs';

const watched = ['nodes', 'editor', 'lib', 'simulator', 'icons', 'examples'];

/** @type {import('./node-red.mjs').RunningNodeRed | undefined} */
let running;
let wanted = true;
let working = false;

async function rebuild() {
  wanted = true;
  if (working) return;
  working = true;
  while (wanted) {
    wanted = false;
    try {
      build();
      await running?.stop();
      running = undefined;
      running = await startNodeRed({
        userDir: join(root, '.dev'),
        port: Number(process.env['PORT'] ?? 1880),
        onLine: (line) => console.log(line),
      });
    } catch (error) {
      // tsc has printed the error. The running Node-RED continues until the next change.
      console.error(error instanceof Error ? error.message : error);
    }
  }
  working = false;
}

/** @type {NodeJS.Timeout | undefined} */
let settled;
for (const folder of watched) {
  watch(join(root, folder), { recursive: true }, () => {
    clearTimeout(settled);
    settled = setTimeout(() => void rebuild(), 200);
  });
}
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    void (running?.stop() ?? Promise.resolve()).finally(() => process.exit(0));
  });
}
await rebuild();
