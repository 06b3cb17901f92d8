import { hash } from 'node:crypto';
import type { JobState, PrintJob } from '../service/print-job';
import type { KnownJob } from './checkpoint';
import { ofJob, type EventBuilder } from './event-builder';
import type { EndType, EventType } from './print-event';

const UNDER_WAY: readonly JobState[] = ['printing', 'paused', 'finishing'];
const NEEDS_A_PERSON: readonly JobState[] = ['attention', 'approval'];

const isUnderWay = ({ state }: PrintJob): boolean => UNDER_WAY.includes(state);

/** Progress that counts: only that of a job under way. */
export const progressOf = (job: PrintJob): number => (isUnderWay(job) ? (job.progress ?? 0) : 0);

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
  const figures = before && hasNothingNew(job, before.job) ? before.job : copyOf(complete(job, before?.job) ?? job);
  // Neither is an edge; the state of an `aborting` job is that of its coming end.
  if (job.state === 'unknown' || job.status === 'aborting') {
    const blank = {
      id,
      state: 'unknown',
      silent: builder !== null,
      started: false,
      aborting: false,
      progress: 0,
    } as const;
    const aborting = (before?.aborting ?? false) || job.status === 'aborting';
    return { ...(before ?? blank), aborting, missingSince: null, job: figures };
  }

  const underWay = isUnderWay(job);
  const isNew = !before || before.silent;
  const progress = Math.max(before?.progress ?? 0, progressOf(job));
  const after: KnownJob = {
    id,
    state: job.state,
    silent: false,
    started: underWay || (before?.started ?? false),
    aborting: job.status === 'wait_cleanup' && (before?.aborting ?? false),
    progress,
    missingSince: null,
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
    if (NEEDS_A_PERSON.includes(job.state)) edges.add('job.attention', needOf(job), job);
    // The elapsed time of a paused print stands still, so it identifies the pause.
    if (job.state === 'paused') edges.add('job.paused', timeOf(job), job);
    if (job.state === 'printing' && before && previous === 'paused')
      edges.add('job.resumed', edges.last('job.paused') ?? timeOf(before.job), job);
  }
  if (!isNew && progress > before.progress) builder.step(id, before.progress, progress, job);
  return edges.all ? { ...after, edges: edges.all } : after;
}

/** Elapsed time of a print, or else its progress. */
const timeOf = ({ timeElapsed, progress }: PrintJob): string =>
  `${timeElapsed ?? (progress === null ? '-' : `${progress}%`)}`;

/** Identifies the reason for which a person is needed. */
const needOf = (job: PrintJob): string =>
  `${job.state}-${timeOf(job)}-${hash('sha256', JSON.stringify(job.changesRequired), 'base64url').slice(0, 8)}`;

/** Most recurring edges stored per job. */
const EDGES_KEPT = 20;

/**
 * The recurring edges of one job. Observed facts identify them, so that an edge that is found again after its
 * checkpoint was lost has the same id. A number is appended only if the same facts occur a second time.
 */
class RecurringEdges {
  #counts: Record<string, number> | undefined;

  constructor(
    private readonly id: string,
    counts: Record<string, number> | undefined,
    private readonly builder: EventBuilder,
  ) {
    this.#counts = counts;
  }

  get all(): Record<string, number> | undefined {
    return this.#counts;
  }

  add(type: EventType, facts: string, job: PrintJob): void {
    const name = `${type}/${facts}`;
    const counts = this.#counts ?? {};
    const before = counts[name] ?? 0;
    // The latest edge is last.
    const others = Object.entries(counts).filter(([other]) => other !== name);
    this.#counts = Object.fromEntries([...others, [name, before + 1] as const].slice(-EDGES_KEPT));
    this.builder.once(type, [this.id, facts, ...(before > 0 ? [before + 1] : [])].join('/'), ofJob(job));
  }

  /** The facts of the latest edge of a type. */
  last(type: EventType): string | undefined {
    return Object.keys(this.#counts ?? {})
      .findLast((name) => name.startsWith(`${type}/`))
      ?.slice(type.length + 1);
  }
}

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
    builder.step(id, before.progress, reached, job);
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

/** An earlier remaining time is stale, so it never fills in. */
const isMissing = (record: PrintJob, field: keyof PrintJob): boolean =>
  record[field] === null && field !== 'timeRemaining';

const assign = <K extends keyof PrintJob>(job: PrintJob, from: PrintJob, field: K): void => {
  job[field] = from[field];
};

function hasNothingNew(record: PrintJob, known: PrintJob): boolean {
  if (record.changesRequired.length > 0 || known.changesRequired.length > 0) return false;
  for (const name in record) {
    const field = name as keyof PrintJob;
    const isOld = record[field] === known[field] || isMissing(record, field) || field === 'changesRequired';
    if (!isOld) return false;
  }
  return true;
}

const isSame = (one: KnownJob, other: KnownJob): boolean =>
  (Object.keys(other) as (keyof KnownJob)[]).every((field) => one[field] === other[field]);

/** Returns a copy, as flows receive the observation itself and may change it. */
export const copyOf = (job: PrintJob): PrintJob => ({
  ...job,
  changesRequired: job.changesRequired.map((change) => ({ ...change })),
});
