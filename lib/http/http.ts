import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import type { Agent, Dispatcher } from 'undici';
import { withOutcome } from '../service/errors';
import { closed, type Deadline } from '../time/deadline';
import { flatten } from './flatten';
import { forbidden, guardedLookup } from './foreign-hosts';
import { networkError } from './network-error';
import { proxiesOf } from './proxies';
import { storageAddress } from './storage-address';
import { WholeText, type TextAnswer } from './whole-text';

export interface HttpRequest {
  method: string;
  url: string;
  headers?: Record<string, string>;
  /** A stream needs its exact `content-length` among the headers: it then goes out unchunked, and flat in memory. */
  body?: string | Uint8Array | Readable;
  signal?: AbortSignal | undefined;
  /** Longest silence before the answer's head and between its parts, ms. Default 30 s. */
  quiet?: number;
  /** An answer of the service named the address: it must be one that `storageAddress` allows, and lead to such a host. */
  foreign?: boolean;
}

export interface TextRequest extends Omit<HttpRequest, 'signal'> {
  body?: string;
  deadline?: Deadline | undefined;
  /** Called when a connection stands and the first byte is about to leave; what it throws keeps it from that. */
  fence?: (() => void) | undefined;
  /** The request can't be taken back: once it has left, `close` doesn't break it off (ADR 13). */
  lasting?: boolean | undefined;
}

export interface HttpAnswer {
  status: number;
  /** Lower-case names; a repeated header is joined by commas. */
  headers: Record<string, string>;
  /** The unread body: read it to its end, `dump()` it or destroy it, or its connection stays busy. */
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
 * Plain HTTP over undici: nothing is retried, no redirect is followed (so no header ever reaches another host).
 * Failures are PrintingErrors of code NETWORK, or the signal's own reason; their `outcome` says whether the request left.
 */
export class Http {
  /** The account's own hosts are on this machine: what the service names may be too. */
  readonly isLocal: boolean;
  readonly #given: Dispatcher | undefined;
  readonly #lookup: LookupFunction | undefined;
  #line: Transport | undefined;
  /** The connections of lasting requests. */
  #lastingLine: Transport | undefined;
  #lasting = 0;
  /** The connections to foreign hosts. */
  #foreign: Transport | undefined;
  #closed = false;

  /**
   * Without a dispatcher undici is loaded, and connections as the system wants them are made, with the first request.
   * `lookup`: what resolves the names of foreign hosts; default that of the system.
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

  /** The whole answer as text, within the limits of ANSWER. Give a deadline: an answer can trickle for ever. */
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

  /** Breaks off every request under way, except lasting ones: their connections end with them. Nothing new leaves. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#lasting === 0) return this.destroy();
    // Resolves with the last of the requests.
    this.#lastingLine?.dispatcher.close().catch(() => undefined);
    await Promise.all([this.#line?.dispatcher.destroy(), this.#foreign?.dispatcher.destroy()]);
  }

  /** Ends every connection; all requests under way are broken off. */
  async destroy(): Promise<void> {
    this.#closed = true;
    await Promise.all([
      (this.#line?.dispatcher ?? this.#given)?.destroy(),
      // A dispatcher that was given is destroyed once.
      this.#given ? undefined : this.#lastingLine?.dispatcher.destroy(),
      this.#foreign?.dispatcher.destroy(),
    ]);
  }

  #open(lasting = false): Transport {
    this.#throwIfClosed();
    if (lasting && !this.#given) return (this.#lastingLine ??= lineOver(undefined));
    return (this.#line ??= lineOver(this.#given));
  }

  #throwIfClosed(): void {
    if (this.#closed) throw withOutcome(closed(), 'not-sent');
  }

  /** Connections of their own: by those of the account names are resolved as they come. */
  #openForeign(): Transport {
    this.#throwIfClosed();
    if (this.#given) return this.#open();
    this.#foreign ??= lineOver(undefined, guardedLookup(this.isLocal, this.#lookup ?? systemLookup));
    return this.#foreign;
  }
}

/** What is known of one request. */
interface RequestState {
  /** Its first byte may have left. */
  begun: boolean;
  signal: AbortSignal | undefined;
}
const ATTEMPT = Symbol('attempt');

/** undici heeds an abort once a connection stands, and then sends nothing; who waits is not kept waiting for that. */
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
 * Notes when a connection stands and the request is about to be written to it. An object around undici's own: patched
 * with a function of its own each, those would be kept in memory far beyond their request (ADR 8).
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

type OverDispatcher = (this: Dispatcher, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>;

/** What makes connections, and the request over them. */
interface Transport {
  dispatcher: Dispatcher;
  /** The same, where the answer is read as a stream. */
  streaming: Dispatcher;
  request: Request;
}

/**
 * undici as a whole takes longer to load than the pack itself: what a request needs is taken from within it, and from the
 * whole where a later version keeps it elsewhere (ADR 7).
 */
function undici(): { Agent: typeof Agent; request: Request } {
  try {
    const Agent = require('undici/lib/dispatcher/agent.js') as typeof import('undici').Agent;
    const request = require('undici/lib/api/api-request.js') as OverDispatcher;
    return { Agent, request: (dispatcher, options) => request.call(dispatcher, options) };
  } catch {
    const { Agent } = require('undici') as typeof import('undici');
    return { Agent, request: (dispatcher, options) => dispatcher.request(options) };
  }
}

function lineOver(given: Dispatcher | undefined, lookup?: LookupFunction): Transport {
  const { Agent, request } = undici();
  const dispatcher = given ?? systemDispatcher(Agent, lookup);
  return { dispatcher, streaming: dispatcher.compose(markBegun), request };
}

/** Connections as Node-RED's own nodes make them: through HTTP_PROXY and its kin where the environment names one. */
function systemDispatcher(Direct: typeof Agent, lookup: LookupFunction | undefined): Dispatcher {
  const options = { connect: { timeout: CONNECT, ...(lookup && { lookup }) }, connections: 64 };
  const proxies = proxiesOf(process.env);
  if (!proxies) return new Direct(options);
  const { EnvHttpProxyAgent } = require('undici') as typeof import('undici');
  return new EnvHttpProxyAgent({ ...options, ...proxies });
}
