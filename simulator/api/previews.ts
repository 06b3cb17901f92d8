import type { PreviewUrl } from '../wire/print-job-record';
import type { ApiParts } from './signed-in';

/** Returns a function that signs the address of the picture of a job's file (wire facts 8). */
export function previewUrls({ world, urls, storageUrl }: ApiParts): PreviewUrl {
  return ({ jobId }) => {
    const file = jobId === null ? undefined : world.uploadedJob(jobId);
    return file && storageUrl() + urls.sign('preview', file.key);
  };
}
