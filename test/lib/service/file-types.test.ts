import assert from 'node:assert/strict';
import fc from 'fast-check';
import { PrintingError } from '../../../lib/service/errors';
import {
  checkCompressedType,
  fileExtension,
  findToolpath,
  PROJECT_FILES,
  readMediaType,
  storedType,
  toolpath,
  TOOLPATHS,
} from '../../../lib/service/file-types';

const unsupported = (words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof PrintingError);
  assert.equal(error.code, 'UNSUPPORTED_FILE_TYPE');
  assert.match(error.message, words);
  return true;
};

describe('service/file-types', () => {
  it('lists the rows of the interface, and .makerbot beyond it', () => {
    const rows = (types: typeof TOOLPATHS) =>
      types.map(({ extension, contentType, type }) => `${extension} ${contentType} ${type}`);
    assert.deepEqual(rows(TOOLPATHS), [
      '.gcode text/plain Toolpath',
      '.gcode.gz application/gzip Toolpath',
      '.ufp application/x-ufp Toolpath',
      '.makerbot application/x-makerbot Toolpath',
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
        unsupported(/is a model: slice it to G-code first \(only \.gcode, \.gcode\.gz, \.ufp and \.makerbot files/),
      );
  });

  it('names the export of plain G-code for a sliced project', () => {
    for (const name of ['a.gcode.3mf', 'a.GCODE.3MF'])
      assert.throws(() => toolpath(name), unsupported(/is a sliced project: export it as plain G-code instead/));
  });

  it('lists the allowed extensions', () => {
    for (const name of ['a.gz', 'a.txt', 'gcode', '.gcode', '.gcode.gz', '.ufp', 'a.gcode ', ''])
      assert.throws(
        () => toolpath(name),
        unsupported(
          /can't be printed: only \.gcode, \.gcode\.gz, \.ufp and \.makerbot files can, unless msg\.mediaType gives the type\.$/,
        ),
      );
    for (const name of ['a', 'a.zip', '.stl'])
      for (const kind of ['file', 'job'] as const)
        assert.throws(
          () => storedType(kind, name),
          (error: Error) =>
            unsupported(/"project file" accepts \.3mf, .* and \.txt files/)(error) &&
            unsupported(/"print job" accepts \.gcode, \.gcode\.gz, \.ufp and \.makerbot files/)(error),
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

  it('takes a given media type for any extension, known or not', () => {
    const mediaType = 'text/x-gcode';
    for (const [name, extension] of [
      ['part.XYZ', '.xyz'],
      ['part.gcode', '.gcode'],
      ['part.gcode.gz', '.gcode.gz'],
      ['part.tar.gz', '.gz'],
      ['part', ''],
      ['.gcode', ''],
    ] as const) {
      assert.deepEqual(toolpath(name, mediaType), { extension, contentType: mediaType });
      for (const kind of ['job', 'file'] as const)
        assert.deepEqual(storedType(kind, name, mediaType), { extension, contentType: mediaType });
      assert.equal(fileExtension(name), extension);
    }
  });

  it('names msg.mediaType as the cure for an extension that it does not know', () => {
    assert.throws(() => storedType('file', 'a.zip'), unsupported(/msg\.mediaType gives any other type/));
    assert.throws(() => storedType('job', 'a.zip'), unsupported(/msg\.mediaType gives any other type/));
  });

  it('reads a media type in lower case, and nothing else', () => {
    for (const blank of [undefined, null, '', '  ']) assert.equal(readMediaType(blank), undefined);
    assert.equal(readMediaType(' Text/X-GCode '), 'text/x-gcode');
    assert.equal(
      readMediaType('application/vnd.ms-package.3dmanufacturing-3dmodel+xml'),
      PROJECT_FILES[0]?.contentType,
    );
    const longest = `${'a'.repeat(127)}/${'b'.repeat(127)}`;
    assert.equal(readMediaType(longest), longest);
    for (const wrong of [
      ...['text', 'text/', '/plain', 'text/plain; charset=utf-8', 'text/plain/x', 'text /plain', 'te\nxt/plain', 'ä/b'],
      ...['.a/b', '*/*', `${longest}b`, 1, true, ['text/plain'], { type: 'text/plain' }],
    ])
      assert.throws(
        () => readMediaType(wrong),
        (error: unknown) => error instanceof PrintingError && error.code === 'INVALID_INPUT',
        String(wrong),
      );
  });

  it('accepts no other type than that of gzip for a compressed file', () => {
    for (const good of [undefined, 'application/gzip']) checkCompressedType(good);
    assert.throws(
      () => checkCompressedType('text/plain'),
      (error: unknown) => error instanceof PrintingError && error.code === 'INVALID_INPUT',
    );
  });
});
