// npm run torture [-- --minutes 10 --seed N --scenario NAME --runs N --brief]: the runs of test/faults, for any time.
// npm run torture -- --replicas 100 [--seed N --scenario KIND]: rounds of test/runtime/replicas, with three real Node-REDs.
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';

import { ensureBuilt } from './build.mjs';
import { ensureInstalledOrExit } from './install.mjs';
import { testNode } from './node-versions.mjs';

const root = resolve(import.meta.dirname, '..');
await ensureInstalledOrExit(root, join(root, 'matrix'));
if (process.argv.includes('--replicas')) ensureBuilt();
const args = ['--require', './test/typescript.cjs', 'test/faults/torture.ts', ...process.argv.slice(2)];
process.exitCode = spawnSync(testNode(), args, { cwd: root, stdio: 'inherit' }).status ?? 1;
