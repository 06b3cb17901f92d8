import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { changeBody, type Fault, type Faults } from './faults';
import { JSON_TYPE, Refusal, refusalBody, refusalOf, type ErrorStyle } from './refusals';
import type { RequestLog } from './request-log';

/** A request as a route sees it. */
export interface Call {
  request: IncomingMessage;
  query: URLSearchParams;
  /** What stands in the path parameters of the path, percent signs decoded. */
  params: Record<string, string>;
  /** A fault wants the connection to break when so many bytes of the body have arrived. */
  resetAtByte: number | undefined;
}

/** One of `json`, `text` and `stream`, or none for an answer without body. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  json?: unknown;
  text?: string;
  stream?: Readable;
}

export interface Route {
  /** Its name in the fault API and the request log. */
  endpoint: string;
  method: string;
  /** `/connect/v1/clusters/{cluster_id}` */
  path: string;
  /** Default: the one of the origin. */
  errors?: ErrorStyle;
  handle(call: Call): Answer | Promise<Answer>;
}

export interface OriginOptions {
  name: string;
  host: string;
  port: number;
  errors: ErrorStyle;
  routes: Route[];
  /** Without them, nothing goes wrong here and nothing is noted: the control host. */
  wire?: { faults: Faults; log: RequestLog };
  now: () => number;
  /** Awaited before each answer: what it tells must be on disk. */
  saved: () => Promise<void>;
}

export interface Origin {
  url: string;
  close(): Promise<void>;
}

/** Thrown by a route to break the connection off without an answer. */
export class BreakOff extends Error {}

/** One listener, that is one host of the service. */
export async function startOrigin(options: OriginOptions): Promise<Origin> {
  const closing = new AbortController();
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    // A connection that breaks is the client's affair: the answer is lost, nothing more.
    response.on('error', () => undefined);
    serve(options, closing.signal, request, response).catch(() => response.destroy());
  });
  // Big uploads may take long; and a client that keeps connections open must not race against ours closing them.
  server.requestTimeout = 0;
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await listen(server, options.port, options.host);
  // A connection that can't be taken (too many open files, say) must not end the process.
  server.on('error', () => undefined);
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        closing.abort();
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function serve(
  options: OriginOptions,
  closing: AbortSignal,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const method = request.method ?? '';
  const url = parseUrl(request.url);
  const path = url?.pathname ?? '';
  const { route, params, allowed } = findRoute(options.routes, method, path);
  const endpoint = route?.endpoint ?? 'unknown';
  const style = route?.errors ?? options.errors;
  const log = (status: number): void =>
    options.wire?.log.add({ origin: options.name, endpoint, method, path, status, at: options.now() });
  const breakOff = (): void => {
    log(0);
    request.socket.resetAndDestroy();
  };

  const fault = route === undefined ? undefined : options.wire?.faults.take(endpoint, path);
  if (fault?.delay !== undefined) await sleep(fault.delay, undefined, { signal: closing, ref: false });
  if (fault?.hang) {
    log(0);
    request.resume();
    return;
  }
  const strikesFirst = fault !== undefined && fault.when !== 'after';
  if (strikesFirst && fault.reset) return breakOff();

  let answer: Answer;
  try {
    const planned = strikesFirst ? faultAnswer(fault, style) : undefined;
    if (planned) answer = planned;
    else if (route) {
      const resetAtByte = fault?.resetAtByte;
      answer = await route.handle({ request, query: url?.searchParams ?? new URLSearchParams(), params, resetAtByte });
    } else answer = refused(noSuchRoute(allowed), style);
  } catch (error) {
    if (error instanceof BreakOff || (request.destroyed && !request.complete)) return breakOff();
    answer = refused(error instanceof Refusal ? error : unexpected(error), style);
  }
  await options.saved();

  if (fault?.when === 'after') {
    const instead = faultAnswer(fault, style);
    if (fault.reset || instead) answer.stream?.destroy();
    if (fault.reset) return breakOff();
    answer = instead ?? answer;
  }
  log(answer.status);
  // Whatever of the body was not asked for is read and dropped, so that the client gets to see the answer.
  request.resume();
  await send(response, answer, fault);
}

function parseUrl(target: string | undefined): URL | undefined {
  if (!target?.startsWith('/')) return undefined;
  // A string in front, not a base: `//host/` must stay a path.
  return URL.canParse(`http://origin${target}`) ? new URL(`http://origin${target}`) : undefined;
}

function findRoute(
  routes: Route[],
  method: string,
  path: string,
): { route?: Route; params: Record<string, string>; allowed: string[] } {
  const allowed: string[] = [];
  for (const route of routes) {
    const params = matchPath(route.path, path);
    if (!params) continue;
    if (route.method === method) return { route, params, allowed };
    allowed.push(route.method);
  }
  return { params: {}, allowed };
}

function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index]!;
    if (!part.startsWith('{')) {
      if (part !== value) return undefined;
      continue;
    }
    if (value === '') return undefined;
    try {
      params[part.slice(1, -1)] = decodeURIComponent(value);
    } catch {
      return undefined;
    }
  }
  return params;
}

function noSuchRoute(allowed: string[]): Refusal {
  if (allowed.length === 0) return refusalOf(404);
  return new Refusal(405, 'methodNotAllowed', 'This path has no such method.', {
    headers: { allow: allowed.join(', ') },
  });
}

/** A fault of the simulator itself must show in a test, not hide behind a plain 500. */
function unexpected(error: unknown): Refusal {
  return refusalOf(500, undefined, `Simulator: ${error instanceof Error ? error.message : String(error)}`);
}

function refused(refusal: Refusal, style: ErrorStyle): Answer {
  const { type, body } = refusalBody(refusal, style);
  return { status: refusal.status, headers: { 'content-type': type, ...refusal.headers }, text: body };
}

function faultAnswer(fault: Fault, style: ErrorStyle): Answer | undefined {
  if (fault.status === undefined && !fault.html) return undefined;
  const refusal = refusalOf(fault.status ?? 502, fault.code, fault.detail);
  if (fault.retryAfter !== undefined) refusal.headers['retry-after'] = String(fault.retryAfter);
  return refused(refusal, fault.html ? 'html' : style);
}

async function send(response: ServerResponse, answer: Answer, fault: Fault | undefined): Promise<void> {
  const headers: Record<string, string> = { 'cache-control': 'no-store', ...answer.headers };
  if (answer.stream) {
    const stream = fault?.cut ? cutOff(answer.stream, headers, fault.cut) : answer.stream;
    response.writeHead(answer.status, headers);
    await pipeline(stream, response);
    return;
  }
  let body = Buffer.from(answer.text ?? '');
  if (answer.json !== undefined) {
    headers['content-type'] ??= JSON_TYPE;
    body = Buffer.from(JSON.stringify(fault ? changeBody(answer.json, fault) : answer.json));
  }
  const half = body.subarray(0, Math.floor(body.length / 2));
  if (fault?.cut === 'body') body = half;
  response.writeHead(answer.status, { ...headers, 'content-length': String(body.length) });
  if (fault?.cut !== 'connection') {
    response.end(body);
    return;
  }
  response.write(half, () => response.socket?.destroy());
}

/** Half of a download whose size is known, else its first half KiB. */
function cutOff(stream: Readable, headers: Record<string, string>, cut: 'body' | 'connection'): Readable {
  const half = Math.floor(Number(headers['content-length'] ?? 1024) / 2);
  // The end is to look like one.
  if (cut === 'body' && headers['content-length'] !== undefined) headers['content-length'] = String(half);
  async function* firstHalf(): AsyncGenerator<Buffer> {
    let left = half;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      yield chunk.subarray(0, left);
      left -= chunk.length;
      if (left <= 0) break;
    }
    if (cut === 'body') return;
    // What was sent is to arrive before the connection breaks.
    await nextTurn();
    throw new BreakOff();
  }
  return Readable.from(firstHalf(), { objectMode: false });
}
