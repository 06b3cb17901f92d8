import { actionRoutes } from './api-actions';
import { clusterRoutes } from './api-clusters';
import { libraryRoutes } from './api-library';
import { maintenanceRoutes } from './api-maintenance';
import { printJobRoutes } from './api-print-jobs';
import { reportRoutes } from './api-reports';
import type { Route } from './server';
import type { ApiParts } from './signed-in';
import { uptimeRoute } from './uptime';

/** The API host. Every call but uptime needs a bearer token. */
export function apiRoutes(parts: ApiParts): Route[] {
  return [
    ...['/slicer/v1', '/connect/v1', '/report/v1'].map((path) => uptimeRoute(path, parts.now)),
    ...libraryRoutes(parts),
    ...clusterRoutes(parts),
    ...printJobRoutes(parts),
    ...actionRoutes(parts),
    ...maintenanceRoutes(parts),
    ...reportRoutes(parts),
  ];
}
