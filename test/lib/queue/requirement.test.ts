import assert from 'node:assert/strict';
import { readRequire, requirementOf } from '../../../lib/queue/model/requirement';
import type { FileFacts } from '../../../lib/toolpath/facts';
import { PrintingError } from '../../../lib/service/errors';

const GUID = '506c9f0d-e3aa-4bd4-b2d2-23e2425b1aa9';
const refused = (given: unknown, words: RegExp) =>
  assert.throws(
    () => readRequire(given),
    (error) => error instanceof PrintingError && error.code === 'INVALID_INPUT' && words.test(error.message),
  );

describe('queue/requirement: what a message requires', () => {
  it('reads an object or its JSON', () => {
    const given = {
      models: ['X5', 'X3'],
      printCores: ['AA 0.4', null],
      materials: [GUID, { type: 'PLA', color: ' Red ', brand: '' }, null],
      buildPlate: 'glass',
      tags: ['food-safe'],
      printers: ['a='],
    };
    const read = { ...given, materials: [{ guid: GUID }, { type: 'PLA', color: 'Red' }, null] };
    assert.deepEqual(readRequire(given), read);
    assert.deepEqual(readRequire(JSON.stringify(given)), read);
  });

  it('requires nothing where nothing is given', () => {
    for (const given of [undefined, null, '', '  ']) assert.equal(readRequire(given), null);
    assert.deepEqual(readRequire({}), {});
    assert.deepEqual(readRequire({ models: null, tags: [] }), { tags: [] });
  });

  it('names the fault', () => {
    for (const given of ['red', '[]', 5, ['PLA'], Buffer.from('{}')]) refused(given, /must be an object/);
    refused({ model: 'X5' }, /has no "model", but models, printCores/);
    refused({ models: ['X5', 5] }, /models/);
    refused({ printCores: [0.4] }, /printCores/);
    refused({ materials: [5] }, /materials/);
    refused({ materials: [{ type: 5 }] }, /materials/);
    refused({ materials: [{ name: 'PLA' }] }, /has no "name", but guid, type, brand, color/);
    refused({ buildPlate: ['glass'] }, /buildPlate/);
    refused({ printCores: Array(17).fill(null) }, /more than 16 values in its printCores/);
    refused({ tags: Array.from({ length: 101 }, (_, n) => `t${n}`) }, /more than 100 values in its tags/);
    refused({ models: ['x'.repeat(501)] }, /more than 500 characters in its models/);
  });
});

describe('queue/requirement: of a file', () => {
  const facts: FileFacts = {
    source: 'file',
    model: 'X5',
    printCores: ['AA 0.4', null],
    materials: [{ guid: GUID }, null],
    volumes: [5000, null],
    weights: [6, null],
    buildPlate: null,
    seconds: 3600,
    size: null,
  };

  const unknown = () => null;

  it('lets the message replace what the file says, and nothing else', () => {
    const requirement = requirementOf({ models: [], materials: [{ type: 'PLA' }], printers: ['a='] }, facts, unknown);
    const { sources, ...needs } = requirement;
    assert.deepEqual(needs, {
      models: [],
      printCores: ['AA 0.4', null],
      materials: [{ type: 'PLA' }],
      buildPlate: null,
      tags: [],
      printers: ['a='],
      volumes: [5000, null],
      nozzles: [],
      size: null,
    });
    assert.deepEqual(sources, {
      models: 'message',
      printCores: 'file',
      materials: 'message',
      buildPlate: 'unknown',
      tags: 'unknown',
      printers: 'message',
      volumes: 'file',
      size: 'unknown',
    });
  });

  it('knows nothing without facts', () => {
    const { models, sources } = requirementOf(null, null, unknown);
    assert.equal(models, null);
    assert.deepEqual([...new Set(Object.values(sources))], ['unknown']);
    assert.equal(requirementOf(null, { ...facts, source: 'service' }, unknown).sources.volumes, 'service');
  });

  it('completes a material of which only the GUID is known', () => {
    const find = (guid: string) => (guid === GUID ? { type: 'PLA', brand: 'Generic', color: 'Red' } : null);
    const blank = { type: null, brand: null, color: null };
    const found = requirementOf(null, { ...facts, materials: [{ guid: GUID, ...blank }, null] }, find);
    assert.deepEqual(found.materials, [{ guid: GUID, type: 'PLA', brand: 'Generic', color: 'Red' }, null]);
    const named = requirementOf({ materials: [{ guid: GUID, color: 'Scarlet' }] }, facts, find);
    assert.deepEqual(named.materials, [{ guid: GUID, type: 'PLA', brand: 'Generic', color: 'Scarlet' }]);
    const other = requirementOf({ materials: [{ guid: 'other' }] }, facts, find);
    assert.deepEqual(other.materials, [{ guid: 'other' }]);
  });
});
