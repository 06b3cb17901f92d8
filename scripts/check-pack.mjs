// Checks offline that the built pack meets the requirements of Node-RED, npm and the Flow Library.
// Last line: 'N passed, N failed'. Rule names like P01 are those of Node-RED's scorecard (node-red-dev validate).
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const read = (/** @type {string} */ file) => readFileSync(join(root, file), 'utf8');
const manifest = JSON.parse(read('package.json'));
/** @type {Record<string, string>} file by node type */
const registered = manifest['node-red'].nodes;
/** @type {{ packages: Record<string, { dev?: boolean, version: string }> }} */
const lock = JSON.parse(read('package-lock.json'));
const htmlOf = (/** @type {string} */ js) => js.replace(/\.js$/, '.html');

/** @type {[{ files: { path: string, mode: number }[] }]} */
const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=silent'], {
    cwd: root,
    encoding: 'utf8',
  }),
);
const files = new Map(packed.files.map(({ path, mode }) => [path, mode]));

const allowed = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|SECURITY\.md)$/,
  /^dist\/(nodes|lib|simulator)\/([\w-]+\/)*[\w-]+\.js$/,
  /^dist\/nodes\/[\w-]+\.html$/,
  /^dist\/board\/(board\.(js|css)|icon\.svg)$/,
  /^dist\/simulator\/control\/page\/page\.(html|css)$/,
  /^dist\/nodes\/locales\/[\w-]+\/[\w-]+\.(json|html)$/,
  /^dist\/nodes\/icons\/[\w-]+\.svg$/,
  /^resources\/[\w-]+\.(js|css)$/,
  /^examples\/\d\d-[\w-]+\.json$/,
];

/** Whether a plain range '>=x.y.z' admits a version. @param {string} range @param {string} version */
function admits(range, version) {
  const floor = /^>=(\d+\.\d+\.\d+)$/.exec(range)?.[1];
  if (!floor) return false;
  return floor.localeCompare(version, 'en', { numeric: true }) <= 0;
}

/** All nodes of the example flows. @returns {{ type: string }[]} */
function exampleNodes() {
  return readdirSync(join(root, 'examples'))
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => JSON.parse(read(`examples/${file}`)));
}

/**
 * Definition that the Flow Library reads from a node's html: it parses only literals in a classic script.
 * @param {string} type
 */
function definition(type) {
  const file = htmlOf(registered[type] ?? '');
  if (!existsSync(join(root, file))) return undefined;
  const html = read(file);
  const scripts = [...html.matchAll(/<script\s+type="text\/javascript">([\s\S]*?)<\/script>/g)].map(([, body]) => body);
  const calls = scripts.flatMap((body) => [
    ...(body ?? '').matchAll(/RED\.nodes\.registerType\(\s*'([^']+)',\s*\{([\s\S]*)/g),
  ]);
  const [call] = calls;
  if (!call || calls.length > 1 || call[1] !== type) return undefined;
  const literal = (/** @type {string} */ key) =>
    new RegExp(`\\b${key}:\\s*(?:'([^']*)'|(\\d+))`)
      .exec(call[2] ?? '')
      ?.slice(1)
      .find(Boolean);
  return {
    html,
    category: literal('category'),
    color: literal('color'),
    icon: literal('icon'),
    inputs: literal('inputs'),
    outputs: literal('outputs'),
  };
}

const types = Object.keys(registered);
const definitions = new Map(types.map((type) => [type, definition(type)]));
const isConfig = (/** @type {string} */ type) => definitions.get(type)?.category === 'config';

/** Offences by rule. @type {Record<string, string[]>} */
const offences = {
  'the package holds nothing but what users need': [...files.keys()].filter(
    (file) => !allowed.some((pattern) => pattern.test(file)),
  ),
  'no test is packed': [...files.keys()].filter((file) => /(^|\/)test\/|\.test\./.test(file)),
  'LICENSE, README and CHANGELOG are packed': ['LICENSE', 'README.md', 'CHANGELOG.md'].filter(
    (file) => !files.has(file),
  ),
  'every registered file is packed, with its html': Object.values(registered)
    .flatMap((file) => [file, htmlOf(file)])
    .filter((file) => !files.has(file)),
  'every node has its texts and help': Object.values(registered)
    .map((file) => file.replace('dist/nodes/', 'dist/nodes/locales/en-US/'))
    .flatMap((file) => [file.replace(/\.js$/, '.json'), htmlOf(file)])
    .filter((file) => !files.has(file)),
  'every command is packed and can be run': Object.values(manifest.bin ?? {}).filter(
    (file) => ((files.get(file) ?? 0) & 0o111) === 0,
  ),
  'every definition can be read off its html': types.filter((type) => {
    const found = definitions.get(type);
    if (!found?.category) return true;
    return !isConfig(type) && !(found.color && found.icon && found.inputs && found.outputs);
  }),
  'every icon is packed': types.filter((type) => {
    const icon = definitions.get(type)?.icon;
    return icon && !icon.startsWith('font-awesome/') && !files.has(`dist/nodes/icons/${icon}`);
  }),
  'every script that an html asks for is packed, under a relative address': types.flatMap((type) =>
    [...(definitions.get(type)?.html ?? '').matchAll(/<(?:script|link)[^>]+(?:src|href)="([^"]+)"/g)]
      .map(([, address = '']) => address)
      .filter((address) => {
        const base = `resources/${manifest.name}/`;
        return !address.startsWith(base) || !files.has(`resources/${address.slice(base.length)}`);
      }),
  ),
  'P01 it has a licence':
    manifest.license === 'Apache-2.0' && /Apache License/.test(read('LICENSE')) ? [] : ['license'],
  'P03 it names its repository and where to report bugs': ['repository', 'bugs', 'homepage'].filter(
    (key) => !manifest[key],
  ),
  'P04 its name is scoped': manifest.name.startsWith('@') ? [] : [manifest.name],
  'P05 it is found by the keyword of all nodes': manifest.keywords.includes('node-red') ? [] : ['keywords'],
  'P06 it admits the Node-RED versions it is tested on': ['4.1.15', '5.0.7'].filter(
    (version) => !admits(manifest['node-red'].version, version),
  ),
  'P07 it admits the lowest Node.js of those': ['20.18.1', '22.9.0'].filter(
    (version) => !admits(manifest.engines.node, version),
  ),
  "N01 its node types can be no other pack's": types.filter((type) => !type.startsWith('remote-printing-')),
  'N02 every node type stands in an example': types.filter(
    (type) => !isConfig(type) && !exampleNodes().some((node) => node.type === type),
  ),
  'D01 it has at most six dependencies': Object.keys(manifest.dependencies).slice(6),
  'D02 it brings no package that the scorecard forbids': Object.entries(lock.packages).flatMap(
    ([path, { dev, version }]) =>
      !dev && path.endsWith('node_modules/agent-base') && Number.parseInt(version) < 6 ? [`${path} ${version}`] : [],
  ),
  'D03 what is not the newest major version has its reason in the README': ['undici stays at version 7'].filter(
    (reason) => !read('README.md').includes(reason),
  ),
  'no lockfile holds download addresses': ['package-lock.json', 'matrix/package-lock.json'].filter((file) =>
    read(file).includes('"resolved": "http'),
  ),
};

let failed = 0;
for (const [rule, offenders] of Object.entries(offences)) {
  if (offenders.length > 0) failed += 1;
  console.log(offenders.length > 0 ? `✗ ${rule}: ${offenders.join(', ')}` : `✔ ${rule}`);
}
console.log(`${Object.keys(offences).length - failed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;
