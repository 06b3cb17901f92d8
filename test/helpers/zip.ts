import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  name: string;
  bytes: Buffer;
  /** Default: deflated. */
  stored?: boolean;
  encrypted?: boolean;
  /** Sizes that the directory states in place of the true ones. */
  stated?: { compressed?: number; uncompressed?: number; offset?: number };
}

/** A zip file, as UFP files are, with whatever names and sizes the entries state. */
export function zip(entries: readonly ZipEntry[], comment = ''): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes, stored = false, encrypted = false, stated = {} } of entries) {
    const data = stored ? bytes : deflateRawSync(bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(encrypted ? 1 : 0, 2);
    common.writeUInt16LE(stored ? 0 : 8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(stated.compressed ?? data.length, 14);
    common.writeUInt32LE(stated.uncompressed ?? bytes.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const file = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), data]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(stated.offset ?? offset, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, place, Buffer.from(name));
    files.push(file);
    offset += file.length;
  }
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(Buffer.concat(directory).length, 8);
  end.writeUInt32LE(offset, 12);
  end.writeUInt16LE(Buffer.byteLength(comment), 16);
  return Buffer.concat([...files, ...directory, Buffer.from('PK\x05\x06'), end, Buffer.from(comment)]);
}

/** A UFP file of a toolpath, with the names that Cura writes. */
export const ufp = (toolpath: string | Buffer, entry: Partial<ZipEntry> = {}): Buffer =>
  zip([
    { name: '/3D/_rels/model.gcode.rels', bytes: Buffer.from('<Relationships/>') },
    { name: '/3D/model.gcode', bytes: Buffer.from(toolpath), ...entry },
    { name: '/Metadata/thumbnail.png', bytes: Buffer.from('\x89PNG', 'latin1'), stored: true },
    { name: '/[Content_Types].xml', bytes: Buffer.from('<Types/>') },
  ]);
