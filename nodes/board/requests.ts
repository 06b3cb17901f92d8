import { hostname } from 'node:os';
import { Readable } from 'node:stream';
import type { Request, Response } from 'express';
import { type Access, contentPolicy, nameIn, refusalOf } from '../../lib/web/access';
import { type Board } from '../../lib/board/board';
import { readPress } from '../../lib/board/permission';
import type { Pressed } from '../../lib/board/presses';
import type { Outcome } from '../../lib/board/shapes';
import type { Sink } from '../../lib/board/streams';
import type { BoardToken } from '../../lib/board/token';
import { asPrintingError, PrintingError } from '../../lib/service/errors';
import { record } from '../../lib/service/json-readers';
import type { Clock } from '../../lib/time/clock';
import { type Deadline, underDeadline } from '../../lib/time/deadline';
import { phrase, Sentence } from '../../lib/words/sentence';
import { inLanguage, languageOf } from '../shared/language';
import type { Assets } from './assets';
import type { NodeRedGuards } from '../shared/guards';
import { pageOf } from './page';
import type { Answerer } from '../shared/web-paths';

/** A press as a flow hears of it. */
export interface PressReport {
  who: string | null;
  action: string;
  properties: Record<string, unknown>;
  outcome: Outcome<Sentence>;
}

export interface RequestsOptions {
  board: Board;
  clock: Clock;
  assets: Assets;
  guards: NodeRedGuards;
  /** Null: none is needed. */
  token: BoardToken | null;
  hosts: readonly string[];
  /** Stores a file that was dropped on the page, and queues or prints it. */
  addFile: (file: AddedFile, deadline: Deadline) => Promise<void>;
  pressed: (report: PressReport) => void;
  /** Ends the work that a request has begun. */
  signal: AbortSignal;
}

export interface AddedFile {
  name: string;
  size: number;
  content: Readable;
  /** Makes a repeat harmless. */
  key: string;
  /** The printer to print on, without a queue. */
  clusterId: string | null;
  /** Copies to queue, as the page sent them; blank: one. */
  copies: string;
}

/** Longest time for a press, and for an upload, ms. */
const LONGEST = { press: 60_000, upload: 30 * 60_000 };
/** Largest body of a press, bytes. */
const BODY = 64 * 1024;
/** Streams of one browser, over all boards: it opens at most six connections to one host. */
const STREAMS = 3;
/** Streams of a board. */
const ALL_STREAMS = 200;

/** Streams by browser, as the page names it. */
const streamsOf = new Map<string, number>();

/** Answers the requests to one board (board, 3). */
export function answererOf(options: RequestsOptions): Answerer {
  const { guards, token, hosts } = options;
  const access: Access = { hosts, machine: [hostname()], isGuarded: guards.isGuarding || token !== null };
  const policy = contentPolicy(hosts);
  return (request, response, rest, next) => {
    response.set({
      'Content-Security-Policy': policy,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-store',
    });
    guards.run(request, response, (error) => {
      if (error) return next(error);
      const refusal = refusalOf(request.headers, access);
      if (refusal === 'host') return refuse(request, response, 403, unknownHost(request));
      if (refusal === 'origin') return refuse(request, response, 403, FOREIGN);
      if (token && !isOpen(request, response, token)) return;
      if (rest === '') return redirect(response, `${request.path.slice(request.path.lastIndexOf('/') + 1)}/`, request);
      answer(options, request, response, rest);
    });
  };
}

const FOREIGN = phrase`Another page may not use this board: open the board itself.`;
const NO_TOKEN = phrase`This board needs its token: open it with ?token= and the token at the end of the address.`;

const unknownHost = (request: Request): Sentence =>
  phrase`This board is not open under the name ${nameIn(request.headers.host ?? '')}: add the name to the hosts in the board's node.`;

/** Whether the request has the token's cookie. A right token in the address is turned into one, and leaves the address. */
function isOpen(request: Request, response: Response, token: BoardToken): boolean {
  const given: unknown = request.query.token;
  if (typeof given === 'string' && token.isRight(given)) {
    response.append('Set-Cookie', token.header('encrypted' in request.socket));
    // A cookie without a path belongs to the folder of this address.
    redirect(
      response,
      request.path.endsWith('/') ? './' : `${request.path.slice(request.path.lastIndexOf('/') + 1)}/`,
      request,
    );
    return false;
  }
  if (given === undefined && token.isIn(request.headers.cookie)) return true;
  refuse(request, response, 401, NO_TOKEN);
  return false;
}

/** To a relative address, with the query but without the token. */
function redirect(response: Response, to: string, request: Request): void {
  const query = new URLSearchParams(request.url.split('?')[1] ?? '');
  query.delete('token');
  const rest = query.toString();
  response
    .status(302)
    .set('Location', `${to}${rest && `?${rest}`}`)
    .end();
}

function refuse(request: Request, response: Response, status: number, sentence: Sentence): void {
  response
    .status(status)
    .type('text')
    .send(inLanguage(languageOf(request), sentence));
}

/** A request to one of the board's addresses. */
interface Asked extends RequestsOptions {
  request: Request;
  response: Response;
  language: string;
  query: (name: string) => string;
}

type Route = (asked: Asked) => unknown;

const ROUTES: Readonly<Record<string, Route>> = {
  'GET /': ({ board, assets: { version }, response, language }) =>
    response.type('html').send(pageOf({ title: board.facts.title, language, version })),
  'GET /events': openStream,
  'GET /board.json': async ({ board, response, language }) => response.type('json').send(await board.whole(language)),
  'POST /press': press,
  'POST /look': async ({ board, request, response }) => {
    const { printers } = record(await bodyOf(request)) ?? {};
    await board.look(Array.isArray(printers) ? printers.filter((id) => typeof id === 'string').slice(0, 1_000) : []);
    response.status(204).end();
  },
  'GET /picture': ({ board, response, query }) => {
    const print = query('print');
    const picture = print === '' ? board.picture(query('printer')) : board.pictureOfPrint(print);
    if (!picture) return response.status(404).end();
    // The type is that of a known image format, and the address has the time of the picture.
    return response
      .set({ 'Content-Type': picture.contentType, 'Cache-Control': 'private, max-age=3600' })
      .send(picture.image);
  },
  'GET /items': async (asked) => {
    const { board, query } = asked;
    const [q, state, printer] = [query('q'), query('state'), query('printer')];
    const from = Math.max(0, Math.floor(Number(query('from'))) || 0);
    sendJson(asked, await board.items({ q, state, printer, order: query('order'), owner: query('owner'), from }));
  },
  'GET /explain': async (asked) => sendJson(asked, await asked.board.explain(asked.query('item'))),
  'GET /printer': (asked) => sendJson(asked, asked.board.printer(asked.query('id'))),
  'GET /history': async (asked) =>
    sendJson(asked, await asked.board.history(Math.max(0, Math.floor(Number(asked.query('page'))) || 0))),
  'GET /history.csv': async ({ board, response, language }) => {
    const csv = await board.csv(language);
    response.set({
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': 'attachment; filename="prints.csv"',
    });
    response.send(csv);
  },
  'PUT /file': addFile,
};

function answer(options: RequestsOptions, request: Request, response: Response, rest: string): void {
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const name = `${method} ${rest}`;
  const route = Object.hasOwn(ROUTES, name) ? ROUTES[name] : undefined;
  const query = (key: string): string => {
    const value: unknown = request.query[key];
    return typeof value === 'string' ? value : '';
  };
  const asked: Asked = { ...options, request, response, language: languageOf(request), query };
  const work = async (): Promise<unknown> => (route ? route(asked) : sendAsset(asked, rest.slice(1)));
  work().catch((thrown: unknown) => {
    const { code, sentence } = asPrintingError(thrown);
    if (response.headersSent) return void response.destroy();
    const status = code === 'FORBIDDEN' ? 403 : 400;
    const message = inLanguage(asked.language, sentence);
    response
      .status(status)
      .type('json')
      .send(JSON.stringify({ ok: false, code, message }));
  });
}

function sendAsset({ assets, request, response }: Asked, name: string): void {
  const asset = assets.get(name);
  if (!asset) return void response.status(404).end();
  const isZipped = request.acceptsEncodings('gzip') === 'gzip';
  response.set({
    'Content-Type': asset.type,
    'Cache-Control': 'private, max-age=31536000, immutable',
    Vary: 'Accept-Encoding',
  });
  if (isZipped) response.set('Content-Encoding', 'gzip');
  response.end(request.method === 'HEAD' ? undefined : isZipped ? asset.zipped : asset.bytes);
}

function sendJson({ response, language }: Asked, value: unknown): void {
  const inWords = (_: string, part: unknown): unknown => (part instanceof Sentence ? inLanguage(language, part) : part);
  response.type('json').send(JSON.stringify(value, inWords));
}

function openStream({ board, response, query, language }: Asked): void {
  const browser = query('browser').slice(0, 64);
  const isFull = browser !== '' && (streamsOf.get(browser) ?? 0) >= STREAMS;
  // The page reads the board again and again instead.
  if (isFull || board.streams.size >= ALL_STREAMS) return void response.status(204).end();
  const count = (by: number) => {
    const open = (streamsOf.get(browser) ?? 0) + by;
    if (open > 0) streamsOf.set(browser, open);
    else streamsOf.delete(browser);
  };
  response.set({ 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' });
  response.flushHeaders();
  response.write('retry: 2000\n\n');
  const sink: Sink = {
    language,
    get isBehind() {
      return response.writableNeedDrain;
    },
    write: (text) => void response.write(text),
    end: () => void response.end(),
  };
  count(1);
  response.once('close', () => count(-1));
  const remove = board.streams.open(sink);
  response.once('close', remove);
  // A write to a page that has gone fails here, before its close.
  response.on('error', remove);
}

async function press(asked: Asked): Promise<void> {
  const { board, request, clock, signal } = asked;
  const { key, action, properties } = readPress(await bodyOf(request));
  const outcome = await underDeadline(clock, { ms: LONGEST.press, parent: signal }, (deadline) =>
    reported(asked, action, properties, () => board.press({ key, action, properties }, deadline)),
  );
  sendJson(asked, outcome);
}

/** Reports a press to the flow once, whether it is done, fails or is refused. */
async function reported(
  { pressed, guards, request }: Asked,
  action: string,
  properties: Record<string, unknown>,
  work: () => Promise<Pressed>,
): Promise<Outcome<Sentence>> {
  const who = guards.userOf(request);
  try {
    const { outcome, isRepeat } = await work();
    if (!isRepeat) pressed({ who, action, properties, outcome });
    return outcome;
  } catch (thrown) {
    const { code, sentence: message } = asPrintingError(thrown);
    pressed({ who, action, properties, outcome: { ok: false, code, message } });
    throw thrown;
  }
}

async function addFile(asked: Asked): Promise<void> {
  const { board, request, clock, signal, query } = asked;
  const [key, name, clusterId] = [query('key'), query('name').slice(0, 500), query('printer').split(' ')[0] ?? ''];
  const size = Number(request.headers['content-length']);
  const copies = query('copies');
  const properties = { name, size, ...(clusterId && { clusterId }), ...(copies && { copies: Number(copies) }) };
  // The page sends a file again that was cut off on its way: that is no outcome of the press.
  const cutOff = new AbortController();
  const sentence = phrase`The stream "${name}" was interrupted (${'ECONNRESET'}): send it again.`;
  const ended = () => void (request.complete || cutOff.abort(new PrintingError('FILE_NOT_READABLE', sentence)));
  request.once('error', ended).once('close', ended);
  // A refusal destroys its stream, and with the request the connection that the answer needs.
  const content = Readable.from(request.iterator({ destroyOnReturn: false }), { objectMode: false });
  const file = { name, size, content, key, clusterId: clusterId || null, copies };
  board.permit('add', properties);
  if (!Number.isSafeInteger(size))
    throw new PrintingError('INVALID_INPUT', phrase`The size of the file is unknown: add it from another browser.`);
  const parent = AbortSignal.any([signal, cutOff.signal]);
  const outcome = await underDeadline(clock, { ms: LONGEST.upload, parent }, (deadline) =>
    reported(asked, 'add', properties, () => board.once(key, deadline, () => asked.addFile(file, deadline))),
  );
  // A file that was refused is not read to its end.
  request.resume();
  sendJson(asked, outcome);
}

/** The JSON of a request. Throws INVALID_INPUT for anything else. */
async function bodyOf(request: Request): Promise<unknown> {
  const malformed = () => new PrintingError('INVALID_INPUT', phrase`The press is malformed: reload the page.`);
  // A form of another page can't send this type.
  if (!request.is('application/json')) throw malformed();
  // Node-RED may have a parser of its own before its routes.
  if (Object.keys((request.body ?? {}) as object).length > 0) return request.body;
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > BODY) throw malformed();
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString()) as unknown;
  } catch {
    throw malformed();
  }
}
