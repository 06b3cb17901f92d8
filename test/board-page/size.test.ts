import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAssets } from '../../nodes/board/assets';
import { buildBoard } from '../../scripts/build.mjs';
import { languages } from '../../scripts/nodes.mjs';
import { writeCatalogues } from './farm';

/** Bytes of the page as one visitor loads it. */
const MOST = 90 * 1024;

describe('the size of a print board', () => {
  let folder: string;
  before(() => void (folder = mkdtempSync(join(tmpdir(), 'board-size-'))));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is at most 90 KiB, compressed, in every language', () => {
    buildBoard(folder);
    writeCatalogues(folder);
    const assets = readAssets(folder, join(folder, 'locales'));
    const size = (name: string) => assets.get(name)?.zipped.length ?? assert.fail(name);
    const common = ['board.js', 'board.css', 'icon.svg'].reduce((sum, name) => sum + size(name), 0);
    for (const language of languages()) {
      const all = common + size(`words.${language}.json`);
      assert.ok(all < MOST, `${language}: ${all}`);
    }
    assert.equal(languages().length, 7);
  });
});
