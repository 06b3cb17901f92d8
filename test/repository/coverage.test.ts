import assert from 'node:assert/strict';
import { textOf } from '../helpers/sources';

const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found);

describe('README.md', () => {
  it('lists every node', () => {
    const pages = /\((?:docs\/nodes\/)?(remote-printing-[\w-]+\.md)\)/g;
    const [, table = ''] = textOf('README.md').split(/^## The nodes$/m);
    assert.deepEqual(all(table, pages).sort(), all(textOf('docs/nodes/README.md'), pages).sort());
  });
});

describe('docs/coverage.md', () => {
  const rows = [...textOf('docs/coverage.md').matchAll(/^\| (?:(\d+) )?.*? \| +(\S.*?) +\|$/gm)].slice(2);

  it('lists every numbered endpoint of the interface once', () => {
    const [, endpoints = ''] = textOf('docs/service/interface.md').split(/^## Endpoints$/m);
    const numbers = all(endpoints.split(/^## /m)[0] ?? '', /^\| (\d+) +\|/gm);
    assert.equal(numbers.length, 16);
    assert.deepEqual(
      rows.flatMap(([, number]) => number ?? []),
      numbers,
    );
  });

  it('names every node, and no other', () => {
    // A queue and its flow node have the same name.
    const nodes = [...new Set(all(textOf('docs/nodes/README.md'), /^\| \[([^\]]+)\]/gm))];
    const named = new Set(rows.flatMap(([, , names = '']) => names.split(', ')));
    assert.deepEqual([...named].sort(), nodes.sort());
  });
});
