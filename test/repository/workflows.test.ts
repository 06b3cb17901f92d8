import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../helpers/sources';

const folder = join(root, '.github/workflows');

describe('.github/workflows', () => {
  it('pins each action to a commit and states its version', () => {
    const uses = readdirSync(folder).flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/uses: *(.*)/g)].map(([, action]) => `${file}: ${action}`),
    );
    assert.ok(uses.length > 0);
    for (const use of uses) assert.match(use, /: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it('publishes a version only after all tests, with provenance, and a prerelease as next', () => {
    const release = readFileSync(join(folder, 'release.yml'), 'utf8');
    const steps = ['"v$(node -p', 'npm test', 'test:nodes', 'test:examples', 'test:editor', 'publish --provenance'].map(
      (step) => release.indexOf(step),
    );
    assert.ok(
      steps.every((at, index) => at > (steps[index - 1] ?? 0)),
      String(steps),
    );
    assert.match(release, /\*-\*\) tag=next ;; \*\) tag=latest/);
    assert.match(release, /npx --yes npm@\d+\.\d+\.\d+ publish/);
  });

  it('publishes the site of a version after the version, unless it is a prerelease', () => {
    const release = readFileSync(join(folder, 'release.yml'), 'utf8');
    const [, site = ''] = release.split(/^ {2}site:$/m);
    assert.match(site, /needs: publish/);
    assert.match(site, /if: \$\{\{ !contains\(github\.ref_name, '-'\) \}\}/);
    assert.match(site, /npm run site[^]*upload-pages-artifact[^]*path: docs\/\.vitepress\/dist[^]*deploy-pages/);
  });
});
