import { eventsFor } from '../../events/milestones';
import type { EventDraft, PrintEvent } from '../../events/print-event';
import type { PrintingError } from '../../service/errors';
import type { Subscriber } from '../polling/subscriber';
import { audienceOf, type WatchContext } from './cluster-watch';
import { ResultGroups } from './result-groups';
import type { ListPoller, ListSubscriber } from '../polling/list-poller';
import { ChangeFilter } from './change-filter';
import type { Poller } from '../polling/poller';
import { intervalOf } from '../polling/poll-timing';
import { LIST, type PollResult } from '../polling/poll-result';
import type { Standby } from '../replication/sharing';
import { WatchedClusters } from './watched-clusters';
import type { Round, Watch, WatchOptions, WatchState } from './watch';

interface AllClustersContext extends WatchContext {
  list: ListPoller;
  pollerOf: (clusterId: string) => Poller;
  /** Whether it watched before the deploy and keeps its turn. */
  known: boolean;
}

/**
 * One node's view of all clusters of the account. Each cluster has its own turn. At the end of every interval the
 * latest results go out as one group.
 */
export class AllClustersWatch implements Watch, Subscriber, ListSubscriber {
  readonly receivesEvents = true;
  readonly wants = 'all';
  readonly beside: unknown;
  readonly milestones: readonly number[];
  readonly interval: number;
  readonly audience: string;
  #paused: boolean;
  #closed = false;
  readonly #clusters: WatchedClusters;
  readonly #groups: ResultGroups;
  /** Start, monotonic ms. */
  readonly #startedAt: number;
  #shownStandby = 'null';
  /** Number of requests in flight; their callers receive the error. */
  #requests = 0;
  readonly #changeFilter: ChangeFilter | null;

  constructor(
    private readonly options: WatchOptions,
    private readonly context: AllClustersContext,
  ) {
    this.beside = options.beside;
    this.milestones = options.milestones;
    this.interval = intervalOf(options.interval);
    this.#startedAt = context.clock.monotonic();
    this.#paused = options.paused ?? false;
    this.#changeFilter = options.onlyChanges ? new ChangeFilter() : null;
    this.audience = audienceOf(options);
    this.#clusters = new WatchedClusters(() => context.clock.now());
    const { clock, guard, usable } = context;
    this.#groups = new ResultGroups({
      ...{ clock, guard, usable, clusters: this.#clusters, changeFilter: this.#changeFilter, interval: this.interval },
      emit: (round) => this.#emitRound(round),
      restoreClusters: () => this.#restoreClusters(),
      isClosed: () => this.#closed,
      isInactive: () => this.#closed || this.#paused,
    });
    this.#groups.start();
  }

  get paused(): boolean {
    return this.#paused;
  }

  get isAsking(): boolean {
    return this.#requests > 0;
  }

  get state(): WatchState {
    return { paused: this.#paused, standby: this.#standby, ...this.#clusters.state };
  }

  async ask(deliver: (round: Round) => void): Promise<PrintingError | null> {
    this.#requests++;
    const failedIds: string[] = [];
    let error: PrintingError | null = null;
    try {
      error = await this.#requestAll(deliver, failedIds);
      return error && failedIds.length > 1 ? this.context.summary(error, failedIds) : error;
    } finally {
      this.#requests--;
      this.context.requestEnded(this, error, failedIds);
    }
  }

  notify(error: PrintingError): void {
    if (!this.#closed) this.context.guard(() => this.options.onTrouble(error));
  }

  async #requestAll(deliver: (round: Round) => void, failedIds: string[]): Promise<PrintingError | null> {
    const listError = await this.context.list.ask();
    if (listError) failedIds.push(LIST);
    if (this.#closed) return listError;
    const batch = this.#groups.newBatch((round) => {
      for (const { status } of round.results) if (status) this.#changeFilter?.recordSent(status);
      if (!this.#closed) deliver(round);
    }, true);
    await Promise.all(
      [...this.#clusters.members].map(async ([clusterId, { poller }]) => {
        const result = { ...(await poller.ask()), clusterId };
        if (!this.#closed) this.#clusters.recordResult(result);
        if (result.error) failedIds.push(clusterId);
        batch.add(result);
      }),
    );
    return batch.end(listError);
  }

  pause(): void {
    this.#paused = true;
    this.#groups.stop();
    this.#replanAll();
  }

  resume(): void {
    if (!this.#paused || this.#closed) return;
    this.#paused = false;
    this.#groups.start();
    for (const { poller } of this.#clusters.members.values()) poller.resume(this, this.#requests > 0);
    this.context.list.replan();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#groups.stop();
    this.context.list.remove(this);
    for (const { poller } of this.#clusters.members.values()) poller.remove(this);
    this.context.closed(this);
  }

  onPoll(result: PollResult, due: boolean): void {
    if (this.#closed) return;
    this.#clusters.recordResult(result);
    if (!due) return;
    if (result.status && this.#changeFilter && !this.#changeFilter.isChange(result.status))
      result = { ...result, status: null };
    this.#groups.add(result);
  }

  deliver(drafts: readonly EventDraft[]): boolean {
    const events = this.#closed ? [] : eventsFor(drafts, this.options.milestones);
    return this.deliverAll(events);
  }

  deliverAll(events: PrintEvent[]): boolean {
    if (events.length === 0 || this.#closed) return false;
    this.context.guard(() => this.options.onEvents(events));
    return true;
  }

  listed(clusterIds: readonly string[] | null, error: PrintingError | null): void {
    if (this.#closed) return;
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
    if (!this.#closed && this.#clusters.assign(clusterId, isOurs)) this.#groups.assign(clusterId, isOurs);
  }

  checkStandby(): void {
    const shown = JSON.stringify(this.#standby);
    if (shown === this.#shownStandby || this.#closed) return;
    this.#shownStandby = shown;
    this.context.guard(() => this.options.onStandby?.());
  }

  /** A watch that polls any of its clusters is not on standby. */
  get #standby(): Standby | null {
    if (this.#clusters.ownCount > 0 || this.#clusters.members.size === 0) return this.context.standbyOf(null);
    return this.context.standbyOf(null) ?? { why: 'elsewhere', by: null };
  }

  #setMembers(clusterIds: readonly string[]): void {
    const listed = new Set(clusterIds);
    for (const clusterId of [...this.#clusters.members.keys()])
      if (!listed.has(clusterId)) this.#removeMember(clusterId);
    clusterIds.forEach((clusterId, rank) => this.#addMember(clusterId, rank));
  }

  #addMember(clusterId: string, rank: number, known = this.context.known): void {
    const member = this.#clusters.members.get(clusterId);
    if (member) return void (member.rank = rank);
    const poller = this.context.pollerOf(clusterId);
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
    const clusterIds = await this.context.list.recall();
    if (!this.#closed && clusterIds.length > 0) this.#setMembers(clusterIds);
  }

  #replanAll(): void {
    for (const { poller } of this.#clusters.members.values()) poller.pause();
    this.context.list.replan();
  }

  #emitRound(round: Round): void {
    if (!this.#closed && !this.#paused) this.context.guard(() => this.options.onRound(round));
  }
}
