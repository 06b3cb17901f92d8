import assert from 'node:assert/strict';
import { deflateRawSync } from 'node:zlib';
import { factsOfContent } from '../../../lib/toolpath/read-facts';
import { modelHead } from '../../../lib/toolpath/ufp';
import { bytesContent, type Content } from '../../../lib/upload/content';
import { collectGarbage } from '../../helpers/collect-garbage';
import { ufp, zip, type ZipEntry } from '../../helpers/zip';

const MIB = 1024 * 1024;
const HEADER = ';START_OF_HEADER\n;TARGET_MACHINE.NAME:Model X\n;END_OF_HEADER\n';

const read = async (bytes: Buffer) => (await modelHead(bytesContent(bytes, 'part.ufp')))?.toString() ?? null;
const named = (name: string, bytes: string | Buffer = HEADER): ZipEntry => ({ name, bytes: Buffer.from(bytes) });

/** The content, and the number of bytes that were read of it. */
function counted(bytes: Buffer): { content: Content; count: () => number } {
  const content = bytesContent(bytes, 'part.ufp');
  let count = 0;
  const chunks = async function* (from?: number) {
    for await (const chunk of content.chunks(from)) {
      count += chunk.length;
      yield chunk;
    }
  };
  return { content: { ...content, chunks }, count: () => count };
}

describe('the toolpath in a UFP file', () => {
  for (const name of ['/3D/model.gcode', '3D/model.gcode', '//3D/model.gcode', '/3d/Model.gcode'])
    it(`is found as ${name}`, async () => {
      assert.equal(await read(zip([named('/Metadata/model.gcode', 'other'), named(name)])), HEADER);
    });

  it('is found whether it is compressed or not', async () => {
    assert.equal(await read(ufp(HEADER)), HEADER);
    assert.equal(await read(ufp(HEADER, { stored: true })), HEADER);
  });

  it('is found in a file with a comment', async () => {
    assert.equal(await read(zip([named('/3D/model.gcode')], 'x'.repeat(65_535))), HEADER);
  });

  it('is found beside an entry of 20 MiB, which it does not read', async () => {
    const large = { ...named('/Metadata/model.stl', Buffer.alloc(20 * MIB)), stored: true };
    for (const entries of [
      [named('/3D/model.gcode'), large],
      [large, named('/3D/model.gcode')],
    ]) {
      const { content, count } = counted(zip(entries));
      assert.equal((await modelHead(content))?.toString(), HEADER);
      assert.ok(count() <= 4 * MIB, `${count()} bytes`);
    }
  });

  for (const name of [
    '/../3D/model.gcode',
    'x/3D/model.gcode',
    '\\3D\\model.gcode',
    '/3D/model.gcode/',
    '/3D/',
    '',
    '/',
  ])
    it(`is not the entry ${name || 'without a name'}`, async () => {
      assert.equal(await read(zip([named(name)])), null);
    });

  it('is inflated up to 1 MiB only', async () => {
    const { content, count } = counted(ufp(Buffer.concat([Buffer.from(HEADER), Buffer.alloc(100 * MIB)])));
    collectGarbage();
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const sampling = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers - before)), 1);
    const head = await modelHead(content).finally(() => clearInterval(sampling));
    assert.equal(head?.length, MIB);
    assert.ok(head.toString().startsWith(HEADER));
    assert.ok(most < 20 * MIB, `${most} bytes`);
    assert.ok(count() < 3 * MIB, `${count()} bytes`);
  });

  it('is null if it inflates to nothing', async () => {
    // Empty blocks that are not the last one: 1 GiB of them would be as small.
    const blocks = Buffer.from([0, 0, 0, 0xff, 0xff]);
    const data = Buffer.concat(Array.from({ length: 500_000 }, () => blocks));
    const bytes = zip([{ ...named('/3D/model.gcode', data), stored: true }]);
    for (let at = bytes.indexOf('PK\x01\x02'); at >= 0; at = bytes.indexOf('PK\x01\x02', at + 1))
      bytes.writeUInt16LE(8, at + 10);
    assert.equal(await read(bytes), '');
    assert.equal(await factsOfContent(bytesContent(bytes, 'part.ufp')), null);
  });

  it('is null if it is encrypted', async () => {
    assert.equal(await read(ufp(HEADER, { encrypted: true })), null);
    assert.equal(await read(ufp(HEADER, { encrypted: true, stored: true })), null);
  });

  it('is null if it is compressed in another way', async () => {
    const bytes = ufp(HEADER);
    for (const at of [bytes.indexOf('PK\x01\x02'), bytes.lastIndexOf('/3D/model.gcode') - 46])
      bytes.writeUInt16LE(14, at + 10);
    assert.equal(await read(bytes), null);
  });

  for (const [what, stated] of [
    ['a compressed size beyond the end of the file', { compressed: 4_000_000_000 }],
    ['an offset beyond the end of the file', { offset: 4_000_000_000 }],
    ['the offset of another entry', { offset: 1 }],
  ] as const)
    it(`is null if the directory states ${what}`, async () => {
      assert.equal(await read(ufp(HEADER, { stated })), null);
    });

  it('is null if the directory states two sizes of stored bytes', async () => {
    assert.equal(await read(ufp(HEADER, { stored: true, stated: { uncompressed: 5 } })), null);
  });

  it('is what its bytes inflate to, whatever size the directory states', async () => {
    for (const uncompressed of [0, 5, 4_000_000_000])
      assert.equal(await read(ufp(HEADER, { stated: { uncompressed } })), HEADER);
    const part = await read(ufp(HEADER, { stated: { compressed: deflateRawSync(HEADER).length - 8 } }));
    assert.ok(part !== null && HEADER.startsWith(part));
  });

  it('is searched among 256 entries', async () => {
    const entries = (count: number) => Array.from({ length: count }, (_, number) => named(`/${number}`, 'x'));
    assert.equal(await read(zip([...entries(255), named('/3D/model.gcode')])), HEADER);
    assert.equal(await read(zip([...entries(256), named('/3D/model.gcode')])), null);
  });

  it('is null if the directory does not fit into the last 1 MiB', async () => {
    const names = Array.from({ length: 20 }, (_, number) => named(`/${'x'.repeat(60_000)}${number}`, 'x'));
    assert.equal(await read(zip([named('/3D/model.gcode'), ...names])), null);
  });

  for (const [what, bytes] of [
    ['an empty zip', zip([])],
    ['the end of a zip alone', ufp(HEADER).subarray(-22)],
    ['a zip without its end', ufp(HEADER).subarray(0, -22)],
    ['a zip of which the beginning is missing', ufp(HEADER).subarray(100)],
    ['no zip', Buffer.from('PK\x03\x04')],
  ] as const)
    it(`is null in ${what}`, async () => {
      assert.equal(await read(bytes), null);
    });
});
