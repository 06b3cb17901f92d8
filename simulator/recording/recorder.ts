import { createHash, randomUUID } from 'node:crypto';
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Transform, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { Handler } from '../http/listener';
import { startOrigins } from './origins';
import { isLoopback } from '../options';
import { RecordingFile, type Content, type Exchange, type HostName } from './recording-file';
import { Substitutes, type Alias } from './substitutes';

export interface RecorderOptions {
  file: string;
  /** Addresses of the service's account host and of its API. */
  upstream: { auth: string; api: string };
  /** Port of the control host; account, API and storage use the next three. Default 0: any free ports. */
  port?: number;
  host?: string;
  now?: () => number;
  /** Largest file, bytes. Default 100 MB. */
  most?: number;
}

export interface Recorder {
  authUrl: string;
  apiUrl: string;
  storageUrl: string;
  controlUrl: string;
  /** Replaced values so far: kind and number of different ones. */
  readonly replaced: [kind: string, count: number][];
  readonly isFull: boolean;
  /** Breaks what is under way and closes the listeners; the file isn't there yet. */
  stop(): Promise<void>;
  /** Writes the file. */
  write(): Promise<void>;
  /** Removes what was recorded. */
  drop(): Promise<void>;
}

/** Largest JSON that is read; a larger answer passes unchanged and counts as a file. */
const READ = 32 * 1024 * 1024;
/** Signed addresses that are remembered. */
const ADDRESSES = 20_000;
/** Headers of one connection; the others pass. */
const OF_CONNECTION = /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|expect)$/;
/** Headers of an answer that say what it is, and what stays of them. */
const TELLING: Record<string, RegExp> = {
  'content-type': /^[a-z]+\/[a-z0-9.+-]+(?=$|;)/i,
  'retry-after': /^(?:\d{1,9}|[A-Z][a-z]{2}, [\w :]{20,24})$/,
  range: /^bytes=[\d-]+$/,
  'content-range': /^bytes [\d*/-]+$/,
};

/** Passes requests on to the real service, and records them without what identifies anybody. */
export async function startRecorder(options: RecorderOptions): Promise<Recorder> {
  const { host = '127.0.0.1', port = 0, now = Date.now } = options;
  if (!isLoopback(host)) throw new TypeError('The recorder listens on loopback addresses only.');
  const upstream = { auth: base(options.upstream.auth), api: base(options.upstream.api) };
  const addresses = new StorageAddresses();
  const urls = { auth: '', api: '', storage: '', control: '' };
  const alias = (address: string): Alias | undefined =>
    belowOf(upstream.api, 'api', address) ?? belowOf(upstream.auth, 'auth', address) ?? addresses.alias(address);
  const substitutes = new Substitutes(alias);
  const file = await RecordingFile.create(options.file, options.most);

  /** The address that a client is given in place of one of the service. */
  const own = (address: string): string => {
    if (!/^https?:/i.test(address) || !URL.canParse(address)) return address;
    const below = belowOf(upstream.api, 'api', address) ?? belowOf(upstream.auth, 'auth', address);
    return below ? urls[below.host] + below.path : urls.storage + addresses.give(address);
  };

  /** JSON without what identifies anybody; `undefined` if it is nested too deep. */
  const replacedIn = (json: unknown): unknown => {
    try {
      const made = substitutes.json(json);
      JSON.stringify(made);
      return made;
    } catch {
      return undefined;
    }
  };

  /** Passes one request on; records it when its answer is complete. */
  const pass = async (
    name: HostName,
    target: string,
    request: IncomingMessage,
    response: ServerResponse,
    closing: AbortSignal,
  ): Promise<void> => {
    file.begin(now());
    const method = request.method ?? 'GET';
    const path = name === 'storage' ? addresses.pathOf(target) : substitutes.path(request.url ?? '/');
    const sent = new Passing(wantsJson(request.headers['content-type']) && name !== 'storage');
    const add = (answer: Pick<Exchange, 'status'> & Partial<Exchange>): void => {
      if (!closing.aborted) file.add({ at: file.begin(now()), host: name, method, path, ...sentOf(sent), ...answer });
    };
    const sentOf = (body: Passing): Partial<Exchange> => {
      const json = body.json();
      if (json !== undefined) return { sent: { json: replacedIn(json) } };
      if (name !== 'storage' || body.size === 0) return {};
      substitutes.count('files', body.content.sha256);
      return { sent: { file: body.content } };
    };

    let answer: IncomingMessage;
    try {
      answer = await ask(target, { request, response, sent, closing });
    } catch {
      // A client that gave up says nothing about the service.
      if (!request.socket.destroyed) add({ status: 0 });
      request.socket.resetAndDestroy();
      return;
    }
    const headers = passed(answer.headers);
    const location = addressIn(answer.headers.location, target);
    if (location !== undefined) headers.location = own(location);
    const status = answer.statusCode ?? 502;
    const told = tellingHeaders(answer.headers);
    if (location !== undefined) told.location = String(substitutes.json(location));
    const got = new Passing(wantsJson(answer.headers['content-type']) && name !== 'storage');
    try {
      if (got.keeps) {
        const whole = await got.all(answer, headers['content-encoding']);
        const json = whole === undefined ? undefined : replacedIn(whole);
        const text = json === undefined ? undefined : JSON.stringify(withOwn(whole, own));
        if (text !== undefined) {
          delete headers['content-encoding'];
          headers['content-length'] = Buffer.byteLength(text);
          add({ status, headers: told, json });
          response.writeHead(status, headers).end(method === 'HEAD' ? undefined : text);
          return;
        }
        if (!got.isCut) {
          response.writeHead(status, headers).end(got.bytes);
        } else {
          response.writeHead(status, headers);
          response.write(got.bytes);
          await pipeline(answer, got.measure(), response);
        }
      } else {
        response.writeHead(status, headers);
        await pipeline(answer, got.measure(), response);
      }
      const { size } = got;
      const isPicture = String(headers['content-type']).startsWith('image/');
      if (size > 0) substitutes.count(isPicture ? 'pictures' : 'files', got.content.sha256);
      if (isPicture) add({ status, headers: told, picture: true });
      else add({ status, headers: told, ...(size > 0 ? { file: got.content } : {}) });
    } catch {
      if (!request.socket.destroyed || !answer.complete) add({ status: 0 });
      response.destroy();
    }
  };

  const handlers: Record<HostName | 'control', Handler> = {
    auth: async (request, response, closing) => {
      const target = upstream.auth + (request.url ?? '/');
      // Nothing of the sign-in passes.
      if (/^\/authorize(?:[/?]|$)/.test(request.url ?? '')) {
        request.resume();
        response.writeHead(302, { location: target, 'cache-control': 'no-store' }).end();
      } else await pass('auth', target, request, response, closing);
    },
    api: (request, response, closing) => pass('api', upstream.api + (request.url ?? '/'), request, response, closing),
    storage: async (request, response, closing) => {
      const target = addresses.of(request.url ?? '');
      if (target !== undefined) return pass('storage', target, request, response, closing);
      request.resume();
      response.writeHead(404).end();
    },
    control: async (request, response) => {
      request.resume();
      const text = JSON.stringify({
        recording: true,
        full: file.isFull,
        replaced: Object.fromEntries(substitutes.counts),
      });
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    },
  };
  const { stop } = await startOrigins({ host, port }, handlers, urls).catch(async (error: unknown) => {
    await file.drop();
    throw error;
  });
  return {
    authUrl: urls.auth,
    apiUrl: urls.api,
    storageUrl: urls.storage,
    controlUrl: urls.control,
    get replaced() {
      return substitutes.counts;
    },
    get isFull() {
      return file.isFull;
    },
    stop,
    write: () => file.finish(),
    drop: () => file.drop(),
  };
}

/** Throws a sentence about an address that is none. */
function base(address: string): string {
  if (!/^https?:\/\//.test(address) || !URL.canParse(address) || new URL(address).username !== '')
    throw new TypeError(`--upstream can't have ${address}: it must be an address such as https://example.com.`);
  return address.replace(/\/+$/, '');
}

function belowOf(origin: string, host: 'auth' | 'api', address: string): Alias | undefined {
  if (!address.startsWith(origin)) return undefined;
  const path = address.slice(origin.length);
  return path === '' || /^[/?]/.test(path) ? { host, path } : undefined;
}

/**
 * Addresses of the storage, under paths of the recorder. Addresses that differ in their query alone have one number, as
 * a signature is another each time.
 */
class StorageAddresses {
  readonly #numbers = new Map<string, number>();
  readonly #given = new Map<string, string>();
  readonly #names = new Map<string, string>();

  alias(address: string): Alias | undefined {
    return URL.canParse(address) ? { host: 'storage', path: this.pathOf(address) } : undefined;
  }

  /** Path in the recording. */
  pathOf(address: string): string {
    const { origin, pathname } = new URL(address);
    const place = origin + pathname;
    const number = this.#numbers.get(place) ?? this.#numbers.size + 1;
    this.#numbers.set(place, number);
    return `/${number}`;
  }

  /** Path for the client; leads back to this very address. */
  give(address: string): string {
    const known = this.#names.get(address);
    if (known !== undefined) return known;
    const path = `${this.pathOf(address)}/${randomUUID()}`;
    this.#names.set(address, path);
    this.#given.set(path, address);
    if (this.#given.size > ADDRESSES) {
      const [[oldest, of]] = this.#given as unknown as [[string, string]];
      this.#given.delete(oldest);
      this.#names.delete(of);
    }
    return path;
  }

  of(path: string): string | undefined {
    return this.#given.get(path);
  }
}

/** Replaces the addresses in an answer by those of the recorder. */
function withOwn(value: unknown, own: (address: string) => string, field = ''): unknown {
  if (typeof value === 'string') return /url|link|href|^(?:first|last|next|prev)$/i.test(field) ? own(value) : value;
  if (Array.isArray(value)) return value.map((entry) => withOwn(entry, own, field));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, withOwn(entry, own, name)]));
}

function tellingHeaders(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(TELLING).flatMap(([name, form]) => {
      const [told] = form.exec(String(headers[name] ?? '')) ?? [];
      return told === undefined ? [] : [[name, told]];
    }),
  );
}

const addressIn = (location: string | undefined, target: string): string | undefined =>
  location !== undefined && URL.canParse(location, target) ? new URL(location, target).href : undefined;

const wantsJson = (type: string | undefined): boolean => /^application\/(?:[\w.-]+\+)?json\b/i.test(type ?? '');

function passed(headers: IncomingMessage['headers']): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.test(name)));
}

interface Asked {
  request: IncomingMessage;
  response: ServerResponse;
  sent: Passing;
  closing: AbortSignal;
}

/** Sends the request on as it arrives; resolves with the head of the answer. */
function ask(target: string, { request, response, sent, closing }: Asked): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { ...passed(request.headers), 'accept-encoding': 'identity' };
    const { method = 'GET' } = request;
    const to = target.startsWith('https:') ? httpsRequest : httpRequest;
    const outgoing = to(target, { method, headers, signal: closing }, resolve);
    outgoing.on('error', reject);
    response.once('close', () => {
      if (!response.writableFinished) outgoing.destroy();
    });
    pipeline(request, sent.measure(), outgoing).catch(reject);
  });
}

/** A body on its way: measured, and kept if it is JSON of a moderate size. */
class Passing {
  size = 0;
  /** Whether the body is larger than what is kept. */
  isCut = false;
  readonly #hash = createHash('sha256');
  #content: Content | undefined;
  #parts: Buffer[] = [];

  constructor(readonly keeps: boolean) {}

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  get content(): Content {
    return (this.#content ??= { size: this.size, sha256: this.#hash.digest('hex') });
  }

  /** A stream that measures what passes. */
  measure(): Transform {
    return new Transform({
      transform: (part: Buffer, _encoding, done) => {
        this.#take(part);
        done(null, part);
      },
    });
  }

  /** Reads the whole body; `undefined` if it is no JSON, or too large (then the rest is unread). */
  async all(body: Readable, encoding: unknown): Promise<unknown> {
    for await (const part of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      this.#take(part);
      if (this.isCut) return undefined;
    }
    return this.json(encoding);
  }

  json(encoding?: unknown): unknown {
    if (!this.keeps || this.isCut || this.size === 0) return undefined;
    try {
      return JSON.parse(unpacked(this.bytes, encoding).toString('utf8'));
    } catch {
      return undefined;
    }
  }

  #take(part: Buffer): void {
    this.size += part.length;
    this.#hash.update(part);
    if (!this.keeps || this.isCut) return;
    this.#parts.push(part);
    if (this.size > READ) this.isCut = true;
  }
}

function unpacked(bytes: Buffer, encoding: unknown): Buffer {
  const limit = { maxOutputLength: READ };
  if (encoding === 'gzip') return gunzipSync(bytes, limit);
  if (encoding === 'deflate') return inflateSync(bytes, limit);
  if (encoding === 'br') return brotliDecompressSync(bytes, limit);
  return bytes;
}
