import { hash, timingSafeEqual } from 'node:crypto';
import { hostname } from 'node:os';
import type { Request, Response } from 'express';
import {
  CODES,
  errorReply,
  parseMessage,
  ProtocolError,
  replyTo,
  type Reply,
  type ToolServer,
} from '../../lib/assistant/protocol';
import { type Access, nameIn, refusalOf } from '../../lib/web/access';
import { phrase, type Sentence } from '../../lib/words/sentence';
import { inLanguage, languageOf } from '../shared/language';
import type { NodeRedGuards } from '../shared/guards';
import type { Answerer } from '../shared/web-paths';

interface EndpointOptions {
  server: ToolServer;
  guards: NodeRedGuards;
  /** Null: nobody gets in. */
  token: string | null;
  hosts: readonly string[];
}

/** Largest body, bytes. */
const BODY = 64 * 1024;

/** Answers the requests to one node (home automation, 2). */
export function endpointOf({ server, guards, token, hosts }: EndpointOptions): Answerer {
  // Whatever the token: a stranger's name for this machine never gets through (DNS rebinding).
  const access: Access = { hosts, machine: [hostname()], isGuarded: false };
  return (request, response, rest, next) => {
    response.set({ 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' });
    guards.run(request, response, (error) => {
      if (error) return next(error);
      const refusal = refusalOf(request.headers, access);
      if (refusal === 'host') return refuse(request, response, 403, unknownHost(request));
      if (refusal === 'origin') return refuse(request, response, 403, FOREIGN);
      // Clients look for a sign-in below the address, and do without one where there is none.
      if (rest !== '' && rest !== '/') return void response.status(404).end();
      if (!isRight(request, guards, token)) {
        response.set('WWW-Authenticate', 'Bearer');
        return refuse(request, response, 401, token === null ? UNSET : NO_TOKEN);
      }
      if (request.method !== 'POST') return void response.status(405).set('Allow', 'POST').end();
      answer(server, request).then(
        (reply) => send(request, response, reply),
        (thrown: unknown) => send(request, response, errorReply(thrown)),
      );
    });
  };
}

const FOREIGN = phrase`Another page may not use these tools.`;
const NO_TOKEN = phrase`These tools need their token in the header Authorization, or, behind a password of Node-RED, in X-Remote-Printing-Token.`;
const UNSET = phrase`These tools are closed: make a token in the node and deploy.`;

const unknownHost = (request: Request): Sentence =>
  phrase`These tools are not open under the name ${nameIn(request.headers.host ?? '')}: add the name to the hosts in the node.`;

/** Where Node-RED asks for a password itself, that has the header `Authorization`. */
function isRight(request: Request, guards: NodeRedGuards, token: string | null): boolean {
  const own = request.get('x-remote-printing-token');
  const bearer = /^bearer +([^\s]+)$/i.exec((request.get('authorization') ?? '').slice(0, 2_000))?.[1];
  const given = guards.hasPassword ? own : bearer;
  if (token === null || given === undefined) return false;
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'));
}

function refuse(request: Request, response: Response, status: number, sentence: Sentence): void {
  request.resume();
  response
    .status(status)
    .type('text')
    .send(inLanguage(languageOf(request), sentence));
}

async function answer(server: ToolServer, request: Request): Promise<Reply> {
  if (!request.is('application/json'))
    throw new ProtocolError(CODES.request, 'The body must be application/json.', { status: 415 });
  return replyTo(server, request.headers, await messageOf(request));
}

/** The message of a request. Throws ProtocolError. */
async function messageOf(request: Request): Promise<unknown> {
  const tooLarge = () => new ProtocolError(CODES.request, 'The body has more than 64 kB.', { status: 413 });
  if (Number(request.headers['content-length'] ?? 0) > BODY) throw tooLarge();
  // Below the editor's address, Node-RED has parsed the body already.
  if (request.readableEnded && request.body !== undefined) {
    if (sizeOf(request.body) > BODY) throw tooLarge();
    return request.body as unknown;
  }
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > BODY) throw tooLarge();
    parts.push(part);
  }
  return parseMessage(Buffer.concat(parts).toString());
}

/** Size of a parsed body, bytes; of one that is nested too deeply to be written, infinite. */
function sizeOf(body: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(body));
  } catch {
    return Infinity;
  }
}

function send(request: Request, response: Response, { status, body, headers = {} }: Reply): void {
  // A body that was refused is not read to its end, and a client that has gone gets nothing.
  request.resume();
  if (response.destroyed || response.headersSent) return;
  response.status(status).set(headers);
  if (body) response.type('json').send(JSON.stringify(body));
  else response.end();
}
