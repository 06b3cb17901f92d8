import type { PrintingError } from '../../service/errors';
import type { ListPoller, ListSubscriber } from '../polling/list-poller';
import type { Poller } from '../polling/poller';
import { SLACK } from '../polling/timing';
import { LIST, type PollResult, type Subscriber } from '../polling/types';
import type { Standby } from '../replication/peers';
import {
  type ChangeFilter,
  NodeWatch,
  PollFailures,
  type Round,
  type Watch,
  type WatchContext,
  type WatchOptions,
  type WatchState,
} from './watch';

/** Largest group whose results are collected, since each result is some ten kilobytes. */
const MOST_COLLECTED = 100;

interface BatchOptions {
  id: string;
  /** Expected number of clusters. */
  size: () => number;
  /** Position of a cluster in the list. */
  rankOf: (clusterId: string) => number;
  /** Monotonic time, ms. */
  now: () => number;
  /** Whether figures added at that time are stale by now. */
  isOld: (addedAt: number) => boolean;
  deliver: (round: Round) => void;
}

interface PendingResult {
  result: PollResult;
  addedAt: number;
}

/** Batch of the latest results of all clusters. The last part of a batch states their number. */
export class ResultBatch {
  /** An array instead of a Map: a Map would keep removed values alive for longer (see `followAbort`). */
  #pending: PendingResult[] = [];
  readonly #sent = new Set<string>();
  readonly #options: BatchOptions;
  #error: PrintingError | null = null;

  constructor(options: BatchOptions) {
    this.#options = options;
  }

  add(result: PollResult): void {
    this.#error ??= result.error;
    if (!result.status || this.#sent.has(result.clusterId)) return;
    this.drop(result.clusterId);
    this.#pending.push({ result, addedAt: this.#options.now() });
    if (this.#pending.length <= (this.#options.size() > MOST_COLLECTED ? 1 : MOST_COLLECTED)) return;
    // One result stays for the last part, which states the count.
    this.#send(this.#pending.splice(0, this.#pending.length - 1), null);
  }

  /** Drops the result of a cluster. */
  drop(clusterId: string): void {
    const at = this.#pending.findIndex(({ result }) => result.clusterId === clusterId);
    if (at >= 0) this.#pending.splice(at, 1);
  }

  end(error: PrintingError | null = null): PrintingError | null {
    this.#error = error ?? this.#error;
    const pending = this.#pending.length;
    this.#send(this.#pending.splice(0), this.#sent.size + pending);
    return this.#error;
  }

  #send(pending: PendingResult[], count: number | null): void {
    const { id, rankOf, isOld, deliver } = this.#options;
    const results = pending.map(({ result, addedAt }) => (isOld(addedAt) ? asStale(result) : result));
    const group = { id, start: this.#sent.size, count };
    results.sort((one, other) => rankOf(one.clusterId) - rankOf(other.clusterId));
    for (const { clusterId } of results) this.#sent.add(clusterId);
    deliver({ results, group, error: this.#error });
  }
}

const asStale = (result: PollResult): PollResult => ({
  ...result,
  status: result.status && { ...result.status, stale: true },
  raw: null,
});

interface ResultGroupsOptions {
  context: Pick<WatchContext, 'clock' | 'guard' | 'usable'>;
  clusters: WatchedClusters;
  changeFilter: ChangeFilter | null;
  /** ms. */
  interval: number;
  /** Sends a part of a group. */
  emit: (round: Round) => void;
  /** Restores the last known clusters where there are none. */
  restoreClusters: () => Promise<void>;
  isClosed: () => boolean;
  /** Whether the watch is closed or paused. */
  isInactive: () => boolean;
}

let batches = 0;

/** Groups of the results of all clusters: one at the end of every interval. */
export class ResultGroups {
  readonly #options: ResultGroupsOptions;
  #batch: ResultBatch;
  /** Clusters without a result in the present group. */
  readonly #awaited = new Set<string>();
  /** Whether the group goes out as soon as no cluster is awaited. */
  #sendsWhenComplete = true;
  #boundary = 0;
  /** Whether the list has been read, or could not be. */
  #isListKnown = false;
  #listError: PrintingError | null = null;
  #disarm: () => void = () => undefined;

  constructor(options: ResultGroupsOptions) {
    this.#options = options;
    this.#batch = this.newBatch(options.emit);
  }

  /** Starts sending one group per interval, the first as soon as it is complete. */
  start(): void {
    const { context, interval, isInactive } = this.#options;
    this.#boundary = context.clock.monotonic() + interval;
    this.#sendsWhenComplete = true;
    this.#awaitAll();
    if (!isInactive()) this.#arm(this.#boundary, () => this.#endInterval());
  }

  stop(): void {
    this.#disarm();
  }

  /** Adds a result, and sends the group once it is complete. */
  add(result: PollResult): void {
    this.#batch.add(result);
    this.#awaited.delete(result.clusterId);
    if (this.#sendsWhenComplete && this.#isListKnown && this.#awaited.size === 0) this.#send();
  }

  /** Records a read of the list. */
  recordList(clusterIds: readonly string[] | null, error: PrintingError | null): void {
    const { ownCount, members } = this.#options.clusters;
    this.#listError = error;
    this.#isListKnown = true;
    const isComplete = this.#awaited.size === 0 && (ownCount > 0 || members.size === 0);
    if (this.#sendsWhenComplete && isComplete && (clusterIds ?? error)) this.#send();
  }

  /** Awaits a cluster in the present group, or no longer does. */
  assign(clusterId: string, isOurs: boolean): void {
    if (isOurs) this.#awaited.add(clusterId);
    else this.#awaited.delete(clusterId);
  }

  drop(clusterId: string): void {
    this.#batch.drop(clusterId);
  }

  newBatch(deliver: (round: Round) => void, isAsked = false): ResultBatch {
    const { context, clusters } = this.#options;
    const { clock, usable } = context;
    const rankOf = (clusterId: string) => clusters.members.get(clusterId)?.rank ?? Infinity;
    // A requested poll counts as fresh, however long the other polls take.
    const isOld = (addedAt: number) => !isAsked && (!usable() || clock.monotonic() - addedAt > this.#maxAge);
    const now = () => clock.monotonic();
    return new ResultBatch({ id: `${++batches}`, size: () => clusters.ownCount, rankOf, now, isOld, deliver });
  }

  /** Ends an interval: waits a little for results in flight, but not for failing clusters. */
  #endInterval(): void {
    const { context, clusters, interval } = this.#options;
    if (!context.usable()) return void this.#recall();
    this.#sendsWhenComplete = true;
    for (const clusterId of this.#awaited) {
      const poller = clusters.members.get(clusterId)?.poller;
      if (poller?.failing) this.#addLastKnown(clusterId, poller);
    }
    if (this.#awaited.size === 0) return this.#send();
    this.#arm(this.#boundary + SLACK * interval, () => {
      for (const clusterId of this.#awaited) {
        const poller = clusters.members.get(clusterId)?.poller;
        if (poller) this.#addLastKnown(clusterId, poller);
      }
      this.#send();
    });
  }

  #addLastKnown(clusterId: string, poller: Poller): void {
    this.#awaited.delete(clusterId);
    this.#addKnown(poller.lastKnown(this.#maxAge));
  }

  #addKnown(result: PollResult): void {
    const { clusters, changeFilter } = this.#options;
    const { status } = result;
    if (status?.stale) clusters.recordStale(status.clusterId);
    if (status && (!changeFilter || changeFilter.isChange(status))) this.#batch.add(result);
  }

  /** Sends the last known figures of all clusters while the account is signed out. Never rejects. */
  async #recall(): Promise<void> {
    const { clusters, restoreClusters, context, isClosed, isInactive } = this.#options;
    if (clusters.members.size === 0) await restoreClusters();
    if (isClosed()) return;
    let isKnown = false;
    for (const [clusterId, { poller, isOurs }] of [...clusters.members]) {
      if (!isOurs) continue;
      const result = await poller.recall();
      if (isInactive()) return;
      if (context.usable()) break;
      if (result.status && clusters.members.get(clusterId)?.isOurs) {
        this.#addKnown(result);
        isKnown = true;
      }
    }
    if (!isKnown) return this.#startNextInterval();
    this.#send();
    // The first group after the next sign-in goes out as soon as it is complete.
    this.#sendsWhenComplete = true;
  }

  /** Age from which figures are stale, ms: turns may shift by the slack. */
  get #maxAge(): number {
    return (1 + SLACK) * this.#options.interval;
  }

  #send(): void {
    this.#batch.end(this.#listError);
    this.#batch = this.newBatch(this.#options.emit);
    this.#sendsWhenComplete = false;
    this.#awaitAll();
    this.#startNextInterval();
  }

  #startNextInterval(): void {
    const { context, interval } = this.#options;
    // A first group of many clusters may end late: skip a boundary that would follow at once.
    const soonest = context.clock.monotonic() + interval / 2;
    while (this.#boundary < soonest) this.#boundary += interval;
    this.#arm(this.#boundary, () => this.#endInterval());
  }

  #arm(time: number, action: () => void): void {
    this.#disarm();
    const { clock, guard } = this.#options.context;
    this.#disarm = clock.after(Math.max(0, time - clock.monotonic()), () => guard(action));
  }

  #awaitAll(): void {
    this.#awaited.clear();
    for (const clusterId of this.#options.clusters.ownIds) this.#awaited.add(clusterId);
  }
}

interface WatchedCluster {
  poller: Poller;
  rank: number;
  /** Whether this runtime polls it. */
  isOurs: boolean;
}

/** Clusters of a watch of all clusters, and the state that it shows. */
export class WatchedClusters {
  readonly members = new Map<string, WatchedCluster>();
  /** Number of members that this runtime polls. */
  ownCount = 0;
  readonly #offline = new Set<string>();
  /** Clusters whose last sent figures were older than an interval. */
  readonly #overdue = new Set<string>();
  readonly #failures: PollFailures;
  #lastSuccess: number | null = null;

  constructor(private readonly now: () => number) {
    this.#failures = new PollFailures(now);
  }

  get state(): Pick<WatchState, 'lastSuccess' | 'trouble' | 'overdue' | 'clusters'> {
    const total = this.ownCount;
    return {
      lastSuccess: this.#lastSuccess,
      trouble: this.#failures.state,
      overdue: this.#overdue.size > 0,
      clusters: { total, online: total - this.#offline.size },
    };
  }

  /** Members that this runtime polls. */
  get ownIds(): string[] {
    return [...this.members].filter(([, { isOurs }]) => isOurs).map(([clusterId]) => clusterId);
  }

  /** Records whether this runtime polls a member. Returns false for other clusters. */
  assign(clusterId: string, isOurs: boolean): boolean {
    const member = this.members.get(clusterId);
    if (!member) return false;
    if (member.isOurs !== isOurs) this.ownCount += isOurs ? 1 : -1;
    member.isOurs = isOurs;
    if (isOurs) return true;
    this.#offline.delete(clusterId);
    this.#overdue.delete(clusterId);
    this.#failures.forget(clusterId);
    return true;
  }

  /** Records that figures older than an interval were sent. */
  recordStale(clusterId: string): void {
    this.#overdue.add(clusterId);
  }

  recordResult({ clusterId, status, error }: PollResult): void {
    if (!this.members.get(clusterId)?.isOurs) return;
    if (status?.online === false) this.#offline.add(clusterId);
    else if (status) this.#offline.delete(clusterId);
    this.#failures.record(clusterId, error);
    if (!error) this.#overdue.delete(clusterId);
    this.#recordSuccess();
  }

  recordList(error: PrintingError | null): void {
    this.#failures.record(LIST, error);
    this.#recordSuccess();
  }

  #recordSuccess(): void {
    if (!this.#failures.state && this.#overdue.size === 0) this.#lastSuccess = this.now();
  }
}

interface AccountPollers {
  list: ListPoller;
  pollers: ReadonlyMap<string, Poller>;
  pollerOf: (clusterId: string) => Poller;
  /** Whether it watched before the deploy and keeps its turn. */
  known: boolean;
}

/**
 * One node's view of all clusters of the account. Each cluster has its own turn. At the end of every interval the
 * latest results go out as one group.
 */
export class AllClustersWatch extends NodeWatch implements Watch, Subscriber, ListSubscriber {
  readonly wants = 'all';
  readonly #clusters: WatchedClusters;
  readonly #groups: ResultGroups;
  /** Start, monotonic ms. */
  readonly #startedAt: number;

  constructor(
    options: WatchOptions,
    context: WatchContext,
    private readonly polling: AccountPollers,
  ) {
    super(options, context);
    this.#startedAt = context.clock.monotonic();
    this.#clusters = new WatchedClusters(() => context.clock.now());
    this.#groups = new ResultGroups({
      ...{ context, clusters: this.#clusters, changeFilter: this.changeFilter, interval: this.interval },
      emit: (round) => this.#emitRound(round),
      restoreClusters: () => this.#restoreClusters(),
      isClosed: () => this.isClosed,
      isInactive: () => this.isClosed || this.isPaused,
    });
    this.#groups.start();
  }

  get state(): WatchState {
    return { paused: this.isPaused, standby: this.standby, ...this.#clusters.state };
  }

  async ask(deliver: (round: Round) => void): Promise<PrintingError | null> {
    this.requests++;
    const failedIds: string[] = [];
    let error: PrintingError | null = null;
    try {
      error = await this.#requestAll(deliver, failedIds);
      return error && failedIds.length > 1 ? this.context.summary(error, failedIds) : error;
    } finally {
      this.requests--;
      this.context.requestEnded(this, error, failedIds);
    }
  }

  async #requestAll(deliver: (round: Round) => void, failedIds: string[]): Promise<PrintingError | null> {
    const listError = await this.polling.list.ask();
    if (listError) failedIds.push(LIST);
    if (this.isClosed) return listError;
    const batch = this.#groups.newBatch((round) => {
      for (const { status } of round.results) if (status) this.changeFilter?.recordSent(status);
      if (!this.isClosed) deliver(round);
    }, true);
    await Promise.all(
      [...this.#clusters.members].map(async ([clusterId, { poller }]) => {
        const result = { ...(await poller.ask()), clusterId };
        if (!this.isClosed) this.#clusters.recordResult(result);
        if (result.error) failedIds.push(clusterId);
        batch.add(result);
      }),
    );
    return batch.end(listError);
  }

  pause(): void {
    this.isPaused = true;
    this.#groups.stop();
    this.#replanAll();
  }

  resume(): void {
    if (!this.isPaused || this.isClosed) return;
    this.isPaused = false;
    this.#groups.start();
    for (const { poller } of this.#clusters.members.values()) poller.resume(this, this.requests > 0);
    this.polling.list.replan();
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#groups.stop();
    this.polling.list.remove(this);
    for (const { poller } of this.#clusters.members.values()) poller.remove(this);
    this.context.closed(this);
  }

  onPoll(result: PollResult, due: boolean): void {
    if (this.isClosed) return;
    this.#clusters.recordResult(result);
    if (!due) return;
    if (result.status && this.changeFilter && !this.changeFilter.isChange(result.status))
      result = { ...result, status: null };
    this.#groups.add(result);
  }

  /** Joins the clusters that other watches poll already: those polls consume events before the list arrives. */
  recalled(clusterIds: readonly string[]): void {
    if (this.isClosed) return;
    clusterIds.forEach((clusterId, rank) => {
      const poller = this.polling.pollers.get(clusterId);
      if (poller && isAlive(poller)) this.#addMember(clusterId, rank);
    });
  }

  listed(clusterIds: readonly string[] | null, error: PrintingError | null): void {
    if (this.isClosed) return;
    this.#clusters.recordList(error);
    if (clusterIds) this.#setMembers(clusterIds);
    this.#groups.recordList(clusterIds, error);
  }

  /** Moves a cluster to its new id. */
  moveTo(poller: Poller, previous: string): void {
    const rank = this.#clusters.members.get(previous)?.rank ?? this.#clusters.members.size;
    this.#removeMember(previous);
    this.#addMember(poller.clusterId, rank, true);
  }

  /** Groups exclude clusters of other runtimes; a request includes them. */
  assigned(clusterId: string, isOurs: boolean): void {
    if (!this.isClosed && this.#clusters.assign(clusterId, isOurs)) this.#groups.assign(clusterId, isOurs);
  }

  /** A watch that polls any of its clusters is not on standby. */
  protected get standby(): Standby | null {
    if (this.#clusters.ownCount > 0 || this.#clusters.members.size === 0) return this.context.standbyOf(null);
    return this.context.standbyOf(null) ?? { why: 'elsewhere', by: null };
  }

  #setMembers(clusterIds: readonly string[]): void {
    const listed = new Set(clusterIds);
    for (const [clusterId, { poller }] of [...this.#clusters.members])
      if (!listed.has(clusterId) && !isAlive(poller)) this.#removeMember(clusterId);
    clusterIds.forEach((clusterId, rank) => this.#addMember(clusterId, rank));
  }

  #addMember(clusterId: string, rank: number, known = this.polling.known): void {
    const member = this.#clusters.members.get(clusterId);
    if (member) return void (member.rank = rank);
    const poller = this.polling.pollerOf(clusterId);
    this.#clusters.members.set(clusterId, { poller, rank, isOurs: false });
    this.assigned(clusterId, poller.isOurs);
    poller.add(this, { known, by: this.#startedAt + this.interval });
  }

  #removeMember(clusterId: string): void {
    this.assigned(clusterId, false);
    const member = this.#clusters.members.get(clusterId);
    this.#clusters.members.delete(clusterId);
    this.#groups.drop(clusterId);
    member?.poller.remove(this);
  }

  async #restoreClusters(): Promise<void> {
    const clusterIds = await this.polling.list.recall();
    if (!this.isClosed && clusterIds.length > 0) this.#setMembers(clusterIds);
  }

  #replanAll(): void {
    for (const { poller } of this.#clusters.members.values()) poller.pause();
    this.polling.list.replan();
  }

  #emitRound(round: Round): void {
    if (!this.isClosed && !this.isPaused) this.context.guard(() => this.options.onRound(round));
  }
}

/**
 * Whether an unlisted cluster still answers the polls of a watch of its own. Those polls consume its events, so a watch
 * of all clusters that left it after a faulty list would lose them.
 */
const isAlive = (poller: Poller): boolean => poller.isWatched && !poller.failing;
