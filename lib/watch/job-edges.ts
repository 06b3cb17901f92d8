import type { JobState, PrintJob } from '../service/print-job';
import type { EndType } from './events';
import type { KnownJob } from './position';
import { ofJob, type Teller } from './teller';

const UNDER_WAY: readonly JobState[] = ['printing', 'paused', 'finishing'];
const NEEDS_A_PERSON: readonly JobState[] = ['attention', 'approval'];

/** Takes a job of the queue that has not ended to its new place, and tells the edges it crossed (reference 3.3). */
export function followJob(id: string, before: KnownJob | undefined, job: PrintJob, teller: Teller | null): KnownJob {
  const figures = complete(job, before?.job) ?? job;
  // Neither makes an edge; `aborting` bears the state of an end that is yet to come.
  if (job.state === 'unknown' || job.status === 'aborting') {
    const blank = {
      id,
      state: 'unknown',
      untold: teller !== null,
      started: false,
      aborting: false,
      progress: 0,
    } as const;
    const aborting = (before?.aborting ?? false) || job.status === 'aborting';
    return { ...(before ?? blank), aborting, job: figures };
  }

  const underWay = UNDER_WAY.includes(job.state);
  const isNew = !before || before.untold;
  const progress = Math.max(before?.progress ?? 0, underWay ? (job.progress ?? 0) : 0);
  const after: KnownJob = {
    id,
    state: job.state,
    untold: false,
    started: underWay || (before?.started ?? false),
    aborting: job.status === 'wait_cleanup' && (before?.aborting ?? false),
    progress,
    job: figures,
  };
  if (!teller) return after;

  const previous = isNew ? undefined : before.state;
  if (isNew && !underWay) teller.once('job.queued', id, ofJob(job));
  if (underWay && !before?.started) teller.once('job.started', id, ofJob(job));
  if (job.state !== previous) {
    if (NEEDS_A_PERSON.includes(job.state)) teller.edge('job.attention', id, ofJob(job));
    if (job.state === 'paused') teller.edge('job.paused', id, ofJob(job));
    if (job.state === 'printing' && previous === 'paused') teller.edge('job.resumed', id, ofJob(job));
  }
  if (!isNew && progress > before.progress) teller.step(id, before.progress, progress, job);
  return after;
}

/** Tells an end, after what was passed on the way to it. */
export function endJob(
  id: string,
  before: KnownJob | undefined,
  type: EndType,
  job: PrintJob | null,
  teller: Teller,
): void {
  const reached = type === 'job.finished' ? 100 : (job?.progress ?? 0);
  if (job && before?.started && !before.untold && reached > before.progress) {
    teller.step(id, before.progress, reached, job);
  }
  teller.once(type, id, job ? ofJob(job) : {});
}

/** The record of an end with what only the last observation knew (reference 3.3: "the whole job"). */
export function complete(record: PrintJob | null, known: PrintJob | undefined): PrintJob | null {
  if (!record || !known) return record ?? known ?? null;
  const given = Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)) as Partial<PrintJob>;
  // Time that was left is old as soon as it is not given anew.
  return { ...known, ...given, timeRemaining: record.timeRemaining };
}
