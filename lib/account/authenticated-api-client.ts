import type { Http, TextRequest } from '../http/http';
import type { AnswerSize } from '../http/whole-text';
import { ONCE, READS, retry } from '../http/retry';
import { STATUS_BYTES } from '../rules/limits';
import { isExpiredToken, isSuccess, PrintingError, readRetryAfter, refusalError } from '../service/errors';
import { type EndpointName, isRecordOf, target, type Target } from '../service/paths';
import { type Json, record } from '../service/json-readers';
import type { Credentials } from '../sign-in/credentials';
import { isoTime, type Clock } from '../time/clock';
import type { Answer, Sender, SendOptions, SentAnswer, ApiClient } from './api-client';
import type { AccountSettings } from './settings';
import { phrase, type Sentence } from '../words/sentence';

/** Longest answer, however slowly it trickles, ms; downloads are exempt. */
const LONGEST_ANSWER = 60_000;

/** Refreshes in one call: another runtime may have saved the first new token so late that it has expired. */
const MOST_REFRESHES = 2;

/** A received answer; `body` is undefined if it is not JSON. */
interface Received {
  status: number;
  headers: Record<string, string>;
  /** Empty if there is a body. */
  text: string;
  body: unknown;
  size: AnswerSize;
  /** Milliseconds. */
  retryAfter: number | undefined;
  /** The token of the request, which the answer may repeat. */
  bearer: string;
}

/** Receives each request that has ended; `status` null without an answer, `ms`: its duration. */
interface RequestMeter {
  requestEnded(status: number | null, ms: number): void;
}

interface ApiClientDeps {
  settings: AccountSettings;
  http: Http;
  clock: Clock;
  credentials: Credentials;
  meter?: RequestMeter | undefined;
}

export class AuthenticatedApiClient implements ApiClient, Sender {
  readonly #deps: ApiClientDeps;
  #requests = 0;
  #failures = 0;
  /** ms since 1970. */
  #lastAnswer: number | null = null;

  constructor(deps: ApiClientDeps) {
    this.#deps = deps;
  }

  async call(...[endpoint, options]: Parameters<ApiClient['call']>): Promise<Answer> {
    const { method, host, path } = target(endpoint, options.ids ?? {}, this.#deps.settings.paths);
    const { query, data, what, deadline, underWay, lock } = options;
    const to = { method, host, path: query ? `${path}?${new URLSearchParams(query).toString()}` : path };
    const body = method === 'PUT' || method === 'POST' ? JSON.stringify({ data: data ?? {} }) : undefined;
    const maxBytes = endpoint === 'clusterStatus' ? STATUS_BYTES : undefined;
    const sent = { body, what, deadline, underWay, lock, maxBytes };
    return this.#withRetries(to, sent, (received) => this.#readJson(received, what, { endpoint, host }));
  }

  async send(...[to, options]: Parameters<Sender['send']>): Promise<SentAnswer> {
    return this.#withRetries(to, options, ({ status, headers, text, body }) => {
      if (body !== undefined) return { status, headers, data: hasData(body) ? body.data : body, body };
      if (text.trim() === '') return { status, headers, data: null, body: null };
      // An answer that is declared as JSON but can't be parsed was truncated on its way.
      if (/\bjson\b/i.test(headers['content-type'] ?? ''))
        throw this.#unexpectedAnswer(status, unexpected(options.what));
      return { status, headers, data: text, body: text };
    });
  }

  counters() {
    const lastAnswer = this.#lastAnswer === null ? null : isoTime(this.#lastAnswer);
    return { requests: this.#requests, failures: this.#failures, lastAnswer };
  }

  /** Sends the request and reads a 2xx answer; retries as ApiClient describes. */
  #withRetries<T>(to: Target, options: SendOptions, read: (received: Received) => T): Promise<T> {
    const policy = to.method === 'GET' ? READS : ONCE;
    return retry(options.deadline, policy, async () => read(await this.#exchange(to, options)));
  }

  /** Sends one request; refreshes an expired token and repeats the request. */
  async #exchange(to: Target, options: SendOptions): Promise<Received> {
    const { deadline, what } = options;
    let bearer = await this.#deps.credentials.bearer(deadline);
    let answer = await this.#send(to, options, bearer);
    for (let refreshes = 0; isExpiredToken(answer.status, answer.body); refreshes++) {
      if (refreshes === MOST_REFRESHES) throw refusalError(401, answer.body, what, { secrets: [bearer] });
      bearer = await this.#deps.credentials.refresh(bearer, { host: to.host, deadline });
      answer = await this.#send(to, options, bearer);
    }
    if (showsTaken(answer)) this.#deps.credentials.accepted(bearer);
    if (isSuccess(answer.status)) return answer;
    this.#failures++;
    if (answer.status === 404 && isPage(answer.text))
      throw new PrintingError('NOT_FOUND', elsewhere(this.#hostOf(to)), { statusCode: 404, outcome: 'refused' });
    throw refusalError(answer.status, answer.body, what, { secrets: [bearer], retryAfter: answer.retryAfter });
  }

  readonly #hostOf = ({ host }: Pick<Target, 'host'>) =>
    host === 'auth' ? this.#deps.settings.authUrl : this.#deps.settings.apiUrl;

  async #send(
    to: Target,
    { body, deadline, underWay, lock, maxBytes }: SendOptions,
    bearer: string,
  ): Promise<Received> {
    const host = this.#hostOf(to);
    if (!host) throw new PrintingError('NOT_CONFIGURED', phrase`The account has no account host: fill it in.`);
    deadline.throwIfOver();
    const limit = (underWay ?? deadline).within(LONGEST_ANSWER, { reason: tooSlow });
    const request: TextRequest = {
      method: to.method,
      url: `${host}${to.path}`,
      headers: { authorization: `Bearer ${bearer}`, accept: 'application/json', 'accept-encoding': 'identity' },
      deadline: limit,
      maxBytes,
      lasting: underWay !== undefined,
    };
    if (body !== undefined) {
      request.body = body;
      request.headers = { ...request.headers, 'content-type': 'application/json' };
    }
    let start: number | undefined;
    let answered: number | null = null;
    try {
      if (lock) request.fence = await deadline.wait(lock.secure(limit.remaining()));
      this.#requests++;
      start = this.#deps.clock.monotonic();
      const { status, headers, body: parsed, text, size } = await this.#deps.http.text(request);
      answered = status;
      const now = (this.#lastAnswer = this.#deps.clock.now());
      const retryAfter = readRetryAfter(headers, now);
      return { status, headers, text, body: parsed, size, retryAfter, bearer };
    } catch (error) {
      this.#failures++;
      throw error;
    } finally {
      if (start !== undefined) this.#deps.meter?.requestEnded(answered, this.#deps.clock.monotonic() - start);
      limit.end();
    }
  }

  #readJson(received: Received, what: Sentence, to: { endpoint: EndpointName; host: Target['host'] }): Answer {
    const { status, text, body, size, bearer } = received;
    if (body === undefined && text.trim() === '') return { status, data: null, body: null };
    if (Array.isArray(body)) return { status, data: body, body, size };
    const envelope = record(body);
    if (!envelope) throw this.#unexpectedAnswer(status, isPage(text) ? elsewhere(this.#hostOf(to)) : unexpected(what));
    if (isFailure(envelope)) {
      this.#failures++;
      throw refusalError(status, body, what, { secrets: [bearer] });
    }
    if (hasData(envelope)) return { status, data: envelope.data, body, size };
    return { status, data: isRecordOf(to.endpoint, envelope) ? envelope : null, body, size };
  }

  #unexpectedAnswer(status: number, sentence: Sentence): PrintingError {
    this.#failures++;
    return new PrintingError('SERVICE_ERROR', sentence, { statusCode: status, outcome: 'unknown' });
  }
}

/**
 * Whether an answer shows that the service took the bearer. A failure of the service or of a proxy, a redirect, a
 * request for a pause and a page, such as that of a hotel's network, don't.
 */
function showsTaken(answer: Received): boolean {
  if (isSuccess(answer.status)) return !isPage(answer.text);
  return answer.status >= 400 && answer.status <= 499 && answer.status !== 429 && record(answer.body) !== null;
}

const unexpected = (what: Sentence): Sentence =>
  phrase`The service gave an unexpected answer about ${what}: check the hosts of the account, or try again later.`;

const tooSlow = (): PrintingError =>
  new PrintingError(
    'NETWORK',
    phrase`The service did not complete its answer within a minute: check the network and try again.`,
    { outcome: 'unknown' },
  );

const hasData = (body: unknown): body is { data: unknown } => Object.hasOwn(record(body) ?? {}, 'data');

/** Whether a 2xx answer reports errors, and has nothing else (wire facts 1). */
const isFailure = ({ data, errors }: Json): boolean =>
  Array.isArray(errors) && errors.length > 0 && Object.keys(data ?? {}).length === 0;

const isPage = (text: string): boolean => /^\s*<(!doctype html|html)/i.test(text);

/** Sentence about an answer of another web server. */
const elsewhere = (host: string): Sentence =>
  phrase`${host} does not answer like the service: check the hosts and paths of the account.`;
