import { Readable } from 'node:stream';
import type { Answer } from '../../http/server';
import type { PictureSwitch, Scene } from '../../world/state';
import { draw } from './draw';
import { png } from './png';

/** Answers with the drawn picture, modified by the switch. */
export async function pictureAnswer(scene: Scene, made: PictureSwitch = {}): Promise<Answer> {
  const { contentType = 'image/png', bytes = 0, chunked } = made;
  if (contentType.startsWith('text/html'))
    return { status: 200, headers: { 'content-type': contentType }, text: '<!doctype html><title>No picture</title>' };
  const file = await png(draw(scene));
  const size = Math.max(bytes, file.length);
  return {
    status: 200,
    headers: { 'content-type': contentType, ...(chunked ? {} : { 'content-length': String(size) }) },
    stream: Readable.from(filled(file, size), { objectMode: false }),
  };
}

/** Pads the file with zeros, which PNG readers ignore. */
function* filled(file: Buffer, size: number): Generator<Buffer> {
  yield file;
  const zeros = Buffer.alloc(64 * 1024);
  for (let left = size - file.length; left > 0; left -= zeros.length)
    yield zeros.subarray(0, Math.min(left, zeros.length));
}
