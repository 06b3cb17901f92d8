import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root, textOf } from '../helpers/sources';

/** Highest number of an endpoint in the interface. */
const ENDPOINTS = 16;

describe('docs/coverage.md', () => {
  /** The cells of each row below the head, without the titles of the table's parts. */
  const rows = textOf('docs/coverage.md')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1))
    .map(([item = '', nodes = '', files = '']) => ({ item: item.trim(), nodes: nodes.trim(), files }))
    .filter(({ item }) => !item.startsWith('**'));

  it('lists every numbered endpoint of the interface', () => {
    const listed = rows.flatMap(({ item }) => /^#(\d+) /.exec(item)?.[1] ?? []).map(Number);
    assert.deepEqual(
      [...new Set(listed)].sort((one, other) => one - other),
      Array.from({ length: ENDPOINTS }, (_, at) => at + 1),
    );
  });

  it('names the nodes and at least one existing test file in each row', () => {
    assert.ok(rows.length > 60);
    for (const { item, nodes, files } of rows) {
      assert.notEqual(nodes, '', item);
      const named = [...files.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
      assert.notEqual(named.length, 0, item);
      for (const file of named) assert.ok(existsSync(join(root, file)), `${item}: ${file}`);
    }
  });
});
