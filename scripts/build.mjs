import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

import { translatedHelp } from './help.mjs';

const root = resolve(import.meta.dirname, '..');

/** Builds dist/ from scratch. Throws if a file that Node-RED needs is missing. */
export function build() {
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  buildEditor();
  copyAssets();
  for (const cli of ['dist/simulator/cli.js', 'dist/lib/state/cli.js']) chmodSync(join(root, cli), 0o755);
  checkRegistered();
}

/** Script of the forms and its source map. Only the coverage of tests needs the map, so the package omits it. */
export const editorScript = join(root, 'resources', 'remote-printing-editor.js');
export const editorSourceMap = join(root, '.cache', 'remote-printing-editor.js.map');

/** Bundles the forms into one classic script in resources/, from where Node-RED delivers it to the html files. */
export function buildEditor() {
  // esbuild can't be imported statically: on a fresh clone, it is installed after this file is loaded.
  /** @type {typeof import('esbuild')} */
  const { buildSync } = createRequire(import.meta.url)('esbuild');
  const { outputFiles } = buildSync({
    entryPoints: [join(root, 'editor/index.ts')],
    outfile: editorScript,
    absWorkingDir: root,
    bundle: true,
    format: 'iife',
    target: 'es2020',
    charset: 'utf8',
    legalComments: 'none',
    sourcemap: 'external',
    write: false,
  });
  for (const { path, contents } of outputFiles) {
    const target = path.endsWith('.map') ? editorSourceMap : editorScript;
    mkdirSync(resolve(target, '..'), { recursive: true });
    writeFileSync(target, contents);
  }
}

/** Copies html, locales and icons beside the registered js files, where Node-RED expects them. */
export function copyAssets() {
  cpSync(join(root, 'nodes'), join(root, 'dist/nodes'), {
    recursive: true,
    filter: (source) => !source.endsWith('.ts'),
  });
  for (const [path, help] of translatedHelp()) writeFileSync(join(root, 'dist/nodes', path), help);
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
    // tsc has printed its own errors.
    if (!(error instanceof Error && 'status' in error)) console.error(String(error));
    process.exit(1);
  }
}
