import { Readable } from 'node:stream';
import type { Http } from '../http/http';
import { PrintingError } from '../service/errors';
import { tap } from './hash';
import type { Content } from './source';

/** How one sending of the bytes ended. */
export type Transfer =
  | { end: 'taken' }
  /** The store said no: the address, the headers or the bytes are wrong. */
  | { end: 'refused'; status: number }
  /** Network or store failed; `complete` when all bytes had left, so that only the answer may be lost. */
  | { end: 'broken'; reason: string; status?: number; complete: boolean };

interface Address {
  url: string;
  contentType: string;
  origin: string | undefined;
}

/** Longest silence of the store, ms. The last megabytes may still be on a slow line when all of them are handed over. */
const QUIET = 120_000;

/**
 * Sends the bytes to the storage location (interface, Upload to the storage location; wire facts 4.2, traps 31 to 34):
 * unchunked, with the announced headers and no others. Throws what the content throws, and the signal's reason.
 */
export async function transfer(
  http: Http,
  content: Content,
  { url, contentType, origin }: Address,
  onSent: (chunk: Buffer) => void,
  signal: AbortSignal,
): Promise<Transfer> {
  let sent = 0;
  const chunks = tap(content.chunks(), (chunk) => {
    sent += chunk.length;
    onSent(chunk);
  });
  const body = Readable.from(chunks, { objectMode: false, highWaterMark: 1024 * 1024 });
  // A failure is heard from `send`; one after that must not end the process.
  body.on('error', () => undefined);
  try {
    const headers = {
      'content-type': contentType,
      'content-length': String(content.size),
      ...(origin ? { origin } : {}),
    };
    const answer = await http.send({ method: 'PUT', url, headers, body, signal, quiet: QUIET });
    // It holds nothing of use (errors are XML), but must be read for the connection to be free again.
    await answer.body.dump().catch(() => undefined);
    const { status } = answer;
    const complete = sent === content.size;
    if (status >= 500 || status === 408 || status === 429)
      return { end: 'broken', reason: `status ${status}`, status, complete };
    if (status < 200 || status > 299) return { end: 'refused', status };
    return complete ? { end: 'taken' } : { end: 'broken', reason: 'it was answered too early', complete };
  } catch (error) {
    if (!(error instanceof PrintingError) || error.code !== 'NETWORK') throw error;
    const reason = error.cause instanceof Error ? error.cause.message : 'network';
    return { end: 'broken', reason, complete: sent === content.size };
  } finally {
    body.destroy();
  }
}
