import type { Http, HttpRequest } from '../http/http';
import { asPrintingError, PrintingError } from '../service/errors';
import { target, type Target } from '../service/paths';
import { isExpiredToken, readRetryAfter, refusalError } from '../service/refusals';
import { record } from '../service/wire';
import type { Credentials } from '../sign-in/credentials';
import { waitBefore } from '../time/backoff';
import { isoTime, sleep, type Clock } from '../time/clock';
import type { Answer, CallOptions, Service } from './service';
import type { AccountSettings } from './settings';

/** Reads get three repeats, within 30 s (contract 4, SERVICE_ERROR). */
const REPEATS = { first: 1_000, longest: 15_000, factor: 3, jitter: 0.2 };
const MOST_REPEATS = 3;
const REPEATS_WITHIN = 30_000;
/** How long a 429 may be waited for where the work has no limit of its own (contract 4, RATE_LIMITED). */
const PATIENCE = 60_000;
/** Where a 429 doesn't say how long (wire facts 1). */
const SLOW_DOWN = 30_000;

/** An answer as it came; `body` is undefined for what is no JSON. */
interface Received {
  status: number;
  body: unknown;
  empty: boolean;
  /** Milliseconds. */
  retryAfter: number | undefined;
}

export class SignedInService implements Service {
  readonly #settings: AccountSettings;
  readonly #http: Http;
  readonly #clock: Clock;
  readonly #credentials: Credentials;
  #requests = 0;
  #failures = 0;
  #lastAnswer: string | null = null;

  constructor(deps: { settings: AccountSettings; http: Http; clock: Clock; credentials: Credentials }) {
    this.#settings = deps.settings;
    this.#http = deps.http;
    this.#clock = deps.clock;
    this.#credentials = deps.credentials;
  }

  async call(...[endpoint, options]: Parameters<Service['call']>): Promise<Answer> {
    const to = target(endpoint, options.ids ?? {}, this.#settings.paths);
    const isRead = to.method === 'GET';
    const began = this.#clock.monotonic();
    for (let repeats = 0; ; repeats++) {
      try {
        return await this.#exchange(to, options);
      } catch (thrown) {
        const error = asPrintingError(thrown);
        const wait = this.#waitAfter(error, isRead, repeats, began, options.until);
        if (wait === null || options.signal?.aborted) throw error;
        await sleep(this.#clock, wait, options.signal);
      }
    }
  }

  counters() {
    return { requests: this.#requests, failures: this.#failures, lastAnswer: this.#lastAnswer };
  }

  /** How long to wait before trying again; null for never. */
  #waitAfter(error: PrintingError, isRead: boolean, repeats: number, began: number, until?: number): number | null {
    const now = this.#clock.monotonic();
    if (error.code === 'RATE_LIMITED') {
      const wait = error.retryAfter ?? SLOW_DOWN;
      return now + wait > (until ?? began + PATIENCE) ? null : wait;
    }
    const passes = error.code === 'NETWORK' || (error.code === 'SERVICE_ERROR' && error.fate !== 'refused');
    if (!isRead || !passes || repeats >= MOST_REPEATS) return null;
    const wait = Math.max(waitBefore(repeats, REPEATS), error.retryAfter ?? 0);
    return now + wait > Math.min(until ?? Infinity, began + REPEATS_WITHIN) ? null : wait;
  }

  /** One request; an expired token is renewed and the request repeated, once. */
  async #exchange(to: Target, options: CallOptions): Promise<Answer> {
    let bearer = await this.#credentials.bearer();
    let answer = await this.#send(to, options, bearer);
    if (isExpiredToken(answer.status, answer.body)) {
      bearer = await this.#credentials.renew(bearer);
      answer = await this.#send(to, options, bearer);
      if (isExpiredToken(answer.status, answer.body)) throw refusalError(401, answer.body, options.what);
    }
    // A fault of the service or of something on the way says nothing about the bearer.
    if (answer.status < 500) this.#credentials.taken(bearer);
    return this.#read(answer, options.what);
  }

  async #send(to: Target, { query, data, signal }: CallOptions, bearer: string): Promise<Received> {
    const host = to.host === 'auth' ? this.#settings.authUrl : this.#settings.apiUrl;
    if (!host)
      throw new PrintingError('NOT_CONFIGURED', 'The account has no account host: open the account and fill it in.');
    const request: HttpRequest = {
      method: to.method,
      url: `${host}${to.path}${query ? `?${new URLSearchParams(query).toString()}` : ''}`,
      headers: { authorization: `Bearer ${bearer}`, accept: 'application/json' },
      signal,
    };
    if (to.method === 'PUT' || to.method === 'POST') {
      request.body = JSON.stringify({ data: data ?? {} });
      request.headers = { ...request.headers, 'content-type': 'application/json' };
    }
    this.#requests++;
    const { status, headers, text } = await this.#http.text(request).catch((error: unknown) => {
      this.#failures++;
      throw error;
    });
    this.#lastAnswer = isoTime(this.#clock.now());
    return {
      status,
      body: parse(text),
      empty: text.trim() === '',
      retryAfter: readRetryAfter(headers['retry-after'], this.#clock.now()),
    };
  }

  #read({ status, body, empty, retryAfter }: Received, what: string): Answer {
    if (status < 200 || status > 299) {
      this.#failures++;
      throw refusalError(status, body, what, retryAfter);
    }
    if (empty) return { status, data: null, body: null };
    const envelope = record(body);
    if (!envelope && !Array.isArray(body)) {
      this.#failures++;
      throw new PrintingError('SERVICE_ERROR', `The service's answer about ${what} is not what the interface says.`, {
        statusCode: status,
        fate: 'lost',
      });
    }
    return { status, data: envelope && 'data' in envelope ? envelope.data : body, body };
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
