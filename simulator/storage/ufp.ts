import { open, type FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';

const inflate = promisify(inflateRaw) as (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const TOOLPATH = '/3D/model.gcode';
/** Length of the record at the end of a zip, and of the longest comment after it. */
const [END, COMMENT] = [22, 65_535];
/** Largest directory and largest compressed toolpath to read, bytes, and largest inflated toolpath. */
const [READ_UP_TO, INFLATED_UP_TO] = [64 * 1024 * 1024, 256 * 1024 * 1024];

/**
 * Reads the toolpath of a UFP file, a zip whose entry names are those of an OPC package, with a slash in front.
 * `undefined` for any other file.
 */
export async function ufpToolpath(path: string): Promise<Buffer | undefined> {
  const file = await open(path);
  try {
    return await toolpathIn(file, (await file.stat()).size);
  } catch (error) {
    if (error instanceof RangeError || isZlibError(error)) return undefined;
    throw error;
  } finally {
    await file.close();
  }
}

async function toolpathIn(file: FileHandle, size: number): Promise<Buffer | undefined> {
  const tail = await bytesOf(file, Math.max(0, size - END - COMMENT), Math.min(size, END + COMMENT));
  const end = tail.lastIndexOf('PK\x05\x06');
  if (end < 0) return undefined;
  const [length, start] = [tail.readUInt32LE(end + 12), tail.readUInt32LE(end + 16)];
  const directory = await bytesOf(file, start, length);
  for (let at = 0; at < directory.length;) {
    if (directory.readUInt32LE(at) !== 0x02014b50) return undefined;
    const [name, extra, comment] = [28, 30, 32].map((field) => directory.readUInt16LE(at + field)) as [
      number,
      number,
      number,
    ];
    if (directory.toString('utf8', at + 46, at + 46 + name) === TOOLPATH) return entryOf(file, directory.subarray(at));
    at += 46 + name + extra + comment;
  }
  return undefined;
}

async function entryOf(file: FileHandle, entry: Buffer): Promise<Buffer | undefined> {
  const [flags, method] = [entry.readUInt16LE(8), entry.readUInt16LE(10)];
  const [packed, full, offset] = [entry.readUInt32LE(20), entry.readUInt32LE(24), entry.readUInt32LE(42)];
  if (flags & 1 || (method !== 0 && method !== 8)) return undefined;
  const head = await bytesOf(file, offset, 30);
  if (head.readUInt32LE(0) !== 0x04034b50) return undefined;
  const data = await bytesOf(file, offset + 30 + head.readUInt16LE(26) + head.readUInt16LE(28), packed);
  const bytes = method === 0 ? data : await inflate(data, { maxOutputLength: INFLATED_UP_TO });
  return bytes.length === full ? bytes : undefined;
}

/** Throws RangeError if the file lacks some of the bytes, or if they are too many. */
async function bytesOf(file: FileHandle, from: number, length: number): Promise<Buffer> {
  if (length > READ_UP_TO) throw new RangeError('too many bytes');
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, from);
  if (bytesRead < length) throw new RangeError('beyond the end');
  return bytes;
}

const isZlibError = (error: unknown): boolean => String((error as { code?: string }).code).startsWith('Z_');
