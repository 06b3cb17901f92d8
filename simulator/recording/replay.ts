import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Handler } from '../http/listener';
import { startOrigins } from './origins';
import { isLoopback } from '../options';
import { testPicture } from './test-picture';
import { isRead, readRecording, type Exchange, type HostName } from './recording-file';

export interface ReplayOptions {
  file: string;
  /** Divides the distances between dates. Default 1. */
  speed?: number;
  /** Port of the control host; account, API and storage use the next three. Default 0: any free ports. */
  port?: number;
  host?: string;
  now?: () => number;
}

export interface Replay {
  authUrl: string;
  apiUrl: string;
  storageUrl: string;
  controlUrl: string;
  close(): Promise<void>;
}

/** Plays a recording to any client. Its time begins with the first request. */
export async function startReplay(options: ReplayOptions): Promise<Replay> {
  const { host = '127.0.0.1', port = 0, speed = 1, now = Date.now } = options;
  if (!isLoopback(host)) throw new TypeError('The replay listens on loopback addresses only.');
  const { started, exchanges } = await readRecording(options.file);
  const answers = new Answers(exchanges);
  const urls: Record<HostName | 'control', string> = { auth: '', api: '', storage: '', control: '' };
  let begun: number | undefined;

  const answer = async (name: HostName, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const begin = (begun ??= now());
    // Drains the body, whatever it is.
    await pipeline(request, async (body) => {
      for await (const _ of body);
    });
    const { method = 'GET', url = '/' } = request;
    const found = answers.find({ host: name, method, path: url }, (now() - begin) * speed);
    const isToken = name === 'auth' && url.split('?')[0] === '/token';
    if (!found && !isToken) return void response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
    const { status, headers = {}, json, file, picture } = found ?? { status: 200, json: TOKENS };
    if (status === 0) return void request.socket.resetAndDestroy();
    const replayed = (value: unknown): unknown =>
      typeof value === 'string' ? placed(moved(value, started, begin, speed), urls) : value;
    const sent: Record<string, string> = { 'cache-control': 'no-store' };
    for (const [header, value] of Object.entries(headers)) sent[header] = String(replayed(value));
    if (picture) {
      const bytes = await testPicture();
      response.writeHead(status, { ...sent, 'content-type': 'image/png', 'content-length': bytes.length });
      response.end(method === 'HEAD' ? undefined : bytes);
    } else if (file) {
      response.writeHead(status, { ...sent, 'content-length': file.size });
      if (method === 'HEAD') response.end();
      else await pipeline(Readable.from(filler(file.size), { objectMode: false }), response);
    } else if (json === undefined) response.writeHead(status, sent).end();
    else
      response
        .writeHead(status, { 'content-type': 'application/json', ...sent })
        .end(method === 'HEAD' ? undefined : JSON.stringify(json, (_name, value: unknown) => replayed(value)));
  };

  const handlers: Record<HostName | 'control', Handler> = {
    auth: async (request, response) => {
      const back = authorized(request);
      if (back === undefined) return answer('auth', request, response);
      request.resume();
      response.writeHead(302, { location: back, 'cache-control': 'no-store' }).end();
    },
    api: (request, response) => answer('api', request, response),
    storage: (request, response) => answer('storage', request, response),
    control: async (request, response) => {
      request.resume();
      const text = JSON.stringify({ replay: true, begun: begun === undefined ? null : new Date(begun).toISOString() });
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    },
  };
  const { stop: close } = await startOrigins({ host, port }, handlers, urls);
  return { authUrl: urls.auth, apiUrl: urls.api, storageUrl: urls.storage, controlUrl: urls.control, close };
}

/** Answers of a recording without a sign-in, as with a static token. */
const TOKENS = {
  token_type: 'bearer',
  access_token: 'replayed-access-token',
  refresh_token: 'replayed-refresh-token',
  expires_in: 600,
};

/** Where a sign-in leads at once: back to the client with a code. */
function authorized({ url = '' }: IncomingMessage): string | undefined {
  const [path, query] = url.split('?', 2);
  if (path !== '/authorize') return undefined;
  const asked = new URLSearchParams(query);
  const back = asked.get('redirect_uri') ?? '';
  if (!/^https?:/.test(back) || !URL.canParse(back)) return undefined;
  const address = new URL(back);
  address.searchParams.set('code', 'replayed-code');
  address.searchParams.set('state', asked.get('state') ?? '');
  return address.href;
}

/** The recorded answers, by call. */
class Answers {
  readonly #lists = new Map<string, { exchanges: Exchange[]; at: number }>();

  constructor(exchanges: Exchange[]) {
    for (const exchange of exchanges)
      for (const path of new Set([exchange.path, withoutQuery(exchange.path)])) {
        const key = keyOf({ ...exchange, path });
        const list = this.#lists.get(key) ?? { exchanges: [], at: 0 };
        list.exchanges.push(exchange);
        this.#lists.set(key, list);
      }
    // Answers stand in the order of their ends.
    for (const { exchanges: list } of this.#lists.values()) list.sort((one, other) => one.at - other.at);
  }

  /**
   * A read has the last answer at that time (ms since the beginning), or the first one if that comes later; a write has
   * the next one.
   */
  find(call: Pick<Exchange, 'host' | 'method' | 'path'>, at: number): Exchange | undefined {
    const list = this.#lists.get(keyOf(call)) ?? this.#lists.get(keyOf({ ...call, path: withoutQuery(call.path) }));
    if (!list) return undefined;
    const { exchanges } = list;
    if (!isRead(call.method)) return exchanges[Math.min(list.at++, exchanges.length - 1)];
    // The replay's time never goes back by more than a correction of the clock.
    return exchanges.findLast((exchange) => exchange.at <= at) ?? exchanges[0];
  }
}

/** Clients may encode other characters of an id than the recorded one did. */
const keyOf = ({ host, method, path }: Pick<Exchange, 'host' | 'method' | 'path'>): string =>
  `${host} ${method} ${decoded(path)}`;

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const withoutQuery = (path: string): string => path.split('?', 1)[0] ?? '';

const DATE = /^(\d{4}-\d\d-\d\d)(?:([T ])(\d\d:\d\d(?::\d\d(\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?$/;

/** A date at its new time, in its old form; any other text as it is. */
export function moved(text: string, started: number, begin: number, speed: number): string {
  const [, day, separator, time, fraction, zone] = DATE.exec(text) ?? [];
  if (day === undefined) return text;
  const offset = zone === undefined || zone === 'Z' ? 'Z' : zone;
  const at = Date.parse(time === undefined ? `${day}T00:00:00Z` : `${day}T${time}${offset}`);
  const target = new Date(begin + (at - started) / speed);
  if (Number.isNaN(target.getTime())) return text;
  const iso = target.toISOString();
  if (time === undefined) return iso.slice(0, 10);
  const seconds = time.length > 5 ? iso.slice(11, 19) : iso.slice(11, 16);
  const rest = fraction === undefined ? '' : iso.slice(19, 23).padEnd(fraction.length, '0').slice(0, fraction.length);
  return `${iso.slice(0, 10)}${separator}${seconds}${rest}${zone === undefined ? '' : zone === 'Z' ? 'Z' : '+00:00'}`;
}

const placed = (text: string, urls: Record<HostName, string>): string =>
  text.replace(/^\{(auth|api|storage)\}/, (_, name: HostName) => urls[name]);

/** Stands for the contents of a file, of which the recording has the size alone. */
function* filler(size: number): Generator<Buffer> {
  const part = Buffer.alloc(64 * 1024, 'x');
  for (let left = size; left > 0; left -= part.length) yield part.subarray(0, Math.min(left, part.length));
}
