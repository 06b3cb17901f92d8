import assert from 'node:assert/strict';
import { readNodes } from '../../scripts/nodes.mjs';
import { ERROR_CODES } from '../../lib/service/errors';
import { textOf } from '../helpers/sources';

const page = textOf('docs/troubleshooting.md');
/** Texts of statuses that are symptoms beside the errors. */
const TROUBLES =
  /^status\.(error\..*|blockedBy\..*|signIn.*|stale|upgraded|noStore|noPrinter|noFile|wrongType|queueFull|printerOffline|duplicate|attention|noToken|open|paused-polling|polled-elsewhere|waiting-for-database)$/;

describe('docs/troubleshooting.md', () => {
  it('has a section for each error code', () => {
    const headings = [...page.matchAll(/^### .+$/gm)].join('\n');
    assert.deepEqual(
      ERROR_CODES.filter((code) => !headings.includes(`\`${code}\``)),
      [],
    );
  });

  it('has the words of each status that a user may look for', () => {
    const words = page.toLowerCase().replace(/\s+/g, ' ');
    const statuses = readNodes().flatMap(({ texts }) =>
      Object.entries(texts).flatMap(([key, said]) => (TROUBLES.test(key) ? [said['en-US'] ?? ''] : [])),
    );
    assert.ok(statuses.length > 50);
    const missing = statuses.filter((status) => {
      const parts = status.toLowerCase().split(/__\w+__|[:,]/);
      return !parts.every((part) => words.includes(part.trim()));
    });
    assert.deepEqual([...new Set(missing)], []);
  });
});
