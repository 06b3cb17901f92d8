import { advance, openQuestions } from '../../events/advance';
import type { Checkpoint, Ended } from '../../events/checkpoint';
import { eventsFor } from '../../events/edges';
import type { JobAnswer } from '../../events/job-edges';
import { sameHost } from '../../events/list-changes';
import { type Observation, observe } from '../../events/observation';
import type { EventDraft } from '../../events/print-event';
import { type ClusterStatus, readClusterStatus } from '../../service/cluster';
import { PrintingError, unexpectedAnswer } from '../../service/errors';
import { UNLOSABLE_LOCK } from '../../state/locks';
import type { Lock } from '../../state/membership';
import { isoTime } from '../../time/clock';
import { mapConcurrent, Turns } from '../../time/concurrency';
import { underDeadline } from '../../time/deadline';
import { waitBefore } from '../../time/retry';
import { phrase } from '../../words/sentence';
import { isSecured } from '../checkpoints/checkpoint-store';
import type { JobFigures } from '../checkpoints/figures';
import type { ClusterMemory, ListedCluster, ScopeMemory } from '../checkpoints/memory';
import type { Poll } from './poll-loop';
import type { Subscriptions } from './subscriptions';
import { type EventSubscriber, type PollingAccount, type PollReports, readJobRecord, type Shown } from './types';

/** Concurrent requests for records, and most of them in one poll. */
const AT_ONCE = 4;
const MOST = 10;
/** Deadline for all records of one poll, ms. */
const LONGEST_SEARCH = 30_000;
/** Backoff for a job that could not be resolved. */
const BACKOFF = { first: 30_000, longest: 3600_000 };

/** Reads the records of vanished jobs. A job that can't be resolved does not delay the others. */
export class VanishedJobResolver {
  readonly #attempts = new Map<string, { times: number; next: number }>();

  /** Returns the answers for those `ids` that are due. */
  async ask(account: PollingAccount, clusterId: string, ids: readonly string[]): Promise<Map<string, JobAnswer>> {
    const { service, clock, signal } = account;
    const open = new Set(ids);
    for (const id of this.#attempts.keys()) if (!open.has(id)) this.#attempts.delete(id);
    if (ids.length === 0) return new Map();
    const now = clock.monotonic();
    const turnOf = (id: string) => this.#attempts.get(id)?.next ?? -Infinity;
    const due = ids
      .filter((id) => turnOf(id) <= now)
      .sort((one, other) => (turnOf(one) < turnOf(other) ? -1 : 1))
      .slice(0, MOST);
    const answers = await underDeadline(clock, { ms: LONGEST_SEARCH, parent: signal }, (deadline) =>
      mapConcurrent(AT_ONCE, due, async (id) => [id, await readJobRecord(service, clusterId, id, deadline)] as const),
    );
    for (const id of due) {
      const times = this.#attempts.get(id)?.times ?? 0;
      // No timer: the next regular poll asks for the jobs that are due.
      this.#attempts.set(id, { times: times + 1, next: now + waitBefore(times, BACKOFF) });
    }
    return new Map(answers);
  }
}

/** Deadline for one poll with its retries, ms. */
export const LONGEST_READ = 60_000;
const WHAT = phrase`the printer`;
const CURE = phrase`try again later`;

type StatusAnswer =
  /** `raw` null: the status was not found, but the list contains the cluster. */
  { seen: Observation; raw: unknown } | { reboundTo: ListedCluster };

/** Reader of one cluster: reads its status, derives and delivers events, and advances the checkpoint. */
export class Observer {
  #vanishedJobs: VanishedJobResolver | null = null;
  /** Checkpoint of undelivered observations, for subscribers that wait for the end of a job. */
  #undelivered: Checkpoint | null = null;
  /** The present scope; null: nothing was loaded yet. */
  #scope: ScopeMemory | null = null;
  /** State under the present scope. */
  #memory: ClusterMemory | null = null;
  /** When the first of the present subscribers to events came, monotonic ms; null: there is none. */
  #watchedFrom: number | null = null;

  constructor(
    private readonly clusterId: string,
    private readonly account: PollingAccount,
    private readonly subscriptions: Subscriptions,
    private readonly reports: Pick<PollReports, 'fault' | 'derived'>,
  ) {}

  /** Last known figures. */
  get status(): ClusterStatus | null {
    return this.#memory?.status ?? null;
  }

  /** Last checkpoint, delivered or not. */
  checkpointOf(memory: ClusterMemory | null): Checkpoint | null {
    return this.#undelivered ?? memory?.checkpoint ?? null;
  }

  /** Known end of a job; null where it has not ended. */
  endOf(jobId: string): Ended | null {
    const ended = this.checkpointOf(this.#memory)?.ended.find(({ id }) => id === jobId);
    if (!ended || ended.job) return ended ?? null;
    const { history = [], jobs = [] } = this.status ?? {};
    const job = [...history, ...jobs].find(({ clusterJobId }) => clusterJobId === jobId);
    return { ...ended, job: job ?? null };
  }

  /** Machines of the cluster that have named the end of a print (reference 3.3). */
  get namingEnds(): readonly string[] {
    return this.#memory?.namingEnds ?? [];
  }

  /** Whether a job was seen and has no known end. */
  isOpen(jobId: string): boolean {
    return this.checkpointOf(this.#memory)?.jobs.some(({ id }) => id === jobId) ?? false;
  }

  /** Loads the state of the cluster; null where it can't be read. */
  async load(scope?: ScopeMemory): Promise<ClusterMemory | null> {
    const { account, clusterId } = this;
    try {
      const under = scope ?? (await account.scoped());
      const memory = under.of(clusterId);
      if (this.#memory !== memory) {
        this.#memory = memory;
        this.#undelivered = null;
      }
      this.#scope = under;
      if (!memory.loaded) await account.checkpoints.load(under, clusterId, memory);
      if (this.#watchedFrom !== null) memory.recordReturn(this.#watchedFrom);
      return memory;
    } catch (thrown) {
      this.reports.fault(clusterId, thrown);
      return null;
    }
  }

  /** Has the next `load` read the store, where another runtime may have written. */
  invalidate(): void {
    this.#undelivered = null;
    this.#memory?.invalidate();
  }

  /** Drops state that became stale while another runtime polled. */
  reset(): void {
    this.#undelivered = this.#vanishedJobs = null;
  }

  /** Drops the reference to the state after this runtime lost the cluster. */
  release(): void {
    this.#memory = null;
  }

  /**
   * Begins with the last observation by any runtime, if no subscriber to events was there before. Call when one is: its
   * first message may show the figures of that observation, so it must receive the events of all that happens afterwards.
   */
  begin(): void {
    const memory = this.#memory;
    if (!this.#scope || !memory?.loaded || memory.hasCheckpoint || !this.#undelivered) return;
    memory.begin(this.#undelivered);
    this.account.checkpoints.write(this.#scope, this.clusterId, memory);
  }

  /** Call after a subscriber to events has come. */
  markWatched(): void {
    this.#watchedFrom ??= this.account.clock.monotonic();
    this.#memory?.recordReturn(this.#watchedFrom);
  }

  /** Call after the last subscriber to events, which had this interval (ms), has left. */
  markUnwatched(interval: number): void {
    this.#watchedFrom = null;
    this.#memory?.recordUnwatched(this.account.clock.monotonic(), interval);
  }

  /** Records an observation by the owner. */
  receive(memory: ClusterMemory, { checkpoint, status }: Shown): void {
    this.#memory = memory;
    this.#undelivered = checkpoint;
    memory.setStatus(status);
  }

  /** Records that the owner has seen the same again, with other figures of the jobs. Returns the status. */
  receiveSame(figures: readonly JobFigures[]): ClusterStatus | null {
    this.#memory?.setJobFigures(figures, isoTime(this.account.clock.now()));
    return this.status;
  }

  /**
   * Reads the status. Throws the errors of service calls. `departure`: checked in the moment the request leaves. `leave`:
   * called before the wait for a fresh list, which many polls share.
   */
  async read({ departure, leave }: Pick<Poll, 'departure' | 'leave'>): Promise<StatusAnswer> {
    const { clusterId } = this;
    const { service, list, clock, signal } = this.account;
    const lived = this.#lived;
    try {
      // Once a list was read, `find` returns names and models without a request.
      const listing = list.find(clusterId);
      const { data } = await underDeadline(clock, { ms: LONGEST_READ, parent: signal, cure: CURE }, (deadline) =>
        service.call('clusterStatus', { ids: { cluster_id: clusterId }, what: WHAT, deadline, lock: departure }),
      );
      const listed = await listing;
      const context = {
        clusterId,
        receivedAt: isoTime(clock.now()),
        identity: listed ?? this.status,
        hostPrinterId: listed?.host?.printerId ?? null,
        namingEnds: this.namingEnds,
        lived,
        arrived: this.#lived,
        staleFrom: this.#memory?.staleFrom,
      };
      // A status of hundreds of jobs is read in one turn of the event loop and evaluated in another.
      const turns = new Turns(clock);
      const seen = observe(data, context);
      await turns.next();
      if (seen) return { seen: seen.status.stale ? this.#withLastJobs(seen) : seen, raw: data };
      throw unexpectedAnswer(WHAT);
    } catch (thrown) {
      this.#memory?.recordFailure(lived);
      if (!(thrown instanceof PrintingError) || thrown.code !== 'NOT_FOUND') throw thrown;
      signal.throwIfAborted();
      leave();
      return this.#notFound(await list.readAnew(), thrown);
    }
  }

  /** The observation with the last known jobs, as its answer has none. */
  #withLastJobs(seen: Observation): Observation {
    const { jobs = [], current = null } = this.status ?? {};
    return { ...seen, status: { ...seen.status, jobs, current } };
  }

  /** Interprets a 404: the cluster may be offline or have a new id (wire facts, traps 13 and 16). */
  #notFound(clusters: ReadonlyMap<string, ListedCluster>, error: PrintingError): StatusAnswer {
    const listed = clusters.get(this.clusterId);
    if (listed) return { seen: this.#unread(listed), raw: null };
    const reboundTo = sameHost(clusters.values(), this.status?.hostGuid ?? null);
    if (!reboundTo) throw error;
    return { reboundTo };
  }

  /** Observation with `online` from the list and the last known figures. */
  #unread({ clusterId, online, host, ...identity }: ListedCluster): Observation {
    const at = isoTime(this.account.clock.now());
    const last = this.status ?? readClusterStatus({}, { clusterId, receivedAt: at, identity });
    const status = { ...last, ...identity, online, stale: true };
    const { namingEnds } = this;
    const nothing = { jobs: null, history: null, withoutChanges: new Set<string>(), faults: new Map() };
    const lived = this.#lived;
    return { status, at, lived, arrived: lived, ...nothing, hostPrinterId: host?.printerId ?? null, namingEnds };
  }

  /** Time that was lived with the cluster until now. */
  get #lived(): number {
    return this.#memory?.livedAt(this.account.clock.monotonic()) ?? 0;
  }

  /**
   * Derives and delivers events, and then advances the checkpoint. `lock` null: events belong to another runtime. Returns
   * false if another runtime owns the cluster by now: the owner repeats the poll.
   */
  async process(seen: Observation, memory: ClusterMemory, scope: ScopeMemory, lock: Lock | null): Promise<boolean> {
    const { account, clusterId } = this;
    // Don't emit events that another runtime owns.
    const receivers = () => (lock === null ? [] : this.subscriptions.forEvents);
    const thresholds = receivers().map(({ events }) => events.thresholds);
    if (thresholds.length > 0) this.begin();
    if (thresholds.length > 0 && memory.absorb(seen, thresholds)) {
      this.reset();
      return true;
    }
    const late = memory.areEventsLate(account.clock.monotonic());
    const start = () =>
      receivers().length > 0 ? catchUp(memory, late) : { checkpoint: this.checkpointOf(memory), drafts: [] };
    let { checkpoint: before, drafts: missed } = start();
    const open = openQuestions(before, seen);
    let answers = new Map<string, JobAnswer>();
    if (open.length > 0 || this.#vanishedJobs) {
      answers = await (this.#vanishedJobs ??= new VanishedJobResolver()).ask(account, clusterId, open);
      account.signal.throwIfAborted();
      // Subscribers may have come or left meanwhile.
      ({ checkpoint: before, drafts: missed } = start());
    }
    const { checkpoint, drafts: current } = advance(before, seen, { answers, late });
    const drafts = [...missed, ...current];
    if (lock !== UNLOSABLE_LOCK && hasEvents(drafts, receivers())) {
      if (!(await isSecured(account.ownership, clusterId, lock))) return false;
      account.signal.throwIfAborted();
    }
    if (lock !== null && current.length > 0) this.reports.derived(clusterId, current);
    const eventSubscribers = receivers();
    if (eventSubscribers.length === 0) {
      this.#undelivered = checkpoint;
      if (lock === null) memory.setStatus(seen.status);
      else memory.recordUndelivered(seen, answers);
      return lock !== null;
    }
    const delivered = eventSubscribers.map(({ events }) => events.deliver(drafts)).some((some) => some);
    this.#undelivered = null;
    memory.recordWatched();
    memory.record(checkpoint, seen);
    // Write rarely, to spare SD cards. Delivered events must be written, or a restart would deliver them again.
    if (delivered) memory.delivered++;
    if (delivered || !before || !hasSameContents(before, checkpoint))
      account.checkpoints.write(scope, clusterId, memory);
    else memory.dirty = true;
    return true;
  }
}

/**
 * The delivered checkpoint, advanced by the last undelivered observation: a job that was shown only then may leave no
 * other trace.
 */
function catchUp(
  { checkpoint, undelivered }: ClusterMemory,
  late: boolean,
): { checkpoint: Checkpoint | null; drafts: EventDraft[] } {
  if (!checkpoint || !undelivered) return { checkpoint, drafts: [] };
  return advance(checkpoint, undelivered.seen, { answers: undelivered.answers, late });
}

/** Whether any subscriber would receive an event. */
const hasEvents = (drafts: readonly EventDraft[], eventSubscribers: readonly EventSubscriber[]): boolean =>
  drafts.length > 0 && eventSubscribers.some(({ events }) => eventsFor(drafts, events.thresholds).length > 0);

/** Whether two checkpoints have the same contents, except for what only describes the moment. */
const hasSameContents = (one: Checkpoint, other: Checkpoint): boolean =>
  JSON.stringify(contentsOf(one)) === JSON.stringify(contentsOf(other));

/**
 * What a restart must know although no event was about it: an occurrence that has ended can recur, a job can leave the
 * lists, and the number of a spool identifies it in later events. The host shows a move to a new id, and the first poll may
 * not know it yet.
 */
const contentsOf = (checkpoint: Checkpoint): unknown[] => {
  const { name, hostGuid, newestAtFirst, jobs, ended, plates, maintenance, printers } = checkpoint;
  return [
    name,
    hostGuid,
    newestAtFirst,
    jobs.map(({ id, state, aborting }) => [id, state, aborting]),
    ended.slice(-10).map(({ id }) => id),
    plates.map(({ id }) => id),
    maintenance.isDue,
    printers.map(({ id, faults, errors, codes, extruders, slots = [] }) => [
      id,
      faults,
      errors,
      codes,
      [...extruders, ...slots].map(({ loads }) => loads),
    ]),
  ];
};
