import { Readable } from 'node:stream';
import type { Http, HttpAnswer } from '../http/http';
import { PrintingError } from '../service/errors';
import type { Deadline } from '../time/deadline';
import type { Content } from './content';
import { phrase, type Sentence } from '../words/sentence';

/** How one sending of the bytes ended. */
export type Transfer =
  | { end: 'taken' }
  /** The store said no: the address, the headers or the bytes are wrong. */
  | { end: 'refused'; status: number }
  /** Network or store failed; `complete` when all bytes had left, so that only the answer may be lost. */
  | { end: 'broken'; reason: string | Sentence; status?: number; complete: boolean };

export interface Address {
  url: string;
  contentType: string;
  origin: string | undefined;
}

/** Longest silence of the store, ms. The last megabytes may still be on a slow line when all of them are handed over. */
const QUIET = 120_000;
/** A store with a session says so to what isn't all of the file yet (wire facts 4.2). */
const GO_ON = 308;
/** A store that doesn't know the question won't learn it. */
const NOT_IMPLEMENTED = 501;

/**
 * Sends the bytes from `from` on to the storage location (interface, Upload to the storage location; wire facts 4.2,
 * traps 31 to 34): unchunked, with the announced headers and none but those. `onSent` is told of each chunk and of where
 * in the file it is. Throws what the content throws, and the deadline's reason.
 */
export async function transfer(
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
  // A failure is heard from `send`; one after that must not end the process.
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
    leaveBody(answer);
    const { status } = answer;
    const complete = at === size;
    if (mayPass(status)) return { end: 'broken', reason: `status ${status}`, status, complete };
    if (status === GO_ON && answer.headers.location === undefined)
      return { end: 'broken', reason: `status ${status}`, status, complete: false };
    if (status < 200 || status > 299) return { end: 'refused', status };
    return complete ? { end: 'taken' } : { end: 'broken', reason: phrase`it was answered too early`, complete };
  } catch (error) {
    if (!(error instanceof PrintingError) || error.code !== 'NETWORK') throw error;
    const reason = error.cause instanceof Error ? error.cause.message : 'network';
    return { end: 'broken', reason, complete: at === size };
  } finally {
    body.destroy();
  }
}

/**
 * Asks a store after a break how much of a file it has kept (wire facts 4.2), by an empty request that goes to the address
 * of the file. Null where it doesn't say: a store without sessions may take the empty request for the file itself and
 * answer 200, so that no answer but 308 means anything. Throws NETWORK and SERVICE_ERROR where the same question may get an
 * answer later.
 */
export async function askKept(http: Http, address: Address, size: number, deadline: Deadline): Promise<number | null> {
  const headers = { ...headersOf(address), 'content-length': '0', 'content-range': `bytes */${size}` };
  const answer = await http.send({ method: 'PUT', url: address.url, headers, signal: deadline.signal, foreign: true });
  leaveBody(answer);
  const { status } = answer;
  if (mayPass(status) && status !== NOT_IMPLEMENTED) {
    const sentence = phrase`The storage failed with status ${status} on the upload: try again later.`;
    throw new PrintingError('SERVICE_ERROR', sentence, { statusCode: status, outcome: 'unknown' });
  }
  const { range, location } = answer.headers;
  if (status !== GO_ON || location !== undefined) return null;
  if (range === undefined) return 0;
  const last = /^bytes=0-(\d+)$/.exec(range.trim())?.[1];
  return last === undefined ? null : Number(last) + 1;
}

const headersOf = ({ contentType, origin }: Address) => ({
  'content-type': contentType,
  ...(origin ? { origin } : {}),
});

const mayPass = (status: number): boolean => status >= 500 || status === 408 || status === 429;

/** The head of an answer says it all (errors are XML): its body is not waited for, it may trickle for ever. */
function leaveBody({ body }: HttpAnswer): void {
  body.on('error', () => undefined).destroy();
}
