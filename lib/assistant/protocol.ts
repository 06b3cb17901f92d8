import type { IncomingHttpHeaders } from 'node:http';
import { TEXT } from '../rules/limits';

/** The revision without sessions, and those that begin with `initialize`, the newest first (docs/assistant.md). */
const STATELESS = '2026-07-28';
const WITH_INITIALIZE = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;
const SUPPORTED: readonly string[] = [STATELESS, ...WITH_INITIALIZE];

/** Codes of JSON-RPC, and those of the revision 2026-07-28. */
export const CODES = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  headers: -32020,
  revision: -32022,
  /** Outside the range that JSON-RPC reserves, as the specification asks for codes of one's own. */
  rate: 429,
} as const;

/** Longest time for which a client may keep the list of tools, ms: a deploy can change it. */
const FRESH = 60_000;
const META = 'io.modelcontextprotocol/';
/** Deepest nesting of a message. */
const DEPTH = 32;

type Json = Record<string, unknown>;
type Id = string | number;

/** An answer to a POST. */
export interface Reply {
  status: number;
  /** Null: no body. */
  body: object | null;
  headers?: Readonly<Record<string, string>>;
}

/** An error of the protocol, as opposed to one of a tool. */
export class ProtocolError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly details: { status?: number; data?: object; retryAfter?: number } = {},
  ) {
    super(message);
  }
}

/** Result of a tool; `isError`: the tool has failed, and `structured` says why. */
export interface ToolResult {
  structured: object;
  image?: { data: Buffer; mimeType: string };
  isError: boolean;
}

/** Name and version that a client tells of itself. Nobody has verified them. */
export interface ClientName {
  name: string;
  version: string | null;
}

/** Implementation of the methods. */
export interface ToolServer {
  version: string;
  instructions: string;
  /** Entries of `tools/list`. */
  tools: () => readonly object[];
  /** Throws ProtocolError for a call that reaches no tool. */
  call: (name: string, given: unknown, client: ClientName | null) => Promise<ToolResult>;
}

/** Answers one message of the Model Context Protocol, by the revision that it is written in. Never rejects. */
export async function replyTo(server: ToolServer, headers: IncomingHttpHeaders, message: unknown): Promise<Reply> {
  let id: Id | undefined;
  try {
    const { method, params, id: given } = readMessage(message);
    id = given;
    // Of a notification, nothing is needed.
    if (id === undefined) return { status: 202, body: null };
    const revision = revisionOf(headers, method, params);
    const result = await resultOf(server, revision, method, params);
    return { status: 200, body: { jsonrpc: '2.0', id, result } };
  } catch (thrown) {
    return errorReply(thrown, id);
  }
}

/** The answer to a request that failed before or in the protocol. */
export function errorReply(thrown: unknown, id?: Id): Reply {
  const error = thrown instanceof ProtocolError ? thrown : new ProtocolError(CODES.internal, 'Internal error.');
  const { status = 200, data, retryAfter } = error.details;
  return {
    status,
    body: {
      jsonrpc: '2.0',
      ...(id !== undefined && { id }),
      error: { code: error.code, message: error.message, ...(data && { data }) },
    },
    ...(retryAfter !== undefined && { headers: { 'Retry-After': String(retryAfter) } }),
  };
}

/** Parses the body of a request. Throws ProtocolError. */
export function parseMessage(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ProtocolError(CODES.parse, 'The body is not JSON.', { status: 400 });
  }
}

interface Message {
  method: string;
  params: Json;
  /** Undefined: a notification. */
  id: Id | undefined;
}

const invalid = (message: string) => new ProtocolError(CODES.request, message, { status: 400 });

function readMessage(message: unknown): Message {
  if (Array.isArray(message)) throw invalid('Batches are not supported: send each message alone.');
  if (!isObject(message) || message.jsonrpc !== '2.0') throw invalid('The body is not a message of JSON-RPC 2.0.');
  if (isDeep(message)) throw invalid('The message is nested too deeply.');
  const { method, params = {}, id } = message;
  if (typeof method !== 'string') throw invalid('The message has no method.');
  const isId = typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id));
  if (id !== undefined && !isId) throw invalid('The id must be a string or an integer.');
  if (!isObject(params)) throw invalid('The params must be an object.');
  return { method, params, id: isId ? id : undefined };
}

/** Whether a value is nested deeper than a message may be; without recursion, as a hostile one would overflow the stack. */
function isDeep(value: object): boolean {
  let level: object[] = [value];
  for (let depth = 0; depth < DEPTH; depth += 1) {
    level = level.flatMap((one) =>
      Object.values(one).filter((part): part is object => typeof part === 'object' && part !== null),
    );
    if (level.length === 0) return false;
  }
  return true;
}

/** The revision of a request. Throws ProtocolError if it is not supported, or if the headers contradict the message. */
function revisionOf(headers: IncomingHttpHeaders, method: string, params: Json): string {
  const header = headerOf(headers, 'mcp-protocol-version');
  const meta = isObject(params._meta) ? params._meta : {};
  const stated = meta[`${META}protocolVersion`];
  if (stated === undefined && header !== STATELESS) {
    if (method === 'initialize') return agreed(params.protocolVersion);
    // Clients of the first of these revisions send no header.
    const revision = header ?? '2025-03-26';
    if (!SUPPORTED.includes(revision)) throw unsupported(revision);
    return revision;
  }
  if (typeof stated !== 'string') throw missing('protocolVersion');
  if (stated !== header) throw mismatch('MCP-Protocol-Version');
  if (!SUPPORTED.includes(stated)) throw unsupported(stated);
  if (stated !== STATELESS) return stated;
  if (!isObject(meta[`${META}clientCapabilities`])) throw missing('clientCapabilities');
  if (headerOf(headers, 'mcp-method') !== method) throw mismatch('Mcp-Method');
  if (method === 'tools/call' && nameIn(headers) !== params.name) throw mismatch('Mcp-Name');
  return stated;
}

/** The revision of an `initialize`: the client's, or the newest that begins so. */
const agreed = (wanted: unknown): string =>
  WITH_INITIALIZE.find((revision) => revision === wanted) ?? WITH_INITIALIZE[0];

const missing = (field: string) =>
  new ProtocolError(CODES.params, `The field ${META}${field} is missing in _meta.`, { status: 400 });

const mismatch = (header: string) =>
  new ProtocolError(CODES.headers, `The header ${header} does not match the message.`, { status: 400 });

const unsupported = (requested: string) =>
  new ProtocolError(CODES.revision, 'Unsupported protocol version', {
    status: 400,
    data: { supported: SUPPORTED, requested: requested.slice(0, 100) },
  });

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** The header `Mcp-Name`; text that no header can carry comes in Base64. */
function nameIn(headers: IncomingHttpHeaders): string | undefined {
  const value = headerOf(headers, 'mcp-name');
  if (!value?.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  return Buffer.from(value.slice(9, -2), 'base64').toString();
}

async function resultOf(server: ToolServer, revision: string, method: string, params: Json): Promise<object> {
  const serverInfo = { name: 'node-red-remote-printing', title: 'Remote printing', version: server.version };
  const capabilities = { tools: {} };
  const { instructions } = server;
  const isStateless = revision === STATELESS;
  /** Members of every result of the revision without sessions. */
  const complete = isStateless && { resultType: 'complete', _meta: { [`${META}serverInfo`]: serverInfo } };
  const cached = isStateless && { ttlMs: FRESH, cacheScope: 'private' };
  switch (method) {
    case 'tools/list':
      return { ...complete, ...cached, tools: server.tools().map((tool) => toolIn(revision, tool)) };
    case 'tools/call': {
      const { name } = params;
      if (typeof name !== 'string') throw new ProtocolError(CODES.params, 'The name of the tool is missing.');
      const client = clientIn(params);
      return { ...complete, ...contentOf(revision, await server.call(name, params.arguments, client)) };
    }
    case 'server/discover':
      if (isStateless) return { ...complete, ...cached, supportedVersions: SUPPORTED, capabilities, instructions };
      break;
    case 'initialize':
      if (!isStateless) return { protocolVersion: revision, capabilities, serverInfo, instructions };
      break;
    case 'ping':
      if (!isStateless) return {};
      break;
  }
  const message = `Unknown method: ${method.slice(0, 100)}`;
  throw new ProtocolError(CODES.method, message, isStateless ? { status: 404 } : {});
}

/** The first of the revisions knows neither schemas of results nor structured ones. */
const isPlain = (revision: string): boolean => revision === '2025-03-26';

function toolIn(revision: string, tool: object): object {
  if (!isPlain(revision)) return tool;
  const { outputSchema: _, title: __, ...plain } = tool as Json;
  return plain;
}

function contentOf(revision: string, { structured, image, isError }: ToolResult): object {
  const picture = image && [{ type: 'image', data: image.data.toString('base64'), mimeType: image.mimeType }];
  const content = [{ type: 'text', text: JSON.stringify(structured) }, ...(picture ?? [])];
  return { content, ...(!isPlain(revision) && { structuredContent: structured }), isError };
}

function clientIn(params: Json): ClientName | null {
  const info = isObject(params._meta) ? params._meta[`${META}clientInfo`] : undefined;
  if (!isObject(info) || typeof info.name !== 'string') return null;
  const version = typeof info.version === 'string' ? info.version.slice(0, TEXT.quoted) : null;
  return { name: info.name.slice(0, TEXT.quoted), version };
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
