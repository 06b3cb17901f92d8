import { readData } from '../http/bodies';
import { page } from '../wire/paging';
import { libraryFileRecord, storedJobRecord, type About } from '../wire/stored-records';
import { requiredField } from '../http/refusals';
import { storedPreview } from './previews';
import type { Route } from '../http/server';
import { signedInRoutes, type ApiParts } from './signed-in';
import type { Caller } from '../auth/tokens';
import type { LibraryFile, StoredFile, StoredJob } from '../world/state';
import { checkFileUpload, checkJobUpload, FILE_FIELDS, JOB_FIELDS } from './upload-rules';

/** Lifetime of a session, ms (wire facts 4.2). */
const SESSION_LIFETIME = 7 * 24 * 3600_000;

type Wire = Record<string, unknown>;

/** Returns a function that makes the record of a stored job, with a new signed address. */
export function storedJobWriter(parts: ApiParts): (job: StoredJob) => Wire {
  const preview = storedPreview(parts);
  const parsing = (job: StoredJob) => ({ ...about(parts, job), parsing: parts.world.parsingStatus(job) });
  return (job) => ({ ...storedJobRecord(job, parsing(job)), ...address(parts, job), ...preview(job) });
}

/** Returns a function that makes the record of a library file, with a new signed address. */
export const libraryFileWriter =
  (parts: ApiParts): ((file: LibraryFile) => Wire) =>
  (file) => ({ ...libraryFileRecord(file, about(parts, file)), ...address(parts, file) });

/** The client that a token was given to; none for a static one. */
const clientOf = ({ claims }: Caller): { clientId?: string } =>
  typeof claims.client_id === 'string' ? { clientId: claims.client_id } : {};

function about({ world, users }: ApiParts, file: StoredFile): About {
  const user = users.find(({ userId }) => userId === file.userId);
  const username = file.username === undefined ? user?.username : (file.username ?? undefined);
  return { status: world.fileStatus(file), username };
}

function address({ world, urls, storageUrl }: ApiParts, file: StoredFile): Wire {
  const status = world.fileStatus(file);
  if (status === 'failed') return {};
  if (status === 'uploaded') return { download_url: storageUrl() + urls.sign('download', file.key) };
  const lifetime = file.uploadMode === 'session' ? SESSION_LIFETIME : undefined;
  return { upload_url: storageUrl() + urls.sign('upload', file.key, lifetime) };
}

/** Stored jobs and library files: calls 3 to 7 (wire facts 4). */
export function libraryRoutes(parts: ApiParts): Route[] {
  const { world } = parts;
  const signedIn = signedInRoutes(parts.tokens);
  const storedJob = storedJobWriter(parts);
  const libraryFile = libraryFileWriter(parts);
  const { storagePath, lenient } = parts;

  return [
    signedIn('registerUpload', 'PUT', `${storagePath}/jobs/upload`, async (call, caller) => {
      const { userId, organizationId } = caller;
      const data = await readData(call, 'UploadRequest', JOB_FIELDS);
      if (!data) throw requiredField('UploadRequest', 'data');
      const wanted = checkJobUpload(data, lenient);
      if (wanted.libraryProjectId !== null) world.libraryProject(wanted.libraryProjectId, caller);
      if (wanted.sourceFileId !== null) world.libraryFile(wanted.sourceFileId, organizationId);
      return { data: storedJob(world.register({ ...wanted, ...clientOf(caller), userId, organizationId })) };
    }),
    signedIn('getJob', 'GET', `${storagePath}/jobs/{job_id}`, ({ params }, { organizationId }) => ({
      data: storedJob(world.storedJob(params.job_id!, organizationId)),
    })),
    signedIn('jobs', 'GET', `${storagePath}/jobs`, (call, { organizationId }) =>
      page(world.storedJobs(organizationId).reverse(), call.query, parts.apiUrl() + call.request.url!, storedJob),
    ),
    signedIn(
      'deleteJob',
      'DELETE',
      `${storagePath}/jobs/{job_id}`,
      ({ params }, { organizationId }) => {
        const { jobId } = world.storedJob(params.job_id!, organizationId);
        world.removeStoredJob(jobId);
      },
      204,
    ),

    signedIn('registerFile', 'PUT', `${storagePath}/files/upload`, async (call, caller) => {
      const { userId, organizationId } = caller;
      const data = await readData(call, 'UploadRequest', FILE_FIELDS);
      if (!data) throw requiredField('UploadRequest', 'data');
      const wanted = checkFileUpload(data, lenient);
      if (wanted.libraryProjectId !== null) world.libraryProject(wanted.libraryProjectId, caller);
      return { data: libraryFile(world.registerFile({ ...wanted, ...clientOf(caller), userId, organizationId })) };
    }),
    signedIn('getFile', 'GET', `${storagePath}/files/{file_id}`, ({ params }, { organizationId }) => ({
      data: libraryFile(world.libraryFile(params.file_id!, organizationId)),
    })),
    signedIn(
      'deleteFile',
      'DELETE',
      `${storagePath}/files/{file_id}`,
      ({ params }, { organizationId }) => {
        const { fileId } = world.libraryFile(params.file_id!, organizationId);
        world.removeLibraryFile(fileId);
      },
      204,
    ),
  ];
}
