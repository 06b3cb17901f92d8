import type { NextFunction, Request, RequestHandler, Response } from 'express';

/** Guards of Node-RED's own pages, from settings.js. */
export interface NodeRedGuards {
  /** Whether it decides who may see a page. */
  isGuarding: boolean;
  /** Whether it asks for a user and password, in the header `Authorization`. */
  hasPassword: boolean;
  /** Runs what Node-RED applies to its own node http in alone, then `next`. */
  run: (request: Request, response: Response, next: NextFunction) => void;
  /** The user that it knows, whatever else the request says. */
  userOf: (request: Request) => string | null;
}

export function nodeRedGuards(settings: { httpNodeAuth?: unknown; httpNodeMiddleware?: unknown }): NodeRedGuards {
  const { httpNodeAuth, httpNodeMiddleware } = settings;
  const middleware = handlersIn(httpNodeMiddleware);
  const ownUsers = [...handlersIn(httpNodeAuth), ...middleware].length > 0;
  const basicUser = basicUserIn(httpNodeAuth);
  return {
    isGuarding: Boolean(httpNodeAuth) || middleware.length > 0,
    hasPassword: basicUser !== null,
    run: (request, response, next) => runAll(middleware, request, response, next),
    userOf: (request) => {
      // Node-RED has compared the password before the request came here.
      if (basicUser !== null) return nameInBasic(request) === basicUser ? basicUser : null;
      return ownUsers ? nameOf((request as { user?: unknown }).user) : null;
    },
  };
}

const handlersIn = (setting: unknown): RequestHandler[] =>
  (Array.isArray(setting) ? (setting as unknown[]).flat(3) : [setting]).filter(
    (entry): entry is RequestHandler => typeof entry === 'function',
  );

function basicUserIn(setting: unknown): string | null {
  if (typeof setting !== 'object' || setting === null || !('user' in setting)) return null;
  return typeof setting.user === 'string' ? setting.user : null;
}

/** The name in a request's header `Authorization`. */
function nameInBasic(request: Request): string | null {
  const encoded = /^basic +(\S+)$/i.exec(request.get('authorization') ?? '')?.[1];
  return encoded === undefined ? null : (Buffer.from(encoded, 'base64').toString().split(':')[0] ?? null);
}

function nameOf(user: unknown): string | null {
  if (typeof user === 'string') return user;
  if (typeof user !== 'object' || user === null || !('username' in user)) return null;
  return typeof user.username === 'string' ? user.username : null;
}

/** Runs handlers one after the other; each goes on by calling its `next`, as in Express. */
function runAll(
  handlers: readonly RequestHandler[],
  request: Request,
  response: Response,
  done: (error?: unknown) => void,
): void {
  const [first, ...others] = handlers;
  if (!first) return done();
  let isCalled = false;
  const next = (error?: unknown) => {
    if (isCalled) return;
    isCalled = true;
    if (error) done(error);
    else runAll(others, request, response, done);
  };
  try {
    const running: unknown = first(request, response, next);
    // A handler of today may be an async function.
    if (running instanceof Promise) running.catch(next);
  } catch (thrown) {
    next(thrown);
  }
}

/** Takes back that Node-RED lets every origin read what lies below the editor's address: no other page needs it. */
export function closeToOthers(response: Response): void {
  for (const name of ['Origin', 'Methods', 'Headers', 'Credentials'])
    response.removeHeader(`Access-Control-Allow-${name}`);
  response.set('Cross-Origin-Resource-Policy', 'same-origin');
}
