import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { changeBody, type Fault } from './faults';
import { JSON_TYPE } from './refusals';

/** An answer with one of `json`, `text` and `stream`, or without body. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  json?: unknown;
  text?: string;
  stream?: Readable;
}

/** Sends the answer, subject to a fault. */
export async function send(
  response: ServerResponse,
  answer: Answer,
  fault: Fault | undefined,
  closing: AbortSignal,
): Promise<void> {
  const headers: Record<string, string> = { 'cache-control': 'no-store', ...answer.headers };
  const body = replaced(answer, fault, headers) ?? answer.stream ?? bodyOf(answer, fault, headers);
  Object.assign(headers, fault?.headers);
  const head = (): ServerResponse => response.writeHead(answer.status, headers);
  if (fault?.cut) return cutOff(response, body, { cut: fault.cut, at: fault.cutAtByte, headers, head });
  // An answer without body can't trickle.
  if (fault?.trickle !== undefined && answer.status !== 204) {
    delete headers['content-length'];
    head();
    return trickle(response, body, fault.trickle, closing);
  }
  head();
  if (Buffer.isBuffer(body)) response.end(body);
  else await pipeline(body, response);
}

/** The body that a fault sends instead of the answer's; undefined for none. */
function replaced({ stream }: Answer, fault: Fault | undefined, headers: Record<string, string>): Buffer | undefined {
  if (fault?.content === undefined) return undefined;
  stream?.destroy();
  const body = Buffer.from(fault.content);
  headers['content-length'] = String(body.length);
  return body;
}

function bodyOf(answer: Answer, fault: Fault | undefined, headers: Record<string, string>): Buffer {
  let body = Buffer.from(answer.text ?? '');
  if (answer.json !== undefined) {
    headers['content-type'] ??= JSON_TYPE;
    body = Buffer.from(JSON.stringify(fault ? changeBody(answer.json, fault) : answer.json));
  }
  headers['content-length'] = String(body.length);
  return body;
}

interface Cut {
  cut: NonNullable<Fault['cut']>;
  /** Default: half of an answer of known size, else half a KiB. */
  at: number | undefined;
  headers: Record<string, string>;
  head: () => void;
}

async function cutOff(
  response: ServerResponse,
  body: Readable | Buffer,
  { cut, at, headers, head }: Cut,
): Promise<void> {
  const { 'content-length': length } = headers;
  const size = Number(length ?? Infinity);
  let left = Math.min(size, at ?? Math.floor(Number(length ?? 1024) / 2));
  // Makes the truncated answer look complete.
  if (cut === 'body' && length !== undefined) headers['content-length'] = String(left);
  head();
  response.flushHeaders();
  if (left > 0)
    for await (const chunk of chunksOf(body)) {
      await write(response, chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) break;
    }
  else if (!Buffer.isBuffer(body)) body.destroy();
  if (cut === 'body') response.end();
  if (cut !== 'connection') return;
  // Lets the sent bytes arrive before the connection breaks.
  await nextTurn();
  response.socket?.destroy();
}

/** Sends one byte at a time, then blanks, until the client disconnects. */
async function trickle(
  response: ServerResponse,
  body: Readable | Buffer,
  ms: number,
  closing: AbortSignal,
): Promise<void> {
  for await (const byte of bytesOf(body)) {
    if (response.destroyed) return;
    response.write(byte);
    await sleep(ms, undefined, { signal: closing, ref: false });
  }
}

async function* bytesOf(body: Readable | Buffer): AsyncGenerator<Buffer> {
  for await (const chunk of chunksOf(body)) for (const byte of chunk) yield Buffer.of(byte);
  for (;;) yield Buffer.from(' ');
}

const chunksOf = (body: Readable | Buffer): AsyncIterable<Buffer> =>
  Buffer.isBuffer(body) ? Readable.from([body]) : (body as AsyncIterable<Buffer>);

const write = (response: ServerResponse, chunk: Buffer): Promise<void> =>
  new Promise((resolve, reject) => response.write(chunk, (error) => (error ? reject(error) : resolve())));
