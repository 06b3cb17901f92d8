import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { PICTURES } from '../../scripts/screenshots.mjs';
import { root, textOf } from '../helpers/sources';

describe('the pictures of the README', function () {
  it('are those that are taken of the running thing, each shown with words for who does not see it', () => {
    const shown = [...textOf('README.md').matchAll(/!\[([^\]]+)\]\(([^)]+)\)/g)].map(([, , path]) => path!);
    assert.deepEqual(shown.sort(), [...PICTURES].sort());
  });

  it('are there, and small enough for a slow line', () => {
    for (const picture of PICTURES) assert.ok(statSync(join(root, picture)).size < 150_000, picture);
  });
});
