import { eventsFor } from '../../events/edges';
import type { PrintEvent } from '../../events/print-event';
import type { PrintingError } from '../../service/errors';
import { Rerun, Turns } from '../../time/concurrency';
import type { PackedTexts, WatchMemory } from '../checkpoints/memory';
import type { ListPoller, ListSubscriber } from '../polling/list-poller';
import type { Poller } from '../polling/poller';
import type { Pollers } from '../polling/pollers';
import { intervalOf } from '../polling/timing';
import { type EventReceiver, LIST, type PollResult, type Subscriber } from '../polling/types';
import type { Standby } from '../replication/peers';
import type { NoticeReceiver, Outages } from './outages';
import {
  ChangeFilter,
  GroupRounds,
  ResultBatch,
  type Round,
  type Rounds,
  type RoundsContext,
  TurnRounds,
} from './rounds';
import { WatchedClusters } from './watched-clusters';

export interface WatchOptions {
  /** Identifies the watch across deploys: a known watch keeps its polling turn. */
  key?: string | undefined;
  /** Null: all clusters of the account. */
  clusterId: string | null;
  /** Seconds; at least 10. */
  interval: number;
  milestones: readonly number[];
  /** Share below which material is low, percent. Default 0: no events. */
  lowMaterial?: number | undefined;
  /** Time after which a plate that was not cleared is reported, minutes. Default 0: no events. */
  plateWait?: number | undefined;
  /** Time without progress after which a print is reported as stalled, minutes. Default 0: no events. */
  stalled?: number | undefined;
  /** Omits a status without a change (reference 3.1, `send`). Default false. */
  onlyChanges?: boolean | undefined;
  /** Watch with the same `onEvents`: this watch omits the events of clusters that the other one watches as well. */
  beside?: Watch | undefined;
  /** Starts without regular polls. Default false. */
  paused?: boolean | undefined;
  /** Called at this watch's turn: for all clusters once per interval, in several parts if large. */
  onRound(round: Round): void;
  /** Called with new events, whichever watch caused the poll. Never empty. */
  onEvents(events: PrintEvent[]): void;
  /** Called after `state.standby` has changed. */
  onStandby?: (() => void) | undefined;
  /** One watch of each audience receives a notice. Default: the watch is an audience of its own. */
  audience?: string | undefined;
  /** Receives the notice of an outage, or of the end of the sign-in. */
  onTrouble(error: PrintingError): void;
}

export interface WatchState {
  paused: boolean;
  /** Null where this runtime polls. */
  standby: Standby | null;
  /** Wall time of the last poll that left no failure, ms. */
  lastSuccess: number | null;
  trouble: { error: PrintingError; since: number } | null;
  /** Whether the figures shown are older than an interval although no poll has failed yet. */
  overdue: boolean;
  /** Number of known clusters, and of those online. */
  clusters: { total: number; online: number };
}

export interface Watch {
  readonly state: WatchState;
  /**
   * Polls at once, even while paused, and delivers every result. Resolves with the first failure, which `onTrouble`
   * does not report as well.
   */
  ask(deliver: (round: Round) => void): Promise<PrintingError | null>;
  /** Stops this watch's regular polls; events from the polls of other watches still arrive. */
  pause(): void;
  /** Polls at once, then resumes the regular polls. */
  resume(): void;
  close(): void;
}

/** What the watches of one account share. */
export interface WatchContext extends RoundsContext {
  memory: WatchMemory;
  pollers: Pollers;
  outages: Outages;
  watches: Set<NodeWatch>;
  /** Reason for not polling a cluster; null where this runtime polls. For null, a reason that holds for all. */
  standbyOf: (clusterId: string | null) => Standby | null;
}

let audiences = 0;

/**
 * One node's view of a set of clusters: of one cluster, or of all clusters of the account. It subscribes to the polls of
 * each member. Events arrive at once; figures go out in rounds.
 */
export class NodeWatch implements Watch, Subscriber, ListSubscriber, NoticeReceiver {
  readonly wants: 'cluster' | 'all';
  readonly interval: number;
  readonly events: EventReceiver;
  readonly audience: string;
  readonly clusters: WatchedClusters;
  readonly changeFilter: ChangeFilter | null;
  readonly #list: ListPoller | null;
  readonly #rounds: Rounds;
  /** Whether it watched before the deploy and keeps its turns. */
  readonly #isKnown: boolean;
  /** Start, monotonic ms. */
  readonly #startedAt: number;
  paused: boolean;
  #isClosed = false;
  /** Batches of the requests in flight; their callers receive the results. */
  readonly #requested = new Set<ResultBatch>();
  /** The list to follow. */
  #listedIds: readonly string[] = [];
  readonly #following = new Rerun(() => this.#followList());
  #shownStandby = 'null';

  constructor(
    private readonly options: WatchOptions,
    private readonly context: WatchContext,
  ) {
    const { key, clusterId, milestones, lowMaterial = 0, plateWait = 0, stalled = 0, beside } = options;
    const { clock, memory, pollers, watches } = context;
    const thresholds = { milestones, lowMaterial, plateWait, stalled };
    this.events = { thresholds, beside, deliver: (drafts) => this.deliverAll(eventsFor(drafts, thresholds)) };
    this.wants = clusterId === null ? 'all' : 'cluster';
    this.interval = intervalOf(options.interval);
    this.audience = options.audience ?? `watch ${++audiences}`;
    this.clusters = new WatchedClusters(clock);
    this.#isKnown = key !== undefined && memory.watches.get(key) === clusterId;
    this.changeFilter = options.onlyChanges ? new ChangeFilter(this.#sentBefore()) : null;
    if (key !== undefined) {
      memory.watches.set(key, clusterId);
      // What it sends from now on is not recorded.
      if (!this.changeFilter) memory.sent.delete(key);
    }
    this.#startedAt = clock.monotonic();
    this.paused = options.paused ?? false;
    this.#list = clusterId === null ? pollers.list : null;
    this.#rounds = clusterId === null ? new GroupRounds(this, context) : new TurnRounds(this, context);
    watches.add(this);
    this.#rounds.start();
    if (clusterId === null) pollers.list.add(this);
    else this.#addMember(clusterId, 0);
    if (key !== undefined && this.isActive) context.guard(() => this.#rounds.sendKnown());
  }

  /** Statuses that this watch sent last before the deploy, by cluster. */
  #sentBefore(): Map<string, PackedTexts> | undefined {
    const { memory } = this.context;
    const { key } = this.options;
    if (key === undefined) return undefined;
    const before = (this.#isKnown ? memory.sent.get(key) : undefined) ?? new Map<string, PackedTexts>();
    memory.sent.set(key, before);
    return before;
  }

  get state(): WatchState {
    return { paused: this.paused, standby: this.#standby, ...this.clusters.state };
  }

  get isActive(): boolean {
    return !this.paused && !this.#isClosed;
  }

  /** Whether a message waits for a poll of this watch. */
  get isAsking(): boolean {
    return this.#requested.size > 0;
  }

  /** Of a single cluster, the answer to this watch's own request replaces its turn. */
  get keepsTurn(): boolean {
    return this.wants === 'cluster' && !this.isAsking;
  }

  async ask(deliver: (round: Round) => void): Promise<PrintingError | null> {
    const batch = this.#newBatch(deliver);
    this.#requested.add(batch);
    const failedIds: string[] = [];
    let error: PrintingError | null = null;
    try {
      error = await this.#askAll(batch, failedIds);
      return error && failedIds.length > 1 ? this.context.outages.summary(error, failedIds) : error;
    } finally {
      this.#requested.delete(batch);
      this.context.outages.requestEnded(this.audience, error, failedIds);
    }
  }

  #newBatch(deliver: (round: Round) => void): ResultBatch {
    return new ResultBatch({
      clusters: this.clusters,
      clock: this.context.clock,
      isGroup: this.wants === 'all',
      // A requested poll counts as fresh, however long the other polls take.
      isOld: () => false,
      deliver: (round) => {
        if (this.#isClosed) return;
        this.#recordSent(round);
        deliver(round);
      },
    });
  }

  /** Polls the list, where all clusters are watched, and then every member. Adds those that fail to `failedIds`. */
  async #askAll(batch: ResultBatch, failedIds: string[]): Promise<PrintingError | null> {
    const listError = this.#list && (await this.#list.ask()).error;
    if (listError) failedIds.push(LIST);
    if (this.#isClosed) return listError;
    await Promise.all(
      [...this.clusters.members.values()].map(async ({ poller }) => {
        const result = await poller.ask();
        if (!this.#isClosed) this.clusters.recordResult(result);
        if (result.error) failedIds.push(result.clusterId);
        batch.add(result);
      }),
    );
    return batch.end(listError);
  }

  pause(): void {
    this.paused = true;
    this.#rounds.stop();
    for (const { poller } of this.clusters.members.values()) poller.pause();
    this.#list?.replan();
  }

  resume(): void {
    if (!this.paused || this.#isClosed) return;
    this.paused = false;
    this.#rounds.start();
    for (const { poller } of this.clusters.members.values()) poller.resume(this, this.isAsking);
    this.#list?.replan();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#rounds.stop();
    this.#list?.remove(this);
    for (const { poller } of this.clusters.members.values()) poller.remove(this);
    this.context.watches.delete(this);
  }

  onPoll(result: PollResult, due: boolean): void {
    if (this.#isClosed) return;
    this.clusters.recordResult(result);
    for (const batch of this.#requested) batch.refresh(result);
    if (due) this.#rounds.add(result);
    else this.#rounds.refresh?.(result);
  }

  onTurn(result: PollResult): void {
    if (!this.#isClosed) this.#rounds.add(result);
  }

  /** Joins the clusters that other watches poll already: those polls consume events before the list arrives. */
  recalled(clusterIds: readonly string[]): void {
    if (this.#isClosed) return;
    clusterIds.forEach((clusterId, rank) => {
      const poller = this.context.pollers.get(clusterId);
      if (poller && isAlive(poller)) this.#addMember(clusterId, rank);
    });
  }

  follow(clusterIds: readonly string[]): Promise<void> {
    this.#listedIds = clusterIds;
    return this.#following.request();
  }

  listed(clusterIds: readonly string[] | null, error: PrintingError | null): void {
    if (this.#isClosed) return;
    this.clusters.recordList(error);
    this.#rounds.recordList?.(clusterIds, error);
  }

  /** Joins the clusters of the last list where none is known. Never rejects. */
  async restoreClusters(): Promise<void> {
    const clusterIds = (await this.#list?.recall()) ?? [];
    if (clusterIds.length > 0) await this.follow(clusterIds);
  }

  moveTo(poller: Poller, previous: string): void {
    const { members } = this.clusters;
    const rank = members.get(previous)?.rank ?? members.size;
    this.#removeMember(previous);
    this.#addMember(poller.clusterId, rank, true);
  }

  /** Rounds exclude clusters of other runtimes; a request includes them. */
  assigned(clusterId: string, isOurs: boolean): void {
    if (!this.#isClosed && this.clusters.assign(clusterId, isOurs)) this.#rounds.assign?.(clusterId, isOurs);
  }

  /** Whether it watches a cluster, or reads the list (`LIST`). */
  watches(clusterId: string): boolean {
    return clusterId === LIST ? this.#list !== null : this.clusters.members.has(clusterId);
  }

  emit(round: Round): void {
    if (!this.isActive) return;
    this.#recordSent(round);
    this.context.guard(() => this.options.onRound(round));
  }

  #recordSent({ results }: Round): void {
    const { changeFilter } = this;
    if (changeFilter) for (const { status } of results) if (status) changeFilter.recordSent(status);
  }

  deliverAll(events: PrintEvent[]): boolean {
    if (events.length === 0 || this.#isClosed) return false;
    this.context.guard(() => this.options.onEvents(events));
    return true;
  }

  notify(error: PrintingError): void {
    if (!this.#isClosed) this.context.guard(() => this.options.onTrouble(error));
  }

  /** Reports a changed standby; call after the assignment of polls may have changed. */
  checkStandby(): void {
    const shown = JSON.stringify(this.#standby);
    if (shown === this.#shownStandby || this.#isClosed) return;
    this.#shownStandby = shown;
    this.context.guard(() => this.options.onStandby?.());
  }

  /** Why this runtime polls no member; null while it polls one, or knows none. */
  get #standby(): Standby | null {
    const { standbyOf } = this.context;
    const { members, ownCount } = this.clusters;
    if (this.wants === 'all')
      return standbyOf(null) ?? (ownCount > 0 || members.size === 0 ? null : { why: 'elsewhere', by: null });
    const [clusterId = null] = members.keys();
    return standbyOf(clusterId);
  }

  async #followList(): Promise<void> {
    const { members } = this.clusters;
    const turns = new Turns(this.context.clock);
    // A cluster that joins meanwhile stays: it has a new id, or a later list has it.
    const gone = new Set(members.keys());
    for (const [rank, clusterId] of this.#listedIds.entries()) {
      await turns.next();
      if (this.#isClosed) return;
      gone.delete(clusterId);
      this.#addMember(clusterId, rank);
    }
    for (const clusterId of gone) {
      await turns.next();
      if (this.#isClosed) return;
      const poller = members.get(clusterId)?.poller;
      if (poller && !isAlive(poller)) this.#removeMember(clusterId);
    }
  }

  #addMember(clusterId: string, rank: number, known = this.#isKnown): void {
    const { members } = this.clusters;
    const member = members.get(clusterId);
    if (member) return void (member.rank = rank);
    const poller = this.context.pollers.of(clusterId);
    members.set(clusterId, { poller, rank, isOurs: false });
    this.assigned(clusterId, poller.isOurs);
    poller.add(this, { known, by: this.#startedAt + this.interval });
  }

  #removeMember(clusterId: string): void {
    this.assigned(clusterId, false);
    const member = this.clusters.members.get(clusterId);
    this.clusters.members.delete(clusterId);
    this.#rounds.drop?.(clusterId);
    member?.poller.remove(this);
  }
}

/**
 * Whether an unlisted cluster still answers the polls of a watch of its own. Those polls consume its events, so a watch
 * of all clusters that left it after a faulty list would lose them.
 */
const isAlive = (poller: Poller): boolean => poller.isWatched && !poller.failing;
