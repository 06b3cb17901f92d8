import { advanceList, withoutRebounds } from '../../events/list-changes';
import type { PrintEvent } from '../../events/print-event';
import type { PrintingError } from '../../service/errors';
import { UNLOSABLE_LOCK } from '../../state/locks';
import type { Lock } from '../../state/membership';
import { isoTime } from '../../time/clock';
import { isSecured, isStillOwned, LIST, SOLE_OWNER } from '../checkpoints/checkpoint-store';
import type { ListedCluster, ListMemory, ScopeMemory } from '../checkpoints/memory';
import { type Answer, type Poll, PollLoop } from './poll-loop';
import type { Poller } from './poller';
import type { EventReceiver, PollingAccount, PollMoves, PollReports } from './types';

/** Shortest interval between reads of the list, ms (wire facts, trap 41). */
const SHORTEST = 60_000;

/** Subscriber to the cluster list. */
export interface ListSubscriber {
  /** Polling interval, ms. */
  readonly interval: number;
  readonly paused: boolean;
  readonly events: Pick<EventReceiver, 'beside'>;
  /** Called before a read, with the known clusters. */
  recalled(clusterIds: readonly string[]): void;
  /** Joins the known clusters and leaves the others, in several turns of the event loop. Never rejects. */
  follow(clusterIds: readonly string[]): Promise<void>;
  /** Called after `follow`, with the known clusters, and with the failure where the list could not be read. */
  listed(clusterIds: readonly string[] | null, error: PrintingError | null): void;
  /** Joins the new id of a machine, and leaves the former one. */
  moveTo(poller: Poller, previous: string): void;
  deliverAll(events: PrintEvent[]): boolean;
}

/** Result of one read of the list. */
interface ListResult {
  /** Known clusters; null where the list was never read. */
  clusterIds: readonly string[] | null;
  error: PrintingError | null;
}

/** Poller of the cluster list: reports added, removed and moved clusters to all subscribers. */
export class ListPoller extends PollLoop<ListResult> {
  readonly #subscribers = new Set<ListSubscriber>();
  /** Time of the next regular read, monotonic ms. */
  #next = -Infinity;
  /** Time at which the last read left, or began if none of its requests left, monotonic ms. */
  #polledAt = -Infinity;
  #hasLeft = false;
  #memory: ListMemory | null = null;
  /** When the first of the present subscribers came, monotonic ms; null: there is none. */
  #watchedFrom: number | null = null;

  constructor(account: PollingAccount, reports: PollReports, moves: PollMoves) {
    super(LIST, account, reports, moves);
  }

  /** Whether any subscriber is active. */
  get isWatched(): boolean {
    return [...this.#subscribers].some(({ paused }) => !paused);
  }

  /** Whether this runtime reads the list regularly. */
  get isPolled(): boolean {
    return this.isWatched && this.isOurs;
  }

  /** Known clusters, also those that the last list lacked for the first time; null where the list was never read. */
  get clusterIds(): readonly string[] | null {
    // Also where another reader has a newer list: shares computed from different lists would conflict.
    const known = this.#memory?.checkpoint?.known;
    if (known) return known.map(({ clusterId }) => clusterId);
    const { last } = this.account.list;
    return last && [...last.keys()];
  }

  /** Whether the last list lacked a cluster for the first time. */
  isInDoubt(clusterId: string): boolean {
    return this.#memory?.checkpoint?.known.some((known) => known.clusterId === clusterId && known.missing) ?? false;
  }

  get polledAt(): number {
    return this.#polledAt;
  }

  add(subscriber: ListSubscriber): void {
    this.#subscribers.add(subscriber);
    this.#watchedFrom ??= this.account.clock.monotonic();
    this.#memory?.recordReturn(this.#watchedFrom);
    this.#next = -Infinity;
    this.#recall([subscriber]);
    this.account.ownership.changed();
    this.replan();
    if (!this.isOurs) void this.loadPublished();
  }

  remove(subscriber: ListSubscriber): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size === 0) {
      this.#watchedFrom = null;
      this.#memory?.recordUnwatched(this.account.clock.monotonic(), Math.max(SHORTEST, subscriber.interval));
    }
    this.account.ownership.changed();
    this.replan();
  }

  /** Starts the regular reads here. `polledAt`: start of the last read by any runtime. */
  startRegularPolls(polledAt: number | null): void {
    this.#next = polledAt === null ? -Infinity : polledAt + this.interval;
    this.replan();
  }

  /** Stops the regular reads: another runtime makes them. */
  stopRegularPolls(): void {
    this.failures.reset();
    this.reports.ownerChanged(LIST);
    this.replan();
  }

  /** Loads the list that another runtime has published. Never rejects. */
  async loadPublished(): Promise<void> {
    const { account } = this;
    const scope = await account.scoped().catch(() => null);
    if (!scope || this.isOurs) return;
    scope.list.invalidate();
    if (!(await this.#load()) || account.signal.aborted) return;
    account.list.setRemote(scope.list.clusters);
    await this.#follow();
    if (this.clusterIds) this.#publish(null);
  }

  /** Returns the last known clusters, from the store where nothing was read since. Never rejects. */
  async recall(): Promise<readonly string[]> {
    if (!this.clusterIds) await this.#load();
    return this.clusterIds ?? [];
  }

  /** Has all subscribers join the new id of a machine: they may have left the former one. */
  moveTo(poller: Poller, previous: string): void {
    for (const subscriber of this.#subscribers) subscriber.moveTo(poller, previous);
  }

  wake({ anew = false } = {}): void {
    if (anew || this.failures.isFailing) this.#next = -Infinity;
    this.failures.reset();
    this.replan();
  }

  /** Delivers events to all subscribers except those beside one of `others`, which receive the events as well. */
  deliver(events: PrintEvent[], others: readonly unknown[] = []): boolean {
    const receivers = [...this.#subscribers].filter(
      ({ events: { beside } }) => beside === undefined || !others.includes(beside),
    );
    return receivers.map((subscriber) => subscriber.deliverAll(events)).some((delivered) => delivered);
  }

  protected get interval(): number {
    const active = [...this.#subscribers].filter(({ paused }) => !paused).map(({ interval }) => interval);
    return Math.max(SHORTEST, active.length > 0 ? Math.min(...active) : 0);
  }

  protected get due(): number {
    return this.isPolled ? Math.max(this.#next, 0) : Infinity;
  }

  protected async read(poll: Poll): Promise<ListResult> {
    try {
      await this.#read(poll);
    } finally {
      // Also after a failure: the clusters of the last list are polled then.
      await this.#follow();
    }
    this.account.signal.throwIfAborted();
    return { clusterIds: this.clusterIds, error: null };
  }

  /** The first of several pages counts. */
  protected recordDeparture(at: number): void {
    if (!this.#hasLeft) this.#polledAt = at;
    this.#hasLeft = true;
  }

  protected failed(error: PrintingError): ListResult {
    this.#next = this.failures.retryAt;
    return { clusterIds: this.clusterIds, error };
  }

  protected distribute(result: ListResult, _poll: Poll, answers: readonly Answer<ListResult>[]): void {
    this.#publish(result.error);
    for (const answer of answers) answer(result);
  }

  async #read({ start, asked, lock, departure }: Poll): Promise<void> {
    const { account, interval } = this;
    this.#polledAt = start;
    this.#hasLeft = false;
    const scope = await account.scoped();
    const memory = await this.#load();
    this.#recall(this.#subscribers);
    const list = await account.list.read(asked ? 0 : interval / 2, departure);
    account.signal.throwIfAborted();
    this.#next = this.#polledAt + interval;
    if (memory && lock) await this.#process([...list.values()], memory, scope, lock);
  }

  #recall(subscribers: Iterable<ListSubscriber>): void {
    const clusterIds = this.#memory?.checkpoint ? (this.clusterIds ?? []) : [];
    for (const subscriber of subscribers) subscriber.recalled(clusterIds);
  }

  async #follow(): Promise<void> {
    const { clusterIds } = this;
    if (clusterIds) for (const subscriber of this.#subscribers) await subscriber.follow(clusterIds);
  }

  #publish(error: PrintingError | null): void {
    const { clusterIds } = this;
    for (const subscriber of this.#subscribers) subscriber.listed(clusterIds, error);
  }

  async #process(clusters: ListedCluster[], memory: ListMemory, scope: ScopeMemory, lock: Lock): Promise<void> {
    if (this.#subscribers.size === 0) return;
    const { clock, checkpoints, ownership } = this.account;
    const before = memory.checkpoint;
    const context = { at: isoTime(clock.now()), late: memory.areEventsLate(clock.monotonic()) };
    const { checkpoint, events, rebounds } = advanceList(before, clusters, context);
    if (lock !== UNLOSABLE_LOCK && events.length > 0 && !(await isSecured(ownership, LIST, lock))) return;
    if (!isStillOwned(ownership, LIST, lock)) return;
    this.deliver(events);
    // Among several runtimes the old id stays until its owner has reported the new one.
    memory.checkpoint = ownership === SOLE_OWNER ? checkpoint : withoutRebounds(checkpoint, before, rebounds);
    memory.recordWatched();
    const isChanged = ownership !== SOLE_OWNER && memory.updatePublished(clusters);
    if (isChanged || JSON.stringify(before?.known) !== JSON.stringify(memory.checkpoint.known))
      checkpoints.writeList(scope);
    for (const rebound of rebounds) await this.moves.rebindListed(rebound);
  }

  async #load(): Promise<ListMemory | null> {
    const { account } = this;
    try {
      const scope = await account.scoped();
      this.#memory = scope.list;
      await account.checkpoints.loadList(scope, scope.list);
      if (this.#watchedFrom !== null) scope.list.recordReturn(this.#watchedFrom);
      return scope.list;
    } catch (thrown) {
      this.reports.fault(null, thrown);
      return null;
    }
  }
}
