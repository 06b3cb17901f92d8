import type { Checkpoint, KnownJob } from '../events/checkpoint';
import { fingerprint, isSettled } from '../events/fingerprint';
import { complete, progressOf } from '../events/job-edges';
import { milestone } from '../events/milestones';
import type { Observation } from '../events/observation';
import type { ClusterStatus } from '../service/cluster-status';
import type { PrintJob } from '../service/print-job';
import { packHistory, packRest, statusText, unpackStatus } from './packed-status';
import { PackedTexts } from './packed-texts';

/** The texts, those first that change least. */
const [CHECKPOINT, HISTORY, REST] = [0, 1, 2];

/** A checkpoint as it is packed: the figures of jobs that the status shows as well are not there twice. */
type Packed = Omit<Checkpoint, 'jobs'> & { jobs: (Omit<KnownJob, 'job'> & { job: PrintJob | null })[] };

/**
 * What is known of a cluster between two polls, as text outside of the heap: there are thousands of them (ADR 8). A poll
 * that shows nothing else than the one before is known by its fingerprint, and only figures are written then.
 */
export class ClusterMemory {
  /** The checkpoint was read from the store. */
  loaded = false;
  /** The cluster goes on under this id. */
  movedTo: string | null = null;
  /** The next observation is the first since nobody watched. */
  late = false;
  /** The store has less than this. */
  dirty = false;
  readonly #texts = new PackedTexts();
  #hasStatus = false;
  #hasCheckpoint = false;
  /** Of the observation that the checkpoint went along with, where one like it brings nothing. */
  #fingerprint: string | null = null;
  /**
   * Where status and checkpoint are of the same observations: the highest progress of each job of the queue. It is ahead
   * of the packed checkpoint, as the figures are.
   */
  #highest: number[] | null = null;

  get hasCheckpoint(): boolean {
    return this.#hasCheckpoint;
  }

  get isEmpty(): boolean {
    return !this.#hasStatus && !this.#hasCheckpoint && this.movedTo === null;
  }

  /** The last known figures. */
  get status(): ClusterStatus | null {
    return this.#hasStatus ? unpackStatus(this.#texts.get(HISTORY), this.#texts.get(REST)) : null;
  }

  /** The same as text. */
  get statusText(): string | null {
    return this.#hasStatus ? statusText(this.#texts.get(HISTORY), this.#texts.get(REST)) : null;
  }

  get checkpoint(): Checkpoint | null {
    if (!this.#hasCheckpoint) return null;
    const packed = JSON.parse(this.#texts.get(CHECKPOINT)) as Packed;
    const highest = this.#highest;
    const queue = highest ? (this.status?.jobs ?? []) : [];
    const jobs = packed.jobs.map((known): KnownJob => {
      const at = queue.findIndex(({ clusterJobId }) => clusterJobId === known.id);
      const job = complete(queue[at] ?? null, known.job ?? undefined) as PrintJob;
      return { ...known, progress: Math.max(known.progress, highest?.[at] ?? 0), job };
    });
    return { ...packed, jobs };
  }

  /** What the store had, or another memory; figures that are there already are newer. */
  restore(checkpoint: Checkpoint | null, status: ClusterStatus | null): void {
    this.#set(checkpoint, this.status ?? status);
  }

  /** Figures that the checkpoint does not go along with. */
  show(status: ClusterStatus): void {
    if (this.#highest) this.#set(this.checkpoint, status);
    else this.#setStatus(status);
  }

  /**
   * Takes an observation that brings nothing: it shows what the last one did, and no job passed a milestone of anybody.
   * False: it may bring something.
   */
  pass(seen: Observation, milestones: readonly (readonly number[])[]): boolean {
    const highest = this.#highest;
    if (!highest || this.late || this.#fingerprint === null || this.#fingerprint !== fingerprint(seen)) return false;
    const reached = seen.status.jobs.map((job, at) => Math.max(highest[at] ?? 0, progressOf(job)));
    for (const some of milestones)
      if (reached.some((now, at) => milestone(highest[at] ?? 0, now, some) !== null)) return false;
    this.#highest = reached;
    this.#texts.set(REST, packRest(seen.status));
    this.dirty = true;
    return true;
  }

  /** Takes an observation, with the checkpoint after it. */
  take(checkpoint: Checkpoint, seen: Observation): void {
    const { status, jobs, history } = seen;
    // Without its lists an answer shows no jobs, though it may have some.
    if (!jobs || !history) return this.#set(checkpoint, status);
    this.#set(checkpoint, status, jobs);
    const known = new Map(checkpoint.jobs.map((job) => [job.id, job.progress]));
    this.#highest = jobs.map((job) => Math.max(known.get(job.clusterJobId ?? '') ?? 0, progressOf(job)));
    this.#fingerprint = isSettled(checkpoint, seen) ? fingerprint(seen) : null;
  }

  /** Figures of known jobs that `shown` has are not kept twice. */
  #set(checkpoint: Checkpoint | null, status: ClusterStatus | null, shown: readonly PrintJob[] = []): void {
    const texts = new Map(shown.map((job) => [job.clusterJobId, JSON.stringify(job)]));
    const jobs = checkpoint?.jobs.map((known) =>
      texts.get(known.id) === JSON.stringify(known.job) ? { ...known, job: null } : known,
    );
    this.#texts.set(CHECKPOINT, JSON.stringify({ ...checkpoint, jobs }), '', '');
    this.#hasCheckpoint = checkpoint !== null;
    this.#highest = null;
    this.#fingerprint = null;
    if (status) this.#setStatus(status);
  }

  #setStatus(status: ClusterStatus): void {
    this.#texts.set(HISTORY, packHistory(status), packRest(status));
    this.#hasStatus = true;
  }
}
