import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { PICTURES } from '../../scripts/screenshots.mjs';
import { root, textOf } from '../helpers/sources';

describe('the README', function () {
  it('shows exactly the generated screenshots, each with an alternative text', () => {
    const shown = [...textOf('README.md').matchAll(/!\[([^\]]+)\]\(([^)]+)\)/g)].map(([, , path]) => path!);
    assert.deepEqual(shown.sort(), [...PICTURES].sort());
  });

  it('shows existing pictures that are small enough for a slow connection', () => {
    for (const picture of PICTURES) assert.ok(statSync(join(root, picture)).size < 150_000, picture);
  });
});
