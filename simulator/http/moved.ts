import type { Route } from './server';

/** Other methods and paths of endpoints, by name, such as `{ printJobs: 'GET /connect/v1/jobs' }`. */
export type MovedPaths = Partial<Record<string, string>>;

const CALL = /^(GET|PUT|POST|DELETE) (\/[^\s?#]*)$/;

/** Returns the routes with the named ones moved. Throws a TypeError for an invalid path. */
export function moved(routes: Route[], paths: MovedPaths): Route[] {
  return routes.map((route) => {
    const call = paths[route.endpoint];
    if (call === undefined) return route;
    const [, method = '', path = ''] = CALL.exec(call) ?? [];
    if (path === '' || parameters(path) !== parameters(route.path))
      throw new TypeError(
        `${route.endpoint} can't be moved to ${call}: it must be like ${route.method} ${route.path}.`,
      );
    return { ...route, method, path };
  });
}

const parameters = (path: string): string => (path.match(/\{\w+\}/g) ?? []).sort().join();

/** Throws a TypeError for a name that doesn't match exactly one of `endpoints`. */
export function checkMoved(paths: MovedPaths, endpoints: string[]): void {
  for (const name of Object.keys(paths))
    if (endpoints.filter((endpoint) => endpoint === name).length !== 1)
      throw new TypeError(`There is no single endpoint ${name} to be moved.`);
}
