import type { ApiClient } from '../../account/api-client';
import type { JobAnswer } from '../../events/job-edges';
import { asPrintingError } from '../../service/errors';
import { readPrintJob } from '../../service/print-job';
import { record, text } from '../../service/json-readers';
import type { Deadline } from '../../time/deadline';
import { phrase } from '../../words/sentence';

/** Error codes that a retry would not change. */
const FINAL = ['NOT_FOUND', 'FORBIDDEN', 'INVALID_INPUT'];

/** Reads a job's record (interface, endpoint 11). Rejects only where a parent signal aborts. */
export async function readJobRecord(
  service: ApiClient,
  clusterId: string,
  clusterJobId: string,
  deadline: Deadline,
): Promise<JobAnswer> {
  try {
    const ids = { cluster_id: clusterId, cluster_job_id: clusterJobId };
    const { data } = await service.call('printJob', { ids, what: phrase`the print job`, deadline });
    const wire = record(data) ?? record(Array.isArray(data) ? data[0] : null);
    if (!wire) return 'unanswered';
    const job = readPrintJob(wire, clusterId);
    return {
      // The requested id overrides the answer's: an event belongs to the print that was watched.
      job: { ...job, clusterJobId },
      coarse: text(wire.state),
      deleted: text(wire.deleted_at) !== null,
    };
  } catch (thrown) {
    return FINAL.includes(asPrintingError(thrown).code) ? 'gone' : 'unanswered';
  }
}
