import { Readable } from 'node:stream';
import type { Sender } from '../account/api-client';
import { TEXT } from '../rules/limits';
import { unsafePart } from '../rules/paths';
import { withoutSlashes } from '../rules/text';
import { PrintingError } from '../service/errors';
import { record } from '../service/json-readers';
import type { Method, Target } from '../service/paths';
import type { Deadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';

export interface OwnRequest {
  /** GET, PUT, POST or DELETE, in any case. */
  method: string;
  path: string;
  /** The body of PUT and POST; see `readBody`. */
  payload?: unknown;
  deadline: Deadline;
}

interface OwnAnswer {
  statusCode: number;
  headers: Record<string, string>;
  /** The answer's `data`, or its whole body: text if it is not JSON, null if it is empty. */
  data: unknown;
}

const METHODS: readonly string[] = ['GET', 'PUT', 'POST', 'DELETE'] satisfies Method[];

/** Runs a user's own requests, for calls without a node (reference 3.5, request). */
export class Requests {
  readonly #hosts: Hosts;

  constructor(
    private readonly service: Sender,
    { apiUrl, authUrl }: Hosts,
  ) {
    this.#hosts = { apiUrl, authUrl };
  }

  /** Throws INVALID_INPUT before anything is sent, and the errors of the service's calls. */
  async run({ method, path, payload, deadline }: OwnRequest): Promise<OwnAnswer> {
    const to = { method: readMethod(method), ...readAddress(path, this.#hosts) };
    const body = to.method === 'PUT' || to.method === 'POST' ? readBody(payload) : undefined;
    const { status, headers, data } = await this.service.send(to, { body, what: phrase`the request`, deadline });
    return { statusCode: status, headers: headersForFlow(headers), data };
  }
}

function readMethod(given: string): Method {
  const method = given.trim().toUpperCase();
  if (!METHODS.includes(method))
    throw new PrintingError(
      'INVALID_INPUT',
      phrase`The method must be GET, PUT, POST or DELETE: correct it and try again.`,
      { outcome: 'not-sent' },
    );
  return method as Method;
}

/** The two hosts of an account, without a trailing slash; `authUrl` may be blank (a static token needs none). */
export interface Hosts {
  apiUrl: string;
  authUrl: string;
}

const ON_ACCOUNT_HOST = '{auth_url}';

/**
 * Reads the destination of a user's own request (reference 3.5, request): a path under the API host, `{auth_url}/…`
 * under the account host, or an absolute URL on one of the two. The bearer is sent there, so any other destination
 * throws INVALID_INPUT, as does a URL that two parsers could interpret differently.
 */
export function readAddress(given: string, hosts: Hosts): Omit<Target, 'method'> {
  if (given.startsWith(ON_ACCOUNT_HOST)) return { host: 'auth', path: safe(given.slice(ON_ACCOUNT_HOST.length)) };
  const [, start, rest = ''] = /^(https?:\/\/[^/?#]*)(.*)$/is.exec(given) ?? [];
  if (start !== undefined) return onOwnHost(start, rest, hosts);
  if (/^[a-z][a-z\d+.-]*:/i.test(given)) throw refused(phrase`it is neither a path nor an address of the service`);
  return { host: 'api', path: safe(given.startsWith('/') ? given : `/${given}`) };
}

/**
 * Checks an absolute URL, cut behind its host. It must be under a host of the account: same origin, same path prefix.
 */
function onOwnHost(start: string, rest: string, { apiUrl, authUrl }: Hosts): Omit<Target, 'method'> {
  // Rejects user names and characters that a URL parser would silently repair.
  const origin = /[@\\%]|[^\x21-\x7e]/.test(start) || !URL.canParse(start) ? null : new URL(start).origin;
  for (const [host, url] of [
    ['api', apiUrl],
    ['auth', authUrl],
  ] as const) {
    if (!url || new URL(url).origin !== origin) continue;
    const prefix = withoutSlashes(new URL(url).pathname);
    const path = rest.slice(prefix.length);
    if (rest.startsWith(prefix) && /^([/?]|$)/.test(path))
      return { host, path: safe(path.startsWith('/') ? path : `/${path}`) };
  }
  throw refused(phrase`it is not on a host of the account`);
}

function safe(path: string): string {
  if (!path.startsWith('/')) throw refused(phrase`${ON_ACCOUNT_HOST} must be followed by a slash`);
  const unsafe = unsafePart(path);
  if (unsafe) throw refused(phrase`it contains ${unsafe}`);
  return path;
}

const refused = (reason: Sentence): PrintingError =>
  new PrintingError(
    'INVALID_INPUT',
    phrase`The request was not sent because of its path: ${reason}; write it like /connect/v1/clusters.`,
    { outcome: 'not-sent' },
  );

/**
 * The JSON body of a PUT or POST, in the `data` envelope (interface, Upload record) unless the payload has one. A blank
 * payload becomes an empty envelope. Throws INVALID_INPUT for a value that JSON can't represent.
 */
export function readBody(payload: unknown): string {
  if (payload === undefined || payload === null || payload === '') return '{"data":{}}';
  if (ArrayBuffer.isView(payload) || payload instanceof Readable) throw unusable(phrase`it contains bytes`);
  if (typeof payload === 'function' || typeof payload === 'symbol') throw unusable(phrase`it is a ${typeof payload}`);
  const given = record(payload);
  try {
    return JSON.stringify(given && Object.hasOwn(given, 'data') ? given : { data: payload });
  } catch (cause) {
    throw unusable(phrase`it cannot be written as JSON`, cause);
  }
}

const unusable = (reason: Sentence, cause?: unknown): PrintingError =>
  new PrintingError(
    'INVALID_INPUT',
    phrase`The payload can't be the body of the request: ${reason}; set msg.payload to an object.`,
    { outcome: 'not-sent', cause },
  );

/**
 * Headers about this one connection (RFC 9110, 7.6.1), or about the length and coding of the bytes before they were
 * decoded. They don't apply to the payload, and would break an `http response` that a flow sends.
 */
const OF_THE_CONNECTION = [
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'content-length', 'content-encoding', 'content-range', 'content-md5', 'digest'],
  ...['content-digest', 'repr-digest', 'accept-ranges', 'alt-svc'],
];

/** Headers with credentials: a message may travel anywhere. */
const SECRET = ['set-cookie', 'set-cookie2', 'authorization', 'proxy-authorization', 'authentication-info'];

/** The headers of an answer (lower-case names) that a message may carry. */
export function headersForFlow(headers: Record<string, string>): Record<string, string> {
  const named = (headers.connection ?? '')
    .slice(0, TEXT.field)
    .split(',')
    .map((name) => name.trim().toLowerCase());
  const kept = Object.entries(headers).filter(([name]) => ![...OF_THE_CONNECTION, ...SECRET, ...named].includes(name));
  return Object.fromEntries(kept);
}
