import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../helpers/sources';

const folder = join(root, '.github/workflows');

describe('the workflows', () => {
  it('pin each action to a commit, with its version beside', () => {
    const uses = readdirSync(folder).flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/uses: *(.*)/g)].map(([, action]) => `${file}: ${action}`),
    );
    assert.ok(uses.length > 0);
    for (const use of uses) assert.match(use, /: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });
});
