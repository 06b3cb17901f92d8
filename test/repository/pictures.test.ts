import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { PICTURES } from '../../scripts/screenshots.mjs';
import { fromRoot, root, sources, textOf } from '../helpers/sources';

describe('the documentation', function () {
  it('shows exactly the generated screenshots, each once and with an alternative text', () => {
    const shown = sources(/\.md$/).flatMap((page) =>
      [...textOf(page).matchAll(/!\[([^\]]+)\]\(([^)]+)\)/g)].map(([, , path]) =>
        fromRoot(resolve(root, dirname(page), path!)),
      ),
    );
    assert.deepEqual(shown.sort(), [...PICTURES].sort());
  });

  it('shows existing pictures that are small enough for a slow connection', () => {
    for (const picture of PICTURES) assert.ok(statSync(join(root, picture)).size < 150_000, picture);
  });
});
