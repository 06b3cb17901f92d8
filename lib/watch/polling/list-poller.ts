import { advanceList, withoutRebounds, type Rebound } from '../../events/list-changes';
import type { PrintEvent } from '../../events/print-event';
import { asPrintingError, type PrintingError } from '../../service/errors';
import { UNLOSABLE_LOCK } from '../../state/locks';
import type { Lock } from '../../state/membership';
import { isoTime } from '../../time/clock';
import { Departure, PollRequests } from './requests';
import { FailedPolls, type FailedPoll } from './timing';
import { type EventReceiver, LIST, type PollingAccount, type PollReports } from './types';
import type { Scheduled } from './scheduler';
import { isSecured, isStillOwned, LIST_ITEM, SOLE_OWNER } from '../checkpoints/checkpoint-store';
import type { ListedCluster, ListMemory, ScopeMemory } from '../checkpoints/memory';

/** Shortest interval between reads of the list, ms (wire facts, trap 41). */
const SHORTEST = 60_000;

/** Subscriber to the cluster list. */
export interface ListSubscriber {
  /** Polling interval, ms. */
  readonly interval: number;
  readonly paused: boolean;
  readonly events: Pick<EventReceiver, 'beside'>;
  /** Called before a read, with the clusters of the last list and those that it lacked for the first time. */
  recalled(clusterIds: readonly string[]): void;
  /** Called with the known clusters, and with the failure where the list could not be read. */
  listed(clusterIds: readonly string[] | null, error: PrintingError | null): void;
  deliverAll(events: PrintEvent[]): boolean;
}

/** Poller of the cluster list: reports added, removed and moved clusters to all subscribers. */
export class ListPoller implements Scheduled {
  readonly #subscribers = new Set<ListSubscriber>();
  readonly #requests = new PollRequests<PrintingError | null>();
  readonly #failed: FailedPolls;
  #due = -Infinity;
  /** Time at which the last read left, monotonic ms. */
  #last = -Infinity;
  #memory: ListMemory | null = null;

  constructor(
    private readonly account: PollingAccount,
    private readonly reports: PollReports,
    private readonly rebound: (rebound: Rebound<ListedCluster>) => Promise<unknown>,
  ) {
    this.#failed = new FailedPolls(account.plan.random);
  }

  /** Whether any subscriber is active. */
  get isWatched(): boolean {
    return [...this.#subscribers].some(({ paused }) => !paused);
  }

  /** Whether this runtime reads the list regularly. */
  get isPolled(): boolean {
    return this.isWatched && this.#isOurs;
  }

  /** Known clusters; null where the list was never read. */
  get clusterIds(): readonly string[] | null {
    const { list, ownership } = this.account;
    const known = this.#memory?.checkpoint?.known ?? null;
    // All runtimes use the published list: shares computed from different lists would conflict.
    if (known && ownership !== SOLE_OWNER)
      return known.filter(({ missing }) => !missing).map(({ clusterId }) => clusterId);
    return list.last ? [...list.last.keys()] : (known?.map(({ clusterId }) => clusterId) ?? null);
  }

  get polledAt(): number {
    return this.#last;
  }

  add(subscriber: ListSubscriber): void {
    this.#subscribers.add(subscriber);
    this.#due = -Infinity;
    this.#recall([subscriber]);
    this.account.ownership.changed();
    this.replan();
    if (!this.#isOurs) void this.loadPublished();
  }

  remove(subscriber: ListSubscriber): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size === 0 && this.#memory?.checkpoint) this.#memory.late = true;
    this.account.ownership.changed();
    this.replan();
  }

  /** Starts the regular reads here. `polledAt`: start of the last read by any runtime. */
  startRegularPolls(polledAt: number | null): void {
    this.#due = polledAt === null ? -Infinity : polledAt + this.#interval;
    this.replan();
  }

  /** Stops the regular reads: another runtime makes them. */
  stopRegularPolls(): void {
    this.#failed.reset();
    this.reports.ownerChanged(LIST);
    this.replan();
  }

  /** Resolves when no read is in flight. */
  settled(): Promise<void> {
    return this.#requests.settled();
  }

  /** Reads the list now; resolves with the failure, if any. */
  ask(): Promise<PrintingError | null> {
    return this.#requests.add(() => this.account.plan.scheduler.ask(this));
  }

  /** Loads the list that another runtime has published. Never rejects. */
  async loadPublished(): Promise<void> {
    const { account } = this;
    const scope = await account.scoped().catch(() => null);
    if (!scope || this.#isOurs) return;
    scope.list.invalidate();
    if (!(await this.#load()) || account.signal.aborted) return;
    account.list.setRemote(scope.list.clusters);
    if (this.clusterIds) this.#publish(null);
  }

  /** Returns the last known clusters, from the store where nothing was read since. Never rejects. */
  async recall(): Promise<readonly string[]> {
    if (!this.clusterIds) await this.#load();
    return this.clusterIds ?? [];
  }

  wake({ anew = false } = {}): void {
    if (anew || this.#failed.isFailing) this.#due = -Infinity;
    this.#failed.reset();
    this.replan();
  }

  replan(): void {
    if (this.#requests.isInFlight || this.account.signal.aborted) return;
    this.account.plan.scheduler.plan(this, this.isWatched && this.#isOurs ? Math.max(this.#due, 0) : Infinity);
  }

  /** Delivers events to all subscribers except those beside one of `others`, which receive the events as well. */
  deliver(events: PrintEvent[], others: readonly unknown[] = []): boolean {
    const receivers = [...this.#subscribers].filter(
      ({ events: { beside } }) => beside === undefined || !others.includes(beside),
    );
    return receivers.map((subscriber) => subscriber.deliverAll(events)).some((delivered) => delivered);
  }

  async run(asked: boolean): Promise<number> {
    const { account } = this;
    const start = account.clock.monotonic();
    const interval = this.#interval;
    const lock = this.#isOurs ? account.ownership.lockOf(LIST_ITEM) : null;
    this.#last = start;
    this.#requests.isInFlight = true;
    let failure: FailedPoll | null = null;
    let leftAt: number | undefined;
    const departure = new Departure(
      () => false,
      // The first of several pages counts.
      () => (this.#last = leftAt ??= account.clock.monotonic()),
    );
    try {
      const scope = await account.scoped();
      const memory = await this.#load();
      this.#recall(this.#subscribers);
      const list = await account.list.read(asked ? 0 : interval / 2, departure);
      account.signal.throwIfAborted();
      this.#failed.recordSuccess();
      this.#due = this.#last + interval;
      if (memory && lock) await this.#process([...list.values()], memory, scope, lock);
    } catch (thrown) {
      const error = asPrintingError(thrown);
      failure = { start, error, lacksToken: departure.lacksToken(error) };
      this.#failed.record(failure, interval);
      this.#due = this.#failed.retryAt;
    }
    this.#requests.isInFlight = false;
    const error = failure?.error ?? null;
    if (!account.signal.aborted) {
      this.reports.polled(LIST, start, failure);
      this.#publish(error);
    }
    this.#requests.resolveSettled();
    for (const answer of this.#requests.take()) answer(error);
    this.replan();
    return error?.code === 'RATE_LIMITED' ? (error.retryAfter ?? 0) : 0;
  }

  get #isOurs(): boolean {
    return this.account.ownership.isOurs(LIST_ITEM);
  }

  get #interval(): number {
    const active = [...this.#subscribers].filter(({ paused }) => !paused).map(({ interval }) => interval);
    return Math.max(SHORTEST, active.length > 0 ? Math.min(...active) : 0);
  }

  #recall(subscribers: Iterable<ListSubscriber>): void {
    const clusterIds = this.#memory?.checkpoint?.known.map(({ clusterId }) => clusterId) ?? [];
    for (const subscriber of subscribers) subscriber.recalled(clusterIds);
  }

  #publish(error: PrintingError | null): void {
    const { clusterIds } = this;
    for (const subscriber of this.#subscribers) subscriber.listed(clusterIds, error);
  }

  async #process(clusters: ListedCluster[], memory: ListMemory, scope: ScopeMemory, lock: Lock): Promise<void> {
    if (this.#subscribers.size === 0) return;
    const { clock, checkpoints, ownership } = this.account;
    const late = memory.late && memory.checkpoint !== null;
    const before = memory.checkpoint;
    const { checkpoint, events, rebounds } = advanceList(before, clusters, { at: isoTime(clock.now()), late });
    if (lock !== UNLOSABLE_LOCK && events.length > 0 && !(await isSecured(ownership, LIST_ITEM, lock))) return;
    if (!isStillOwned(ownership, LIST_ITEM, lock)) return;
    this.deliver(events);
    // Among several runtimes the old id stays until its owner has reported the new one.
    memory.checkpoint = ownership === SOLE_OWNER ? checkpoint : withoutRebounds(checkpoint, before, rebounds);
    memory.late = false;
    const isChanged = ownership !== SOLE_OWNER && memory.updatePublished(clusters);
    if (isChanged || JSON.stringify(before?.known) !== JSON.stringify(memory.checkpoint.known))
      checkpoints.writeList(scope);
    for (const rebound of rebounds) await this.rebound(rebound);
  }

  async #load(): Promise<ListMemory | null> {
    const { account } = this;
    try {
      const scope = await account.scoped();
      this.#memory = scope.list;
      await account.checkpoints.loadList(scope, scope.list);
      return scope.list;
    } catch (thrown) {
      this.reports.fault(null, thrown);
      return null;
    }
  }
}
