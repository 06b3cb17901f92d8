import type { PreviewUrl } from '../wire/print-job-record';
import type { StoredJob } from '../world/state';
import type { ApiParts } from './signed-in';

/** Returns a function that signs the address of the picture of a job's file (wire facts 8). */
export function previewUrls({ world, urls, storageUrl }: ApiParts): PreviewUrl {
  return ({ jobId }) => {
    const file = jobId === null ? undefined : world.uploadedJob(jobId);
    return file && storageUrl() + urls.sign('preview', file.key);
  };
}

/** Returns a function that signs the picture of a stored job, in its record; only UFP has one (wire facts 4.1). */
export function storedPreview({ world, urls, storageUrl }: ApiParts): (job: StoredJob) => Record<string, string> {
  return (job) =>
    job.contentType === 'application/x-ufp' && world.fileStatus(job) === 'uploaded'
      ? { preview_image_url: storageUrl() + urls.sign('preview', job.key) }
      : {};
}
