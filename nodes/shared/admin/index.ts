import type { RequestHandler } from 'express';
import type { NodeAPI } from 'node-red';

/** Path below the editor's admin root (reference 5). */
const ROOT = '/remote-printing';

/**
 * Registers the endpoints of reference 5 once, regardless of accounts. The first request loads their implementation.
 */
export function addAdminEndpoints(RED: NodeAPI): void {
  const canRead = RED.auth.needsPermission('remote-printing.read');
  const canWrite = RED.auth.needsPermission('remote-printing.write');
  const about = () => (require('./account') as typeof import('./account')).accountEndpoints(RED);
  const signIn = () => (require('./sign-in') as typeof import('./sign-in')).signInEndpoints(RED);
  const metrics = () => (require('./metrics') as typeof import('./metrics')).metricsEndpoint(RED);
  const queues = () => (require('./queue') as typeof import('./queue')).queueEndpoints(RED);
  const connection = () => (require('./account') as typeof import('./account')).connectionEndpoint(RED);
  const on =
    (endpoint: () => RequestHandler): RequestHandler =>
    (request, response, next) =>
      endpoint()(request, response, next);

  RED.httpAdmin.get(
    `${ROOT}/accounts/:id`,
    canRead,
    on(() => about().state),
  );
  for (const list of ['clusters', 'workspaces', 'jobs'] as const) {
    const answer = on(() => about()[list]);
    RED.httpAdmin.get(`${ROOT}/accounts/:id/${list}`, canRead, answer);
    // Uses typed settings that aren't deployed.
    RED.httpAdmin.post(`${ROOT}/accounts/:id/typed/${list}`, canWrite, answer);
  }
  for (const report of ['diagnostics', 'replicas'] as const)
    RED.httpAdmin.get(
      `${ROOT}/accounts/:id/${report}`,
      canRead,
      on(() => about()[report]),
    );

  RED.httpAdmin.get(
    `${ROOT}/queues/:id`,
    canRead,
    on(() => queues().state),
  );
  RED.httpAdmin.get(
    `${ROOT}/hours`,
    canRead,
    on(() => queues().hours),
  );

  // Checks its own token before the permission.
  RED.httpAdmin.get(
    `${ROOT}/metrics`,
    on(() => metrics()),
  );

  RED.httpAdmin.post(
    `${ROOT}/accounts/:id/sign-in`,
    canWrite,
    on(() => signIn().begin),
  );
  // The browser returns from the service without the editor's token: the one-time state authorizes the request.
  RED.httpAdmin.get(
    `${ROOT}/callback`,
    on(() => signIn().callback),
  );
  RED.httpAdmin.post(
    `${ROOT}/accounts/:id/sign-in/complete`,
    canWrite,
    on(() => signIn().complete),
  );
  RED.httpAdmin.post(
    `${ROOT}/accounts/:id/sign-out`,
    canWrite,
    on(() => signIn().signOut),
  );
  RED.httpAdmin.post(
    `${ROOT}/accounts/:id/test`,
    canWrite,
    on(() => connection()),
  );
}
