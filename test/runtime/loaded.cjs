// Preloaded into a Node-RED. Prints, as its last line, the loaded files of the pack and of its dependencies.
const { writeSync } = require('node:fs');
const { join, sep } = require('node:path');

const root = join(__dirname, '..', '..') + sep;
const ours = /^(dist|node_modules.(csv-parse|oauth4webapi|pg(-[a-z]+)?|undici|yauzl))\W.*\.c?js$/;

process.on('exit', () => {
  const files = Object.keys(require.cache)
    .filter((file) => file.startsWith(root))
    .map((file) => file.slice(root.length))
    .filter((file) => ours.test(file))
    .map((file) => file.replaceAll(sep, '/'));
  writeSync(1, `\nLOADED ${JSON.stringify(files)}\n`);
});
