import { page } from '../wire/paging';
import { clusterRecord, statusRecord } from '../wire/cluster-records';
import { modelOf } from '../world/models';
import type { Route } from '../http/server';
import { signedInRoutes, type ApiParts } from './signed-in';

/** Clusters and their status: calls 8 and 9 (wire facts 5 and 6). */
export function clusterRoutes(parts: ApiParts): Route[] {
  const { world } = parts;
  const signedIn = signedInRoutes(parts.tokens);
  return [
    signedIn('clusters', 'GET', '/connect/v1/clusters', ({ query, request }, { organizationId }) => {
      const status = query.get('status');
      const variant = query.get('machine_variant');
      const clusters = world
        .listed(organizationId)
        .filter((cluster) => status === null || cluster.authorized === (status === 'active'))
        .filter((cluster) => variant === null || modelOf(cluster).display === variant);
      return page(clusters, query, parts.apiUrl() + request.url!, (cluster) =>
        clusterRecord(world.upToDate(cluster), world.moment()),
      );
    }),
    signedIn('cluster', 'GET', '/connect/v1/clusters/{cluster_id}', ({ params }, { organizationId }) => ({
      data: clusterRecord(world.cluster(params.cluster_id!, organizationId), world.moment()),
    })),
    signedIn('clusterStatus', 'GET', '/connect/v1/clusters/{cluster_id}/status', ({ params }, { organizationId }) => ({
      data: statusRecord(world.cluster(params.cluster_id!, organizationId), world.moment()),
    })),
  ];
}
