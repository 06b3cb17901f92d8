import { asPrintingError } from '../service/errors';
import type { PathOverrides } from '../service/paths';
import { list, record, single, text } from '../service/json-readers';
import type { Deadline } from '../time/deadline';
import type { Answer, ApiClient } from './api-client';
import { phrase } from '../words/sentence';

/** The signed-in user and the user's workspaces (reference 3.5; the API calls a workspace `organization`). */
export interface CurrentUser {
  userId: string | null;
  name: string | null;
  organizationId: string | null;
  organizations: { id: string; name: string | null }[];
}

/** Reads the user record; memberships are ids or objects with ids (wire facts 11). */
export function currentUser(data: unknown): CurrentUser {
  const user = single(data);
  const organization = record(user?.organization);
  const organizationId = text(user?.organization_id) ?? text(organization?.organization_id);
  const organizations = list(user?.organization_memberships).flatMap((entry) => {
    const id = text(entry) ?? text(record(entry)?.organization_id) ?? text(record(entry)?.id);
    const name = text(record(entry)?.organization_name) ?? text(record(entry)?.name);
    const own = id === organizationId ? text(organization?.organization_name) : null;
    return id ? [{ id, name: name ?? own }] : [];
  });
  return {
    userId: text(user?.user_id),
    name: text(user?.name) ?? text(user?.username),
    organizationId,
    organizations,
  };
}

/**
 * Reads the current user. The path is uncertain (wire facts 11): if the service doesn't know the first, tries the
 * other.
 */
export async function readCurrentUser(
  service: ApiClient,
  overrides: PathOverrides,
  deadline: Deadline,
): Promise<Answer> {
  const options = { what: phrase`the user`, deadline };
  try {
    return await service.call('currentUser', options);
  } catch (error) {
    if (overrides.currentUser || asPrintingError(error).code !== 'NOT_FOUND') throw error;
    return service.call('currentUserOnApi', options);
  }
}
