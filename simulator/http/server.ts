import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, Faults, WorldEvent } from './faults';
import { startListener, type Origin } from './listener';
import { Refusal, refusalBody, refusalOf, type ErrorStyle } from './refusals';
import { ResetConnection, HangConnection, receive } from './receive';
import type { RequestLog } from './request-log';
import { send, type Answer } from './send';

export type { Origin } from './listener';
export type { Answer } from './send';

/** A request as passed to a route. */
export interface Call {
  request: IncomingMessage;
  query: URLSearchParams;
  /** Values of the path parameters, decoded. */
  params: Record<string, string>;
  /** The body, limited by a fault. */
  body: AsyncIterable<Buffer>;
}

export interface Route {
  /** Name in the fault API and the request log. */
  endpoint: string;
  method: string;
  /** Pattern such as `/connect/v1/clusters/{cluster_id}`. */
  path: string;
  /** Error format; the origin's by default. */
  errors?: ErrorStyle;
  handle(call: Call): Answer | Promise<Answer>;
}

export interface OriginOptions {
  name: string;
  host: string;
  port: number;
  errors: ErrorStyle;
  routes: Route[];
  /** Faults, the events that belong to them, and the request log; the control host has none of them. */
  wire?: {
    faults: Faults;
    log: RequestLog;
    act: (event: WorldEvent, params: Record<string, string>) => void;
  };
  now: () => number;
  /** Awaited before each answer, so that the state is on disk first. */
  saved: () => Promise<void>;
}

/** Starts one listener, which represents one host of the service. */
export const startOrigin = (options: OriginOptions): Promise<Origin> =>
  startListener(options, (request, response, closing) => answerRequest(options, closing, request, response));

async function answerRequest(
  options: OriginOptions,
  closing: AbortSignal,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const method = request.method ?? '';
  const url = parseUrl(request.url);
  const path = url?.pathname ?? '';
  const { route, params, allowed } = findRoute(options.routes, method, path);
  const endpoint = route?.endpoint ?? 'unknown';
  const style = route?.errors ?? options.errors;
  const agent = request.headers['user-agent'] ?? null;
  const log = (status: number): void =>
    options.wire?.log.add({ origin: options.name, endpoint, method, path, status, agent, at: options.now() });
  const hangConnection = (): void => log(0);
  const resetConnection = (): void => {
    log(0);
    request.socket.resetAndDestroy();
  };

  const fault = route === undefined ? undefined : options.wire?.faults.claim(endpoint, path);
  const beforeWork = fault !== undefined && fault.when !== 'after';
  /** Makes the fault's event happen; returns the answer to an unknown event. */
  const happen = (): Answer | undefined => {
    try {
      if (fault?.world) options.wire?.act(fault.world, params);
      return undefined;
    } catch (error) {
      return refused(unexpected(error), style);
    }
  };
  if (beforeWork) await wait(fault, closing);
  const misunderstood = beforeWork ? happen() : undefined;
  if (beforeWork && fault.hang) {
    request.resume();
    return hangConnection();
  }
  if (fault?.resetAtByte === 0 || (beforeWork && fault.reset)) return resetConnection();
  if (fault?.hangAtByte === 0) return hangConnection();

  let answer: Answer;
  try {
    const planned = misunderstood ?? (beforeWork ? faultAnswer(fault, style) : undefined);
    if (planned) answer = planned;
    else if (route) {
      const body = receive(request, fault);
      answer = await route.handle({ request, query: url?.searchParams ?? new URLSearchParams(), params, body });
    } else answer = refused(noSuchRoute(allowed), style);
  } catch (error) {
    if (error instanceof HangConnection) return hangConnection();
    if (error instanceof ResetConnection || (request.destroyed && !request.complete)) return resetConnection();
    answer = refused(error instanceof Refusal ? error : unexpected(error), style);
  }
  const after = fault?.when === 'after' ? happen() : undefined;
  await options.saved();

  if (fault?.when === 'after') {
    await wait(fault, closing);
    const instead = after ?? faultAnswer(fault, style);
    if (fault.reset || fault.hang || instead) answer.stream?.destroy();
    if (fault.reset) return resetConnection();
    if (fault.hang) return hangConnection();
    answer = instead ?? answer;
  }
  log(answer.status);
  // Drains the unread body, so that the client receives the answer.
  request.resume();
  await send(response, answer, fault, closing);
}

function parseUrl(target: string | undefined): URL | undefined {
  if (!target?.startsWith('/')) return undefined;
  // Prepends the origin instead of using it as a base: `//host/` must remain a path.
  return URL.canParse(`http://origin${target}`) ? new URL(`http://origin${target}`) : undefined;
}

function findRoute(
  routes: Route[],
  method: string,
  path: string,
): { route?: Route; params: Record<string, string>; allowed: string[] } {
  const allowed: string[] = [];
  for (const route of routes) {
    const params = matchPath(route.path, path);
    if (!params) continue;
    if (route.method === method) return { route, params, allowed };
    allowed.push(route.method);
  }
  return { params: {}, allowed };
}

function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index]!;
    if (!part.startsWith('{')) {
      if (part !== value) return undefined;
      continue;
    }
    if (value === '') return undefined;
    try {
      params[part.slice(1, -1)] = decodeURIComponent(value);
    } catch {
      return undefined;
    }
  }
  return params;
}

function noSuchRoute(allowed: string[]): Refusal {
  if (allowed.length === 0) return refusalOf(404);
  return new Refusal(405, 'methodNotAllowed', 'This path has no such method.', {
    headers: { allow: allowed.join(', ') },
  });
}

/** Describes an error of the simulator itself, so that tests don't mistake it for a plain 500. */
function unexpected(error: unknown): Refusal {
  return refusalOf(500, undefined, `Simulator: ${error instanceof Error ? error.message : String(error)}`);
}

function refused(refusal: Refusal, style: ErrorStyle): Answer {
  const { type, body } = refusalBody(refusal, style);
  return { status: refusal.status, headers: { 'content-type': type, ...refusal.headers }, text: body };
}

function faultAnswer(fault: Fault, style: ErrorStyle): Answer | undefined {
  if (fault.status === undefined && !fault.html) return undefined;
  if (!fault.html && (fault.status ?? 0) < 400) return { status: fault.status ?? 200, json: { data: {} } };
  const refusal = refusalOf(fault.status ?? 502, fault.code, fault.detail);
  if (fault.retryAfter !== undefined) refusal.headers['retry-after'] = String(fault.retryAfter);
  return refused(refusal, fault.html ? 'html' : style);
}

async function wait({ delay, until }: Fault, closing: AbortSignal): Promise<void> {
  if (delay !== undefined) await sleep(delay, undefined, { signal: closing, ref: false });
  await until?.();
}
