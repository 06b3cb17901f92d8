import { Transform, type Readable } from 'node:stream';
import { PrintingError } from '../service/errors';
import { DECODED } from '../rules/limits';
import type { Http, HttpAnswer } from './http';
import { decodersOf, limitBetween } from './answers';
import { networkError } from './retry';
import { storageAddress } from './foreign-hosts';
import { phrase, type Sentence } from '../words/sentence';

export interface DownloadOptions {
  /** Name of the file for error sentences: `the picture`. */
  what: Sentence;
  /** Aborts the download, which then throws its reason, as does the stream. */
  signal?: AbortSignal | undefined;
  /** Most bytes; a larger file fails with TOO_LARGE. No limit by default. */
  maxBytes?: number | undefined;
  /** Expected media type, such as `image/*`. An answer of another type is refused; one without a type passes. */
  accept?: string | undefined;
}

interface Download {
  /** Lower case, without parameters; null if the answer has none. */
  contentType: string | null;
  /** Announced bytes; null if none are announced. */
  size: number | null;
  /** Read it to its end or destroy it. It fails with a PrintingError. */
  stream: Readable;
}

const MOST_REDIRECTS = 5;
/** Media types of a file that was stored without one. */
const NO_TYPE = ['application/octet-stream', 'binary/octet-stream'];

/**
 * Downloads from a signed address in an answer of the service (interface: image_url, download_url). Sends a plain GET
 * without a bearer (wire facts, trap 33) and asks for unencoded bytes (trap 34); decodes them if the storage encodes
 * them anyway. Throws SERVICE_ERROR for an address that `storageAddress` refuses, a status other than 2xx, or another
 * media type; TOO_LARGE; NETWORK. No sentence contains the address.
 */
export async function download(
  http: Http,
  url: unknown,
  { what, signal, maxBytes = Infinity, accept = '*/*' }: DownloadOptions,
): Promise<Download> {
  const { status, headers, body } = await get(http, url, { what, signal, accept });
  const decoders = decodersOf(headers['content-encoding']);
  const isPlain = decoders?.length === 0;
  const length = headers['content-length'] ?? '';
  const size = isPlain && /^\d+$/.test(length) ? Number(length) : null;
  const contentType = headers['content-type']?.split(';')[0]?.trim().toLowerCase() || null;
  const failure =
    status < 200 || status > 299
      ? refused(status, what)
      : !fits(contentType, accept)
        ? wrongKind(contentType, what)
        : size !== null && size > maxBytes
          ? tooLarge(maxBytes, what)
          : null;
  if (failure || decoders === null) {
    body.on('error', () => undefined).destroy();
    throw failure ?? wrongKind(headers['content-encoding'] ?? '', what);
  }
  // A few bytes can decode to more than any disk holds.
  const most = isPlain ? maxBytes : Math.min(maxBytes, DECODED);
  const stream = limited(most, what);
  body.on('error', (error) => stream.destroy(networkError(error, 'unknown', signal)));
  for (const decoder of decoders) decoder.on('error', () => stream.destroy(damaged(what)));
  limitBetween(decoders, most, () => stream.destroy(tooLarge(most, what)));
  // Once the body has arrived, an abort reaches only what decodes it.
  const abort = () => stream.destroy(networkError(signal?.reason, 'unknown', signal));
  signal?.addEventListener('abort', abort, { once: true });
  stream.on('close', () => {
    signal?.removeEventListener('abort', abort);
    [body, ...decoders].forEach((part) => part.destroy());
  });
  // The reader gets the error. Before there is one, the error must not end the process.
  stream.on('error', () => undefined);
  [...decoders, stream].reduce<Readable>((from, to) => from.pipe(to), body);
  return { contentType, size, stream };
}

async function get(
  http: Http,
  url: unknown,
  { what, signal, accept }: DownloadOptions & { accept: string },
): Promise<HttpAnswer> {
  let at = safeAddress(url, what, http.isLocal);
  const headers = { accept, 'accept-encoding': 'identity' };
  for (let redirects = 0; ; redirects++) {
    const answer = await http.send({ method: 'GET', url: at, headers, signal, foreign: true });
    const { location } = answer.headers;
    if (answer.status < 300 || answer.status > 399 || location === undefined || redirects === MOST_REDIRECTS)
      return answer;
    // Its body may trickle for ever.
    answer.body.on('error', () => undefined).destroy();
    at = safeAddress(URL.canParse(location, at) ? new URL(location, at).href : location, what, http.isLocal);
  }
}

function safeAddress(url: unknown, what: Sentence, isLocal: boolean): string {
  const address = storageAddress(url, isLocal);
  if (address !== null) return address;
  const sentence = phrase`The service gave no valid address for ${what}: try again.`;
  throw new PrintingError('SERVICE_ERROR', sentence, { outcome: 'refused' });
}

function fits(contentType: string | null, accept: string): boolean {
  if (accept === '*/*' || contentType === null || NO_TYPE.includes(contentType)) return true;
  return accept.endsWith('/*') ? contentType.startsWith(accept.slice(0, -1)) : contentType === accept;
}

function limited(maxBytes: number, what: Sentence): Transform {
  let size = 0;
  return new Transform({
    transform(part: Buffer, _encoding, done) {
      size += part.length;
      if (size > maxBytes) done(tooLarge(maxBytes, what));
      else done(null, part);
    },
  });
}

function refused(statusCode: number, what: Sentence): PrintingError {
  const passes = statusCode >= 500 || statusCode === 408 || statusCode === 429;
  const sentence = passes
    ? phrase`The storage failed with status ${statusCode} on ${what}: try again later.`
    : phrase`The storage refused ${what} with status ${statusCode}, its address may have expired: try again.`;
  return new PrintingError('SERVICE_ERROR', sentence, { statusCode, outcome: passes ? 'unknown' : 'refused' });
}

function wrongKind(contentType: string | null, what: Sentence): PrintingError {
  const sentence = phrase`The storage sent ${contentType?.slice(0, 60) ?? phrase`nothing`} instead of ${what}: try again later.`;
  return new PrintingError('SERVICE_ERROR', sentence, { outcome: 'refused' });
}

const damaged = (what: Sentence): PrintingError =>
  new PrintingError('SERVICE_ERROR', phrase`The storage sent ${what} in a damaged encoding: try again later.`, {
    outcome: 'unknown',
  });

const megabytes = (bytes: number) => (bytes / 2 ** 20).toLocaleString('en-US', { maximumFractionDigits: 1 });

const tooLarge = (maxBytes: number, what: Sentence): PrintingError =>
  new PrintingError(
    'TOO_LARGE',
    phrase`The size of ${what} exceeds the maximum size of ${megabytes(maxBytes)} MB: raise it in the node.`,
  );
