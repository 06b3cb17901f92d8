import { page } from '../wire/paging';
import { clusterRecord, statusRecord } from '../wire/cluster-records';
import { modelOf } from '../world/models';
import type { Route } from '../http/server';
import { checkFields, isObject, readData } from '../http/bodies';
import { invalidValue, requiredField } from '../http/refusals';
import { previewUrls } from './previews';
import { signedInRoutes, type ApiParts, type Handler } from './signed-in';

const LONGEST_NOTE = 3500;

/** Clusters and their status: calls 8 and 9 (wire facts 5 and 6). */
export function clusterRoutes(parts: ApiParts): Route[] {
  const { world } = parts;
  const signedIn = signedInRoutes(parts.tokens);
  const previewUrl = previewUrls(parts);
  const list: Handler = ({ query, request }, { organizationId }) => {
    const status = query.get('status');
    const variant = query.get('machine_variant');
    const clusters = world
      .listed(organizationId)
      .filter((cluster) => status === null || cluster.authorized === (status === 'active'))
      .filter((cluster) => variant === null || modelOf(cluster).display === variant);
    return page(clusters, query, parts.apiUrl() + request.url!, (cluster) =>
      clusterRecord(world.upToDate(cluster), world.moment(), previewUrl),
    );
  };
  return [
    signedIn('clusters', 'GET', '/connect/v1/clusters', list),
    // One client asks for the list under this path.
    ...(parts.lenient ? [signedIn('clustersSingular', 'GET', '/connect/v1/cluster', list)] : []),
    signedIn('cluster', 'GET', '/connect/v1/clusters/{cluster_id}', ({ params }, { organizationId }) => ({
      data: clusterRecord(world.cluster(params.cluster_id!, organizationId), world.moment(), previewUrl),
    })),
    signedIn('clusterStatus', 'GET', '/connect/v1/clusters/{cluster_id}/status', ({ params }, { organizationId }) => ({
      data: statusRecord(world.cluster(params.cluster_id!, organizationId), world.moment(), previewUrl),
    })),
    signedIn('clusterNote', 'POST', '/connect/v1/clusters/{cluster_id}/note', async (call, { organizationId }) => {
      const cluster = world.cluster(call.params.cluster_id!, organizationId);
      world.setNote(cluster.clusterId, readNote((await readData(call, 'ClusterNote', ['note']))?.note));
      return { data: clusterRecord(cluster, world.moment(), previewUrl) };
    }),
  ];
}

/** Reads the note about a cluster, an object (wire facts 13.2). */
function readNote(value: unknown): string {
  if (value === undefined) throw requiredField('ClusterNote', 'note');
  if (!isObject(value)) throw invalidValue('ClusterNote', 'note', 'must be an object', value);
  checkFields('Note', value, ['note']);
  const { note } = value;
  if (note === undefined) throw requiredField('Note', 'note');
  if (typeof note !== 'string' || note === '' || note.length > LONGEST_NOTE)
    throw invalidValue('Note', 'note', `must have 1 to ${LONGEST_NOTE} characters`, note);
  return note;
}
