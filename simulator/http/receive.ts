import type { IncomingMessage } from 'node:http';
import type { Fault } from './faults';

/** Thrown to break the connection off without an answer. */
export class ResetConnection extends Error {}

/** Thrown to leave the connection open and never answer. */
export class HangConnection extends Error {}

/** The body of a request, as far as a fault lets it arrive. */
export function receive(request: IncomingMessage, fault: Fault | undefined): AsyncIterable<Buffer> {
  const { resetAtByte, hangAtByte } = fault ?? {};
  if (resetAtByte !== undefined) return upTo(resetAtByte, request, ResetConnection);
  if (hangAtByte !== undefined) return upTo(hangAtByte, request, HangConnection);
  return request;
}

async function* upTo(end: number, request: IncomingMessage, What: new () => Error): AsyncGenerator<Buffer> {
  let left = end;
  // The connection is to stay, so that it can be broken off, or kept, in the wanted way.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) throw new What();
  }
}
