import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pages } from '../../scripts/pages.mjs';
import { reference, REFERENCE } from '../../scripts/reference.mjs';
import { root, textOf } from '../helpers/sources';

describe('docs/reference.md', () => {
  it('has the tables of properties as `npm run pages` generates them from the definitions', () =>
    assert.equal(textOf(REFERENCE), reference()));
});

describe('docs/nodes', () => {
  for (const [path, text] of pages())
    it(`has ${path} as \`npm run pages\` generates it from the help`, () => assert.equal(textOf(path), text));

  it('has no other pages', () => {
    const files = readdirSync(join(root, 'docs/nodes')).map((file) => `docs/nodes/${file}`);
    assert.deepEqual(files.sort(), [...pages().keys()].sort());
  });
});
