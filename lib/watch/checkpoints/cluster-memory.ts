import type { Checkpoint, KnownJob, PlateCheckpoint } from '../../events/checkpoint';
import { fingerprint, isSettled } from '../../events/fingerprint';
import { complete, type JobAnswer, progressOf } from '../../events/job-edges';
import { timeOf, type Observation } from '../../events/observation';
import { isPlateDue, waitingPlate } from '../../events/printer-edges';
import { passed, type Thresholds } from '../../events/edges';
import type { ClusterStatus } from '../../service/cluster';
import type { PrintJob } from '../../service/print-job';
import { packFigures, unpackFigures } from './packed-status';
import { PackedTexts } from './packed-texts';

const NONE: readonly string[] = [];

/** Part that rarely changes. A job that the status contains as well is stored once. */
interface Stable {
  checkpoint: (Omit<Checkpoint, 'jobs'> & { jobs: (Omit<KnownJob, 'job'> & { job: PrintJob | null })[] }) | null;
  /** Queued jobs; their figures are in the volatile part. */
  jobs: PrintJob[];
  history: PrintJob[];
}

/** An observation that no subscriber to events received. */
interface Undelivered {
  seen: Observation;
  answers: ReadonlyMap<string, JobAnswer>;
}

/**
 * State of a cluster between two polls, packed as text outside the heap because there are thousands (ADR 15). The
 * fingerprint identifies a poll without a change; only the figures are rewritten then.
 */
export class ClusterMemory {
  /** Whether the checkpoint was read from the store. */
  loaded = false;
  /** Number of times that another runtime may have written since. */
  invalidations = 0;
  /** New id of the cluster, where it has moved. */
  movedTo: string | null = null;
  /** Whether events of the next observation are late: nothing received events before it. */
  late = false;
  /** Time when the last subscriber to events left, monotonic ms. */
  unwatchedSince = -Infinity;
  /** Whether the memory is newer than the store. */
  dirty = false;
  /** Whether no runtime delivered the cluster's events for a while before the checkpoint was read. */
  wasUnwatched = true;
  /** Ids of the writes that the store may contain last. Any other id means that another runtime has written since. */
  marks: readonly string[] = NONE;
  /** Number of deliveries, and how many of them the store contains for certain. */
  delivered = 0;
  saved = 0;
  readonly #texts = new PackedTexts();
  #undelivered: Undelivered | null = null;
  #hasStatus = false;
  #hasCheckpoint = false;
  /** Fingerprint of the checkpoint's observation, where an equal one causes no events. */
  #fingerprint: string | null = null;
  /**
   * Highest progress of each queued job, where status and checkpoint stem from the same observations. It is ahead of the
   * packed checkpoint, as the figures are.
   */
  #highest: number[] | null = null;
  /** Plates that wait to be cleared; ahead of the packed checkpoint, too. */
  #plates: PlateCheckpoint[] = [];

  get hasCheckpoint(): boolean {
    return this.#hasCheckpoint;
  }

  /** Whether to write the checkpoint. An unloaded checkpoint is skipped: another runtime may have written since. */
  get needsWriting(): boolean {
    return this.dirty && this.loaded && this.#hasCheckpoint;
  }

  /** Whether it may be ahead of the store: the outcome of a write is unknown. */
  get mayBeAhead(): boolean {
    return this.dirty || this.marks.length > 1;
  }

  /** Whether the store may lack delivered state: a runtime that resumes from the store would deliver it again. */
  get hasUnsavedDeliveries(): boolean {
    return this.delivered > this.saved;
  }

  get isEmpty(): boolean {
    return !this.#hasStatus && !this.#hasCheckpoint && this.movedTo === null;
  }

  /** The last observation after the checkpoint's, where no subscriber to events received it. */
  get undelivered(): Undelivered | null {
    return this.#undelivered;
  }

  /** The last known figures. */
  get status(): ClusterStatus | null {
    return this.#unpackStatus(this.#stable);
  }

  get checkpoint(): Checkpoint | null {
    const stable = this.#stable;
    const { checkpoint } = stable;
    if (!checkpoint) return null;
    const highest = this.#highest;
    const queue = (highest && this.#unpackStatus(stable)?.jobs) ?? [];
    const jobs = checkpoint.jobs.map((known): KnownJob => {
      const at = queue.findIndex(({ clusterJobId }) => clusterJobId === known.id);
      const job = complete(queue[at] ?? null, known.job ?? undefined) as PrintJob;
      return { ...known, progress: Math.max(known.progress, highest?.[at] ?? 0), job };
    });
    return { ...checkpoint, jobs, ...(highest && { plates: this.#plates }) };
  }

  /** Records an observation that no subscriber to events received. The checkpoint stays as it is. */
  recordUndelivered(seen: Observation, answers: ReadonlyMap<string, JobAnswer>): void {
    this.setStatus(seen.status);
    if (this.#hasCheckpoint) this.#undelivered = { seen, answers };
  }

  /** Restores state from the store or from another memory. Present figures are newer and stay. */
  restore(checkpoint: Checkpoint | null, status: ClusterStatus | null): void {
    this.#set(checkpoint, this.status ?? status);
  }

  /** Has the next load read the store, where another runtime may have written. */
  invalidate(): void {
    this.loaded = false;
    this.invalidations++;
  }

  forget(): void {
    this.#set(null, null);
  }

  /** Replaces the figures and leaves the checkpoint as it is. */
  setStatus(status: ClusterStatus): void {
    this.#set(this.checkpoint, status);
  }

  /**
   * Absorbs an observation that causes no events: it equals the last one, and no figure passed a threshold. Returns
   * false, and leaves the state as it is, where the observation may cause events.
   */
  absorb(seen: Observation, subscribers: readonly Thresholds[]): boolean {
    const highest = this.#highest;
    if (!highest || this.late || this.#fingerprint === null || this.#fingerprint !== fingerprint(seen)) return false;
    const reached = seen.status.jobs.map((job, at) => Math.max(highest[at] ?? 0, progressOf(job)));
    const plates = this.#plates.map((plate) => waitingPlate(plate, timeOf(seen)));
    for (const thresholds of subscribers) {
      const isPassed = (to: number, at: number) =>
        passed({ of: 'milestones', from: highest[at] ?? 0, to }, thresholds) !== null;
      if (reached.some(isPassed)) return false;
      if (plates.some((plate, at) => isPlateDue(this.#plates[at] ?? plate, plate, thresholds))) return false;
    }
    this.#highest = reached;
    this.#plates = plates;
    this.#texts.setVolatile(packFigures(seen.status));
    this.dirty = true;
    return true;
  }

  /** Records an observation and the checkpoint that results from it. */
  record(checkpoint: Checkpoint, seen: Observation): void {
    const { status, jobs, history } = seen;
    // An answer without job lists shows no jobs, though the cluster may have some.
    if (!jobs || !history) return this.#set(checkpoint, status);
    this.#set(checkpoint, status, jobs);
    const known = new Map(checkpoint.jobs.map((job) => [job.id, job.progress]));
    this.#highest = jobs.map((job) => Math.max(known.get(job.clusterJobId ?? '') ?? 0, progressOf(job)));
    this.#plates = checkpoint.plates ?? [];
    this.#fingerprint = isSettled(checkpoint, seen) ? fingerprint(seen) : null;
  }

  /** `shown`: queued jobs that the checkpoint contains as well. */
  #set(checkpoint: Checkpoint | null, status: ClusterStatus | null, shown: readonly PrintJob[] = []): void {
    const texts = new Map(shown.map((job) => [job.clusterJobId, JSON.stringify(job)]));
    const jobs = checkpoint?.jobs.map((known) =>
      texts.get(known.id) === JSON.stringify(known.job) ? { ...known, job: null } : known,
    );
    const stable: Stable = {
      checkpoint: checkpoint && { ...checkpoint, jobs: jobs ?? [] },
      jobs: status?.jobs ?? [],
      history: status?.history ?? [],
    };
    this.#texts.set(JSON.stringify(stable), status ? packFigures(status) : '');
    this.#hasCheckpoint = checkpoint !== null;
    this.#hasStatus = status !== null;
    this.#highest = null;
    this.#fingerprint = null;
    this.#undelivered = null;
  }

  get #stable(): Stable {
    const text = this.#texts.stable;
    return text === '' ? { checkpoint: null, jobs: [], history: [] } : (JSON.parse(text) as Stable);
  }

  #unpackStatus(stable: Stable): ClusterStatus | null {
    return this.#hasStatus ? unpackFigures(this.#texts.volatile, stable) : null;
  }
}
