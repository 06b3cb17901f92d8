import type { Answer, ApiClient, CallOptions } from '../account/api-client';
import { asPrintingError, PrintingError } from '../service/errors';
import { list, record, text } from '../service/json-readers';
import type { Clock } from '../time/clock';
import { Deadline } from '../time/deadline';
import { phrase } from '../words/sentence';
import type { PrintAttempt } from './attempt';

interface PrintCallDeps {
  service: ApiClient;
  clock: Clock;
  /** Held for as long as the call may take. */
  lock: CallOptions['lock'];
}

/** Calls `print` once. Resolves with its answer, or with the reason why it is missing although a print may exist. */
export async function callPrint(
  { service, clock, lock }: PrintCallDeps,
  startNow: boolean,
  { clusterId, jobId }: PrintAttempt,
  deadline: Deadline,
): Promise<Answer | PrintingError> {
  const underWay = new Deadline(clock, { ms: deadline.remaining() });
  try {
    const answer = await service.call('print', {
      ids: { cluster_id: clusterId, job_id: jobId },
      data: startNow ? {} : { start_now: false },
      what: phrase`the print`,
      deadline,
      underWay,
      lock,
    });
    return confirmsPrint(answer) ? answer : unexpectedAnswer(answer);
  } catch (thrown) {
    const error = asPrintingError(thrown);
    // An error of our own code has no outcome, and may have occurred after the call.
    const isOpen = error.outcome === 'unknown' || (error.outcome === undefined && error.code === 'SERVICE_ERROR');
    if (!isOpen) throw error;
    return error;
  } finally {
    underWay.end();
  }
}

/**
 * Whether an answer confirms a print (wire facts 7): it carries no errors, and names the job, the printing or a status.
 * Any other answer, such as an empty one, proves nothing.
 */
function confirmsPrint({ data, body }: Answer): boolean {
  if (list(record(body)?.errors).length > 0) return false;
  const answer = record(data);
  const fields = [answer?.job_id, answer?.job_instance_uuid, answer?.cluster_job_id, answer?.status];
  return fields.some((field) => text(field) !== null);
}

const unexpectedAnswer = ({ status: statusCode }: Answer): PrintingError =>
  new PrintingError(
    'SERVICE_ERROR',
    phrase`The service gave an unexpected answer about ${phrase`the print`}: check the hosts of the account, or try again later.`,
    { statusCode, outcome: 'unknown' },
  );
