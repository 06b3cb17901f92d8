import assert from 'node:assert/strict';
import { isBlank, kindOf, needsMessage } from '../../../nodes/shared/inputs';

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

  it('names types in plain words', () => {
    assert.deepEqual(
      [null, [], Buffer.alloc(1), {}, 7, true].map((value) => String(kindOf(value))),
      ['null', 'an array', 'a Buffer', 'an object', 'a number', 'a boolean'],
    );
  });
});
