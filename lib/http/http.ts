import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction, Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { buildConnector, Dispatcher } from 'undici';
import { isLoopback } from '../rules/addresses';
import { TEXT } from '../rules/limits';
import { withOutcome } from '../service/errors';
import { closed, type Deadline } from '../time/deadline';
import { forbidden, guardedLookup, storageAddress } from './foreign-hosts';
import { networkError } from './retry';
import { flatten, type TextAnswer, WholeText } from './whole-text';

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

interface Proxies {
  httpProxy?: string;
  httpsProxy?: string;
  noProxy: string;
}

/**
 * Proxies of an environment (`http_proxy`, `https_proxy`, `no_proxy`, in either case), or null. `proxy:3128` means
 * `http://proxy:3128`; an invalid or overlong address is ignored.
 */
export function proxiesOf(env: NodeJS.ProcessEnv): Proxies | null {
  const given = (name: string) => env[name] || env[name.toUpperCase()];
  const httpProxy = addressOf(given('http_proxy'));
  const httpsProxy = addressOf(given('https_proxy')) ?? httpProxy;
  if (!httpProxy && !httpsProxy) return null;
  const noProxy = given('no_proxy') ?? '';
  return { ...(httpProxy && { httpProxy }), ...(httpsProxy && { httpsProxy }), noProxy };
}

function addressOf(given: string | undefined): string | undefined {
  const text = given?.trim();
  if (!text || text.length > TEXT.setting) return undefined;
  const address = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  const user = url.username && `${url.username}${url.password && `:${url.password}`}@`;
  return `${url.protocol}//${user}${url.host}`;
}

interface HttpRequest {
  method: string;
  url: string;
  headers?: Record<string, string>;
  /** A stream needs its exact `content-length` header. It is then sent unchunked and with little memory. */
  body?: string | Uint8Array | Readable;
  signal?: AbortSignal | undefined;
  /** Longest silence before and within the answer, ms. Default 30 s. */
  quiet?: number;
  /**
   * The address comes from an answer of the service: `storageAddress` must allow it, and its host must resolve to an
   * allowed address.
   */
  foreign?: boolean;
}

export interface TextRequest extends Omit<HttpRequest, 'signal'> {
  body?: string;
  deadline?: Deadline | undefined;
  /** Most bytes of the answer. Default: ANSWER.bytes. */
  maxBytes?: number | undefined;
  /** Called when the connection is ready, right before the first byte. If it throws, the request isn't sent. */
  fence?: (() => void) | undefined;
  /** The request is irreversible: once it has left, `close` doesn't abort it (ADR 13). */
  lasting?: boolean | undefined;
}

export interface HttpAnswer {
  status: number;
  /** Lower-case names; a repeated header is joined by commas. */
  headers: Record<string, string>;
  /** The unread body. Read it to its end, `dump()` it or destroy it; otherwise its connection stays busy. */
  body: Dispatcher.ResponseData['body'];
}

const QUIET = 30_000;
/**
 * Time for a connection, and for each of several addresses, ms. Node.js gives an address 250 ms, so that a distant host
 * with one unreachable address would never be reached.
 */
const CONNECT = { timeout: 10_000, autoSelectFamilyAttemptTimeout: 2_500 };

function optionsOf({ method, url, headers, body, quiet = QUIET }: Omit<HttpRequest, 'signal'>) {
  const { origin, pathname, search } = new URL(url);
  return {
    origin,
    path: pathname + search,
    method,
    headers: headers ?? {},
    body: body ?? null,
    headersTimeout: quiet,
    bodyTimeout: quiet,
  };
}

/**
 * Plain HTTP over undici, without retries and redirects (so headers never reach another host). Failures are
 * PrintingErrors with code NETWORK, or the signal's own reason; their `outcome` says whether the request left.
 */
export class Http {
  /** The account's own hosts are on this machine, so addresses from the service may be too. */
  readonly isLocal: boolean;
  readonly #given: Dispatcher | undefined;
  readonly #lookup: LookupFunction | undefined;
  #transport: Transport | undefined;
  #lastingTransport: Transport | undefined;
  #lasting = 0;
  #foreign: Transport | undefined;
  #closed = false;

  /**
   * Without a dispatcher, the first request loads undici and creates connections with the system's settings. `lookup`
   * resolves the names of foreign hosts; default: the system's.
   */
  constructor(
    dispatcher?: Dispatcher,
    { isLocal = false, lookup }: { isLocal?: boolean; lookup?: LookupFunction } = {},
  ) {
    this.#given = dispatcher;
    this.isLocal = isLocal;
    this.#lookup = lookup;
  }

  async send(wanted: HttpRequest): Promise<HttpAnswer> {
    const { signal } = wanted;
    const attempt: RequestState = { begun: false, signal };
    try {
      signal?.throwIfAborted();
      if (wanted.foreign && storageAddress(wanted.url, this.isLocal) === null)
        throw forbidden(new URL(wanted.url).hostname);
      const { streaming } = wanted.foreign ? this.#openForeign() : this.#open();
      const options = { ...optionsOf(wanted), signal: signal ?? null, [ATTEMPT]: attempt };
      const answer = await orAborted(undici().request.call(streaming, options), attempt);
      return { status: answer.statusCode, headers: flatten(answer.headers), body: answer.body };
    } catch (error) {
      throw networkError(error, attempt.begun ? 'unknown' : 'not-sent', signal, wanted.url);
    }
  }

  /**
   * Resolves with the whole answer as text, within the limits of ANSWER. Pass a deadline: an answer can trickle in for
   * ever.
   */
  async text(wanted: TextRequest): Promise<TextAnswer> {
    const { deadline, maxBytes, fence, lasting } = wanted;
    const mayLeave = () => {
      this.#throwIfClosed();
      fence?.();
    };
    const whole = new WholeText(deadline, mayLeave, maxBytes);
    if (lasting) this.#lasting++;
    try {
      if (deadline?.aborted) throw deadline.reason;
      return await whole.request(this.#open(lasting).dispatcher, optionsOf(wanted));
    } catch (error) {
      throw networkError(error, whole.begun ? 'unknown' : 'not-sent', deadline, wanted.url);
    } finally {
      if (lasting) this.#lasting--;
    }
  }

  /** Aborts all requests except lasting ones; their connections close after them. No further request leaves. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#lasting === 0) return this.destroy();
    // Resolves with the last of these requests.
    this.#lastingTransport?.dispatcher.close().catch(() => undefined);
    await Promise.all([this.#transport?.dispatcher.destroy(), this.#foreign?.dispatcher.destroy()]);
  }

  /** Closes every connection and aborts all requests. */
  async destroy(): Promise<void> {
    this.#closed = true;
    await Promise.all([
      (this.#transport?.dispatcher ?? this.#given)?.destroy(),
      // The given dispatcher has been destroyed above.
      this.#given ? undefined : this.#lastingTransport?.dispatcher.destroy(),
      this.#foreign?.dispatcher.destroy(),
    ]);
  }

  #open(lasting = false): Transport {
    this.#throwIfClosed();
    if (lasting && !this.#given) return (this.#lastingTransport ??= createTransport(undefined));
    return (this.#transport ??= createTransport(this.#given));
  }

  #throwIfClosed(): void {
    if (this.#closed) throw withOutcome(closed(), 'not-sent');
  }

  /** Separate connections, because those to the account's hosts resolve names without a check. */
  #openForeign(): Transport {
    this.#throwIfClosed();
    if (this.#given) return this.#open();
    this.#foreign ??= createTransport(undefined, guardedLookup(this.isLocal, this.#lookup ?? systemLookup));
    return this.#foreign;
  }
}

interface RequestState {
  /** Whether its first byte may have left. */
  begun: boolean;
  signal: AbortSignal | undefined;
}
const ATTEMPT = Symbol('attempt');

/**
 * Rejects at once if the signal aborts before the request has begun. undici itself waits for the connection first, and
 * then sends nothing.
 */
function orAborted<T>(answer: Promise<T>, attempt: RequestState): Promise<T> {
  const { signal } = attempt;
  if (!signal) return answer;
  return new Promise((resolve, reject) => {
    const abort = () => {
      if (!attempt.begun) reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

const markBegun: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const attempt = (options as { [ATTEMPT]?: RequestState })[ATTEMPT];
  return dispatch(options, attempt ? new Begun(handler, attempt) : handler);
};

type Handler = Dispatcher.DispatchHandler;

/**
 * Marks when the connection is ready and the request is about to be written. It wraps undici's handler in an object:
 * patching each handler with its own function would keep them in memory far beyond their request (ADR 15).
 */
class Begun implements Handler {
  constructor(
    private readonly handler: Handler,
    private readonly attempt: RequestState,
  ) {}

  onRequestStart(...call: Parameters<NonNullable<Handler['onRequestStart']>>): void {
    this.attempt.begun ||= !this.attempt.signal?.aborted;
    this.handler.onRequestStart?.(...call);
  }

  onRequestUpgrade(...call: Parameters<NonNullable<Handler['onRequestUpgrade']>>): void {
    this.handler.onRequestUpgrade?.(...call);
  }

  onResponseStart(...call: Parameters<NonNullable<Handler['onResponseStart']>>): void {
    this.handler.onResponseStart?.(...call);
  }

  onResponseData(...call: Parameters<NonNullable<Handler['onResponseData']>>): void {
    this.handler.onResponseData?.(...call);
  }

  onResponseEnd(...call: Parameters<NonNullable<Handler['onResponseEnd']>>): void {
    this.handler.onResponseEnd?.(...call);
  }

  onResponseError(...call: Parameters<NonNullable<Handler['onResponseError']>>): void {
    this.handler.onResponseError?.(...call);
  }
}

type Undici = typeof import('undici');

type Request = (this: Dispatcher, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>;

interface Transport {
  dispatcher: Dispatcher;
  /** The same dispatcher, for answers that are read as a stream. */
  streaming: Dispatcher;
}

/**
 * Loads four files of undici, because undici as a whole loads more slowly than the pack itself. They are private, so
 * package.json pins undici to the version that has them (ADR 17).
 */
function undici() {
  return {
    Agent: require('undici/lib/dispatcher/agent.js') as Undici['Agent'],
    Pool: require('undici/lib/dispatcher/pool.js') as Undici['Pool'],
    buildConnector: require('undici/lib/core/connect.js') as Undici['buildConnector'],
    request: require('undici/lib/api/api-request.js') as Request,
  };
}

function createTransport(given: Dispatcher | undefined, lookup?: LookupFunction): Transport {
  const dispatcher = given ?? systemDispatcher(lookup);
  return { dispatcher, streaming: dispatcher.compose(markBegun) };
}

/** Creates connections like Node-RED's own nodes: through HTTP_PROXY and related variables if set. */
function systemDispatcher(lookup: LookupFunction | undefined): Dispatcher {
  const { Agent, Pool, buildConnector } = undici();
  const connect = buildConnector({ ...CONNECT, ...(lookup && { lookup }) });
  const options = {
    connect,
    connections: 64,
    // A tunnel through a proxy brings a `connect` of its own.
    factory: (origin: string | URL, given: { connect?: typeof connect }) =>
      new Pool(new URL(origin), { ...given, connect: ignoringContinue(given.connect ?? connect) }),
  };
  const proxies = proxiesOf(process.env);
  const direct = new Agent(options);
  if (!proxies) return direct;
  const { EnvHttpProxyAgent } = require('undici') as Undici;
  return besides(direct, new EnvHttpProxyAgent({ ...options, ...proxies, proxyTls: CONNECT, requestTls: CONNECT }));
}

/** Reaches this machine directly: no proxy reaches a server that listens on it only, such as the simulator. */
function besides(direct: Dispatcher, proxied: Dispatcher): Dispatcher {
  const { Dispatcher } = require('undici') as Undici;
  const both = new Dispatcher();
  return Object.assign(both, {
    dispatch: (...[options, handler]: Parameters<Dispatcher['dispatch']>) =>
      (isLoopback(String(options.origin)) ? direct : proxied).dispatch(options, handler),
    close: () => Promise.all([direct.close(), proxied.close()]).then(() => undefined),
    destroy: () => Promise.all([direct.destroy(), proxied.destroy()]).then(() => undefined),
  });
}
