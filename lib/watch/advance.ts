import type { PrintJob } from '../service/print-job';
import type { Happening } from './events';
import { complete, endJob, followJob } from './job-edges';
import { judge, type JobAnswer } from './job-ends';
import { isReachable, timeOf, type Observation } from './observation';
import { newEpoch, type KnownJob, type Outcome, type Position } from './position';
import { followPrinters } from './printer-edges';
import { Teller } from './teller';

/** Ends remembered beyond those that the service still lists, and how many of them with the whole job. */
const ENDS_KEPT = 200;
const ENDED_JOBS_KEPT = 20;

export interface AdvanceOptions {
  /** What the questions of `openQuestions` brought. */
  answers?: ReadonlyMap<string, JobAnswer>;
  late?: boolean;
  random?: () => number;
}

/** The events between a position and an observation (reference 3.3), and the position after it. Pure but for `random`. */
export function advance(
  before: Position | null,
  seen: Observation,
  { answers = new Map(), late = false, random = Math.random }: AdvanceOptions = {},
): { position: Position; happenings: Happening[] } {
  const at = timeOf(seen);
  const epoch = before?.epoch ?? newEpoch(random);
  const clusterName = seen.status.name ?? before?.status.name ?? null;
  const scene = { clusterId: seen.status.clusterId, clusterName, at, late, epoch, count: before?.count ?? 0 };
  const teller = new Teller(scene);

  const printers = followPrinters(before, seen, before && teller);
  const jobs = followJobs(before, seen, answers, teller);
  const position: Position = {
    version: 1,
    epoch,
    count: teller.count,
    since: before?.since ?? at,
    jobsSeen: before?.jobsSeen === true || (seen.jobs !== null && isReachable(seen)),
    historySeen: before?.historySeen === true || (seen.history !== null && isReachable(seen)),
    ...printers,
    ...jobs,
    status: seen.status,
  };
  return { position, happenings: teller.happenings };
}

/** The jobs whose own record decides how they ended; `advance` wants the answers. */
export function openQuestions(before: Position | null, seen: Observation): string[] {
  // What ended before the first sight is nobody's news.
  if (!before) return [];
  const scan = new Scan(before, seen);
  return scan.ids().filter((id) => !scan.isOldNews(id) && judge(scan.traces(id), undefined) === 'ask');
}

function followJobs(
  before: Position | null,
  seen: Observation,
  answers: ReadonlyMap<string, JobAnswer>,
  teller: Teller,
) {
  const scan = new Scan(before, seen);
  const { known, ended } = scan;

  for (const id of scan.ids()) {
    const oldNews = scan.isOldNews(id);
    const traces = scan.traces(id);
    const verdict = judge(traces, oldNews ? 'gone' : (answers.get(id) ?? 'unanswered'));
    if (typeof verdict === 'string') continue;
    const job = complete(verdict.job, traces.known?.job ?? traces.active);
    if (!oldNews) endJob(id, traces.known, verdict.type, job, teller);
    ended.set(id, { id, type: verdict.type, at: teller.scene.at, job });
    known.delete(id);
  }
  for (const [id, job] of scan.active) {
    if (ended.has(id)) continue;
    known.set(id, followJob(id, known.get(id), job, scan.isOldNews(id) ? null : teller));
  }
  return { jobs: [...known.values()], ended: scan.prune() };
}

/** One observation laid beside what was known before. */
class Scan {
  readonly active: Map<string, PrintJob>;
  readonly past: Map<string, PrintJob>;
  readonly known: Map<string, KnownJob>;
  readonly ended: Map<string, Outcome>;
  readonly #knownBefore: ReadonlySet<string>;
  readonly #absenceCounts: boolean;

  constructor(
    readonly before: Position | null,
    readonly seen: Observation,
  ) {
    this.active = byId(seen.jobs);
    this.past = byId(seen.history);
    this.known = new Map(before?.jobs.map((job) => [job.id, job]));
    this.#knownBefore = new Set(this.known.keys());
    this.ended = new Map(before?.ended.map((outcome) => [outcome.id, outcome]));
    this.#absenceCounts = seen.jobs !== null && isReachable(seen);
  }

  /** Every job that may have ended and was not told so yet, oldest first. */
  ids(): string[] {
    const jobs = [...this.past.values(), ...[...this.known.values()].map(({ job }) => job), ...this.active.values()];
    const byAge = jobs
      .map((job) => ({ id: job.clusterJobId ?? '', createdAt: job.createdAt ?? '' }))
      .sort((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0));
    return [...new Set(byAge.map(({ id }) => id))].filter((id) => !this.ended.has(id));
  }

  traces(id: string) {
    return {
      active: this.active.get(id),
      past: this.past.get(id),
      known: this.known.get(id),
      absenceCounts: this.#absenceCounts,
    };
  }

  /** First seen now, though it was there before: at the first sight of the cluster or of the list that holds it. */
  isOldNews(id: string): boolean {
    if (!this.before) return true;
    if (this.#knownBefore.has(id)) return false;
    const active = this.active.get(id);
    if (active) return !this.before.jobsSeen && !(active.createdAt !== null && active.createdAt >= this.before.since);
    const createdAt = this.past.get(id)?.createdAt ?? null;
    return !this.before.historySeen || (createdAt !== null && createdAt < this.before.since);
  }

  /** Ends that may still be met, and the latest others. */
  prune(): Outcome[] {
    const all = [...this.ended.values()];
    // Without both lists nobody knows who is still in them.
    const complete = this.seen.jobs !== null && this.seen.history !== null;
    const surplus = complete ? all.length - ENDS_KEPT : 0;
    const kept = all.filter(({ id }, index) => index >= surplus || this.active.has(id) || this.past.has(id));
    return kept.map((outcome, index) => (index < kept.length - ENDED_JOBS_KEPT ? { ...outcome, job: null } : outcome));
  }
}

function byId(jobs: readonly PrintJob[] | null): Map<string, PrintJob> {
  const found = new Map<string, PrintJob>();
  for (const job of jobs ?? []) {
    if (job.clusterJobId !== null && !found.has(job.clusterJobId)) found.set(job.clusterJobId, job);
  }
  return found;
}
