import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pages } from '../../scripts/pages.mjs';
import { PICTURES } from '../../scripts/screenshots.mjs';
import { fromRoot, root, sources, textOf } from '../helpers/sources';

const drawings = [...pages().keys()].filter((path) => path.endsWith('.svg'));

describe('the documentation', function () {
  it('shows exactly the screenshots and the drawings of flows, with an alternative text', () => {
    const shown = sources(/\.md$/).flatMap((page) =>
      [...textOf(page).matchAll(/!\[([^\]]+)\]\(([^)]+)\)/g)].map(([, , path]) =>
        fromRoot(resolve(root, dirname(page), path!)),
      ),
    );
    assert.deepEqual([...new Set(shown)].sort(), [...PICTURES, ...drawings].sort());
  });

  it('shows existing pictures that are small enough for a slow connection', () => {
    for (const picture of [...PICTURES, ...drawings]) assert.ok(statSync(join(root, picture)).size < 150_000, picture);
  });
});
