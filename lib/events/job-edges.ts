import { hash } from 'node:crypto';
import {
  isAborting,
  isEndDecided,
  isEndUnnamed,
  isListedAsOver,
  isOver,
  isPlateWaiting,
  type JobState,
} from '../service/job-words';
import type { JobMaterial, PrintJob } from '../service/print-job';
import type { KnownJob } from './checkpoint';
import { RecurringEdges } from './edges';
import { type EndType, type EventBuilder, ofJob } from './print-event';

const UNDER_WAY: readonly JobState[] = ['printing', 'paused', 'finishing'];
const NEEDS_A_PERSON: readonly JobState[] = ['attention', 'approval'];
/** Time for which the record of a job that waits for its plate is asked for before its times decide, lived ms. */
const UNREAD_FOR = 10 * 60_000;

const isProducing = ({ state }: PrintJob): boolean => UNDER_WAY.includes(state);

/** Whether the machine goes on with it. A plate also waits after an abort. */
const isGoingOn = (job: PrintJob): boolean =>
  job.state === 'printing' || (job.state === 'finishing' && !isPlateWaiting(job));

/** Progress of a job under way, %; 0 for any other job. */
export const progressOf = (job: PrintJob): number => (isProducing(job) ? (job.progress ?? 0) : 0);

/**
 * Returns the state of a queued job after an observation, and adds the events of its edges (reference 3.3). `builder`
 * is null for a job that existed before the first observation.
 */
export function followJob(
  id: string,
  before: KnownJob | undefined,
  job: PrintJob,
  builder: EventBuilder | null,
): KnownJob {
  const figures = before && hasNothingNew(job, before.job) ? before.job : copyJob(complete(job, before?.job) ?? job);
  // Neither makes an event: a job can show the state of its end before that end is decided.
  if (job.state === 'unknown' || END_TYPES[job.state]) {
    const blank = {
      id,
      state: 'unknown',
      silent: builder !== null,
      started: false,
      aborting: false,
      progress: 0,
    } as const;
    const aborting = (before?.aborting ?? false) || isAborting(job);
    return { ...(before ?? blank), aborting, missingFrom: null, unreadFrom: before?.unreadFrom ?? null, job: figures };
  }

  const underWay = isProducing(job);
  const isNew = !before || before.silent;
  const wasPaused = before?.state === 'paused' || before?.paused === true;
  // A person's attention or a preparation may lie between a pause and its end.
  const isPaused = job.state === 'paused' || (wasPaused && !isGoingOn(job));
  const progress = Math.max(before?.progress ?? 0, progressOf(job));
  const after: KnownJob = {
    id,
    state: job.state,
    silent: false,
    started: underWay || (before?.started ?? false),
    aborting: isOver(job) && (before?.aborting ?? false),
    ...(isPaused && { paused: true }),
    progress,
    missingFrom: null,
    unreadFrom: isOver(job) ? (before?.unreadFrom ?? null) : null,
    job: figures,
  };
  // Memory holds thousands of queues: an unchanged job keeps its object.
  if (before && isSame(before, after)) return before;
  if (!builder) return after;

  const edges = new RecurringEdges(id, before?.edges, builder);
  const previous = isNew ? undefined : before.state;
  if (isNew && !underWay) builder.once('job.queued', id, ofJob(job));
  if (underWay && !before?.started) builder.once('job.started', id, ofJob(job));
  if (job.state !== previous) {
    if (NEEDS_A_PERSON.includes(job.state)) edges.add('job.attention', needOf(job), ofJob(job));
    // The elapsed time of a paused print stands still, so it identifies the pause.
    if (job.state === 'paused') edges.add('job.paused', timeOf(job), ofJob(job));
    if (before && wasPaused && isGoingOn(job))
      edges.add('job.resumed', edges.last('job.paused') ?? timeOf(before.job), ofJob(job));
  }
  if (!isNew && progress > before.progress) addProgress(id, before.progress, progress, job, builder);
  return edges.all ? { ...after, edges: edges.all } : after;
}

function addProgress(id: string, from: number, to: number, job: PrintJob, builder: EventBuilder): void {
  builder.step('job.progress', id, { of: 'milestones', from, to }, ofJob(job));
}

/**
 * A job as last known in what its record does not say: a missing status is no other one as long as the coarse state is the
 * same, and missing changes are not resolved (wire facts 8).
 */
export function withLastWords(job: PrintJob, known: KnownJob | undefined, lacksChanges: boolean): PrintJob {
  if (!known) return job;
  const { state } = known;
  const { status, serviceState, changesRequired } = known.job;
  const isSameState = job.serviceState === null || job.serviceState === serviceState;
  if (job.status === null && status !== null && isSameState) return { ...job, status, state, changesRequired };
  const stillNeedsChanges = state === 'attention' && job.state === 'waiting' && job.status === status;
  return lacksChanges && stillNeedsChanges ? { ...job, state, changesRequired } : job;
}

/** Elapsed time of a print, or else its progress. */
const timeOf = ({ timeElapsed, progress }: PrintJob): string =>
  `${timeElapsed ?? (progress === null ? '-' : `${progress}%`)}`;

/** Identifies the reason for which a person is needed. */
const needOf = (job: PrintJob): string =>
  `${job.state}-${timeOf(job)}-${hash('sha256', JSON.stringify(job.changesRequired), 'base64url').slice(0, 8)}`;

/** Adds the event of an end, after the progress up to it. */
export function endJob(
  id: string,
  before: KnownJob | undefined,
  type: EndType,
  job: PrintJob | null,
  builder: EventBuilder,
): void {
  const reached = type === 'job.finished' ? 100 : (job?.progress ?? 0);
  if (job && before?.started && !before.silent && reached > before.progress) {
    addProgress(id, before.progress, reached, job, builder);
  }
  builder.once(type, id, job ? ofJob(job) : {});
}

/** Completes the record of an end with the last observed fields (reference 3.3: "the whole job"). */
export function complete(record: PrintJob | null, known: PrintJob | undefined): PrintJob | null {
  if (!record || !known) return record ?? known ?? null;
  const whole = { ...record };
  for (const field in known)
    if (isMissing(record, field as keyof PrintJob)) assign(whole, known, field as keyof PrintJob);
  return whole;
}

/** Fields that an earlier record never fills in: a time is stale then, and a note may have been removed. */
const PASSING: readonly (keyof PrintJob)[] = ['timeRemaining', 'note'];

const isMissing = (record: PrintJob, field: keyof PrintJob): boolean =>
  record[field] === null && !PASSING.includes(field);

const assign = <K extends keyof PrintJob>(job: PrintJob, from: PrintJob, field: K): void => {
  job[field] = from[field];
};

function hasNothingNew(record: PrintJob, known: PrintJob): boolean {
  if ([record, known].some(({ changesRequired, problems }) => changesRequired.length + problems.length > 0))
    return false;
  for (const name in record) {
    const field = name as keyof PrintJob;
    const isOld =
      record[field] === known[field] ||
      isMissing(record, field) ||
      field === 'changesRequired' ||
      field === 'problems' ||
      field === 'materials';
    if (!isOld) return false;
  }
  return areSameMaterials(record.materials, known.materials);
}

function areSameMaterials(some: readonly JobMaterial[], others: readonly JobMaterial[]): boolean {
  const isSame = (one: JobMaterial, other: JobMaterial | undefined) =>
    other !== undefined && (Object.keys(one) as (keyof JobMaterial)[]).every((key) => one[key] === other[key]);
  return some.length === others.length && some.every((one, at) => isSame(one, others[at]));
}

const isSame = (one: KnownJob, other: KnownJob): boolean =>
  (Object.keys(other) as (keyof KnownJob)[]).every((field) => one[field] === other[field]);

/** Returns a copy, as flows receive the observation itself and may change it. */
export const copyJob = ({ materials, changesRequired, problems, ...job }: PrintJob): PrintJob => ({
  ...job,
  materials: materials.map((material) => ({ ...material })),
  changesRequired: changesRequired.map((change) => ({ ...change })),
  problems: problems.map((problem) => ({ ...problem })),
});

/**
 * Result of reading a job's record (interface, endpoint 11): the job, `gone` if it does not exist, `unanswered` if the
 * read failed or is still to come.
 */
export type JobAnswer = PrintJob | 'gone' | 'unanswered';

/** Identifies the machine of a job within its cluster. */
export const machineOf = ({ printerId }: PrintJob): string => printerId ?? '';

/**
 * The job as finished, where its machine names every other end in a longer word and its own word stands for two (reference
 * 3.3); otherwise the job itself. `namingEnds`: machines that have named an end.
 */
export const withNamedEnd = (job: PrintJob, namingEnds: readonly string[]): PrintJob =>
  isFinishedByMachine(job, namingEnds) ? { ...job, state: 'finished' } : job;

const isFinishedByMachine = (job: PrintJob, namingEnds: readonly string[]): boolean =>
  isEndUnnamed(job) && namingEnds.includes(machineOf(job));

/** The places in which one job was found. */
interface Traces {
  active: PrintJob | undefined;
  past: PrintJob | undefined;
  known: KnownJob | undefined;
  /** Whether a reachable cluster listed its queue, so that absence is meaningful. */
  absenceCounts: boolean;
  /** Whether an earlier observation missed it as well: a single odd answer is no proof. */
  missedBefore: boolean;
  /** Whether it has been missing so long that its record no longer matters. */
  tooLong?: boolean;
  /** Time for which its record could not be read, ms. */
  unread: number;
  /** Machines that have named an end in a longer word. */
  namingEnds: readonly string[];
}

/** `open`: not ended as far as known. `ask`: read the job's record first. */
export type Verdict = { type: EndType; job: PrintJob | null } | 'open' | 'ask';

const END_TYPES: Partial<Record<JobState, EndType>> = {
  finished: 'job.finished',
  failed: 'job.failed',
  aborted: 'job.aborted',
};

const endAs = (job: PrintJob): Verdict => ({ type: END_TYPES[job.state] ?? 'job.ended', job });

/** Decides whether and how a job without a recorded end has ended (reference 3.3). */
export function judge(
  { active, past, known, absenceCounts, missedBefore, tooLong = false, unread, namingEnds }: Traces,
  answer: JobAnswer | undefined,
): Verdict {
  if (past && isEndDecided(past)) return endAs(past);
  if (active && isEndDecided(active)) return endAs(active);
  if (active && !isOver(active)) return 'open';
  if (!active && !absenceCounts) return 'open';

  if (answer === undefined) return 'ask';
  const own = typeof answer === 'object' ? answer : undefined;
  if (own && isEndDecided(own)) return endAs(own);
  if (!active && !tooLong && own && isStillActive(own)) return 'open';

  const latest = active ?? own ?? past ?? known?.job ?? null;
  const left = [active, own, past].filter((job) => job !== undefined).filter(isPlateWaiting);
  const finished = left.find((job) => isFinishedByMachine(job, namingEnds));
  if (finished) return endAs(withNamedEnd(finished, namingEnds));
  // A record that was not read may say otherwise than the times.
  if (answer === 'unanswered' && unread < UNREAD_FOR) return 'open';
  if (known?.aborting || [own, past].some((job) => job && isAborting(job))) return { type: 'job.aborted', job: latest };
  // Left waiting for a person at the printer: its times show how it ended.
  const timed = left.find((job) => END_TYPES[job.state]);
  if (timed) return endAs(timed);
  if (active && isPlateWaiting(active)) return 'open';
  if (answer === 'unanswered' && !tooLong) return 'open';
  // Its absence is the only sign of an end.
  if (!active && !own && !past && !missedBefore) return 'open';
  return { type: 'job.ended', job: latest };
}

function isStillActive(job: PrintJob): boolean {
  if (job.deletedAt !== null || isListedAsOver(job)) return false;
  return isAborting(job) || (job.state !== 'unknown' && END_TYPES[job.state] === undefined);
}
