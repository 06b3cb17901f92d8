import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Checkpoint, KnownJob, PlateCheckpoint, Standstill } from '../../events/checkpoint';
import { passed, type Thresholds } from '../../events/edges';
import { fingerprint, isSettled } from '../../events/fingerprint';
import { complete, type JobAnswer, progressOf } from '../../events/job-edges';
import type { ListCheckpoint } from '../../events/list-changes';
import type { Observation } from '../../events/observation';
import { isPlateDue, waitingPlate } from '../../events/printer-edges';
import { followStandstill, isStallDue, lasting } from '../../events/standstill';
import type { ClusterIdentity, ClusterStatus } from '../../service/cluster';
import type { PrintJob } from '../../service/print-job';
import type { Scope } from '../../state/store';
import { type Figures, figuresOf, type JobFigures, withFigures } from './figures';
import { OutageMemory } from './outage-marks';

/** Spare bytes for numbers that grow. */
const SPARE = 64;
/** Tuned for a few kilobytes of repetitive text. */
const DEFLATE = { level: 3, windowBits: 13, memLevel: 5 };

/** Two texts in one buffer outside the heap: a stable one, compressed, and a volatile one. */
export class PackedTexts {
  #bytes = Buffer.alloc(0);
  #compressed = 0;
  #length = 0;

  get stable(): string {
    return this.#compressed === 0 ? '' : inflateRawSync(this.#bytes.subarray(0, this.#compressed)).toString();
  }

  get volatile(): string {
    return this.#bytes.toString('utf8', this.#compressed, this.#length);
  }

  set(stable: string, volatile: string): void {
    this.#write(deflateRawSync(stable, DEFLATE), volatile);
  }

  setVolatile(text: string): void {
    this.#write(this.#bytes.subarray(0, this.#compressed), text);
  }

  /** Reuses the buffer: a text is mostly as long as its predecessor. */
  #write(compressed: Buffer, volatile: string): void {
    const length = compressed.length + Buffer.byteLength(volatile);
    const before = this.#bytes;
    // A slice of the shared pool would keep the whole pool alive.
    if (length > before.length || length < before.length / 2) this.#bytes = Buffer.allocUnsafeSlow(length + SPARE);
    if (compressed.buffer !== this.#bytes.buffer) compressed.copy(this.#bytes);
    this.#compressed = compressed.length;
    this.#length = compressed.length + this.#bytes.write(volatile, compressed.length);
  }
}

const NONE: readonly string[] = [];

/** Time without a receiver of events, beyond one interval, after which the next events are late, ms. */
const LATE_AFTER = 60_000;

/** Base of the memories of a cluster and of the list: their relation to the store, and the lateness of events. */
abstract class StoredMemory {
  /** Whether the checkpoint was read from the store. */
  loaded = false;
  /** Ids of the writes that the store may contain last. Any other id means that another runtime has written since. */
  marks: readonly string[] = NONE;
  /** Whether the memory is newer than the store. */
  dirty = false;
  /** Number of deliveries, and how many of them the store contains for certain. */
  delivered = 0;
  saved = 0;
  #invalidations = 0;
  #areLate = false;
  /** When the next poll was due after the last subscriber to events had left, monotonic ms; Infinity while there is one. */
  #unwatchedFrom = Infinity;
  /** Whether no runtime delivered events for a while before this one took over. */
  #wasUnwatched = true;

  abstract get hasCheckpoint(): boolean;

  /** Whether the outcome of a write is unknown. */
  get isWriteOpen(): boolean {
    return this.marks.length > 1;
  }

  /** Number of times that another runtime may have written since. */
  get invalidations(): number {
    return this.#invalidations;
  }

  /** Has the next load read the store, where another runtime may have written. */
  invalidate(): void {
    this.loaded = false;
    this.#invalidations++;
  }

  /**
   * Whether events that are found at `now` (monotonic, ms) are late: for longer than polls explain, nothing received events.
   * Only this class decides it.
   */
  areEventsLate(now: number): boolean {
    return this.#areLate || now - this.#unwatchedFrom > LATE_AFTER;
  }

  /** Whether the next observation is the first one after such a time. */
  protected get isFirstAfterGap(): boolean {
    return this.#areLate;
  }

  /** Call after the checkpoint was read from the store. */
  recordLoad(): void {
    this.#areLate = this.#wasUnwatched && this.hasCheckpoint;
    this.#unwatchedFrom = Infinity;
  }

  /** Call after this runtime took over. `wasLate`: `areEventsLate` of its previous owner; `idle`: time without one, ms. */
  recordTakeover(wasLate: boolean, idle: number): void {
    this.#wasUnwatched = wasLate || idle > LATE_AFTER;
  }

  /** Call after the last subscriber to events, which had this interval (ms), has left at `now` (monotonic, ms). */
  recordUnwatched(now: number, interval: number): void {
    if (this.hasCheckpoint) this.#unwatchedFrom = now + interval;
  }

  /** Call once there is a subscriber to events, since `from` (monotonic, ms). Failed polls after that make nothing late. */
  recordReturn(from: number): void {
    this.#areLate = this.areEventsLate(from);
    this.#unwatchedFrom = Infinity;
  }

  /** Call after a subscriber received the events of an observation, even if there were none. */
  recordWatched(): void {
    this.#areLate = false;
  }

  protected inheritLateness(other: StoredMemory): void {
    this.#areLate = other.#areLate;
    this.#unwatchedFrom = other.#unwatchedFrom;
  }
}

/** Part that rarely changes. A job that the status contains as well is stored once. */
interface Stable {
  checkpoint: (Omit<Checkpoint, 'jobs'> & { jobs: (Omit<KnownJob, 'job'> & { job: PrintJob | null })[] }) | null;
  /** Its figures are in the volatile part. `current`: place among the jobs, or -1. */
  status: (Omit<ClusterStatus, 'current'> & { current: number }) | null;
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
export class ClusterMemory extends StoredMemory {
  /** New id of the cluster, where it has moved. */
  movedTo: string | null = null;
  readonly #texts = new PackedTexts();
  #undelivered: Undelivered | null = null;
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
  /** Standstill of each queued job; ahead of the packed checkpoint, too. */
  #standstills: (Standstill | undefined)[] = [];
  #namingEnds = NONE;
  /** Lived time of the last recorded observation; ahead of the packed checkpoint, too (`Checkpoint.lived`). */
  #lived = 0;
  /** Moment at which no time was lived yet, monotonic ms; null until the first observation after a load. */
  #bornAt: number | null = null;
  /** Lived time from which no poll succeeded, or no subscriber received events; undefined otherwise. */
  #staleFrom: number | undefined;

  /** Machines of the cluster that have named the end of a print (reference 3.3). */
  get namingEnds(): readonly string[] {
    return this.#namingEnds;
  }

  get hasCheckpoint(): boolean {
    return this.#hasCheckpoint;
  }

  /** Lived time at `now` (monotonic, ms). Nothing was lived between the stored observation and this process's first. */
  livedAt(now: number): number {
    this.#bornAt ??= now - this.#lived;
    return now - this.#bornAt;
  }

  /** Time that another runtime may have watched is not lived here. */
  override invalidate(): void {
    super.invalidate();
    this.#bornAt = null;
    this.#staleFrom = undefined;
  }

  /** Lived time from which the figures became stale before the next observation; undefined where they did not. */
  get staleFrom(): number | undefined {
    return this.#staleFrom;
  }

  /** Call after a poll has failed, at a moment of lived time. */
  recordFailure(lived: number): void {
    this.#staleFrom ??= lived;
  }

  override recordUnwatched(now: number, interval: number): void {
    super.recordUnwatched(now, interval);
    if (this.#hasCheckpoint) this.recordFailure(this.livedAt(now));
  }

  /** Whether to write the checkpoint. An unloaded checkpoint is skipped: another runtime may have written since. */
  get needsWriting(): boolean {
    return this.dirty && this.loaded && this.#hasCheckpoint;
  }

  /** Whether it may be ahead of the store: the outcome of a write is unknown. */
  get mayBeAhead(): boolean {
    return this.dirty || this.isWriteOpen;
  }

  /** Whether the store may lack delivered state: a runtime that resumes from the store would deliver it again. */
  get hasUnsavedDeliveries(): boolean {
    return this.delivered > this.saved;
  }

  get isEmpty(): boolean {
    return this.#texts.volatile === '' && !this.#hasCheckpoint && this.movedTo === null;
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
    return this.contents.checkpoint;
  }

  /** Checkpoint and figures, unpacked together. */
  get contents(): { checkpoint: Checkpoint | null; figures: ClusterStatus | null } {
    const stable = this.#stable;
    const figures = this.#unpackStatus(stable);
    return { checkpoint: this.#unpackCheckpoint(stable, figures), figures };
  }

  /** Starts from a checkpoint that was not delivered, where there is none; the figures stay. */
  begin(checkpoint: Checkpoint): void {
    this.#set(checkpoint, this.status);
  }

  /** Records an observation that no subscriber to events received. The checkpoint stays as it is. */
  recordUndelivered(seen: Observation, answers: ReadonlyMap<string, JobAnswer>): void {
    this.setStatus(seen.status);
    if (this.#hasCheckpoint) this.#undelivered = { seen, answers };
  }

  /** Restores state from the store or from another memory. Present figures are newer and stay. */
  restore(checkpoint: Checkpoint | null, status: ClusterStatus | null): void {
    this.#bornAt = null;
    this.#staleFrom = undefined;
    this.#set(checkpoint, this.status ?? status);
  }

  /** Continues from the state of an earlier id of the same machine. */
  continueFrom(earlier: ClusterMemory): void {
    const { checkpoint } = earlier;
    this.restore(checkpoint && { ...checkpoint, moves: (checkpoint.moves ?? 0) + 1 }, earlier.status);
    this.#bornAt = earlier.#bornAt;
    this.#staleFrom = earlier.#staleFrom;
    this.inheritLateness(earlier);
  }

  forget(): void {
    this.restore(null, null);
  }

  /** Replaces the figures and leaves the checkpoint as it is. */
  setStatus(status: ClusterStatus): void {
    this.#set(this.checkpoint, status);
  }

  /** Replaces the figures of the jobs alone, each by those at its place. */
  setJobFigures(rows: readonly JobFigures[], receivedAt: string): void {
    const figures = this.#figures;
    if (figures) this.#setFigures({ ...figures, receivedAt, jobs: figures.jobs.map((known, at) => rows[at] ?? known) });
  }

  /**
   * Absorbs an observation that causes no events: it equals the last one, and no figure passed a threshold. Returns
   * false, and leaves the state as it is, where the observation may cause events.
   */
  absorb(seen: Observation, subscribers: readonly Thresholds[]): boolean {
    const highest = this.#highest;
    if (!highest || this.isFirstAfterGap || this.#fingerprint === null || this.#fingerprint !== fingerprint(seen))
      return false;
    const reached = seen.status.jobs.map((job, at) => Math.max(highest[at] ?? 0, progressOf(job)));
    const plates = this.#plates.map((plate) => waitingPlate(plate, seen.lived));
    const stood = this.#standstills;
    const followed = seen.status.jobs.map((job, at) => followStandstill(stood[at], job, seen, this.#lived));
    const standstills = followed.map((one) => one && lasting(one, seen.lived));
    for (const thresholds of subscribers) {
      const isPassed = (to: number, at: number) =>
        passed({ of: 'milestones', from: highest[at] ?? 0, to }, thresholds) !== null;
      if (reached.some(isPassed)) return false;
      if (plates.some((plate, at) => isPlateDue(this.#plates[at] ?? plate, plate, thresholds))) return false;
      if (standstills.some((one, at) => one && isStallDue(followed[at] ?? one, one, thresholds))) return false;
    }
    this.#highest = reached;
    this.#plates = plates;
    this.#standstills = standstills;
    this.#lived = seen.lived;
    this.#staleFrom = undefined;
    this.#setFigures(figuresOf(seen.status));
    this.dirty = true;
    return true;
  }

  /** Records an observation and the checkpoint that results from it. */
  record(checkpoint: Checkpoint, seen: Observation): void {
    const { status, jobs, history } = seen;
    this.#staleFrom = undefined;
    // An answer without job lists shows no jobs, though the cluster may have some.
    if (!jobs || !history) return this.#set(checkpoint, status);
    this.#set(checkpoint, status, jobs);
    const known = new Map(checkpoint.jobs.map((job) => [job.id, job]));
    const knownOf = ({ clusterJobId }: PrintJob) => known.get(clusterJobId ?? '');
    this.#highest = jobs.map((job) => Math.max(knownOf(job)?.progress ?? 0, progressOf(job)));
    this.#standstills = jobs.map((job) => knownOf(job)?.standstill);
    this.#plates = checkpoint.plates;
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
      status: status && { ...status, current: status.current ? status.jobs.indexOf(status.current) : -1 },
    };
    this.#texts.set(JSON.stringify(stable), status ? JSON.stringify(figuresOf(status)) : '');
    this.#hasCheckpoint = checkpoint !== null;
    this.#namingEnds = checkpoint?.namingEnds ?? NONE;
    this.#lived = checkpoint?.lived ?? 0;
    this.#highest = null;
    this.#standstills = [];
    this.#fingerprint = null;
    this.#undelivered = null;
  }

  get #stable(): Stable {
    const text = this.#texts.stable;
    return text === '' ? { checkpoint: null, status: null } : (JSON.parse(text) as Stable);
  }

  /** Null without a status. */
  get #figures(): Figures | null {
    const text = this.#texts.volatile;
    return text === '' ? null : (JSON.parse(text) as Figures);
  }

  #setFigures(figures: Figures): void {
    this.#texts.setVolatile(JSON.stringify(figures));
  }

  #unpackCheckpoint({ checkpoint }: Stable, status: ClusterStatus | null): Checkpoint | null {
    if (!checkpoint) return null;
    const highest = this.#highest;
    const queue = (highest && status?.jobs) ?? [];
    const places = new Map<string | null, number>();
    for (const [at, { clusterJobId }] of queue.entries()) if (!places.has(clusterJobId)) places.set(clusterJobId, at);
    const jobs = checkpoint.jobs.map((known): KnownJob => {
      const at = places.get(known.id) ?? -1;
      const job = complete(queue[at] ?? null, known.job ?? undefined) as PrintJob;
      const standstill = this.#standstills[at] ?? known.standstill;
      const progress = Math.max(known.progress, highest?.[at] ?? 0);
      return { ...known, progress, ...(standstill && { standstill }), job };
    });
    return { ...checkpoint, jobs, ...(highest && { plates: this.#plates, lived: this.#lived }) };
  }

  #unpackStatus({ status }: Stable): ClusterStatus | null {
    const figures = this.#figures;
    return status && figures && withFigures({ ...status, current: status.jobs[status.current] ?? null }, figures);
  }
}

/** Stored fields of a listed cluster. */
export interface ListedCluster extends ClusterIdentity {
  clusterId: string;
  online: boolean | null;
  /** Only printer that the list names; null while the cluster is offline. */
  host: { printerId: string | null; name: string | null } | null;
}

/** State of the cluster list between two reads. */
export class ListMemory extends StoredMemory {
  checkpoint: ListCheckpoint | null = null;
  /** Clusters as published to other runtimes. */
  clusters: readonly ListedCluster[] = [];

  get hasCheckpoint(): boolean {
    return this.checkpoint !== null;
  }

  /** Updates the clusters to publish, without volatile fields. Returns false where they have not changed. */
  updatePublished(clusters: readonly ListedCluster[]): boolean {
    const before = new Map(this.clusters.map((cluster) => [cluster.clusterId, cluster]));
    const shown = clusters.map((cluster) => ({
      ...cluster,
      online: null,
      displayStatus: null,
      host: cluster.host ?? before.get(cluster.clusterId)?.host ?? null,
    }));
    if (JSON.stringify(shown) === JSON.stringify(this.clusters)) return false;
    this.clusters = shown;
    return true;
  }
}

/** State of one scope. Scopes never share state. */
export class ScopeMemory {
  readonly clusters = new Map<string, ClusterMemory>();
  readonly list = new ListMemory();

  /** Machines of which a plate gate was written, by cluster. */
  readonly gates = new Map<string, readonly string[]>();
  /** The same machines of all clusters: one may have moved to another cluster. */
  readonly #marked = new Set<string>();

  constructor(readonly scope: Scope) {}

  /** Adds marks of plate gates. Returns false where they are known. */
  markGate(clusterId: string, machines: readonly string[]): boolean {
    for (const machine of machines) this.#marked.add(machine);
    const known = this.gates.get(clusterId) ?? NONE;
    const marked = new Set([...known, ...machines]);
    if (marked.size > known.length) this.gates.set(clusterId, [...marked]);
    return marked.size > known.length;
  }

  isGateMarked(machine: string): boolean {
    return this.#marked.has(machine);
  }

  /** Call on a return to this scope: another runtime may have written to it, even about a cluster that this one holds. */
  invalidate(): void {
    this.list.invalidate();
    for (const memory of this.clusters.values()) memory.invalidate();
  }

  of(clusterId: string): ClusterMemory {
    let memory = this.clusters.get(clusterId);
    if (!memory) this.clusters.set(clusterId, (memory = new ClusterMemory()));
    return memory;
  }
}

const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * State of an account's watcher that survives deploys: poll times and the pause that the service asked for, so that a
 * deploy moves no turn, and checkpoints, so that it reads no files.
 */
export class WatchMemory {
  readonly #scopes = new Map<string, ScopeMemory>();
  readonly #phases = new Map<string, number>();
  #counted = 0;
  /** Last poll times of forgotten clusters, kept for a moment. */
  readonly #leaving = new Map<string, number | undefined>();
  /** Start of a cluster's last poll, monotonic ms. Before the first poll: one interval before it is due. */
  readonly polledAt = new Map<string, number>();
  readonly #outages = new Map<string, OutageMemory>();
  /** End of the pause of all polls that the service asked for, monotonic ms. */
  pausedUntil = -Infinity;
  /** Keys of earlier watches, with their cluster id. */
  readonly watches = new Map<string, string | null>();
  /** Statuses that earlier watches sent last, by the key of the watch and by cluster. */
  readonly sent = new Map<string, Map<string, PackedTexts>>();
  #service: string | null = null;

  /** Forgets the polls of another service: its clusters may have the same ids, and it asked for no pause. */
  beginService(service: string): void {
    if (this.#service !== null && this.#service !== service) {
      for (const known of [this.polledAt, this.watches, this.sent, this.#leaving]) known.clear();
      this.pausedUntil = -Infinity;
    }
    this.#service = service;
  }

  scope(scope: Scope): ScopeMemory {
    const name = JSON.stringify(scope);
    let memory = this.#scopes.get(name);
    if (!memory) this.#scopes.set(name, (memory = new ScopeMemory(scope)));
    return memory;
  }

  /** Outages of one account on one service. */
  outages(service: string): OutageMemory {
    let memory = this.#outages.get(service);
    if (!memory) this.#outages.set(service, (memory = new OutageMemory()));
    return memory;
  }

  /** Position of a cluster's turn within its interval, 0 to 1. */
  phaseOf(clusterId: string): number {
    let phase = this.#phases.get(clusterId);
    if (phase === undefined) this.#phases.set(clusterId, (phase = phaseOf(this.#counted++)));
    return phase;
  }

  /** Forgets a cluster without subscribers and without state. Its last poll time stays for `keepFor` ms. */
  forget(clusterId: string, { now, keepFor }: { now: number; keepFor: number }): void {
    for (const { clusters } of this.#scopes.values()) clusters.delete(clusterId);
    this.#leaving.delete(clusterId);
    this.#leaving.set(clusterId, this.polledAt.get(clusterId));
    for (const [id, polledAt] of this.#leaving) {
      if (polledAt !== undefined && now - polledAt < keepFor) break;
      this.#leaving.delete(id);
      if (this.polledAt.get(id) !== polledAt) continue;
      this.polledAt.delete(id);
      this.#phases.delete(id);
    }
  }
}

/**
 * Position of the `n`th cluster's turn within its interval, 0 to 1. The positions of any number of clusters are evenly
 * spread, and a new cluster moves none of the others.
 */
const phaseOf = (n: number): number => (n * GOLDEN) % 1;
