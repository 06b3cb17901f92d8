import { libraryFileWriter } from './library';
import { readData } from '../http/bodies';
import { invalidValue, requiredField } from '../http/refusals';
import type { Call, Route } from '../http/server';
import { iso } from '../world/clock';
import { page } from '../wire/paging';
import { projectRecord } from '../wire/stored-records';
import type { LibraryProject } from '../world/state';
import { signedInRoutes, type ApiParts } from './signed-in';

const LONGEST_NAME = 255;
const LONGEST_COMMENT = 5000;
/** Limits and rights of a workspace; -1 is unlimited. */
const FEATURES = {
  library_can_use_business_value: true,
  library_can_use_comments: true,
  library_can_use_status: true,
  library_can_use_tags: true,
  library_can_use_technical_requirements: true,
  library_max_organization_shared_projects: -1,
  library_max_private_projects: -1,
  library_max_team_shared_projects: -1,
};

/** Projects of the library with their files and comments (wire facts 4.5). */
export function projectRoutes(parts: ApiParts): Route[] {
  const { world, users, storagePath } = parts;
  const signedIn = signedInRoutes(parts.tokens);
  const libraryFile = libraryFileWriter(parts);
  const path = `${storagePath}/projects`;
  const nameOf = (id: string): string | undefined => users.find(({ userId }) => userId === id)?.username;
  const record = (project: LibraryProject): unknown => projectRecord(project, nameOf(project.userId));
  return [
    signedIn('projects', 'GET', path, ({ query, request }, caller) => {
      const search = query.get('search')?.toLowerCase() ?? '';
      const shared = query.get('shared');
      if (shared !== null && shared !== 'true' && shared !== 'false')
        throw invalidValue('Filter', 'shared', 'must be true or false', shared);
      const found = world
        .libraryProjects(caller)
        .filter(
          (project) =>
            project.displayName.toLowerCase().includes(search) &&
            (shared ?? String(project.shared)) === String(project.shared),
        );
      return page(found, query, parts.apiUrl() + request.url!, record);
    }),
    signedIn('createProject', 'PUT', path, async (call, { userId, organizationId }) => {
      const displayName = await readText(call, 'Project', 'display_name', LONGEST_NAME);
      return { data: record(world.createProject({ displayName, userId, organizationId })) };
    }),
    signedIn('project', 'GET', `${path}/{library_project_id}`, ({ params }, caller) => ({
      data: record(world.libraryProject(params.library_project_id!, caller)),
    })),
    signedIn('projectFiles', 'GET', `${path}/{library_project_id}/files`, (call, caller) => {
      const { libraryProjectId } = world.libraryProject(call.params.library_project_id!, caller);
      const files = world
        .libraryFiles(caller.organizationId)
        .filter((file) => file.libraryProjectId === libraryProjectId);
      return page(files, call.query, parts.apiUrl() + call.request.url!, libraryFile);
    }),
    signedIn('projectComment', 'PUT', `${path}/{library_project_id}/comments`, async (call, caller) => {
      const project = world.libraryProject(call.params.library_project_id!, caller);
      const text = await readText(call, 'Comment', 'body', LONGEST_COMMENT);
      const { commentId, body, userId, at } = world.commentOn(project, text, caller.userId);
      return {
        data: {
          comment_id: commentId,
          library_project_id: project.libraryProjectId,
          body,
          user_id: userId,
          username: nameOf(userId),
          created_at: iso(at),
        },
      };
    }),
    signedIn('featureBudgets', 'GET', `${storagePath}/feature_budgets`, () => ({ data: FEATURES })),
  ];
}

/** Reads the only field of a body, a text. */
async function readText(call: Call, model: string, field: string, longest: number): Promise<string> {
  const text = (await readData(call, model, [field]))?.[field];
  if (text === undefined) throw requiredField(model, field);
  if (typeof text !== 'string' || text === '' || text.length > longest)
    throw invalidValue(model, field, `must have 1 to ${longest} characters`, text);
  return text;
}
