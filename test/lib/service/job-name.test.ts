import assert from 'node:assert/strict';
import fc from 'fast-check';
import { PrintingError, type ErrorCode } from '../../../lib/service/errors';
import { TOOLPATHS } from '../../../lib/service/file-types';
import { jobName } from '../../../lib/service/print-job';

const refuses = (given: Parameters<typeof jobName>, words: RegExp, code: ErrorCode = 'INVALID_INPUT') =>
  assert.throws(
    () => jobName(...given),
    (error: unknown) => {
      assert.ok(error instanceof PrintingError);
      assert.equal(error.code, code);
      assert.match(error.message, words);
      return true;
    },
  );

describe('service/job-name', () => {
  it('defaults to the file’s own name', () => {
    for (const wanted of [undefined, '', '  ']) assert.equal(jobName(wanted, 'Part 1.GCode', false), 'Part 1.GCode');
  });

  it('gets the extension of the file', () => {
    assert.equal(jobName('Order 17', 'part.gcode', false), 'Order 17.gcode');
    assert.equal(jobName('Order 17', 'part.gcode.gz', false), 'Order 17.gcode.gz');
    assert.equal(jobName('part v1.2', 'part.ufp', false), 'part v1.2.ufp');
    assert.equal(jobName('part.stl', 'part.gcode', false), 'part.stl.gcode');
  });

  it('keeps an extension that it has', () => {
    for (const { extension } of TOOLPATHS)
      assert.equal(jobName(`a${extension}`, `part${extension}`, false), `a${extension}`);
    assert.equal(jobName('A.UFP', 'part.ufp', true), 'A.UFP');
  });

  it('ends in .gcode.gz when the file is compressed', () => {
    assert.equal(jobName('', 'part.gcode', true), 'part.gcode.gz');
    assert.equal(jobName('a', 'part.gcode', true), 'a.gcode.gz');
    assert.equal(jobName('a.gcode', 'part.gcode', true), 'a.gcode.gz');
    assert.equal(jobName('a.gcode.gz', 'part.gcode', true), 'a.gcode.gz');
    assert.equal(jobName('', 'part.ufp', true), 'part.ufp');
  });

  it('is rejected if it contradicts the file', () => {
    refuses(['a.ufp', 'part.gcode', false], /"a\.ufp" ends in \.ufp but the file is sent as \.gcode/);
    refuses(['a.gcode', 'part.gcode.gz', false], /sent as \.gcode\.gz/);
    refuses(['a.gcode.gz', 'part.gcode', false], /sent as \.gcode:/);
    refuses(['a.ufp', 'part.gcode', true], /sent as \.gcode\.gz/);
  });

  it('is not checked for a file that is not a toolpath', () => {
    refuses(['a.gcode', 'part.stl', false], /slice it/, 'UNSUPPORTED_FILE_TYPE');
  });

  it('gets an extension that only a given media type explains', () => {
    const mediaType = 'text/x-gcode';
    assert.equal(jobName('', 'Part.NC', false, mediaType), 'Part.NC');
    assert.equal(jobName('Order 17', 'part.NC', false, mediaType), 'Order 17.nc');
    assert.equal(jobName('Order 17.nc', 'part.nc', false, mediaType), 'Order 17.nc');
    assert.equal(jobName('a.gcode', 'part', false, mediaType), 'a.gcode');
    assert.equal(jobName('a', 'part.gcode', true, 'application/gzip'), 'a.gcode.gz');
    for (const wanted of ['', 'Part', 'part.nc', 'part.NC.gz'])
      assert.match(jobName(wanted, 'Part.NC', true, 'application/gzip'), /^part\.nc\.gz$/i);
    assert.equal(jobName('', 'part.ufp', true, 'application/gzip'), 'part.ufp.gz');
    assert.equal(jobName('', 'part.tar.gz', true, 'application/gzip'), 'part.tar.gz');
    refuses(['a.ufp', 'part.nc', true, 'application/gzip'], /ends in \.ufp but the file is sent as \.nc\.gz/);
    refuses(['a.ufp', 'part.nc', false, mediaType], /sent as \.nc/);
    refuses(['', 'part', false, mediaType], /"part" has no extension/);
    refuses(['a:b', 'part.nc', false, mediaType], /contains one of/);
  });

  it('is rejected if the service would reject it', () => {
    refuses([' a', 'p.gcode', false], /starts with a space/);
    refuses(['..a', 'p.gcode', false], /two dots/);
    refuses(['a\nb', 'p.gcode', false], /control character/);
    for (const character of '\\/:*?"<>|') refuses([`a${character}b`, 'p.gcode', false], /contains one of/);
    for (const device of ['CON', 'prn', 'Aux', 'NUL', 'com1', 'LPT9', 'con.v2'])
      refuses([device, 'p.gcode', false], /device/);
    refuses(['', 'a:b.gcode', false], /set another job name/);
    for (const name of ['console', 'com', 'com10', 'null', '.a', 'a..b'])
      assert.equal(jobName(name, 'p.ufp', false), `${name}.ufp`);
  });

  it('has 3 to 255 characters, including its extension', () => {
    const of = (length: number) => 'ä'.repeat(length);
    assert.equal(jobName(of(249), 'p.gcode', false), `${of(249)}.gcode`);
    refuses([of(250), 'p.gcode', false], /has 256 characters and may have 3 to 255/);
    refuses([of(249), 'p.gcode', true], /has 258 characters/);
    assert.equal([...jobName('😀'.repeat(251), 'p.ufp', false)].length, 255);
  });

  it('always follows the rules and has the sent file’s extension', () => {
    const words = fc.string({
      unit: fc.oneof(
        fc.constantFrom(...' ./\\:*?"<>|\u0000', 'con', '.gcode', '.ufp', '.gz'),
        fc.string({ minLength: 1, maxLength: 1 }),
      ),
    });
    fc.assert(
      fc.property(words, fc.constantFrom(...TOOLPATHS), fc.boolean(), (wanted, { extension }, compress) => {
        let name;
        try {
          name = jobName(wanted, `part${extension}`, compress);
        } catch (error) {
          assert.ok(error instanceof PrintingError && error.code === 'INVALID_INPUT');
          assert.match(error.message, /^[^\n]+: [^\n]+\.$/, 'one sentence with a cure');
          return;
        }
        assert.ok(name.length >= 3 && name.length <= 255);
        assert.doesNotMatch(name, /[\\/:*?"<>|]|^\s|^\.\./);
        assert.ok(!name.includes('\0'));
        assert.ok(name.toLowerCase().endsWith(compress && extension === '.gcode' ? '.gcode.gz' : extension));
      }),
      { numRuns: 1000 },
    );
  });
});
