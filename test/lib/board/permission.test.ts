import assert from 'node:assert/strict';
import { isAllowed, readPress } from '../../../lib/board/permission';
import type { Allow } from '../../../lib/board/shapes';

describe('lib/board/permission', () => {
  const allowed = (allow: Allow) =>
    [
      ...['plate-cleared', 'settle', 'hold', 'release', 'move', 'update', 'retry', 'pause', 'resume'],
      ...['pause-print', 'resume-print', 'abort-print', 'remove', 'add', 'list', 'forecast', 'board', 'force', ''],
    ].filter((action) => isAllowed(action, {}, allow));

  it('permits nothing to a page that may only look', () => assert.deepEqual(allowed('look'), []));

  it('permits presses, but no new files, aborts and removals', () =>
    assert.deepEqual(allowed('press'), [
      ...['plate-cleared', 'settle', 'hold', 'release', 'move', 'update', 'retry', 'pause', 'resume'],
      ...['pause-print', 'resume-print'],
    ]));

  it('permits these to a page that may do everything, and no other action of the queue', () =>
    assert.deepEqual(allowed('all').slice(-4), ['resume-print', 'abort-print', 'remove', 'add']));

  it('permits only some changes of an item', () => {
    assert.equal(
      isAllowed('update', { itemId: 'i', copies: 2, priority: 1, deadline: null, wanted: 1 }, 'press'),
      true,
    );
    assert.equal(isAllowed('update', { itemId: 'i', require: { printers: ['p'] } }, 'press'), true);
    assert.equal(isAllowed('update', { itemId: 'i', perPrint: 2 }, 'press'), false);
    assert.equal(isAllowed('update', { itemId: 'i', perPrint: 2 }, 'all'), true);
    assert.equal(isAllowed('update', { itemId: 'i', owner: 'somebody' }, 'all'), false);
    assert.equal(isAllowed('update', { itemId: 'i', alternatives: [] }, 'all'), false);
  });

  it('refuses malformed presses', () => {
    assert.deepEqual(readPress({ key: 'k', action: 'hold' }), { key: 'k', action: 'hold', properties: {} });
    for (const wrong of [undefined, null, [], 'hold', { action: 7 }, { action: 'hold', properties: [] }])
      assert.throws(() => readPress(wrong), { code: 'INVALID_INPUT' });
  });

  it('refuses presses that are deeper or larger than any', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 'hold' : [nested(levels - 1)]);
    const readWith = (value: unknown) => readPress({ key: 'k', action: 'update', properties: { require: value } });
    assert.deepEqual(readWith(nested(7)).properties, { require: nested(7) });
    for (const wrong of [nested(8), nested(3_000), Array.from({ length: 5_000 }, () => 0)])
      assert.throws(() => readWith(wrong), { code: 'INVALID_INPUT' });
  });
});
