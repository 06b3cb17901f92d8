import type { Checkpoint, KnownJob } from '../../events/checkpoint';
import { fingerprint, isSettled } from '../../events/fingerprint';
import { complete, progressOf } from '../../events/job-edges';
import { milestone } from '../../events/milestones';
import type { Observation } from '../../events/observation';
import type { ClusterStatus } from '../../service/cluster-status';
import type { PrintJob } from '../../service/print-job';
import { packFigures, unpackFigures } from './packed-status';
import { PackedTexts } from './packed-texts';

const NONE: readonly string[] = [];

/** What rarely changes. A job's figures that the status shows as well are not there twice. */
interface Still {
  checkpoint: (Omit<Checkpoint, 'jobs'> & { jobs: (Omit<KnownJob, 'job'> & { job: PrintJob | null })[] }) | null;
  /** Of the queue; their figures are with the moving ones. */
  jobs: PrintJob[];
  history: PrintJob[];
}

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
  /** Since when nobody watches that did before, monotonic ms. */
  deafSince = -Infinity;
  /** The store has less than this. */
  dirty = false;
  /** Nobody heard of the cluster for a while until the checkpoint was read. */
  wasAlone = true;
  /** By one of these the store's checkpoint is known to be the last that this runtime has read or written. */
  marks: readonly string[] = NONE;
  /** How often something was delivered, and how much of that the store has for certain. */
  delivered = 0;
  saved = 0;
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

  /** Before it was read again others may have gone on. */
  get needsWriting(): boolean {
    return this.dirty && this.loaded && this.#hasCheckpoint;
  }

  /** It may be ahead of the store: a write is not known to have come to an end. */
  get isAhead(): boolean {
    return this.dirty || this.marks.length > 1;
  }

  /** Delivered state may be missing from the store: a runtime that goes on from the store delivers it again. */
  get isOwed(): boolean {
    return this.delivered > this.saved;
  }

  get isEmpty(): boolean {
    return !this.#hasStatus && !this.#hasCheckpoint && this.movedTo === null;
  }

  /** The last known figures. */
  get status(): ClusterStatus | null {
    return this.#statusWith(this.#still);
  }

  get checkpoint(): Checkpoint | null {
    const still = this.#still;
    const { checkpoint } = still;
    if (!checkpoint) return null;
    const highest = this.#highest;
    const queue = (highest && this.#statusWith(still)?.jobs) ?? [];
    const jobs = checkpoint.jobs.map((known): KnownJob => {
      const at = queue.findIndex(({ clusterJobId }) => clusterJobId === known.id);
      const job = complete(queue[at] ?? null, known.job ?? undefined) as PrintJob;
      return { ...known, progress: Math.max(known.progress, highest?.[at] ?? 0), job };
    });
    return { ...checkpoint, jobs };
  }

  /** What the store had, or another memory; figures that are there already are newer. */
  restore(checkpoint: Checkpoint | null, status: ClusterStatus | null): void {
    this.#set(checkpoint, this.status ?? status);
  }

  forget(): void {
    this.#set(null, null);
  }

  /** Figures that the checkpoint does not go along with. */
  show(status: ClusterStatus): void {
    this.#set(this.checkpoint, status);
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
    this.#texts.setMoving(packFigures(seen.status));
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

  /** `shown`: the jobs of the queue that the checkpoint knows of. */
  #set(checkpoint: Checkpoint | null, status: ClusterStatus | null, shown: readonly PrintJob[] = []): void {
    const texts = new Map(shown.map((job) => [job.clusterJobId, JSON.stringify(job)]));
    const jobs = checkpoint?.jobs.map((known) =>
      texts.get(known.id) === JSON.stringify(known.job) ? { ...known, job: null } : known,
    );
    const still: Still = {
      checkpoint: checkpoint && { ...checkpoint, jobs: jobs ?? [] },
      jobs: status?.jobs ?? [],
      history: status?.history ?? [],
    };
    this.#texts.set(JSON.stringify(still), status ? packFigures(status) : '');
    this.#hasCheckpoint = checkpoint !== null;
    this.#hasStatus = status !== null;
    this.#highest = null;
    this.#fingerprint = null;
  }

  get #still(): Still {
    const text = this.#texts.still;
    return text === '' ? { checkpoint: null, jobs: [], history: [] } : (JSON.parse(text) as Still);
  }

  #statusWith(still: Still): ClusterStatus | null {
    return this.#hasStatus ? unpackFigures(this.#texts.moving, still) : null;
  }
}
