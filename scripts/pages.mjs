// npm run pages: generates docs/nodes, a page for each node, from the editor's help texts, docs/recipes.md from the examples,
// the list of decisions, and the tables of properties in docs/reference.md from the definitions.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { readNodes } from './nodes.mjs';
import { recipes } from './recipes.mjs';
import { reference, REFERENCE } from './reference.mjs';

const root = resolve(import.meta.dirname, '..');

/** Help text without the editor's styles. @param {string} html */
const body = (html) =>
  html
    .replace(/^<script[^>]*>\n|<\/script>\s*$/g, '')
    .replace(/^ {2}/gm, '')
    .replace(/<h3>(.*?)<\/h3>/g, '## $1\n')
    .replace(/<h4>(.*?)<\/h4>/g, '### $1\n')
    .replaceAll('<dl class="message-properties">', '<dl>')
    .replaceAll('<ol class="node-ports">', '<ol>')
    .replace(/<dt class="optional">([\s\S]*?)<\/dt>/g, '<dt>$1, optional</dt>')
    .replace(/<dt>([^<]+?)(\s*<|, optional<)/g, '<dt><b>$1</b>$2')
    .replace(/<span class="property-type">(.*?)<\/span>/g, '<i>$1</i>');

/** First sentence of a help text. @param {string} html */
const gist = (html) =>
  (/<p>\s*([\s\S]*?[.:])(\s|<\/p>)/.exec(html)?.[1] ?? '')
    .replace(/<[^>]+>/g, '')
    .replace(/\s+/g, ' ')
    .replace(/:$/, '.');

/** The list of decisions. */
function decisions() {
  const folder = join(root, 'docs/adr');
  const rows = readdirSync(folder)
    .filter((file) => /^\d/.test(file))
    .map((file) => {
      const [, number, title] = /^# (\d+)\. (.+)$/m.exec(readFileSync(join(folder, file), 'utf8')) ?? [];
      return `- [ADR ${number}](${file}): ${title}`;
    });
  return `# Decisions\n\nEach record has a decision about the pack, its reasons, and what else was considered.\n\n${rows.join('\n')}\n`;
}

/** All pages by their paths. @returns {Map<string, string>} */
export function pages() {
  const nodes = readNodes().map(({ type, help, texts }) => ({
    type,
    help,
    name: texts['paletteLabel']?.['en-US'] ?? type,
  }));
  const index = nodes.map(({ type, name, help }) => `| [${name}](${type}.md) | ${gist(help)} |`);
  const made = nodes.map(({ type, name, help }) => {
    const head = `# ${name}\n\nType \`${type}\`. The same text is the node's help in the editor; [all nodes](README.md).\n\n`;
    return /** @type {const} */ ([`docs/nodes/${type}.md`, head + body(help)]);
  });
  const readme = `# The nodes\n\nMade from the editor's help by \`npm run pages\`. Every name at a glance: [reference](../reference.md).\n\n| node | does |\n|---|---|\n${index.join('\n')}\n`;
  const nameOf = (/** @type {string} */ type) => nodes.find((node) => node.type === type)?.name ?? type;
  return new Map([...made, ['docs/nodes/README.md', readme], ['docs/adr/README.md', decisions()], ...recipes(nameOf)]);
}

if (process.argv[1] === import.meta.filename) {
  for (const folder of ['docs/nodes', 'docs/pictures/flows']) mkdirSync(join(root, folder), { recursive: true });
  for (const [path, text] of pages()) writeFileSync(join(root, path), text);
  writeFileSync(join(root, REFERENCE), reference());
  console.log(`${readdirSync(join(root, 'docs/nodes')).length} pages in docs/nodes, ${REFERENCE}`);
}
