// npm run bench: how fast, and how gently, a big file goes up. See bench/README.md.
import { resolve } from 'node:path';

import { build } from './build.mjs';
import { ensureInstalled } from './install.mjs';

try {
  const root = resolve(import.meta.dirname, '..');
  ensureInstalled(root);
  build();
  const { bench } = await import('../bench/bench.mjs');
  process.exitCode = await bench(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
