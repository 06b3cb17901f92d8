import type { Route } from './server';

/** Creates the uptime call of a base path, which needs no token (wire facts 1). */
export function uptimeRoute(path: string, now: () => number): Route {
  const started = now();
  return {
    endpoint: 'uptime',
    method: 'GET',
    path,
    handle: () => ({
      status: 200,
      json: {
        data: {
          ok: true,
          time: new Date(now()).toISOString().slice(0, 19).replace('T', ' '),
          uptime: Math.floor((now() - started) / 1000),
          version: 'simulated',
        },
      },
    }),
  };
}
