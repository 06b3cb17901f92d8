import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { withOutcome } from '../service/errors';
import { closed, type Deadline } from '../time/deadline';
import { flatten } from './flatten';
import { forbidden, guardedLookup } from './foreign-hosts';
import { ignoringContinue } from './interim-answers';
import { networkError } from './network-error';
import { proxiesOf } from './proxies';
import { storageAddress } from './storage-address';
import { WholeText, type TextAnswer } from './whole-text';

export interface HttpRequest {
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
const CONNECT = 10_000;

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
  /** Connections for lasting requests. */
  #lastingTransport: Transport | undefined;
  #lasting = 0;
  /** Connections to foreign hosts. */
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
      const { streaming, request } = wanted.foreign ? this.#openForeign() : this.#open();
      const options = { ...optionsOf(wanted), signal: signal ?? null, [ATTEMPT]: attempt };
      const answer = await orAborted(request(streaming, options), attempt);
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
    const { deadline, fence, lasting } = wanted;
    const whole = new WholeText(deadline, () => {
      this.#throwIfClosed();
      fence?.();
    });
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

/** State of one request. */
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
  readonly #handler: Handler;
  readonly #attempt: RequestState;

  constructor(handler: Handler, attempt: RequestState) {
    this.#handler = handler;
    this.#attempt = attempt;
  }

  onRequestStart(...call: Parameters<NonNullable<Handler['onRequestStart']>>): void {
    this.#attempt.begun ||= !this.#attempt.signal?.aborted;
    this.#handler.onRequestStart?.(...call);
  }

  onRequestUpgrade(...call: Parameters<NonNullable<Handler['onRequestUpgrade']>>): void {
    this.#handler.onRequestUpgrade?.(...call);
  }

  onResponseStart(...call: Parameters<NonNullable<Handler['onResponseStart']>>): void {
    this.#handler.onResponseStart?.(...call);
  }

  onResponseData(...call: Parameters<NonNullable<Handler['onResponseData']>>): void {
    this.#handler.onResponseData?.(...call);
  }

  onResponseEnd(...call: Parameters<NonNullable<Handler['onResponseEnd']>>): void {
    this.#handler.onResponseEnd?.(...call);
  }

  onResponseError(...call: Parameters<NonNullable<Handler['onResponseError']>>): void {
    this.#handler.onResponseError?.(...call);
  }
}

type Request = (dispatcher: Dispatcher, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>;

type Undici = typeof import('undici');

type OverDispatcher = (this: Dispatcher, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>;

/** A dispatcher and the request function for it. */
interface Transport {
  dispatcher: Dispatcher;
  /** The same dispatcher, for answers that are read as a stream. */
  streaming: Dispatcher;
  request: Request;
}

/**
 * Loads four files of undici, because undici as a whole loads more slowly than the pack itself. They are private, so
 * package.json pins undici to the version that has them (ADR 17).
 */
function undici() {
  const Agent = require('undici/lib/dispatcher/agent.js') as Undici['Agent'];
  const Pool = require('undici/lib/dispatcher/pool.js') as Undici['Pool'];
  const buildConnector = require('undici/lib/core/connect.js') as Undici['buildConnector'];
  const request = require('undici/lib/api/api-request.js') as OverDispatcher;
  return {
    Agent,
    Pool,
    buildConnector,
    request: (dispatcher: Dispatcher, options: Dispatcher.RequestOptions) => request.call(dispatcher, options),
  };
}

function createTransport(given: Dispatcher | undefined, lookup?: LookupFunction): Transport {
  const { request } = undici();
  const dispatcher = given ?? systemDispatcher(lookup);
  return { dispatcher, streaming: dispatcher.compose(markBegun), request };
}

/** Creates connections like Node-RED's own nodes: through HTTP_PROXY and related variables if set. */
function systemDispatcher(lookup: LookupFunction | undefined): Dispatcher {
  const { Agent, Pool, buildConnector } = undici();
  const connect = buildConnector({ timeout: CONNECT, ...(lookup && { lookup }) });
  const options = {
    connect,
    connections: 64,
    // A tunnel through a proxy brings a `connect` of its own.
    factory: (origin: string | URL, given: { connect?: typeof connect }) =>
      new Pool(new URL(origin), { ...given, connect: ignoringContinue(given.connect ?? connect) }),
  };
  const proxies = proxiesOf(process.env);
  if (!proxies) return new Agent(options);
  const { EnvHttpProxyAgent } = require('undici') as Undici;
  return new EnvHttpProxyAgent({ ...options, ...proxies });
}
