import type { ApiClient } from '../account/api-client';
import type { Http } from '../http/http';
import { READS, retry } from '../http/retry';
import { fetchImage, type Image } from '../picture/image';
import { PICTURE } from '../rules/limits';
import { asPrintingError, PrintingError, revised } from '../service/errors';
import { record, records, text, type Json } from '../service/json-readers';
import type { Deadline } from '../time/deadline';
import { readStored } from '../upload/send';
import { phrase } from '../words/sentence';

/** A print, or the id of a stored job. */
export type PreviewOf = { clusterId: string; clusterJobId: string } | { jobId: string };

interface Preview extends Image {
  /** The record of the print or the stored job, unchanged. It holds the signed address. */
  raw: unknown;
}

/**
 * Reads the picture of a stored job or of a print (wire facts 4.1 and 8): its record, and the picture at the signed
 * address in it. Throws NOT_FOUND if there is no picture, TOO_LARGE, SERVICE_ERROR for other content, and the errors of
 * the service's calls.
 */
export async function readPreview(
  { service, http }: { service: ApiClient; http: Http },
  of: PreviewOf,
  deadline: Deadline,
): Promise<Preview> {
  const { address, raw } = await ('jobId' in of
    ? storedPreview(service, of, deadline)
    : printPreview(service, of, deadline));
  if (address === null) throw noPicture();
  const { signal } = deadline;
  const image = { signal, maxBytes: PICTURE, onPercent: () => undefined };
  try {
    return { ...(await retry(deadline, READS, () => fetchImage(http, address, image))), raw };
  } catch (thrown) {
    const error = asPrintingError(thrown);
    if (error.statusCode === 404) throw noPicture();
    if (error.code !== 'TOO_LARGE') throw error;
    const sentence = phrase`The picture has more than ${PICTURE / 2 ** 20} MB: upload the file with a smaller one.`;
    throw revised(error, { sentence });
  }
}

async function storedPreview(service: ApiClient, { jobId }: { jobId: string }, deadline: Deadline) {
  const raw = await readStored(service, { kind: 'job', id: jobId }, { deadline });
  return { address: text(raw.preview_image_url), raw: raw as unknown };
}

async function printPreview(
  service: ApiClient,
  { clusterId, clusterJobId }: { clusterId: string; clusterJobId: string },
  deadline: Deadline,
) {
  const ids = { cluster_id: clusterId, cluster_job_id: clusterJobId };
  const { data } = await service.call('printJob', { ids, what: phrase`the print job`, deadline });
  const [job = {}] = records(data);
  return { address: text(job.preview_url) ?? text(sourceOf(job).preview_image_url), raw: data };
}

/** The stored file's record in that of a print. */
const sourceOf = (job: Json): Json => record(job.source) ?? {};

const noPicture = (): PrintingError =>
  new PrintingError(
    'NOT_FOUND',
    phrase`The service has no picture of this print job: upload it as a UFP file, which contains one.`,
  );
