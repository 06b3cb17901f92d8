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

describe('the generated pages', () => {
  for (const [path, text] of pages())
    it(`include ${path} as \`npm run pages\` generates it`, () => assert.equal(textOf(path), text));

  it('are all pages of docs/nodes', () => {
    const files = readdirSync(join(root, 'docs/nodes')).map((file) => `docs/nodes/${file}`);
    const generated = [...pages().keys()].filter((path) => path.startsWith('docs/nodes/'));
    assert.deepEqual(files.sort(), generated.sort());
  });
});
