import { advance, openQuestions } from '../../events/advance';
import type { Checkpoint, Ended } from '../../events/checkpoint';
import type { JobAnswer } from '../../events/job-edges';
import type { Observation } from '../../events/observation';
import type { EventDraft } from '../../events/print-event';
import { eventsFor } from '../../events/edges';
import type { ClusterStatus } from '../../service/cluster';
import { UNLOSABLE_LOCK } from '../../state/locks';
import type { Lock } from '../../state/membership';
import type { ClusterMemory } from '../checkpoints/cluster-memory';
import { isSecured } from '../checkpoints/ownership';
import type { ScopeMemory } from '../checkpoints/scope-memory';
import type { PollingAccount, PollReports } from './ports';
import type { EventSubscriber } from './subscriber';
import type { Subscriptions } from './subscriptions';
import { VanishedJobResolver } from './vanished-job-resolver';

/** Observations of one cluster: derives and delivers events, and advances the checkpoint. */
export class Observer {
  #vanishedJobs: VanishedJobResolver | null = null;
  /** Checkpoint of undelivered observations, for subscribers that wait for the end of a job. */
  #undelivered: Checkpoint | null = null;
  /** State under the present scope. */
  #memory: ClusterMemory | null = null;

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
      if (!memory.loaded) await account.checkpoints.load(under, clusterId, memory);
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

  /** Marks the next events as late, after the last subscriber to events has left. */
  markUnwatched(): void {
    if (!this.#memory?.hasCheckpoint) return;
    this.#memory.late = true;
    this.#memory.unwatchedSince = this.account.clock.monotonic();
  }

  /** Records an observation by the owner. */
  receive(memory: ClusterMemory, checkpoint: Checkpoint | null, status: ClusterStatus): void {
    this.#memory = memory;
    this.#undelivered = checkpoint;
    memory.setStatus(status);
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
    if (thresholds.length > 0 && memory.absorb(seen, thresholds)) {
      this.reset();
      return true;
    }
    const start = () =>
      receivers().length > 0 ? catchUp(memory) : { checkpoint: this.checkpointOf(memory), drafts: [] };
    let { checkpoint: before, drafts: missed } = start();
    const open = openQuestions(before, seen);
    let answers = new Map<string, JobAnswer>();
    if (open.length > 0 || this.#vanishedJobs) {
      answers = await (this.#vanishedJobs ??= new VanishedJobResolver()).ask(account, clusterId, open);
      account.signal.throwIfAborted();
      // Subscribers may have come or left meanwhile.
      ({ checkpoint: before, drafts: missed } = start());
    }
    const { checkpoint, drafts: current } = advance(before, seen, { answers, late: memory.late && before !== null });
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
    memory.late = false;
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
function catchUp({ checkpoint, undelivered }: ClusterMemory): { checkpoint: Checkpoint | null; drafts: EventDraft[] } {
  if (!checkpoint || !undelivered) return { checkpoint, drafts: [] };
  return advance(checkpoint, undelivered.seen, { answers: undelivered.answers, late: true });
}

/** Whether any subscriber would receive an event. */
const hasEvents = (drafts: readonly EventDraft[], eventSubscribers: readonly EventSubscriber[]): boolean =>
  drafts.length > 0 && eventSubscribers.some(({ events }) => eventsFor(drafts, events.thresholds).length > 0);

/** Whether two checkpoints have the same jobs and spools. */
const hasSameContents = (one: Checkpoint, other: Checkpoint): boolean =>
  hasSameIds(one.jobs, other.jobs) &&
  hasSameIds(one.ended.slice(-10), other.ended.slice(-10)) &&
  loadsOf(one) === loadsOf(other);

/** Number of spools so far: the number identifies a spool in later events, so a restart must not count it again. */
const loadsOf = ({ printers }: Checkpoint): number =>
  printers.reduce((sum, { extruders }) => (extruders ?? []).reduce((all, { loads }) => all + loads, sum), 0);

const hasSameIds = (some: readonly { id: string }[], others: readonly { id: string }[]): boolean =>
  some.length === others.length && some.every(({ id }, at) => id === others[at]?.id);
