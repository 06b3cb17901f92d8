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
