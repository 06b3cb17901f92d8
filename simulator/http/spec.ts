import { Refusal } from './refusals';
import type { Call, Route } from './server';

/** Creates the call that describes all others below a base, as an OpenAPI document of version 3 or 2 (wire facts 1). */
export function specRoute(base: string, routes: Route[], signedIn: (call: Call) => void): Route {
  // Omits the pages.
  const described = routes.filter(
    ({ path, errors }) => path.startsWith(`${base}/`) && path !== '/' && errors !== 'html',
  );
  return {
    endpoint: 'spec',
    method: 'GET',
    path: `${base}/spec`,
    handle(call) {
      signedIn(call);
      const version = call.query.get('version') ?? '';
      if (/^(3(\.\d+)*)?$/.test(version))
        return { status: 200, json: { openapi: '3.0.3', info, servers: [{ url: base || '/' }], paths: paths() } };
      if (/^2(\.\d+)*$/.test(version))
        return { status: 200, json: { swagger: '2.0', info, basePath: base || '/', paths: paths() } };
      throw new Refusal(400, 'openApiVersionNotSupported', 'There is no description of this version.');
    },
  };

  function paths(): Record<string, Record<string, unknown>> {
    const found: Record<string, Record<string, unknown>> = {};
    for (const { endpoint, method, path } of described) {
      const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' },
      }));
      const calls = (found[path.slice(base.length)] ??= {});
      calls[method.toLowerCase()] = {
        operationId: endpoint,
        parameters,
        responses: { default: { description: 'see the interface' } },
      };
    }
    return found;
  }
}

const info = { title: 'Simulated remote printing service', version: 'simulated' };
