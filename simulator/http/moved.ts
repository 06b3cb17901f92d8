import type { Route } from './server';

/** Other methods and paths for endpoints by their names, such as `{ printJobs: 'GET /connect/v1/jobs' }`. */
export type MovedPaths = Partial<Record<string, string>>;

const CALL = /^(GET|PUT|POST|DELETE) (\/[^\s?#]*)$/;

/** The same routes, those that are named moved. Throws a TypeError for a name or a place that can't be. */
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

/** Throws a TypeError for a name that stands for none of `endpoints`, or for several. */
export function checkMoved(paths: MovedPaths, endpoints: string[]): void {
  for (const name of Object.keys(paths))
    if (endpoints.filter((endpoint) => endpoint === name).length !== 1)
      throw new TypeError(`There is no single endpoint ${name} to be moved.`);
}
