import { KNOWN_JOBS, STATUS_LIST } from '../rules/limits';
import { isEndDecided, isOver } from '../service/job-words';
import type { PrintJob } from '../service/print-job';
import { isoTime, isTime } from '../time/clock';
import type { Checkpoint, Ended, KnownJob, Standstill } from './checkpoint';
import { EventBuilder, type EventDraft, ofJob } from './print-event';
import { complete, copyJob, endJob, followJob, type JobAnswer, judge, withLastWords } from './job-edges';
import { isReachable, together, timeOf, type Observation } from './observation';
import { followMaintenance, followPlates, followPrinters } from './printer-edges';
import { followStandstill, lasting, standstillStep } from './standstill';

/** Ends stored beyond those that the service still lists, and how many of them include the whole job. */
const ENDS_KEPT = 50;
const ENDED_JOBS_KEPT = 3;
/** A missing job whose record stays unavailable counts as ended after this time, lived ms. */
const TOO_LONG = 24 * 3600_000;
/** By which the date of a job may be ahead of the clocks of answers and of Node-RED, ms. */
const A_DAY = 24 * 3600_000;

interface AdvanceOptions {
  /** Answers to `openQuestions`. */
  answers?: ReadonlyMap<string, JobAnswer>;
  late?: boolean;
}

/** The events between a checkpoint and an observation (reference 3.3), and the checkpoint after it. Pure. */
export function advance(
  before: Checkpoint | null,
  seen: Observation,
  { answers = new Map(), late = false }: AdvanceOptions = {},
): { checkpoint: Checkpoint; drafts: EventDraft[] } {
  const at = timeOf(seen);
  const name = seen.status.name ?? before?.name ?? null;
  const builder = new EventBuilder({
    clusterId: seen.status.clusterId,
    clusterName: name,
    at,
    late,
    count: before?.count ?? 0,
    since: before?.since ?? at,
  });

  const known = before && builder;
  const printers = followPrinters(before, seen, known);
  const maintenance = followMaintenance(before?.maintenance, seen, known);
  const jobs = followJobs(before, seen, answers, builder);
  const plates = followPlates(before, seen, known);
  const checkpoint: Checkpoint = {
    version: 2,
    count: builder.count,
    lived: seen.lived,
    ...(before?.moves !== undefined && { moves: before.moves }),
    since: before?.since ?? at,
    begun: begunBefore(before, seen),
    newestAtFirst: newestAtFirst(before, seen),
    jobsSeen: before?.jobsSeen === true || (seen.jobs !== null && isReachable(seen)),
    historySeen: before?.historySeen === true || (seen.history !== null && isReachable(seen)),
    name,
    hostGuid: seen.status.hostGuid ?? before?.hostGuid ?? null,
    ...printers,
    ...jobs,
    plates,
    maintenance,
  };
  return { checkpoint, drafts: builder.drafts };
}

/**
 * Date at which the watch began. By each clock that dates an answer, and by Node-RED's own, it began as much earlier as was
 * lived since. The earliest account counts: a clock that is ahead hides no end.
 */
function begunBefore(before: Checkpoint | null, seen: Observation): string {
  const accounts = [timeOf(seen), seen.status.receivedAt].map((date) => Date.parse(date) - seen.lived);
  const dates = accounts.filter(isTime).map(isoTime);
  return [...(before ? [before.begun] : []), ...dates].reduce(
    (one, other) => (other < one ? other : one),
    timeOf(seen),
  );
}

/**
 * Newest date of a job in the first lists, see `Checkpoint.newestAtFirst`. A date that is a day ahead of both clocks
 * does not count: it would hide ends until then. An empty history counts as such if it is shown twice: a single odd answer is no
 * proof.
 */
function newestAtFirst(before: Checkpoint | null, seen: Observation): string | null {
  const known = before?.newestAtFirst ?? null;
  if (before?.historySeen && known !== null) return known;
  const { jobs, history, status } = seen;
  const dates = [...(jobs ?? []), ...(history ?? [])]
    .flatMap(({ createdAt }) => createdAt ?? [])
    .filter((date) => [timeOf(seen), status.receivedAt].some((now) => Date.parse(date) < Date.parse(now) + A_DAY));
  const isEmptyAgain = before?.historySeen === true && history !== null && isReachable(seen);
  return dates.reduce<string | null>(
    (newest, date) => (date > (newest ?? '') ? date : newest),
    known ?? (isEmptyAgain ? '' : null),
  );
}

/** The jobs whose record must be read to decide whether and how they ended, for `advance`. */
export function openQuestions(before: Checkpoint | null, seen: Observation): string[] {
  // Ends before the first observation are not reported.
  if (!before || isUnambiguous(before, seen)) return [];
  const scan = new Scan(before, seen);
  return scan.ids().filter((id) => !scan.isOld(id) && judge(scan.traces(id), undefined) === 'ask');
}

/** The usual case: every known job is still in the queue, and every end names its kind. */
function isUnambiguous({ jobs: known }: Checkpoint, { jobs, history }: Observation): boolean {
  if (jobs === null || jobs.some(isOver)) return false;
  const active = byId(jobs);
  return known.every(({ id }) => active.has(id)) && (history ?? []).every(isEndDecided);
}

function followJobs(
  before: Checkpoint | null,
  seen: Observation,
  answers: ReadonlyMap<string, JobAnswer>,
  builder: EventBuilder,
) {
  const scan = new Scan(before, seen);
  const { known, ended } = scan;

  for (const id of scan.ids()) {
    const isOld = scan.isOld(id);
    const traces = scan.traces(id);
    const verdict = judge(traces, isOld ? 'gone' : (answers.get(id) ?? 'unanswered'));
    if (typeof verdict === 'string') {
      scan.recordMissing(id);
      scan.recordAnswer(id, answers.get(id));
      continue;
    }
    const job = complete(verdict.job, traces.known?.job ?? traces.active);
    if (!isOld) endJob(id, traces.known, verdict.type, job, builder);
    // The figures of an unreported end are in the history.
    ended.set(id, { id, type: verdict.type, at: builder.scene.at, job: isOld || !job ? null : copyJob(job) });
    known.delete(id);
  }
  const gone = [...known.keys()].filter((id) => !scan.active.has(id)).values();
  for (const [id, job] of scan.active) {
    if (ended.has(id) || !makeRoom(known, id, gone)) continue;
    known.set(id, followJob(id, known.get(id), job, scan.isOld(id) ? null : builder));
  }
  const stood = new Map(before?.jobs.map((job) => [job.id, job.standstill]));
  for (const [id, job] of known) {
    const standstill = followProgress(id, stood.get(id), scan, builder);
    if (standstill && standstill !== job.standstill) known.set(id, { ...job, standstill });
  }
  return { jobs: [...known.values()], ended: scan.prune(), namingEnds: scan.namingEnds };
}

/** Returns how long a known job has stood still, and adds the step to it (reference 3.3). */
function followProgress(
  id: string,
  stood: Standstill | undefined,
  { before, seen, active }: Scan,
  builder: EventBuilder,
): Standstill | undefined {
  const job = active.get(id);
  const followed = followStandstill(stood, job, seen, before?.lived ?? seen.lived);
  const standstill = followed && lasting(followed, seen.lived);
  if (job && standstill && standstill.minutes > followed.minutes)
    builder.step('job.stalled', `${id}/${standstill.at}`, standstillStep(followed, standstill), ofJob(job));
  return standstill;
}

/** Makes room for a job among those that are followed: the next one of `gone` gives way. Returns false if none is left. */
function makeRoom(known: Map<string, KnownJob>, id: string, gone: Iterator<string>): boolean {
  if (known.has(id) || known.size < KNOWN_JOBS) return true;
  const next = gone.next();
  return next.done !== true && known.delete(next.value);
}

/** One observation, compared with the state before it. */
class Scan {
  readonly active: Map<string, PrintJob>;
  readonly past: Map<string, PrintJob>;
  readonly known: Map<string, KnownJob>;
  readonly ended: Map<string, Ended>;
  readonly namingEnds: readonly string[];
  readonly #knownBefore: ReadonlySet<string>;
  readonly #absenceCounts: boolean;
  readonly #begun: string;

  constructor(
    readonly before: Checkpoint | null,
    readonly seen: Observation,
  ) {
    this.past = byId(seen.history);
    this.known = new Map(before?.jobs.map((job) => [job.id, job]));
    this.active = byId(seen.jobs);
    for (const [id, job] of this.active)
      this.active.set(id, withLastWords(job, this.known.get(id), seen.withoutChanges.has(id)));
    this.#knownBefore = new Set(this.known.keys());
    this.ended = new Map(before?.ended.map((end) => [end.id, end]));
    this.namingEnds = together(before?.namingEnds ?? [], seen.namingEnds);
    this.#absenceCounts = seen.jobs !== null && isReachable(seen);
    this.#begun = begunBefore(before, seen);
  }

  /** Ids of all jobs that may have ended and whose end is not recorded yet, oldest first. */
  ids(): string[] {
    const found = new Map<string, string>();
    const add = (id: string | null, job: PrintJob) => {
      if (id !== null && !found.has(id) && !this.ended.has(id)) found.set(id, job.createdAt ?? '');
    };
    for (const [id, job] of this.past) add(id, job);
    for (const { id, job } of this.known.values()) if (!this.#isOpen(id)) add(id, job);
    for (const [id, job] of this.active) if (!this.#isOpen(id)) add(id, job);
    return [...found].sort(([, a], [, b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([id]) => id);
  }

  /** Whether the queue shows the job as not ended. */
  #isOpen(id: string): boolean {
    const job = this.active.get(id);
    return job !== undefined && !isOver(job);
  }

  traces(id: string) {
    const known = this.known.get(id);
    const { missingFrom = null, unreadFrom = null } = known ?? {};
    return {
      active: this.active.get(id),
      past: this.past.get(id),
      known,
      absenceCounts: this.#absenceCounts,
      missedBefore: missingFrom !== null,
      namingEnds: this.namingEnds,
      tooLong: missingFrom !== null && this.seen.lived - missingFrom >= TOO_LONG,
      unread: unreadFrom === null ? 0 : this.seen.lived - unreadFrom,
    };
  }

  /** Records when a known job that is not known to have ended left the lists. */
  recordMissing(id: string): void {
    const known = this.known.get(id);
    if (known?.missingFrom !== null || this.active.has(id) || !this.#absenceCounts) return;
    this.known.set(id, { ...known, missingFrom: this.seen.arrived });
  }

  /** Records since when the record of a known job can't be read. */
  recordAnswer(id: string, answer: JobAnswer | undefined): void {
    const known = this.known.get(id);
    if (!known || answer === undefined) return;
    const unreadFrom = answer === 'unanswered' ? (known.unreadFrom ?? this.seen.arrived) : null;
    if (unreadFrom !== known.unreadFrom) this.known.set(id, { ...known, unreadFrom });
  }

  /**
   * Whether a new job existed before: at the first observation of the cluster, or of the list that holds it. The dates of
   * the jobs that were listed then decide; as long as none are known, the date at which the watch began does.
   */
  isOld(id: string): boolean {
    const { before } = this;
    if (!before) return true;
    if (this.#knownBefore.has(id)) return false;
    const active = this.active.get(id);
    const createdAt = (active ?? this.past.get(id))?.createdAt ?? null;
    if (active) return !before.jobsSeen && !(createdAt !== null && createdAt >= this.#begun);
    return !before.historySeen || (createdAt !== null && createdAt < (before.newestAtFirst ?? this.#begun));
  }

  /** Ends that the service may still list, and the latest others. */
  prune(): Ended[] {
    const all = [...this.ended.values()];
    const { jobs, history } = this.seen;
    // Without a list it is unknown which jobs it still holds. A history that appears for the first time holds only old prints.
    const isComplete = jobs !== null && (history !== null || this.before?.historySeen !== true);
    const surplus = all.length - (isComplete ? ENDS_KEPT : STATUS_LIST);
    const kept =
      surplus > 0 ? all.filter(({ id }, at) => at >= surplus || this.active.has(id) || this.past.has(id)) : all;
    return kept.map((end, at) => (end.job && at < kept.length - ENDED_JOBS_KEPT ? { ...end, job: null } : end));
  }
}

function byId(jobs: readonly PrintJob[] | null): Map<string, PrintJob> {
  const found = new Map<string, PrintJob>();
  for (const job of jobs ?? []) {
    if (job.clusterJobId !== null && !found.has(job.clusterJobId)) found.set(job.clusterJobId, job);
  }
  return found;
}
