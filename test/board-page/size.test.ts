import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { buildBoard } from '../../scripts/build.mjs';

/** Bytes of the page as one visitor loads it. */
const MOST = 90 * 1024;

describe('the size of a print board', () => {
  const folder = mkdtempSync(join(tmpdir(), 'board-size-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is at most 90 KiB, compressed, in every language', () => {
    buildBoard(folder);
    const size = (name: string) => gzipSync(readFileSync(join(folder, name)), { level: 9 }).length;
    const files = readdirSync(folder);
    const languages = files.filter((name) => name.startsWith('words.'));
    assert.equal(languages.length, 7);
    const common = files.filter((name) => !name.startsWith('words.')).reduce((sum, name) => sum + size(name), 0);
    for (const language of languages)
      assert.ok(common + size(language) < MOST, `${language}: ${common + size(language)}`);
  });
});
