import { Readable } from 'node:stream';
import type { Http, HttpAnswer } from '../http/http';
import { PrintingError } from '../service/errors';
import type { Deadline } from '../time/deadline';
import type { Content } from './content';
import { phrase, type Sentence } from '../words/sentence';

/** End of one transfer of the bytes. */
export type Transfer =
  | { end: 'accepted' }
  /** The store refused: the URL, the headers or the bytes are wrong. */
  | { end: 'refused'; status: number }
  /** Network or store failed; `complete` if all bytes had been sent, so that only the answer may be missing. */
  | { end: 'broken'; reason: string | Sentence; status?: number; complete: boolean };

export interface Address {
  url: string;
  contentType: string;
  origin: string | undefined;
}

/**
 * Longest silence of the store, ms. A slow connection may still be sending the last megabytes after they were handed
 * over.
 */
const QUIET = 120_000;
/** Status of a store with a session for an incomplete file (wire facts 4.2). */
const RESUME_INCOMPLETE = 308;
/** Status of a store that doesn't support the query, now or later. */
const NOT_IMPLEMENTED = 501;

/**
 * Sends the bytes from `from` on to the storage location (interface, Upload to the storage location; wire facts 4.2,
 * traps 31 to 34): unchunked, with exactly the registered headers. Calls `onSent` with each chunk and its position in
 * the file. Throws the errors of the content, and the deadline's reason.
 */
export async function transmit(
  http: Http,
  content: Content,
  address: Address,
  { from, onSent, deadline }: { from: number; onSent: (chunk: Buffer, at: number) => void; deadline: Deadline },
): Promise<Transfer> {
  const { size } = content;
  let at = from;
  const body = Readable.from(
    (async function* () {
      for await (const chunk of content.chunks(from)) {
        onSent(chunk, at);
        at += chunk.length;
        yield chunk;
      }
    })(),
    { objectMode: false, highWaterMark: 1024 * 1024 },
  );
  // `send` reports a failure; a later one must not end the process.
  body.on('error', () => undefined);
  try {
    const range = from > 0 ? { 'content-range': `bytes ${from}-${size - 1}/${size}` } : {};
    const headers = { ...headersOf(address), 'content-length': String(size - from), ...range };
    const request = {
      method: 'PUT',
      url: address.url,
      headers,
      body,
      signal: deadline.signal,
      quiet: QUIET,
      foreign: true,
    };
    const answer = await http.send(request);
    discardBody(answer);
    const { status } = answer;
    const complete = at === size;
    if (mayPass(status)) return { end: 'broken', reason: `status ${status}`, status, complete };
    if (status === RESUME_INCOMPLETE && answer.headers.location === undefined)
      return { end: 'broken', reason: `status ${status}`, status, complete: false };
    if (status < 200 || status > 299) return { end: 'refused', status };
    return complete ? { end: 'accepted' } : { end: 'broken', reason: phrase`it was answered too early`, complete };
  } catch (error) {
    if (!(error instanceof PrintingError) || error.code !== 'NETWORK') throw error;
    const reason = error.cause instanceof Error ? error.cause.message : 'network';
    return { end: 'broken', reason, complete: at === size };
  } finally {
    body.destroy();
  }
}

/**
 * Queries a store after an interruption for the number of bytes that it has kept (wire facts 4.2), by an empty request
 * to the file's URL. Null if it doesn't say: a store without sessions may mistake the empty request for the file and
 * answer 200, so only 308 is meaningful. Throws NETWORK and SERVICE_ERROR if a later query may be answered.
 */
export async function askKept(http: Http, address: Address, size: number, deadline: Deadline): Promise<number | null> {
  const headers = { ...headersOf(address), 'content-length': '0', 'content-range': `bytes */${size}` };
  const answer = await http.send({ method: 'PUT', url: address.url, headers, signal: deadline.signal, foreign: true });
  discardBody(answer);
  const { status } = answer;
  if (mayPass(status) && status !== NOT_IMPLEMENTED) {
    const sentence = phrase`The storage failed with status ${status} on the upload: try again later.`;
    throw new PrintingError('SERVICE_ERROR', sentence, { statusCode: status, outcome: 'unknown' });
  }
  const { range, location } = answer.headers;
  if (status !== RESUME_INCOMPLETE || location !== undefined) return null;
  if (range === undefined) return 0;
  const last = /^bytes=0-(\d+)$/.exec(range.trim())?.[1];
  return last === undefined ? null : Number(last) + 1;
}

const headersOf = ({ contentType, origin }: Address) => ({
  'content-type': contentType,
  ...(origin ? { origin } : {}),
});

const mayPass = (status: number): boolean => status >= 500 || status === 408 || status === 429;

/** Discards the body: the head is sufficient (errors are XML), and the body may trickle forever. */
function discardBody({ body }: HttpAnswer): void {
  body.on('error', () => undefined).destroy();
}
