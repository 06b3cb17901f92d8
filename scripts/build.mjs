import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

/** Builds dist/ from nothing; throws if anything that Node-RED will look for is missing. */
export function build() {
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  copyAssets();
  chmodSync(join(root, 'dist/simulator/cli.js'), 0o755);
  checkRegistered();
}

/** Node-RED looks for a node's html, locales and icons beside its registered js. */
export function copyAssets() {
  cpSync(join(root, 'nodes'), join(root, 'dist/nodes'), {
    recursive: true,
    filter: (source) => !source.endsWith('.ts'),
  });
  cpSync(join(root, 'icons'), join(root, 'dist/nodes/icons'), { recursive: true });
  cpSync(join(root, 'simulator/control/page'), join(root, 'dist/simulator/control/page'), { recursive: true });
}

function checkRegistered() {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  /** @type {string[]} */
  const registered = Object.values(manifest['node-red'].nodes);
  const wanted = registered.flatMap((file) => [file, file.replace(/\.js$/, '.html')]);
  const missing = wanted.filter((file) => !existsSync(join(root, file)));
  if (missing.length > 0) throw new Error(`the build lacks ${missing.join(', ')}`);
}

if (process.argv[1] === import.meta.filename) {
  try {
    build();
  } catch (error) {
    // tsc has printed what is wrong by itself.
    if (!(error instanceof Error && 'status' in error)) console.error(String(error));
    process.exit(1);
  }
}
