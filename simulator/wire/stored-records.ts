import { iso } from '../world/clock';
import type { LibraryFile, LibraryProject, StoredFile, StoredJob } from '../world/state';
import type { FileStatus } from '../world/library';
import { toolpathMetadata } from './toolpath-metadata';

type Wire = Record<string, unknown>;

/** Facts of a record besides the file itself. */
export interface About {
  status: FileStatus;
  username: string | undefined;
}

/** Common fields of stored jobs and library files, without the signed addresses. */
function storedRecord(file: StoredFile, { status, username }: About): Wire {
  return {
    file_size: file.fileSize,
    content_type: file.contentType,
    ...(file.origin === null ? {} : { origin: file.origin }),
    ...(file.libraryProjectId === null ? {} : { library_project_id: file.libraryProjectId }),
    status,
    ...(file.failure === undefined ? {} : { status_description: file.failure }),
    user_id: file.userId,
    ...(username === undefined ? {} : { username }),
    ...(status === 'uploaded' && file.uploadedAt !== null ? { uploaded_at: iso(file.uploadedAt) } : {}),
  };
}

/** Record of calls 3 and 4 (wire facts 4.1). */
export function storedJobRecord(job: StoredJob, about: About & { parsing: string }): Wire {
  const parsing = about.status === 'uploaded' ? about.parsing : undefined;
  const metadata = parsing === 'success' ? toolpathMetadata(job) : undefined;
  return {
    job_id: job.jobId,
    job_name: job.jobName,
    ...storedRecord(job, about),
    ...(job.sourceFileId === null ? {} : { source_file_id: job.sourceFileId }),
    ...(parsing === undefined ? {} : { parsing_status: parsing }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/** Record of calls 5 and 6 (wire facts 4.3). A client requires its `uploaded_at` before the upload already. */
export function libraryFileRecord(file: LibraryFile, about: About): Wire {
  return {
    file_id: file.fileId,
    file_name: file.fileName,
    client_id: file.clientId ?? API_TOKEN,
    ...storedRecord(file, about),
    uploaded_at: iso(file.uploadedAt ?? file.createdAt),
  };
}

/** Client of a file whose uploader had a static API token. */
const API_TOKEN = 'api-token';

/** Record of a library project (wire facts 4.5). */
export function projectRecord(project: LibraryProject, username: string | undefined): Wire {
  const { createdAt, comments } = project;
  return {
    library_project_id: project.libraryProjectId,
    display_name: project.displayName,
    ...(username === undefined ? {} : { username }),
    organization_id: project.organizationId,
    organization_shared: project.shared,
    team_ids: [],
    tags: [],
    description: '',
    status: 'active',
    is_inactive: false,
    created_by_user_id: project.userId,
    created_at: iso(createdAt),
    last_updated: iso(comments.at(-1)?.at ?? createdAt),
  };
}
