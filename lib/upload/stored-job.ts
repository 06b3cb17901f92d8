import type { CallOptions, Service } from '../account/service';
import { PrintingError } from '../service/errors';
import { withoutAddresses } from '../service/refusals';
import { record, text, type Json } from '../service/wire';
import { waitBefore, WORK_IN_PROGRESS } from '../time/backoff';
import { sleep, type Clock } from '../time/clock';

export type Limits = Pick<CallOptions, 'signal' | 'until'>;

/** The record of a stored file, as the service has it now. */
export async function readStoredJob(service: Service, jobId: string, limits: Limits): Promise<Json> {
  const answer = await service.call('storedJob', { ids: { job_id: jobId }, what: 'the stored file', ...limits });
  return record(answer.data) ?? {};
}

export const isUploaded = (job: Json): boolean => text(job.status)?.toLowerCase() === 'uploaded';

/** Waits until the service has taken the bytes (interface, States). Throws UPLOAD_FAILED where it says that it hasn't. */
export async function awaitUploaded(service: Service, clock: Clock, jobId: string, limits: Limits): Promise<Json> {
  for (let look = 0; ; look++) {
    const job = await readStoredJob(service, jobId, limits);
    if (isUploaded(job)) return job;
    const status = text(job.status) ?? '';
    // The other status words aren't known; whatever sounds like one is a failure, the rest may still change (wire facts 4.1).
    if (/fail|error|reject/i.test(status)) {
      const reason = withoutAddresses(text(job.status_description) ?? status).slice(0, 200);
      throw new PrintingError(
        'UPLOAD_FAILED',
        `The service could not take the file (${reason}): check the file and send it again.`,
        {
          ids: { jobId },
        },
      );
    }
    await sleep(clock, waitBefore(look, WORK_IN_PROGRESS), limits.signal);
  }
}
