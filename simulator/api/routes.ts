import { actionRoutes } from './actions';
import { clusterRoutes } from './clusters';
import { libraryRoutes } from './library';
import { maintenanceRoutes } from './maintenance';
import { printJobRoutes } from './print-jobs';
import { projectRoutes } from './projects';
import { reportRoutes } from './reports';
import type { Route } from '../http/server';
import type { ApiParts } from './signed-in';
import { uptimeRoute } from '../http/uptime';

/** Routes of the API host. Every call except uptime requires a bearer token. */
export function apiRoutes(parts: ApiParts): Route[] {
  return [
    ...[parts.storagePath, '/connect/v1', '/report/v1'].map((path) => uptimeRoute(path, parts.now)),
    ...libraryRoutes(parts),
    ...projectRoutes(parts),
    ...clusterRoutes(parts),
    ...printJobRoutes(parts),
    ...actionRoutes(parts),
    ...maintenanceRoutes(parts),
    ...reportRoutes(parts),
  ];
}
