import type { PrintingError } from '../../service/errors';
import type { Subscriber } from '../polling/subscriber';
import { NodeWatch, type WatchContext } from './node-watch';
import { ResultGroups } from './result-groups';
import type { ListPoller, ListSubscriber } from '../polling/list-poller';
import type { Poller } from '../polling/poller';
import { LIST, type PollResult } from '../polling/poll-result';
import type { Standby } from '../replication/sharing';
import { WatchedClusters } from './watched-clusters';
import type { Round, Watch, WatchOptions, WatchState } from './watch';

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
