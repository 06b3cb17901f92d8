/** How image files begin: enough to tell what an answer without a type holds. */
const BEGINNINGS: [type: string, at: number, bytes: string][] = [
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/png', 0, '\x89PNG\r\n\x1a\n'],
  ['image/gif', 0, 'GIF8'],
  ['image/bmp', 0, 'BM'],
  ['image/webp', 8, 'WEBP'],
  ['image/avif', 4, 'ftypavif'],
  ['image/heic', 4, 'ftypheic'],
];

/** The type of an image by its bytes (the interface says of it no more than "image", wire facts 9); null for what is none. */
export function imageType(image: Buffer): string | null {
  const begins = ([, at, bytes]: (typeof BEGINNINGS)[number]) =>
    image.subarray(at, at + bytes.length).equals(Buffer.from(bytes, 'latin1'));
  return BEGINNINGS.find(begins)?.[0] ?? null;
}

/** Whether bytes begin as a page or a message does (HTML, XML, JSON), whatever they were said to be. */
export const isMarkup = (bytes: Buffer): boolean =>
  /^(\xef\xbb\xbf)?\s*[<{[]/.test(bytes.subarray(0, 256).toString('latin1'));

/** The extension that goes with an image type: `image/jpeg` is `jpg`, `image/x-thing+xml` is `thing`. */
export function extensionOf(contentType: string): string {
  const name = /^image\/(?:x-)?([a-z\d]{1,10})/.exec(contentType)?.[1] ?? 'img';
  return name === 'jpeg' || name === 'pjpeg' ? 'jpg' : name;
}
