// npm run torture [-- --minutes 10 --seed N --scenario NAME --runs N --brief]: the runs of test/faults, for as long as wanted.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

import { ensureInstalled } from './install.mjs';

const root = resolve(import.meta.dirname, '..');
await ensureInstalled(root);
const args = ['--import', 'tsx', 'test/faults/torture.ts', ...process.argv.slice(2)];
process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
