const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { dirname, join, parse, relative, resolve } = require('node:path');

/**
 * Compiles TypeScript that is required, like the build to CommonJS. Unlike tsx, it adds no call that names each function
 * anew, and starts no thread for ES modules: both cost processor time in every test.
 */
const root = resolve(__dirname, '..');
const { version } = require('esbuild/package.json');
const loaders = Reflect.get(Module, '_extensions');

process.setSourceMapsEnabled(true);
// A source comes before the data of the same name, as its JavaScript does in dist/: the first extension that exists counts.
const others = { ...loaders };
for (const extension of Object.keys(loaders)) delete loaders[extension];
loaders['.ts'] = (/** @type {any} */ module, /** @type {string} */ file) => module._compile(compiled(file), file);
for (const [extension, load] of Object.entries(others)) loaders[extension] ??= load;

/** JavaScript of a file, from .cache/ as long as the file stays the same. @param {string} file */
function compiled(file) {
  const source = readFileSync(file, 'utf8');
  const mark = `/* ${createHash('sha1').update(version).update(file).update(source).digest('hex')} */`;
  const kept = join(root, '.cache/typescript', `${relative(parse(file).root, file)}.js`);
  const known = read(kept);
  if (known?.startsWith(mark)) return known;
  // esbuild would write a program's first line, #!, before the mark.
  const { code } = require('esbuild').transformSync(source.replace(/^#!.*/, ''), {
    loader: 'ts',
    format: 'cjs',
    platform: 'node',
    target: 'node20.18',
    banner: mark,
    sourcefile: file,
    sourcemap: 'inline',
    sourcesContent: false,
    minifyWhitespace: true,
  });
  mkdirSync(dirname(kept), { recursive: true });
  // Other processes may compile the same file.
  writeFileSync(`${kept}.${process.pid}`, code);
  renameSync(`${kept}.${process.pid}`, kept);
  return code;
}

/** @param {string} file */
function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
