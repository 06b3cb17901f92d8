import type { RequestHandler } from 'express';
import type { NodeAPI } from 'node-red';
import { onDemand } from '../../../lib/on-demand';
import { closeToOthers } from '../guards';
import { refuseRequest } from '../refused';

/** Path below the editor's admin root (reference 5). */
const ROOT = '/remote-printing';

const ownOrigin: RequestHandler = (_request, response, next) => {
  closeToOthers(response);
  next();
};

/**
 * Registers the endpoints of reference 5 once, regardless of accounts. The first request loads their implementation.
 */
export function addAdminEndpoints(RED: NodeAPI): void {
  const canRead = [RED.auth.needsPermission('remote-printing.read')];
  const canWrite = [RED.auth.needsPermission('remote-printing.write')];
  const about = () => (require('./account') as typeof import('./account')).accountEndpoints(RED);
  const signIn = () => (require('./sign-in') as typeof import('./sign-in')).signInEndpoints(RED);
  const metrics = () => (require('./metrics') as typeof import('./metrics')).metricsEndpoint(RED);
  const queues = () => (require('./queue') as typeof import('./queue')).queueEndpoints(RED);
  const connection = () => (require('./account') as typeof import('./account')).connectionEndpoint(RED);
  const refuse = () => refuseRequest(RED);
  const route = (method: 'get' | 'post', path: string, permission: RequestHandler[], load: () => RequestHandler) => {
    const endpoint = onDemand(load, refuse);
    RED.httpAdmin[method](`${ROOT}${path}`, ownOrigin, ...permission, (request, response, next) =>
      endpoint()(request, response, next),
    );
  };

  route('get', '/accounts/:id', canRead, () => about().state);
  for (const list of ['clusters', 'workspaces', 'jobs', 'stored-jobs'] as const) {
    route('get', `/accounts/:id/${list}`, canRead, () => about()[list]);
    // Uses typed settings that aren't deployed.
    route('post', `/accounts/:id/typed/${list}`, canWrite, () => about()[list]);
  }
  route('get', '/accounts/:id/diagnostics', canRead, () => about().diagnostics);
  route('get', '/accounts/:id/replicas', canRead, () => about().replicas);
  route('post', '/accounts/:id/test', canWrite, connection);

  route('post', '/accounts/:id/sign-in', canWrite, () => signIn().begin);
  // The browser returns from the service without the editor's token: the one-time state authorizes the request.
  route('get', '/callback', [], () => signIn().callback);
  route('post', '/accounts/:id/sign-in/complete', canWrite, () => signIn().complete);
  route('post', '/accounts/:id/sign-out', canWrite, () => signIn().signOut);

  route('get', '/queues/:id', canRead, () => queues().state);
  route('get', '/hours', canRead, () => queues().hours);
  // Checks its own token before the permission.
  route('get', '/metrics', [], metrics);
}
