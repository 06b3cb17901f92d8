import type { JobState, PrintJob } from '../service/print-job';
import type { KnownJob } from './checkpoint';
import type { EndType } from './print-event';

/** A job's record (interface, endpoint 11) with the coarse state that it stands in (wire facts 12.3). */
export interface JobRecord {
  job: PrintJob;
  coarse: string | null;
  /** It bears a `deleted_at`. */
  deleted: boolean;
}

/** What asking for a job's record brought: the record, word that there is none, or nothing. */
export type JobAnswer = JobRecord | 'gone' | 'unanswered';

/** Everywhere that one job was found. */
export interface Traces {
  active: PrintJob | undefined;
  past: PrintJob | undefined;
  known: KnownJob | undefined;
  /** The queue was listed by a reachable cluster, so that absence means something. */
  absenceCounts: boolean;
  /** An earlier look missed it as well: one odd answer is no proof. */
  missedBefore: boolean;
  /** Missing for so long that nobody waits for an answer any more. */
  tooLong?: boolean;
}

/** `open`: not ended, or not known to have. `ask`: the job's record must be read first. */
export type Verdict = { type: EndType; job: PrintJob | null } | 'open' | 'ask';

const END_TYPES: Partial<Record<JobState, EndType>> = {
  finished: 'job.finished',
  failed: 'job.failed',
  aborted: 'job.aborted',
};

/** Says for certain how the job ended; `wait_cleanup` and `aborting` don't (wire facts, trap 20). */
export const settles = (job: PrintJob): boolean =>
  END_TYPES[job.state] !== undefined && job.status !== 'wait_cleanup' && job.status !== 'aborting';

const endAs = (job: PrintJob): Verdict => ({ type: END_TYPES[job.state] ?? 'job.ended', job });

/** Whether and how a job has ended that was not known to (reference 3.3). */
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
  // Left to wait for a person at the printer, it ended by its times.
  const timed = [active, own?.job, past].find((job) => job?.status === 'wait_cleanup' && END_TYPES[job.state]);
  if (timed) return endAs(timed);
  if (active || (answer === 'unanswered' && !tooLong)) return 'open';
  // Nothing but its absence says that it ended.
  if (!own && !past && !missedBefore) return 'open';
  return { type: 'job.ended', job: latest };
}

function isStillActive({ job, coarse, deleted }: JobRecord): boolean {
  if (deleted || coarse === 'history' || coarse === 'deleted') return false;
  if (job.status === 'aborting') return true;
  return job.state === 'unknown' ? coarse === 'in_progress' : END_TYPES[job.state] === undefined;
}
