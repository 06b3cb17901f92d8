import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readMetadata, readStoredFile, storedId, storedIds } from '../../../lib/service/stored-file';

describe('service/stored-file', () => {
  it('reads a library file and a stored job', () => {
    const common = {
      ...{ file_size: 12, content_type: 'x/y', status: 'uploaded', uploaded_at: '2024-03-01T07:15:00.250Z' },
      ...{ parsing_status: 'success', library_project_id: 'p', username: 'Ada', metadata: { machine_variant: 'X' } },
    };
    const read = {
      ...{ fileSize: 12, contentType: 'x/y', status: 'uploaded', statusDescription: null },
      ...{ uploadedAt: '2024-03-01T07:15:00.250Z', projectId: 'p', uploadedBy: 'Ada' },
    };
    assert.deepEqual(readStoredFile({ kind: 'file', id: 'f' }, { file_name: 'a.stl', ...common }), {
      fileId: 'f',
      name: 'a.stl',
      ...read,
    });
    assert.deepEqual(readStoredFile({ kind: 'job', id: 'j' }, { job_name: 'a.gcode', ...common }), {
      jobId: 'j',
      name: 'a.gcode',
      ...read,
      parsingStatus: 'success',
      metadata: readMetadata({ machine_variant: 'X' }),
    });
  });

  it('reads id and name from either field, its own kind’s first (wire facts 4.3)', () => {
    const both = { job_id: 'j', file_id: 'f', job_name: 'j.gcode', file_name: 'f.stl' };
    assert.deepEqual([storedId('job', both), storedId('file', both)], ['j', 'f']);
    assert.deepEqual([storedId('file', { job_id: 'j' }), storedId('job', { file_id: 'f' })], ['j', 'f']);
    assert.equal(storedId('job', null), null);
    assert.equal(readStoredFile({ kind: 'file', id: 'f' }, { job_name: 'a.stl' }).name, 'a.stl');
    assert.equal(readStoredFile({ kind: 'job', id: 'f' }, both).name, 'j.gcode');
    assert.deepEqual(
      [storedIds({ kind: 'job', id: 'j' }), storedIds({ kind: 'file', id: 'f' })],
      [{ jobId: 'j' }, { fileId: 'f' }],
    );
  });

  it('names no print core, nozzle and material of an extruder that the print does not use', () => {
    const [first, second] = [
      { print_core_id: 'AA 0.4', estimated_material_volume: 100, material: { guid: 'M1' } },
      {
        print_core_id: 'BB 0.4',
        nozzle_diameter: 0.4,
        estimated_material_volume: 0,
        material: { guid: 'M2', weight: 0 },
      },
    ];
    const read = (...extruders: object[]) => {
      const { printCores, nozzles, materials } = readMetadata({ extruders }) ?? assert.fail();
      return [printCores, nozzles, materials.map((material) => material && [material.guid, material.volume])];
    };
    assert.deepEqual(read(first, second), [['AA 0.4'], [null], [['M1', 100]]]);
    assert.deepEqual(read(second, first), [
      [null, 'AA 0.4'],
      [null, null],
      [null, ['M1', 100]],
    ]);
    assert.deepEqual(read(second), [['BB 0.4'], [0.4], [['M2', null]]], 'a file from before its amounts were known');
  });

  it('removes addresses from the description of a status, because they may be signed', () => {
    const wire = { status: 'failed', status_description: 'Not stored: https://store.example/?signature=secret' };
    const { statusDescription } = readStoredFile({ kind: 'file', id: 'f' }, wire);
    assert.match(String(statusDescription), /^Not stored/);
    assert.doesNotMatch(String(statusDescription), /secret/);
  });

  it('reads any record, and leaves missing fields null', () => {
    assert.deepEqual(readStoredFile({ kind: 'file', id: 'f' }, {}), {
      ...{ fileId: 'f', name: null, fileSize: null, contentType: null, status: null },
      ...{ statusDescription: null, uploadedAt: null, projectId: null, uploadedBy: null },
    });
    const field = fc.constantFrom(
      ...['file_name', 'job_name', 'file_size', 'content_type', 'status', 'uploaded_at', 'parsing_status'],
      ...['library_project_id', 'username'],
    );
    fc.assert(
      fc.property(
        fc.dictionary(field, fc.anything()),
        fc.constantFrom('job' as const, 'file' as const),
        (wire, kind) => {
          const { jobId, fileId, fileSize, ...texts } = readStoredFile({ kind, id: 'i' }, wire);
          assert.equal(jobId ?? fileId, 'i');
          assert.ok(fileSize === null || Number.isFinite(fileSize));
          for (const value of Object.values(texts)) assert.ok(value === null || typeof value === 'string');
        },
      ),
    );
  });
});
