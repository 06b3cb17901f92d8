import type { ApiClient } from '../account/api-client';
import { pagesOf } from '../account/pages';
import { FILTER, FORM_JOBS, PAGE } from '../rules/limits';
import { number, text, time } from '../service/json-readers';
import { storedId } from '../service/stored-file';
import type { Deadline } from '../time/deadline';
import { isUploaded } from '../upload/send';
import { phrase } from '../words/sentence';

/** A stored job to choose in a form (reference 5). */
export interface ListedJob {
  jobId: string;
  name: string | null;
  /** Bytes. */
  fileSize: number | null;
  uploadedAt: string | null;
  /** Name of the user; null also for a deleted one. */
  uploadedBy: string | null;
}

/**
 * Lists the stored jobs whose file is uploaded, newest first, at most FORM_JOBS of them. With a search, only those
 * whose name, uploader or id contain each of its words. The service's own search is unknown (wire facts 4.5), so all
 * pages are read. Throws the errors of `pagesOf`.
 */
export async function listStoredJobs(service: ApiClient, search: string, deadline: Deadline): Promise<ListedJob[]> {
  const words = search.slice(0, FILTER.value).toLowerCase().split(/\s+/);
  const found = new Map<string, ListedJob>();
  const query = { limit: String(PAGE) };
  for await (const page of pagesOf(service, 'storedJobs', { query, what: phrase`the stored jobs`, deadline })) {
    for (const wire of page) {
      const jobId = storedId('job', wire);
      if (jobId === null || !isUploaded(wire)) continue;
      const [name, uploadedBy] = [text(wire.job_name) ?? text(wire.file_name), text(wire.username)];
      const all = [name, uploadedBy, jobId].join(' ').toLowerCase();
      if (!words.every((word) => all.includes(word))) continue;
      const [fileSize, uploadedAt] = [number(wire.file_size), time(wire.uploaded_at)];
      found.set(jobId, { jobId, name, fileSize, uploadedAt, uploadedBy });
    }
  }
  return [...found.values()].sort(newestFirst).slice(0, FORM_JOBS);
}

/** Orders by the time of the upload; entries without one come last. */
function newestFirst({ uploadedAt: a }: ListedJob, { uploadedAt: b }: ListedJob): number {
  if (a === b) return 0;
  return (a ?? '') < (b ?? '') ? 1 : -1;
}
