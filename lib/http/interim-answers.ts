import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

type Connect = buildConnector.connector;

const CONTINUE = 'HTTP/1.1 100';
/** Position of the status, and its first digit. */
const DIGIT = CONTINUE.indexOf('100');
const ONE = 0x31;
const END = '\r\n\r\n';
/** Longest head of an interim answer, bytes; undici refuses longer heads, too. */
const MOST = 16_384;

/**
 * Removes `100 Continue` from before an answer. No request asks for it, but some servers and proxies send it, and HTTP
 * lets them (RFC 9110, 15.2). undici ignores every other 1xx; at this one it closes the connection.
 */
export const ignoringContinue =
  (connect: Connect): Connect =>
  (options, callback) =>
    connect(options, (...result) => {
      if (result[1]) ignoreContinue(result[1]);
      callback(...result);
    });

/** Filters what the socket reads between the head of a request and the head of its answer. */
function ignoreContinue(socket: Socket): void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  const write = socket.write.bind(socket) as (...call: unknown[]) => boolean;
  /** Bytes that may be part of an interim answer; undefined within an answer. */
  let held: Buffer | undefined;
  socket.write = (...call: unknown[]) => {
    // undici writes the head of a request as a string, and its body as bytes.
    if (typeof call[0] === 'string') held = Buffer.alloc(0);
    return write(...call);
  };
  socket.read = (size?: number) => {
    // Node.js itself reads 0 bytes to fill the buffer of the socket.
    if (size !== undefined) return read(size);
    while (held) {
      const part = read();
      if (part === null) return null;
      // Without a copy: nearly every answer has arrived whole, and has no interim answer before it.
      const bytes = withoutContinue(held.length > 0 ? Buffer.concat([held, part]) : part);
      held = isInterim(bytes) && bytes.length <= MOST ? bytes : undefined;
      if (!held) return bytes;
    }
    return read();
  };
}

/** Whether the bytes begin an interim answer, as far as they have arrived. The first digit of a status rules out most. */
const isInterim = (bytes: Buffer): boolean =>
  (bytes[DIGIT] ?? ONE) === ONE && CONTINUE.startsWith(bytes.toString('latin1', 0, CONTINUE.length));

/** Removes the complete interim answers from the start of the bytes. */
function withoutContinue(bytes: Buffer): Buffer {
  let rest = bytes;
  for (let end = 0; end >= 0 && isInterim(rest);) {
    end = rest.indexOf(END);
    if (end >= 0) rest = rest.subarray(end + END.length);
  }
  return rest;
}
