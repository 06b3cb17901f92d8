import assert from 'node:assert/strict';
import fc from 'fast-check';
import { fileName, extensionOf, imageType } from '../../../lib/picture/image';

const AT = '2030-01-02T03:04:05.678Z';

describe('picture/naming', () => {
  it('names a picture by printer and time', () => {
    assert.equal(fileName(['Workbench printer'], AT, 'image/jpeg'), 'Workbench-printer-2030-01-02T03-04-05-678Z.jpg');
    assert.equal(fileName(['Düse № 1 / links'], AT, 'image/png'), 'Duse-No-1-links-2030-01-02T03-04-05-678Z.png');
    assert.equal(fileName(['打印机', 'ab-12'], AT, 'image/png'), 'ab-12-2030-01-02T03-04-05-678Z.png');
    assert.equal(fileName([null, 'ab-12'], AT, 'image/png'), 'ab-12-2030-01-02T03-04-05-678Z.png');
    assert.equal(fileName([null, '..'], AT, 'image/png'), 'printer-2030-01-02T03-04-05-678Z.png');
  });

  it('makes short names of safe characters from any text', () => {
    fc.assert(
      fc.property(
        fc.array(fc.option(fc.string({ unit: 'binary', maxLength: 80 })), { maxLength: 3 }),
        fc.string({ unit: 'binary' }),
        (names, type) => {
          const name = fileName(names, AT, `image/${type}`);
          assert.match(name, /^[a-z\d_][\w-]*-2030-01-02T03-04-05-678Z\.[a-z\d]{1,11}$/i);
          assert.ok(name.length < 110);
        },
      ),
    );
  });

  for (const [type, extension] of [
    ['image/jpeg', 'jpg'],
    ['image/pjpeg', 'jpg'],
    ['image/png', 'png'],
    ['image/webp', 'webp'],
    ['image/svg+xml', 'svg'],
    ['image/x-portable-pixmap', 'portable'],
    ['image/', 'img'],
    ['text/html', 'img'],
  ] as const)
    it(`gives ${type} the extension ${extension}`, () => assert.equal(extensionOf(type), extension));

  for (const [type, hex] of [
    ['image/jpeg', 'ffd8ffe000104a464946'],
    ['image/png', '89504e470d0a1a0a0000'],
    ['image/gif', '474946383961'],
    ['image/gif', '474946383761'],
    ['image/bmp', '424d36000c000000000036000000'],
    ['image/webp', '524946460000000057454250'],
    ['image/avif', '000000206674797061766966'],
    ['image/heic', '000000206674797068656963'],
  ] as const)
    it(`recognizes ${type} by its bytes`, () => {
      const bytes = Buffer.from(hex, 'hex');
      assert.equal(imageType(bytes), type);
      assert.notEqual(imageType(bytes.subarray(0, 1)), type);
    });

  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  it('recognizes nothing else as an image', () => {
    for (const other of ['', '<!doctype html>', '{"data":1}', 'RIFF0000WAVE', 'BMW <script>', 'GIF8 <svg>', svg])
      assert.equal(imageType(Buffer.from(other)), null);
    assert.equal(imageType(Buffer.from('\n'.repeat(300) + svg)), null);
    assert.equal(imageType(Buffer.from(`\uFEFF${svg}`, 'utf16le')), null);
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void imageType(Buffer.from(bytes))));
  });
});
