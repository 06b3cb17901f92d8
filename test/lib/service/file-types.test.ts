import assert from 'node:assert/strict';
import fc from 'fast-check';
import { PrintingError } from '../../../lib/service/errors';
import { findToolpath, PROJECT_FILES, storedType, toolpath, TOOLPATHS } from '../../../lib/service/file-types';

const unsupported = (words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof PrintingError);
  assert.equal(error.code, 'UNSUPPORTED_FILE_TYPE');
  assert.match(error.message, words);
  return true;
};

describe('service/file-types', () => {
  it('lists the rows of the interface', () => {
    const rows = (types: typeof TOOLPATHS) =>
      types.map(({ extension, contentType, type }) => `${extension} ${contentType} ${type}`);
    assert.deepEqual(rows(TOOLPATHS), [
      '.gcode text/plain Toolpath',
      '.gcode.gz application/gzip Toolpath',
      '.ufp application/x-ufp Toolpath',
    ]);
    assert.deepEqual(rows(PROJECT_FILES), [
      '.3mf application/vnd.ms-package.3dmanufacturing-3dmodel+xml Mesh',
      '.stl model/stl Mesh',
      '.jpg image/jpeg Image',
      '.jpeg image/jpeg Image',
      '.png image/png Image',
      '.pdf application/pdf Document',
      '.doc application/msword Document',
      '.docx application/vnd.openxmlformats-officedocument.wordprocessingml.document Document',
      '.xls application/vnd.ms-excel Document',
      '.xlsx application/vnd.openxmlformats-officedocument.spreadsheetml.sheet Document',
      '.ppt application/vnd.ms-powerpoint Document',
      '.pptx application/vnd.openxmlformats-officedocument.presentationml.presentation Document',
      '.txt text/plain Document',
    ]);
  });

  it('finds a type by the name in any case', () => {
    for (const type of TOOLPATHS) assert.equal(toolpath(`My.Part${type.extension.toUpperCase()}`), type);
    for (const type of PROJECT_FILES) assert.equal(storedType('file', `My.Part${type.extension.toUpperCase()}`), type);
    for (const type of TOOLPATHS) assert.equal(storedType('job', `My.Part${type.extension}`), type);
    assert.equal(toolpath('part.stl.gcode').contentType, 'text/plain');
  });

  it('reports that a mesh must be sliced first', () => {
    for (const name of ['a.stl', 'a.3MF', 'a.obj', 'a.step', 'a.stp'])
      assert.throws(
        () => toolpath(name),
        unsupported(/is a model: slice it to G-code first \(only \.gcode, \.gcode\.gz and \.ufp files/),
      );
  });

  it('lists the allowed extensions', () => {
    for (const name of ['a.gz', 'a.txt', 'gcode', '.gcode', '.gcode.gz', '.ufp', 'a.gcode ', ''])
      assert.throws(
        () => toolpath(name),
        unsupported(/can't be printed: only \.gcode, \.gcode\.gz and \.ufp files can/),
      );
    for (const name of ['a', 'a.zip', '.stl'])
      for (const kind of ['file', 'job'] as const)
        assert.throws(
          () => storedType(kind, name),
          (error: Error) =>
            unsupported(/"project file" accepts \.3mf, .* and \.txt files/)(error) &&
            unsupported(/"print job" accepts \.gcode, \.gcode\.gz and \.ufp files/)(error),
        );
  });

  it('names the kind that accepts a file', () => {
    for (const name of ['a.gcode', 'a.gcode.gz', 'a.UFP'])
      assert.throws(() => storedType('file', name), unsupported(/choose the kind "print job"/));
    for (const name of ['a.stl', 'a.3mf', 'a.txt', 'a.png'])
      assert.throws(() => storedType('job', name), unsupported(/choose the kind "project file"/));
  });

  it('depends only on the end of the name', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.constantFrom(...TOOLPATHS), (stem, type) => {
        assert.equal(findToolpath(stem + type.extension), type);
        assert.equal(findToolpath(`${stem}${type.extension}.`), undefined);
      }),
    );
  });
});
