// docs/recipes.md: each example with a drawing of its flow and with its comments, which say why each node is there.
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { drawing } from './drawing.mjs';

const root = resolve(import.meta.dirname, '..');
const RECIPES = 'docs/recipes.md';
const DRAWINGS = 'docs/pictures/flows';

/** The paragraph about the account, which the head of the page has instead. */
const ACCOUNT = /^The account is set to the simulator/;

const HEAD = `# The examples, node by node

Each section shows the flow of an example, what it does, why its nodes are there, and what to change. The same text is in the flow, in its
comments. [The list of all examples](examples.md) says how to import one.

The account is set to the simulator: no service, no printer and no sign-in are needed, and an hour of a printer takes a minute. To use your
own printers, [sign in](sign-in.md). All examples share one account, so all of them change to your printers.

Some nodes are the same everywhere:

- The purple nodes are those of this pack, and [the nodes](nodes/README.md) explains them.
- **Debug** nodes show in the debug sidebar, and most of them under the node, what came out.
- **what went wrong** shows the errors that the Catch node **errors** receives.
- Nodes under *Try it* print something, so that you see the flow at work. Delete them when you use your own printers.
`;

/** The page and its drawings by their paths. @param {(type: string) => string} nameOf name of a node type @returns {Map<string, string>} */
export function recipes(nameOf) {
  const examples = readdirSync(join(root, 'examples')).map((file) => {
    /** @type {import('./drawing.mjs').FlowNode[]} */
    const flow = JSON.parse(readFileSync(join(root, 'examples', file), 'utf8'));
    return { name: file.replace('.json', ''), flow };
  });
  const drawings = examples.map(
    ({ name, flow }) => /** @type {const} */ ([`${DRAWINGS}/${name}.svg`, drawing(flow, nameOf)]),
  );
  return new Map([[RECIPES, `${HEAD}\n${examples.map(section).join('\n')}`], ...drawings]);
}

/** @param {{ name: string, flow: import('./drawing.mjs').FlowNode[] }} example */
function section({ name, flow }) {
  const title = flow.find(({ type }) => type === 'tab')?.label ?? name;
  const comments = flow.filter(({ type, info }) => type === 'comment' && info);
  const texts = comments.map(({ name: heading, info = '' }) => {
    const paragraphs = info.split('\n\n').filter((paragraph) => !ACCOUNT.test(paragraph));
    return [`### ${heading}`, ...paragraphs].join('\n\n');
  });
  const file = `[${name}](../examples/${name}.json)`;
  const picture = `![The flow of the example “${title}”](pictures/flows/${name}.svg)`;
  return `${[`## ${name.slice(0, 2)} ${title}`, `Import ${file}.`, picture, ...texts].join('\n\n')}\n`;
}
