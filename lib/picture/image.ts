import { download } from '../http/download';
import { GatheredBytes } from '../http/gathered-bytes';
import type { Http } from '../http/http';
import { TEXT } from '../rules/limits';
import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

export interface Image {
  bytes: Buffer;
  /** Such as `image/jpeg`. */
  contentType: string;
}

interface ImageOptions {
  signal: AbortSignal;
  /** Bytes. */
  maxBytes: number;
  /** Called with the percentage so far; null if the answer doesn't report its size. */
  onPercent: (percent: number | null) => void;
}

const WHAT = phrase`the picture`;

/** Downloads a whole image. Throws the errors of a download, and SERVICE_ERROR for other content. */
export async function fetchImage(
  http: Http,
  url: unknown,
  { signal, maxBytes, onPercent }: ImageOptions,
): Promise<Image> {
  const { size, stream } = await download(http, url, { what: WHAT, signal, maxBytes, accept: 'image/*' });
  const received = new GatheredBytes(size);
  onPercent(size === null ? null : 0);
  for await (const part of stream as AsyncIterable<Buffer>) {
    received.add(part);
    if (size !== null) onPercent(Math.floor((100 * received.length) / size));
  }
  const bytes = await received.all();
  const type = imageType(bytes);
  if (type === null)
    throw new PrintingError('SERVICE_ERROR', phrase`What the storage sent is not a picture: try again later.`, {
      outcome: 'refused',
    });
  return { bytes, contentType: type };
}

/** Signatures of the pixel image types; `.` stands for any byte. */
const BEGINNINGS: [type: string, bytes: string][] = [
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
  ['image/bmp', 'BM....\0\0\0\0...\0'],
  ['image/webp', 'RIFF....WEBP'],
  ['image/avif', '\0\0\0.ftypavif'],
  ['image/heic', '\0\0\0.ftypheic'],
];

/**
 * The type of a picture by its bytes alone; null for anything else. The interface only says "image" (wire facts 9), and
 * a header is not reliable: an SVG is a document that may hold scripts, so it is rejected.
 */
export function imageType(image: Buffer): string | null {
  const first = image.toString('latin1', 0, 16);
  const begins = ([, bytes]: (typeof BEGINNINGS)[number]) =>
    first.length >= bytes.length && [...bytes].every((byte, at) => byte === '.' || byte === first[at]);
  return BEGINNINGS.find(begins)?.[0] ?? null;
}

/** The file extension of an image type: `image/jpeg` is `jpg`, `image/x-thing+xml` is `thing`. */
export function extensionOf(contentType: string): string {
  const name = /^image\/(?:x-)?([a-z\d]{1,10})/.exec(contentType)?.[1] ?? 'img';
  return name === 'jpeg' || name === 'pjpeg' ? 'jpg' : name;
}

const LONGEST = 60;

/**
 * Builds `<printer>-<time>.<ext>` (reference 3.5) from letters, digits, `-` and `_`, which every file system, mail and
 * header accepts. Uses the first of `names` that is not empty after the removal of other characters. `takenAt` is ISO
 * 8601.
 */
export function fileName(names: (string | null)[], takenAt: string, contentType: string): string {
  const printer = names.map(plain).find((name) => name !== '') ?? 'printer';
  return `${printer}-${takenAt.replace(/[:.]/g, '-')}.${extensionOf(contentType)}`;
}

const plain = (name: string | null): string =>
  (name ?? '')
    .slice(0, TEXT.matched)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z\d_]+/gi, '-')
    .slice(0, LONGEST)
    .replace(/^-+|-+$/g, '');
