// The parts of docs/reference.md that list the nodes' properties.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { readNodes } from './nodes.mjs';

const root = resolve(import.meta.dirname, '..');

/** @typedef {import('./nodes.mjs').NodeSources} NodeSources */
/** @typedef {import('../nodes/shared/definition.js').Property} Property */

export const REFERENCE = 'docs/reference.md';

/** The page with its generated parts, which stand between comments, as the definitions say. */
export function reference(nodes = readNodes()) {
  const configuration = nodes
    .filter(({ definition }) => !definition.outputs)
    .map(({ name, definition }) => /** @type {const} */ ([name, [table(definition.properties)]]));
  const flowNodes = nodes.filter(({ definition }) => definition.outputs).map(section);
  return [...configuration, /** @type {const} */ (['flow nodes', flowNodes])].reduce(
    (page, [name, parts]) =>
      page.replace(
        new RegExp(`(<!-- ${name}: npm run pages -->\n)[\\s\\S]*?(<!-- end -->)`),
        (_, begin, end) => `${begin}\n${/** @type {string[]} */ (parts).join('\n\n')}\n\n${end}`,
      ),
    readFileSync(join(root, REFERENCE), 'utf8'),
  );
}

/** @param {NodeSources} node */
function section({ type, definition: { outputs = [], properties } }) {
  const ports = outputs.length > 1 ? `${outputs.length} outputs: ${outputs.join(', ')}` : '1 output';
  return `#### \`${type}\` (1 input, ${ports})\n\n${table(properties)}`;
}

/** @param {Readonly<Record<string, Property>>} properties */
function table(properties) {
  const rows = Object.entries(properties).map(([name, property]) => [
    property.kind === 'typed' ? `\`${name}\`, \`${name}Type\`` : code(name),
    defaultOf(property),
    'message' in property && property.message ? code(`msg.${property.message}`) : '',
    property.kind === 'select' ? (property.meaning ?? property.options.map(code).join(', ')) : property.meaning,
  ]);
  const columns = ['property', 'default', 'blank reads', 'meaning'].map((head, at) => [
    head,
    ...rows.map((row) => row[at] ?? ''),
  ]);
  return markdown(columns.filter(([, ...cells]) => cells.some((cell) => cell !== '')));
}

/** @param {Property} property */
function defaultOf(property) {
  const value = property.default === '' ? '' : code(String(property.default));
  const type = property.kind === 'typed' ? property.defaultType : undefined;
  return type ? `${value}, ${code(type)}` : value;
}

/** @param {string} text */
const code = (text) => `\`${text}\``;

/** A table as oxfmt formats it. @param {string[][]} columns the first cell of each is its head */
function markdown(columns) {
  const padded = columns.map((cells) => {
    const width = Math.max(...cells.map(({ length }) => length));
    const [head = '', ...others] = cells.map((cell) => cell.padEnd(width));
    return [head, '-'.repeat(width), ...others];
  });
  return (padded[0] ?? []).map((_, at) => `| ${padded.map((cells) => cells[at]).join(' | ')} |`).join('\n');
}
