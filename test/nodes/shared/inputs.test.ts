import assert from 'node:assert/strict';
import { amountOr, isBlank, kindOf, needsMessage } from '../../../nodes/shared/inputs';

describe('nodes/shared/inputs', () => {
  it('recognizes blank values', () => {
    for (const value of [undefined, null, '', '  ', '\n']) assert.equal(isBlank(value), true);
    for (const value of [0, false, 'x', {}, []]) assert.equal(isBlank(value), false);
  });

  it('recognizes inputs that need a message', () => {
    assert.equal(needsMessage({ value: 'target', type: 'msg' }), true);
    assert.equal(needsMessage({ value: '', type: 'msg' }), false);
    assert.equal(needsMessage({ value: 'id', type: 'str' }), false);
    assert.equal(needsMessage({ value: 'id', type: undefined }), false);
  });

  it('reads an amount from a number or text, and uses the default otherwise', () => {
    for (const value of [20, '20', ' 20 ', '2e1']) assert.equal(amountOr(value, 60), 20);
    for (const value of [undefined, null, '', ' ', 'soon', NaN, Infinity, 0, -5, {}, [20], true])
      assert.equal(amountOr(value, 60), 60);
  });

  it('reads 0 as an amount only if the property allows it', () => {
    for (const value of [0, '0', ' 0.0 ']) {
      assert.equal(amountOr(value, 60, 0), 0);
      assert.equal(amountOr(value, 60, 10), 60);
    }
    for (const value of ['', '-1', 'none']) assert.equal(amountOr(value, 60, 0), 60);
  });

  it('names types in plain words', () => {
    assert.deepEqual(
      [null, [], Buffer.alloc(1), {}, 7, true].map((value) => String(kindOf(value))),
      ['null', 'an array', 'a Buffer', 'an object', 'a number', 'a boolean'],
    );
  });
});
