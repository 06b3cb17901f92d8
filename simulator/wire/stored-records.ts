import { iso } from '../world/clock';
import { densityOf, DIAMETER } from '../world/spools';
import type { LibraryFile, MaterialNeed, StoredFile, StoredJob } from '../world/state';

type Wire = Record<string, unknown>;

/** Common fields of stored jobs and library files, without the signed addresses. */
function storedRecord(
  file: StoredFile,
  { uploaded, username }: { uploaded: boolean; username?: string | undefined },
): Wire {
  return {
    file_size: file.fileSize,
    content_type: file.contentType,
    ...(file.origin === null ? {} : { origin: file.origin }),
    ...(file.libraryProjectId === null ? {} : { library_project_id: file.libraryProjectId }),
    status: uploaded ? 'uploaded' : 'uploading',
    user_id: file.userId,
    ...(username === undefined ? {} : { username }),
    ...(uploaded && file.uploadedAt !== null ? { uploaded_at: iso(file.uploadedAt) } : {}),
  };
}

/** Record of calls 3 and 4 (wire facts 4.1). */
export function storedJobRecord(job: StoredJob, about: { uploaded: boolean; username?: string | undefined }): Wire {
  return {
    job_id: job.jobId,
    job_name: job.jobName,
    ...storedRecord(job, about),
    ...(job.sourceFileId === null ? {} : { source_file_id: job.sourceFileId }),
    ...(about.uploaded ? { parsing_status: 'success' } : {}),
    ...(about.uploaded && job.parsed
      ? { metadata: { extruders: job.needs?.map(needRecord) ?? [], print: { estimated_time: job.printSeconds } } }
      : {}),
  };
}

/** Record of calls 5 and 6 (wire facts 4.3). */
export function libraryFileRecord(
  file: LibraryFile,
  about: { uploaded: boolean; username?: string | undefined },
): Wire {
  return { file_id: file.fileId, file_name: file.fileName, ...storedRecord(file, about) };
}

/** Record of an extruder in a file's metadata (wire facts 4.1); its comments don't name the material. */
function needRecord({ extruder, volume, guid, printCore }: MaterialNeed): Wire {
  const density = densityOf('');
  return {
    extruder_index: extruder,
    ...(printCore === null ? {} : { print_core_id: printCore }),
    estimated_material_volume: volume,
    material: { ...(guid === null ? {} : { guid }), diameter: DIAMETER, density, weight: (volume * density) / 1000 },
  };
}
