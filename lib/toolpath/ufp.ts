import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl';
import { TOOLPATH } from '../rules/limits';
import type { Content } from '../upload/content';
import { bytesAt, inflateHead } from './bytes';

/** Without the slash that its name begins with, and in lower case, as case does not distinguish names there. */
const MODEL = '3d/model.gcode';

/** Zip libraries refuse names with a slash in front, unless they leave names undecoded. */
const ZIP_OPTIONS = { decodeStrings: false, autoClose: false };

/**
 * Head of the toolpath in a UFP file, which is a zip: at most TOOLPATH.bytes, only in memory. Null if there is none, if
 * it is encrypted, or if the zip is damaged. Throws the errors of `content.chunks`.
 */
export async function modelHead(content: Content): Promise<Buffer | null> {
  const tail = Math.max(0, content.size - TOOLPATH.bytes);
  const reader = new WindowReader(tail, await bytesAt(content, tail));
  const zip = await unlessDamaged(fromRandomAccessReaderPromise(reader, content.size, ZIP_OPTIONS));
  if (!zip) return null;
  const entry = await unlessDamaged(modelIn(zip));
  if (!entry?.canDecodeFileData()) return null;
  const at = entry.relativeOffsetOfLocalHeader;
  const bytes = await bytesAt(content, at);
  reader.move(at, bytes);
  const header = await unlessDamaged(zip.readLocalFileHeaderPromise(entry, { minimal: true }));
  if (!header) return null;
  const start = header.fileDataStart - at;
  const data = bytes.subarray(start, start + entry.compressedSize);
  return entry.compressionMethod === 0 ? data : inflateHead(data, 'deflate');
}

async function modelIn(zip: ZipFile): Promise<Entry | null> {
  let left = TOOLPATH.entries;
  for await (const entry of zip.eachEntry()) {
    if (entry.fileNameRaw.toString().replace(/^\/+/, '').toLowerCase() === MODEL) return entry;
    if (--left === 0) break;
  }
  return null;
}

const unlessDamaged = <T>(read: Promise<T>): Promise<T | null> => read.catch(() => null);

/** Shows yauzl the part of a file that is in memory. Anything else is an end of the file. */
class WindowReader extends RandomAccessReader {
  constructor(
    private start: number,
    private bytes: Buffer,
  ) {
    super();
  }

  move(start: number, bytes: Buffer): void {
    this.start = start;
    this.bytes = bytes;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    const from = position - this.start;
    const isHere = from >= 0 && from + length <= this.bytes.length;
    if (isHere) this.bytes.copy(buffer, offset, from, from + length);
    callback(isHere ? null : new Error('The bytes are not in memory.'));
  }
}
