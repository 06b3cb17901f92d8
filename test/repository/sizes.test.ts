import assert from 'node:assert/strict';
import { sources, textOf } from '../helpers/sources';

const MOST = 300;

describe('the check of sizes', () => {
  it('finds no file of lib/ and nodes/ with more than 300 lines', () => {
    const files = ['lib', 'nodes'].flatMap((folder) => sources(/\.ts$/, folder));
    const lines = files.map((path) => [path, textOf(path).trimEnd().split('\n').length] as const);
    assert.ok(lines.some(([, count]) => count > MOST / 2));
    assert.deepEqual(
      lines.filter(([, count]) => count > MOST),
      [],
    );
  });
});
