import assert from 'node:assert/strict';
import { BoardToken } from '../../../lib/board/token';

describe('lib/board/token', () => {
  const token = new BoardToken('open sesame', 'board-1');
  const cookieOf = (one: BoardToken) => one.header(false).split(';')[0] ?? '';

  it('recognises its token and its cookie, after a restart, too', () => {
    assert.equal(token.isRight('open sesame'), true);
    for (const wrong of ['', 'open', 'open sesame ', 'OPEN SESAME']) assert.equal(token.isRight(wrong), false);
    const cookie = cookieOf(new BoardToken('open sesame', 'board-1'));
    assert.equal(token.isIn(`a=b; ${cookie}; c=d`), true);
    for (const wrong of [undefined, '', `${cookie}x`, cookie.slice(0, -1), 'remote-printing-board-board-1=open sesame'])
      assert.equal(token.isIn(wrong), false);
  });

  it('has a cookie that neither shows the token nor opens another board, nor this one with another token', () => {
    assert.ok(!token.header(false).includes('sesame'));
    const ofOther = cookieOf(new BoardToken('open sesame', 'board-2'));
    const value = ofOther.split('=')[1] ?? '';
    assert.equal(token.isIn(ofOther), false);
    assert.equal(token.isIn(`remote-printing-board-board-1=${value}`), false);
    assert.equal(token.isIn(cookieOf(new BoardToken('another', 'board-1'))), false);
  });

  it('marks the cookie as secure on an encrypted connection alone', () => {
    assert.match(token.header(true), /; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$/);
    assert.doesNotMatch(token.header(false), /Secure|Path|Domain/);
  });
});
