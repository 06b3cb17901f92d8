import assert from 'node:assert/strict';
import fc from 'fast-check';
import { filterQueries, fitsOf, readPrintJobFilter } from '../../../lib/query/print-job-filter';
import { PrintingError } from '../../../lib/service/errors';

const ALL = { status: [], sentFrom: [], clusterIds: [], search: '', privateOnly: false };
const refused = (given: unknown, words: RegExp) =>
  assert.throws(
    () => readPrintJobFilter(given),
    (error) => error instanceof PrintingError && error.code === 'INVALID_INPUT' && words.test(error.message),
  );

describe('query/print-job-filter', () => {
  it('reads an object or its JSON', () => {
    const filter = {
      status: 'waiting',
      sentFrom: ['usb', 'usb'],
      clusterIds: ['a', 'b'],
      search: ' cube ',
      privateOnly: true,
    };
    const read = { status: ['waiting'], sentFrom: ['usb'], clusterIds: ['a', 'b'], search: 'cube', privateOnly: true };
    assert.deepEqual(readPrintJobFilter(filter), read);
    assert.deepEqual(readPrintJobFilter(JSON.stringify(filter)), read);
    assert.deepEqual(readPrintJobFilter(undefined), ALL);
    assert.deepEqual(readPrintJobFilter({ status: null }), ALL);
  });

  it('names the fault', () => {
    for (const given of ['waiting', '[]', 5, ['waiting'], null, Buffer.from('{}')]) refused(given, /must be an object/);
    refused({ state: 'waiting' }, /has no "state", but status, sentFrom, clusterIds, search, privateOnly/);
    refused({ search: 5 }, /search/);
    refused({ privateOnly: 'yes' }, /privateOnly/);
    refused({ status: ['waiting', 5] }, /status/);
    refused({ clusterIds: '' }, /clusterIds/);
  });

  it('refuses values that are too long for an address, and lists of too many', () => {
    const fitting = 'x'.repeat(500);
    assert.equal(readPrintJobFilter({ search: fitting }).search, fitting);
    for (const name of ['search', 'status', 'sentFrom', 'clusterIds'])
      refused({ [name]: `${fitting}x` }, new RegExp(`has a value of more than 500 characters in its ${name}\\.$`));
    const many = Array.from({ length: 1_000 }, (_, n) => `id-${n}`);
    assert.equal(readPrintJobFilter({ clusterIds: many }).clusterIds.length, 1_000);
    refused({ clusterIds: [...many, 'one more'] }, /has more than 1000 values in its clusterIds\.$/);
  });

  it('throws no other errors', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.json()), (given) => {
        try {
          readPrintJobFilter(given);
        } catch (error) {
          assert.ok(error instanceof PrintingError);
        }
      }),
    );
  });

  it('queries each status separately, and sends only single values', () => {
    assert.deepEqual(filterQueries(ALL), [{}]);
    assert.deepEqual(filterQueries({ ...ALL, sentFrom: ['usb'], clusterIds: ['a'], search: 'x', privateOnly: true }), [
      { sent_from: 'usb', cluster_ids: 'a', search: 'x', private_only: 'true' },
    ]);
    assert.deepEqual(filterQueries({ ...ALL, status: ['waiting', 'deleted'], clusterIds: ['a', 'b'] }), [
      { status: 'waiting' },
      { status: 'deleted' },
    ]);
  });

  it('filters surplus jobs by their records', () => {
    const filter = { ...ALL, status: ['waiting'], clusterIds: ['a', 'b'], sentFrom: ['usb'] };
    assert.equal(fitsOf(filter)({ state: 'waiting', cluster_id: 'b', sent_from: 'usb' }), true);
    assert.equal(fitsOf(filter)({}), true);
    for (const wire of [{ state: 'history' }, { cluster_id: 'c' }, { sent_from: 'cloud' }])
      assert.equal(fitsOf(filter)(wire), false);
    assert.equal(fitsOf(ALL)({ state: 'new', cluster_id: 'c' }), true);
  });
});
