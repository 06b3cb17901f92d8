import type { IncomingMessage } from 'node:http';
import type { Fault } from './faults';

/** Thrown to reset the connection without an answer. */
export class ResetConnection extends Error {}

/** Thrown to keep the connection open without an answer. */
export class HangConnection extends Error {}

/** Returns the body of a request, limited by a fault. */
export function receive(request: IncomingMessage, fault: Fault | undefined): AsyncIterable<Buffer> {
  const { resetAtByte, hangAtByte } = fault ?? {};
  if (resetAtByte !== undefined) return upTo(resetAtByte, request, ResetConnection);
  if (hangAtByte !== undefined) return upTo(hangAtByte, request, HangConnection);
  return request;
}

async function* upTo(end: number, request: IncomingMessage, What: new () => Error): AsyncGenerator<Buffer> {
  let left = end;
  // Keeps the connection open, so that the fault can reset it or leave it open.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) throw new What();
  }
}
