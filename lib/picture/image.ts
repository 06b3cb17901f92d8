import { download } from '../http/download';
import type { Http } from '../http/http';
import { PrintingError } from '../service/errors';
import { imageType } from './image-type';
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
  const parts: Buffer[] = [];
  let received = 0;
  onPercent(size === null ? null : 0);
  for await (const part of stream as AsyncIterable<Buffer>) {
    parts.push(part);
    received += part.length;
    if (size !== null) onPercent(Math.floor((100 * received) / size));
  }
  const bytes = Buffer.concat(parts);
  const type = imageType(bytes);
  if (type === null)
    throw new PrintingError('SERVICE_ERROR', phrase`What the storage sent is not a picture: try again later.`, {
      outcome: 'refused',
    });
  return { bytes, contentType: type };
}
