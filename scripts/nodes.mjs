// The sources of the nodes, in nodes/<name>/.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { runInThisContext } from 'node:vm';

const root = resolve(import.meta.dirname, '..');
const folder = join(root, 'nodes');
const ENGLISH = 'en-US';

/** @typedef {import('../nodes/shared/definition.js').NodeDefinition} NodeDefinition */
/** @typedef {{ [key: string]: string | Texts }} Texts */
/**
 * @typedef {object} NodeSources
 * @property {string} name of the folder
 * @property {string} type
 * @property {NodeDefinition} definition
 * @property {Record<string, Function>} form members of the registerType call that are code
 * @property {string | undefined} template handwritten form; undefined for one that the build makes
 * @property {string} help in English
 * @property {Record<string, Record<string, string>>} texts by key, then by language
 */

/** Languages of the texts, English first. */
export const languages = () => [ENGLISH, ...readdirSync(join(folder, 'locales'))];

/** @param {string} language @param {string} file */
const readLocale = (language, file) => readFileSync(join(folder, 'locales', language, file), 'utf8');

/**
 * The sentences of each language in one order, as the package has them: with the patterns once, as the English list, it is
 * 50 kB smaller than with catalogues by pattern. @returns {Map<string, string[]>} by language
 */
export function sentenceLists() {
  const catalogues = languages()
    .slice(1)
    .map((language) => /** @type {const} */ ([language, JSON.parse(readLocale(language, 'sentences.json'))]));
  const patterns = Object.keys(catalogues[0]?.[1] ?? {});
  const lists = catalogues.map(
    ([language, by]) => /** @type {const} */ ([language, patterns.map((pattern) => by[pattern] ?? pattern)]),
  );
  return new Map([[ENGLISH, patterns], ...lists]);
}

/** Translated passages of the help, by their names (scripts/help.mjs). @param {string} language @returns {Record<string, string>} */
export const readHelp = (language) => JSON.parse(readLocale(language, 'help.json'));

/** Reads the sources afresh: they may have changed since the last build of this process. @returns {NodeSources[]} */
export function readNodes() {
  /** @type {string[]} in the palette's order */
  const types = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))['node-red'].nodes);
  const names = types.map((type) => type.replace('remote-printing-', ''));
  const definitions = readDefinitions(names);
  return names.map((name) => {
    const read = (/** @type {string} */ file) => readFileSync(join(folder, name, file), 'utf8');
    return {
      name,
      type: `remote-printing-${name}`,
      definition: definitions[name] ?? { parent: null, properties: {} },
      form: evaluate(read('form.js')),
      template: existsSync(join(folder, name, 'form.html')) ? read('form.html') : undefined,
      help: read('help.html'),
      texts: JSON.parse(read('texts.json')),
    };
  });
}

/** @param {string[]} names @returns {Record<string, NodeDefinition>} by name */
function readDefinitions(names) {
  // esbuild can't be imported statically: on a fresh clone, it is installed after this file is loaded.
  /** @type {typeof import('esbuild')} */
  const { buildSync } = createRequire(import.meta.url)('esbuild');
  const entries = names.map((name) => `'${name}': require('./${name}/definition').definition`);
  const { outputFiles } = buildSync({
    stdin: { contents: `module.exports = { ${entries.join()} };`, resolveDir: folder },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    packages: 'external',
    write: false,
  });
  return evaluate(outputFiles[0]?.text ?? '');
}

/** Exports of a CommonJS module. @param {string} text @returns {any} */
export function evaluate(text, require = createRequire(import.meta.url)) {
  const module = { exports: {} };
  runInThisContext(`(module, require) => {${text}\n}`)(module, require);
  return module.exports;
}

/** Texts of a node in one language, as Node-RED loads them. @param {NodeSources} node @param {string} language */
export function catalogue({ texts }, language) {
  /** @type {Texts} */
  const made = {};
  for (const [key, said] of Object.entries(texts)) {
    const path = key.split('.');
    const last = path.pop() ?? '';
    const at = path.reduce((/** @type {any} */ above, part) => (above[part] ??= {}), made);
    at[last] = said[language];
  }
  return made;
}
