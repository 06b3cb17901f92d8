import type { JobControl } from '../control/job-control';
import type { ClusterStatus } from '../service/cluster';
import { asPrintingError, type PrintingError } from '../service/errors';
import { AGAIN, retryUntil, WORK_IN_PROGRESS } from '../time/retry';
import { underDeadline, type Deadline } from '../time/deadline';
import { hasBegun } from './has-begun';

/** Time within which a removal must be proven (print queue, rule 6), ms. */
const LONGEST = 120_000;
/** Time for the removal itself, ms. */
const REMOVAL = 60_000;

/** A dispatched job that has not begun. */
interface RecalledJob {
  clusterId: string;
  clusterJobId: string;
}

/**
 * Outcome of a removal. `gone`: proven. `begun`: it came too late. `refused`: the service or the printer did not remove
 * the job. `unproven`: the job may be there or not.
 */
export type RecallOutcome = 'gone' | 'begun' | 'refused' | 'unproven';

interface RecallDeps {
  jobControl: Pick<JobControl, 'run'>;
  /** Reads the printer again. */
  read: (clusterId: string, deadline: Deadline) => Promise<ClusterStatus>;
  closing: Deadline;
}

/**
 * Removes a job from its printer. Proof is the success of the removal, together with a status made after it in which the
 * job is neither queued nor printing. Never rejects.
 */
export const recall = ({ jobControl, read, closing }: RecallDeps, job: RecalledJob): Promise<RecallOutcome> =>
  underDeadline(closing.clock, { ms: LONGEST, parent: closing }, async (deadline) => {
    const { clusterId, clusterJobId } = job;
    const removed = await underDeadline(closing.clock, { ms: REMOVAL, parent: deadline }, (limit) =>
      jobControl
        .run({ clusterId, clusterJobId, action: 'remove', data: {}, deadline: limit, onStage: () => undefined })
        .then(() => null, asPrintingError),
    );
    const look = async (): Promise<RecallOutcome | typeof AGAIN> => {
      const status = await read(clusterId, deadline);
      if (status.online === false) return AGAIN;
      const listed = status.jobs.find((other) => other.clusterJobId === clusterJobId);
      const past = status.history.find((other) => other.clusterJobId === clusterJobId);
      if ([listed, past].some((seen) => seen && hasBegun(seen))) return 'begun';
      if (listed) return removed && isRefusal(removed) ? 'refused' : AGAIN;
      return removed ? 'unproven' : 'gone';
    };
    return retryUntil(deadline, WORK_IN_PROGRESS, look).catch(() => 'unproven' as const);
  }).catch(() => 'unproven');

/** Whether the job is certainly still there because its removal was refused or failed. */
const isRefusal = ({ code, outcome, obstacle }: PrintingError): boolean =>
  obstacle !== 'offline' && (code === 'ACTION_FAILED' || code === 'NOT_ACCEPTED' || outcome === 'refused');
