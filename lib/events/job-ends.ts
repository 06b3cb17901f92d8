import type { JobState, PrintJob } from '../service/print-job';
import type { KnownJob } from './checkpoint';
import type { EndType } from './print-event';

/** A job's record (interface, endpoint 11) with its coarse state (wire facts 12.3). */
export interface JobRecord {
  job: PrintJob;
  coarse: string | null;
  /** Whether it has a `deleted_at`. */
  deleted: boolean;
}

/** Result of reading a job's record: the record, `gone` if it does not exist, `unanswered` if the read failed. */
export type JobAnswer = JobRecord | 'gone' | 'unanswered';

/** The places in which one job was found. */
export interface Traces {
  active: PrintJob | undefined;
  past: PrintJob | undefined;
  known: KnownJob | undefined;
  /** Whether a reachable cluster listed its queue, so that absence is meaningful. */
  absenceCounts: boolean;
  /** Whether an earlier observation missed it as well: a single odd answer is no proof. */
  missedBefore: boolean;
  /** Whether it has been missing so long that its record no longer matters. */
  tooLong?: boolean;
}

/** `open`: not ended as far as known. `ask`: read the job's record first. */
export type Verdict = { type: EndType; job: PrintJob | null } | 'open' | 'ask';

const END_TYPES: Partial<Record<JobState, EndType>> = {
  finished: 'job.finished',
  failed: 'job.failed',
  aborted: 'job.aborted',
};

/** Whether the job shows for certain how it ended; `wait_cleanup` and `aborting` don't (wire facts, trap 20). */
export const settles = (job: PrintJob): boolean =>
  END_TYPES[job.state] !== undefined && job.status !== 'wait_cleanup' && job.status !== 'aborting';

const endAs = (job: PrintJob): Verdict => ({ type: END_TYPES[job.state] ?? 'job.ended', job });

/** Decides whether and how a job without a recorded end has ended (reference 3.3). */
export function judge(
  { active, past, known, absenceCounts, missedBefore, tooLong = false }: Traces,
  answer: JobAnswer | undefined,
): Verdict {
  if (past && settles(past)) return endAs(past);
  if (active && settles(active)) return endAs(active);
  if (active && active.status !== 'wait_cleanup') return 'open';
  if (!active && !absenceCounts) return 'open';

  if (answer === undefined) return 'ask';
  const own = typeof answer === 'object' ? answer : undefined;
  if (own && settles(own.job)) return endAs(own.job);
  if (!active && !tooLong && own && isStillActive(own)) return 'open';

  const latest = active ?? own?.job ?? past ?? known?.job ?? null;
  if (known?.aborting || own?.job.status === 'aborting' || past?.status === 'aborting') {
    return { type: 'job.aborted', job: latest };
  }
  // Left waiting for a person at the printer: its times show how it ended.
  const timed = [active, own?.job, past].find((job) => job?.status === 'wait_cleanup' && END_TYPES[job.state]);
  if (timed) return endAs(timed);
  if (active || (answer === 'unanswered' && !tooLong)) return 'open';
  // Its absence is the only sign of an end.
  if (!own && !past && !missedBefore) return 'open';
  return { type: 'job.ended', job: latest };
}

function isStillActive({ job, coarse, deleted }: JobRecord): boolean {
  if (deleted || coarse === 'history' || coarse === 'deleted') return false;
  if (job.status === 'aborting') return true;
  return job.state === 'unknown' ? coarse === 'in_progress' : END_TYPES[job.state] === undefined;
}
