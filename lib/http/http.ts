import type { Readable } from 'node:stream';
import type { Agent, Dispatcher } from 'undici';
import { PrintingError, withOutcome } from '../service/errors';
import { closed } from '../time/deadline';
import { networkError } from './network-error';
import { proxiesOf } from './proxies';

export interface HttpRequest {
  method: string;
  url: string;
  headers?: Record<string, string>;
  /** A stream needs its exact `content-length` among the headers: it then goes out unchunked, and flat in memory. */
  body?: string | Uint8Array | Readable;
  signal?: AbortSignal | undefined;
  /** Longest silence before the answer's head and between its parts, ms. Default 30 s. */
  quiet?: number;
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
/** No JSON answer of the service comes near this; what is longer is not read into memory. */
const LONGEST_TEXT = 64 * 1024 * 1024;

/**
 * Plain HTTP over undici: nothing is retried, no redirect is followed (so no header ever reaches another host).
 * Failures are PrintingErrors of code NETWORK, or the signal's own reason; their `outcome` says whether the request left.
 */
export class Http {
  readonly #given: Dispatcher | undefined;
  #line: Line | undefined;
  #closed = false;

  /** Without a dispatcher undici is loaded, and connections as the system wants them are made, with the first request. */
  constructor(dispatcher?: Dispatcher) {
    this.#given = dispatcher;
  }

  async send({ method, url, headers, body, signal, quiet = QUIET }: HttpRequest): Promise<HttpAnswer> {
    const attempt: Attempt = { begun: false, signal };
    try {
      signal?.throwIfAborted();
      const { dispatcher, request } = this.#open();
      const { origin, pathname, search } = new URL(url);
      const options = {
        origin,
        path: pathname + search,
        method,
        headers: headers ?? {},
        body: body ?? null,
        signal: signal ?? null,
        headersTimeout: quiet,
        bodyTimeout: quiet,
        [ATTEMPT]: attempt,
      };
      const answer = await orAborted(request(dispatcher, options), attempt);
      return { status: answer.statusCode, headers: flatten(answer.headers), body: answer.body };
    } catch (error) {
      throw networkError(error, attempt.begun ? 'unknown' : 'not-sent', signal);
    }
  }

  /** The whole answer as text, at most 64 MiB. Give a signal that limits it in time: an answer can trickle for ever. */
  async text(wanted: HttpRequest): Promise<{ status: number; headers: Record<string, string>; text: string }> {
    const { status, headers, body } = await this.send(wanted);
    const parts: Buffer[] = [];
    let size = 0;
    try {
      if (Number(headers['content-length']) <= LONGEST_TEXT) return { status, headers, text: await body.text() };
      for await (const part of body as AsyncIterable<Buffer>) {
        size += part.length;
        if (size > LONGEST_TEXT)
          throw new PrintingError('SERVICE_ERROR', 'The service sent an answer far too long.', { outcome: 'unknown' });
        parts.push(part);
      }
    } catch (error) {
      // The head has arrived, so the request was carried out; only what it says is lost.
      throw networkError(error, 'unknown', wanted.signal);
    }
    return { status, headers, text: Buffer.concat(parts).toString('utf8') };
  }

  /** Ends every connection; requests under way are broken off. */
  async close(): Promise<void> {
    this.#closed = true;
    await (this.#line?.dispatcher ?? this.#given)?.destroy();
  }

  #open(): Line {
    if (this.#closed) throw withOutcome(closed(), 'not-sent');
    this.#line ??= lineOver(this.#given);
    return this.#line;
  }
}

/** What is known of one request. */
interface Attempt {
  /** Its first byte may have left. */
  begun: boolean;
  signal: AbortSignal | undefined;
}
const ATTEMPT = Symbol('attempt');

/** undici heeds an abort once a connection stands, and then sends nothing; who waits is not kept waiting for that. */
function orAborted<T>(answer: Promise<T>, attempt: Attempt): Promise<T> {
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
  const attempt = (options as { [ATTEMPT]?: Attempt })[ATTEMPT];
  return dispatch(options, attempt ? new Begun(handler, attempt) : handler);
};

type Handler = Dispatcher.DispatchHandler;

/**
 * Notes when a connection stands and the request is about to be written to it. An object around undici's own: patched
 * with a function of its own each, those would be kept in memory far beyond their request (ADR 8).
 */
class Begun implements Handler {
  readonly #handler: Handler;
  readonly #attempt: Attempt;

  constructor(handler: Handler, attempt: Attempt) {
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
interface Line {
  dispatcher: Dispatcher;
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

function lineOver(given: Dispatcher | undefined): Line {
  const { Agent, request } = undici();
  const dispatcher = given ?? systemDispatcher(Agent);
  return { dispatcher: dispatcher.compose(markBegun), request };
}

/** Connections as Node-RED's own nodes make them: through HTTP_PROXY and its kin where the environment names one. */
function systemDispatcher(Direct: typeof Agent): Dispatcher {
  const options = { connect: { timeout: CONNECT }, connections: 64 };
  const proxies = proxiesOf(process.env);
  if (!proxies) return new Direct(options);
  const { EnvHttpProxyAgent } = require('undici') as typeof import('undici');
  return new EnvHttpProxyAgent({ ...options, ...proxies });
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as const],
  );
  return Object.fromEntries(entries);
}
