import assert from 'node:assert/strict';
import fc from 'fast-check';
import { LONGEST_PRINT, TEXT } from '../../../lib/rules/limits';
import { duration, estimate, flag, list, number, record, records, text, time } from '../../../lib/service/json-readers';

const nothing = [undefined, null, NaN, Symbol('x'), () => 1];

describe('service/json-readers', () => {
  it('accepts only objects as a record', () => {
    const object = { a: 1 };
    assert.equal(record(object), object);
    for (const other of [...nothing, [], 'a', 1, true]) assert.equal(record(other), null);
  });

  it('accepts arrays as a list, and a single object as a list of one', () => {
    assert.deepEqual(list([1, null]), [1, null]);
    assert.deepEqual(list({ a: 1 }), [{ a: 1 }]);
    for (const other of [...nothing, 'a', 1]) assert.deepEqual(list(other), []);
    assert.deepEqual(records([{ a: 1 }, null, 'b', [], { c: 2 }]), [{ a: 1 }, { c: 2 }]);
  });

  it('accepts only strings that are not blank as a text', () => {
    assert.equal(text(' a '), ' a ');
    for (const other of [...nothing, '', ' \n', 1, {}]) assert.equal(text(other), null);
  });

  it('replaces unpaired surrogates of a text, and keeps pairs', () => {
    assert.equal(text('a\ud83d \ude00b'), 'a\ufffd \ufffdb');
    assert.equal(text('ü😀'), 'ü😀');
  });

  it('rejects a text that is too long for any field', () => {
    assert.equal(text('a'.repeat(TEXT.field))?.length, TEXT.field);
    assert.equal(text('a'.repeat(TEXT.field + 1)), null);
  });

  it('accepts finite numbers, even as strings', () => {
    assert.equal(number(0), 0);
    assert.equal(number('409'), 409);
    assert.equal(number(' -1.5 '), -1.5);
    for (const other of [...nothing, '', ' ', 'a', '1s', Infinity, 'Infinity', 1e308, '-1e308', true, [1]])
      assert.equal(number(other), null);
  });

  it('accepts only what a print can last as a duration, and only more than nothing as an estimate', () => {
    assert.deepEqual([0, '90', LONGEST_PRINT].map(duration), [0, 90, LONGEST_PRINT]);
    assert.deepEqual([0, '90', LONGEST_PRINT].map(estimate), [null, 90, LONGEST_PRINT]);
    for (const other of [...nothing, -1, LONGEST_PRINT + 1, 1e308])
      assert.deepEqual([duration(other), estimate(other)], [null, null]);
  });

  it('accepts only booleans as a flag', () => {
    assert.equal(flag(false), false);
    for (const other of [...nothing, 0, 'true']) assert.equal(flag(other), null);
  });

  it('converts a time of any zone to ISO 8601 UTC, and reads one without a zone as UTC', () => {
    assert.equal(time('2024-03-01T07:15:00.250Z'), '2024-03-01T07:15:00.250Z');
    assert.equal(time('2024-03-01T07:15:00+02:00'), '2024-03-01T05:15:00.000Z');
    assert.equal(time('2024-03-01 07:15:00'), '2024-03-01T07:15:00.000Z');
    assert.equal(time('2024-03-01T07:15:00'), '2024-03-01T07:15:00.000Z');
    const otherYears = ['0001-01-01T00:00:00Z', '+275760-09-13T00:00:00Z', '9999-12-31T23:59:59-10:00'];
    for (const other of [...nothing, '', 'soon', 'layer 3', 1_700_000_000, '2024-13-01T00:00:00Z', ...otherYears])
      assert.equal(time(other), null);
  });

  it('returns a time in ISO 8601 UTC unchanged', () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2200-01-01') }), (date) => {
        assert.equal(time(date.toISOString()), date.toISOString());
        assert.equal(time(date.toISOString().replace('Z', '')), date.toISOString());
      }),
    );
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.anything(), (any) => {
        for (const read of [record, list, records, text, number, flag, time]) read(any);
      }),
    );
  });
});
