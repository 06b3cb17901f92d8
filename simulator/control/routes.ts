import { isObject, readJson } from '../http/bodies';
import type { WorldActions } from './world-actions';
import { overview, pageFile, pageRoutes } from './page-routes';
import type { Fault, Faults } from '../http/faults';
import { Refusal } from '../http/refusals';
import type { RequestLog } from '../http/request-log';
import type { Answer, Call, Route } from '../http/server';
import type { Tokens } from '../auth/tokens';
import type { World } from '../world/world';

export interface ControlParts {
  world: World;
  actions: WorldActions;
  tokens: Tokens;
  faults: Faults;
  log: RequestLog;
  addresses: () => Record<string, unknown>;
}

/**
 * Routes of the control host, which the real service lacks: a page, and an API to read and change the world and to add
 * faults.
 */
export function controlRoutes(parts: ControlParts): Route[] {
  const { world, actions, tokens, faults, log } = parts;
  const route = (
    method: string,
    path: string,
    handle: (body: Record<string, unknown>, call: Call) => unknown,
  ): Route => ({
    endpoint: 'control',
    method,
    path,
    async handle(call) {
      const body = (await readJson(call)) ?? {};
      if (!isObject(body)) throw bad('The body must be an object.');
      const json = handle(body, call);
      return { status: 200, json: json ?? { ok: true } } satisfies Answer;
    },
  });

  const home = route('GET', '/', () => ({ ...parts.addresses(), world_actions: Object.keys(actions) }));

  const routes: Route[] = [
    // Serves the page to browsers and the addresses to programs.
    {
      ...home,
      handle: (call) =>
        call.request.headers.accept?.includes('text/html') ? pageFile('page.html', 'text/html') : home.handle(call),
    },
    ...pageRoutes(world),
    route('GET', '/overview', () => overview(parts)),
    route('GET', '/state', () => ({
      addresses: parts.addresses(),
      clusters: world.clusters(),
      stored_jobs: world.storedJobs(),
      library_files: world.libraryFiles(),
      faults: faults.list(),
      tokens: {
        exchanges: tokens.exchanges,
        refreshes: tokens.refreshes,
        reuse_detections: tokens.reuseDetections,
        expired_status: tokens.expiredStatus,
      },
      requests: log.count(),
    })),
    route('GET', '/requests', () => ({ requests: log.list() })),
    route('DELETE', '/requests', () => log.clear()),
    route('GET', '/faults', () => ({ faults: faults.list() })),
    route('POST', '/faults', (body) => {
      try {
        faults.add(body as unknown as Fault);
      } catch (error) {
        throw bad(error instanceof Error ? error.message : String(error));
      }
    }),
    route('DELETE', '/faults', () => faults.clear()),
    route('POST', '/tokens/expire', () => tokens.expireAccessTokens()),
    route('POST', '/tokens/revoke', () => tokens.revokeGrants()),
    route('POST', '/tokens/expired-status', ({ status }) => {
      if (status !== 401 && status !== 403) throw bad('status must be 401 or 403.');
      tokens.expiredStatus = status;
    }),
    route('POST', '/tokens/refresh-grace', ({ seconds }) => {
      if (seconds !== 'unlimited' && !(typeof seconds === 'number' && seconds >= 0))
        throw bad('seconds must be a number from 0 on, or "unlimited".');
      tokens.refreshGrace = seconds === 'unlimited' ? Infinity : seconds;
    }),
    route('POST', '/world/{action}', (body, { params }) => {
      const action = Object.hasOwn(actions, params.action!) ? actions[params.action!] : undefined;
      if (!action) throw new Refusal(404, 'recordNotFound', `There is no action ${params.action!}.`);
      return action(body);
    }),
  ];
  return routes.map((one) => ({
    ...one,
    handle(call) {
      refuseOtherSites(call);
      return one.handle(call);
    },
  }));
}

/** Refuses requests that a foreign web page sends through its visitor's browser. */
function refuseOtherSites({ request }: Call): void {
  const { host = '', origin } = request.headers;
  if (
    !/^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])(?::\d+)?$/.test(host) ||
    (origin !== undefined && origin !== `http://${host}`)
  )
    throw new Refusal(403, 'forbidden', 'Only this machine and its own pages may do this.');
}

const bad = (text: string): Refusal => new Refusal(400, 'badRequest', text);
