import { readData } from '../http/bodies';
import { completedMaintenance, pendingMaintenance } from '../wire/maintenance-records';
import { page } from '../wire/paging';
import { invalidValue, requiredField } from '../http/refusals';
import type { Route } from '../http/server';
import { signedInRoutes, type ApiParts } from './signed-in';

const PATH = '/connect/v1/clusters/{cluster_id}/maintenance';

/** Maintenance tasks (wire facts 13.2). */
export function maintenanceRoutes(parts: ApiParts): Route[] {
  const { world } = parts;
  const signedIn = signedInRoutes(parts.tokens);
  return [
    signedIn('pendingMaintenance', 'GET', `${PATH}/pending`, ({ params }, { organizationId }) => ({
      data: pendingMaintenance(world.cluster(params.cluster_id!, organizationId), parts.now()),
    })),
    signedIn('completedMaintenance', 'GET', `${PATH}/completed`, ({ params, query, request }, { organizationId }) =>
      page(
        completedMaintenance(world.cluster(params.cluster_id!, organizationId), parts.users),
        query,
        parts.apiUrl() + request.url!,
        (record) => record,
      ),
    ),
    signedIn(
      'maintain',
      'PUT',
      PATH,
      async (call, { userId, organizationId }) => {
        const codes = (await readData(call, 'Maintenance', ['task_codes']))?.task_codes;
        if (codes === undefined) throw requiredField('Maintenance', 'task_codes');
        if (!isList(codes)) throw invalidValue('Maintenance', 'task_codes', 'must be a list of codes', codes);
        world.maintain(world.cluster(call.params.cluster_id!, organizationId), codes, userId);
      },
      204,
    ),
  ];
}

const isList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every((entry) => typeof entry === 'string');
