import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

import { digest } from './digest.mjs';
import { entry } from './entry.mjs';
import { forms } from './form.mjs';
import { translatedHelp } from './help.mjs';
import { catalogue, languages, readNodes, sentenceLists } from './nodes.mjs';
import { pageIcon } from './page-icon.mjs';

const root = resolve(import.meta.dirname, '..');

/** Everything from which the build is made, and everything that it makes. */
const SOURCES = [
  ...['lib', 'nodes', 'editor', 'board', 'simulator', 'icons', 'scripts'],
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'],
];
export const RESULTS = ['dist', 'resources', '.cache/remote-printing-editor.js.map'];
/** Digests of the sources and the results of the last build that succeeded. */
export const MARK = '.cache/build';

/** Builds, unless sources and results are those of the last build, byte for byte. */
export function ensureBuilt() {
  const mark = existsSync(join(root, MARK)) ? readFileSync(join(root, MARK), 'utf8') : '';
  if (mark !== `${digest(root, SOURCES)} ${digest(root, RESULTS)}`) build();
}

/** Builds dist/ from scratch. Throws if a file that Node-RED needs is missing. */
export function build() {
  // A source that changes during the build must not count as built.
  const sources = digest(root, SOURCES);
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  execFileSync(process.execPath, [join(root, 'node_modules/typescript-7/bin/tsc'), '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  printAnew(join(root, 'dist'));
  buildEditor();
  buildBoard();
  makeNodes();
  copyAssets();
  for (const cli of ['dist/simulator/cli.js', 'dist/lib/state-cli.js']) chmodSync(join(root, cli), 0o755);
  checkRegistered();
  writeFileSync(join(root, MARK), `${sources} ${digest(root, RESULTS)}`);
}

/** Prints scripts anew with narrower indents and shorter syntax, so that the package is smaller. @param {string} folder */
function printAnew(folder) {
  const { transformSync } = createRequire(import.meta.url)('esbuild');
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.js')) continue;
    const file = join(folder, name);
    const options = { target: 'node20.18', charset: 'utf8', minifySyntax: true };
    const { code } = transformSync(readFileSync(file, 'utf8'), options);
    writeFileSync(file, code);
  }
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
    minify: true,
    sourcemap: 'external',
    write: false,
  });
  for (const { path, contents } of outputFiles) {
    const target = path.endsWith('.map') ? editorSourceMap : editorScript;
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, contents);
  }
}

/** Folder of the page of a print board, from where its node delivers it. */
export const boardFolder = join(root, 'dist', 'board');

/** Bundles the page of a print board. Its texts are in the catalogues of its node. */
export function buildBoard(folder = boardFolder) {
  /** @type {typeof import('esbuild')} */
  const { buildSync } = createRequire(import.meta.url)('esbuild');
  buildSync({
    entryPoints: { board: join(root, 'board/index.tsx') },
    outdir: folder,
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
  });
  const { code } = createRequire(import.meta.url)('esbuild').transformSync(
    readFileSync(join(root, 'board/board.css'), 'utf8'),
    { loader: 'css', minify: true },
  );
  writeFileSync(join(folder, 'board.css'), code);
  writeFileSync(join(folder, 'icon.svg'), pageIcon());
}

/** Writes what Node-RED expects beside the folders of the nodes: the registered js and html files, texts and help. */
export function makeNodes() {
  const nodes = readNodes();
  const write = (/** @type {string} */ path, /** @type {string} */ text) => {
    const file = join(root, 'dist/nodes', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  for (const node of nodes) {
    write(`${node.type}.js`, entry(node));
    write(`locales/en-US/${node.type}.html`, node.help);
    for (const language of languages())
      write(`locales/${language}/${node.type}.json`, JSON.stringify(catalogue(node, language)));
  }
  for (const [language, list] of sentenceLists()) write(`locales/${language}/sentences.json`, JSON.stringify(list));
  for (const [type, html] of forms(nodes)) write(`${type}.html`, html);
  for (const [path, help] of translatedHelp(nodes)) write(path, help);
}

/** Copies files without change. */
export function copyAssets() {
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
    if (process.argv.includes('--if-changed')) ensureBuilt();
    else build();
  } catch (error) {
    // tsc has printed its own errors.
    if (!(error instanceof Error && 'status' in error)) console.error(String(error));
    process.exit(1);
  }
}
