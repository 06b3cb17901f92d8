import { setMaxListeners } from 'node:events';
import type { EventDraft } from '../events/print-event';
import { reboundEvent, type ListedIdentity, type Rebound } from '../events/list-changes';
import type { ClusterStatus } from '../service/cluster-status';
import { asPrintingError, PrintingError } from '../service/errors';
import type { Membership } from '../state/membership';
import type { StateStore } from '../state/store';
import { isoTime, sleep } from '../time/clock';
import { guard } from '../time/guard';
import type { AccountContext, Subscriber } from './polling/account-context';
import { CheckpointStore } from './checkpoints/checkpoint-store';
import { ClusterList, type ListedCluster } from './polling/cluster-list';
import { ClusterMemory } from './checkpoints/cluster-memory';
import { ClusterWatch, type WatchSurroundings } from './views/cluster-watch';
import { LIST_ITEM } from './replication/fair-share';
import { AllClustersWatch } from './views/all-clusters-watch';
import { StartupLimiter } from './polling/startup-limiter';
import { JobEndWaiter } from './views/job-end-waiter';
import { KeepPolling } from './polling/keep-polling';
import { ListPoller } from './polling/list-poller';
import { Outages } from './views/outages';
import { Poller } from './polling/poller';
import { NO_PEERS, type Peers } from './replication/peers';
import { Scheduler } from './polling/scheduler';
import type { ReplicaCoordinator } from './replication/replica-coordinator';
import { isSecured, SOLE_OWNER } from './checkpoints/ownership';
import { LIST } from './views/poll-failures';
import { intervalOf } from './polling/poll-timing';
import type {
  PollResult,
  JobEnd,
  JobEndOptions,
  Sharing,
  Watch,
  WatcherOptions,
  WatcherReport,
  WatchOptions,
} from './watch-types';
import { WatchMemory, type ScopeMemory } from './checkpoints/watch-memory';
import { phrase } from '../words/sentence';

export type * from './watch-types';

/** At the end, before others go on, ms. */
const HAND_OVER = 4_000;

export type ObservationListener = (clusterId: string, status: ClusterStatus) => void;

/**
 * All watching of one account: however many nodes watch a cluster, one request per poll serves them, and its events are
 * made once, from a checkpoint that outlives restarts (reference 3.1, 3.3, 6; ADR 8).
 */
export class Watcher {
  /** The account's clusters, for whoever needs to know one. */
  readonly clusterList: ClusterList;
  readonly runtimes: Peers;
  readonly #options: WatcherOptions;
  readonly #account: AccountContext;
  readonly #scheduler: Scheduler;
  readonly #checkpoints: CheckpointStore;
  readonly #memory: WatchMemory;
  readonly #list: ListPoller;
  readonly #outages: Outages;
  readonly #pollers = new Map<string, Poller>();
  readonly #watches = new Set<Watch>();
  readonly #follows = new Set<JobEndWaiter>();
  readonly #listeners = new Set<ObservationListener>();
  readonly #closing = new AbortController();
  readonly #endSignIn: () => void;
  /** With other runtimes; null where there are none. */
  readonly #shared: ReplicaCoordinator | null;
  #scope: ScopeMemory | null = null;

  constructor(options: WatcherOptions) {
    this.#options = options;
    const { service, store, clock, signIn } = options;
    const { signal } = this.#closing;
    // Every poll under way listens to it.
    setMaxListeners(0, signal);
    this.#memory = options.memory ?? new WatchMemory();
    this.#shared = store.join && options.sharing ? this.#share(store.join.bind(store), options.sharing) : null;
    this.runtimes = this.#shared?.living ?? NO_PEERS;
    const tenure = this.#shared?.tenure ?? SOLE_OWNER;
    this.#checkpoints = new CheckpointStore(store, clock, tenure, (thrown) => this.#fault(null, thrown));
    this.clusterList = new ClusterList(service, clock, signal, () => this.#shared?.tenure.isListElsewhere ?? false);
    this.#scheduler = new Scheduler({
      clock,
      usable: () => this.#usable(),
      onJump: () => this.#pollers.forEach((poller) => poller.spread()),
      fault: (thrown) => this.#fault(null, thrown),
    });
    const firstPolls = new StartupLimiter(clock);
    this.#account = {
      service,
      clock,
      list: this.clusterList,
      scheduler: this.#scheduler,
      checkpoints: this.#checkpoints,
      memory: this.#memory,
      tenure,
      signal,
      random: options.random ?? Math.random,
      scoped: () => this.#scoped(),
      admit: () => firstPolls.admit(),
      polled: (clusterId, error, start) => {
        this.#outages.polled(clusterId, error, start);
        if (clusterId !== LIST) this.#shared?.reach.note(error);
      },
      handedOver: (clusterId) => this.#outages.moved(clusterId),
      fault: (clusterId, thrown) => this.#fault(clusterId, thrown),
      observed: (clusterId, status) => {
        for (const listener of this.#listeners) this.#guard(() => listener(clusterId, status));
      },
      told: (clusterId, checkpoint, figures) => {
        if (this.#scope) this.#checkpoints.tell(this.#scope, clusterId, { checkpoint, figures });
      },
      rebound: (clusterId, to) => this.#rebound({ previous: clusterId, cluster: to }),
      elsewhere: (clusterId) => this.#pollerOf(clusterId).askNow(),
      moved: (clusterId, to) => this.#moved(clusterId, to),
      idle: (clusterId) => this.#drop(clusterId),
    };
    this.#list = new ListPoller(this.#account, (rebound) => this.#reboundListed(rebound));
    this.#outages = new Outages({
      ...{ store, clock, signIn, signal, scope: options.scope },
      memory: this.#memory.outages(JSON.stringify(options.sharing?.topic ?? null)),
      nameOf: (clusterId) =>
        this.clusterList.last?.get(clusterId)?.name ?? this.#pollers.get(clusterId)?.lastKnown().status?.name,
      polled: () => this.#polled(),
      isPolled: (clusterId) =>
        clusterId === LIST ? this.#list.isPolled : (this.#pollers.get(clusterId)?.isPolled ?? false),
      watchesOf: (clusterId) => this.#watchesOf(clusterId),
      report: (event) => this.#report(event),
      fault: (thrown) => this.#fault(null, thrown),
    });
    this.#endSignIn = signIn.onChange(() => this.#guard(() => this.#wake()));
  }

  /** This runtime's part in the work of several; null where there are no others. */
  get membership(): Membership | null {
    return this.#shared?.membership ?? null;
  }

  /** Watches a cluster, or all. */
  watch(options: WatchOptions): Watch {
    this.#closing.signal.throwIfAborted();
    const { key, clusterId } = options;
    const known = key !== undefined && this.#memory.watches.get(key) === clusterId;
    if (key !== undefined) this.#memory.watches.set(key, clusterId);
    const around: WatchSurroundings = {
      clock: this.#options.clock,
      guard: (callback) => this.#guard(callback),
      closed: (watch) => this.#watches.delete(watch),
      standbyOf: (clusterId) => this.#shared?.standbyOf(clusterId) ?? null,
      usable: () => this.#usable(),
      asked: (watch, error, clusterIds) => this.#outages.asked(watch.audience, error, clusterIds),
      summary: (error, clusterIds) => this.#outages.summary(error, clusterIds),
    };
    const watch =
      clusterId === null
        ? this.#watchFarm(options, known, around)
        : this.#watchCluster(clusterId, options, known, around);
    this.#watches.add(watch);
    this.#outages.watched(watch);
    return watch;
  }

  #watchCluster(clusterId: string, options: WatchOptions, known: boolean, around: WatchSurroundings): Watch {
    const poller = this.#pollerOf(clusterId);
    const watch = new ClusterWatch(options, poller, around);
    poller.add(watch, { known });
    return watch;
  }

  #watchFarm(options: WatchOptions, known: boolean, around: WatchSurroundings): Watch {
    const list = this.#list;
    const pollerOf = (clusterId: string) => this.#pollerOf(clusterId);
    const watch = new AllClustersWatch(options, { ...around, known, list, pollerOf });
    list.add(watch);
    return watch;
  }

  /**
   * Waits for a print's end, on the polls that are made anyway. Rejects with the signal's reason, or when the watching
   * ends. An end that is known resolves at once.
   */
  follow(clusterId: string, clusterJobId: string, options: JobEndOptions = {}): Promise<JobEnd> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason as Error);
    const follow: JobEndWaiter = new JobEndWaiter(
      {
        ...options,
        poller: this.#pollerOf(clusterId),
        clusterJobId,
        interval: this.#followInterval,
        closed: () => queueMicrotask(() => this.#follows.delete(follow)),
      },
      this.#account,
    );
    this.#follows.add(follow);
    return follow.ended;
  }

  /** Keeps a cluster polled though nobody watches it, for those who listen to observations; the returned function ends that. */
  hold(clusterId: string): () => void {
    if (this.#closing.signal.aborted) return () => undefined;
    const hold = new KeepPolling(this.#pollerOf(clusterId), this.#followInterval);
    return () => hold.end();
  }

  /** Calls `listener` after each status that was read, whoever wanted it; the returned function ends that. */
  onObservation(listener: ObservationListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends everything: timers, calls, follows. Resolves when the last checkpoint is written; never rejects. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const reason = new PrintingError(
      'NOT_CONFIGURED',
      phrase`The account was closed in the meantime: deploy it and try again.`,
    );
    this.#closing.abort(reason);
    this.#endSignIn();
    this.#outages.close();
    this.#scheduler.close();
    for (const watch of [...this.#watches]) watch.close();
    this.#follows.forEach((follow) => follow.cancel(reason));
    this.#listeners.clear();
    if (this.#scope)
      for (const [clusterId, memory] of this.#scope.clusters)
        if (memory.needsWriting) this.#checkpoints.write(this.#scope, clusterId, memory);
    const written = this.#checkpoints.close();
    if (!this.#shared) return written;
    // Whoever goes on is not kept waiting for figures.
    const over = new AbortController();
    await Promise.race([written, sleep(this.#options.clock, HAND_OVER, over.signal).catch(() => undefined)]);
    over.abort();
    await this.#shared.leave();
  }

  /** Loaded where there are others to share with. */
  #share(join: NonNullable<StateStore['join']>, sharing: Sharing): ReplicaCoordinator {
    const { ReplicaCoordinator } =
      require('./replication/replica-coordinator') as typeof import('./replication/replica-coordinator');
    const { service, store, clock } = this.#options;
    return new ReplicaCoordinator(join, {
      ...sharing,
      service,
      store,
      clock,
      signal: this.#closing.signal,
      checkpoints: () => this.#checkpoints,
      list: () => this.#list,
      pollers: this.#pollers,
      polledAt: this.#memory.polledAt,
      scoped: () => this.#scoped(),
      usable: () => this.#usable(),
      holdInterval: this.#followInterval,
      shown: () => this.#watches.forEach((watch) => watch.shifted()),
      moved: (clusterId, to) => this.#movedElsewhere(clusterId, to),
      fault: (thrown) => this.#fault(null, thrown),
    });
  }

  get #followInterval(): number {
    return intervalOf(this.#options.followInterval ?? 60);
  }

  #usable(): boolean {
    return this.#options.signIn.usable;
  }

  /** A sign-in changed: who waited in vain needs to wait no more. */
  #wake(): void {
    this.#outages.signInChanged();
    if (this.#usable()) {
      this.#list.wake();
      this.#pollers.forEach((poller) => poller.wake());
    }
    this.#scheduler.wake();
    this.#shared?.changed();
  }

  async #scoped(): Promise<ScopeMemory> {
    const scope = this.#memory.scope(await this.#options.scope());
    if (this.#scope && this.#scope !== scope) {
      this.clusterList.forget();
      this.#list.wake({ anew: true });
    }
    this.#scope = scope;
    return scope;
  }

  #pollerOf(clusterId: string): Poller {
    const poller = this.#pollers.get(clusterId) ?? new Poller(clusterId, this.#account);
    this.#pollers.set(clusterId, poller);
    return poller;
  }

  #drop(clusterId: string): void {
    const poller = this.#pollers.get(clusterId);
    if (!poller) return;
    this.#pollers.delete(clusterId);
    this.#scheduler.remove(poller);
    const memory = this.#scope?.clusters.get(clusterId);
    if (memory?.loaded && memory.isEmpty) this.#memory.forget(clusterId, this.#options.clock.monotonic());
  }

  /** The same machine under a new id: everybody hears of it once, and its checkpoint goes along. */
  async #rebound({ previous, cluster }: Rebound<ListedCluster>): Promise<PollResult> {
    const scope = await this.#scoped();
    const { tenure } = this.#account;
    const lock = tenure.lockOf(previous);
    this.#pollerOf(cluster.clusterId);
    // Where another runtime polls the new id already, it has a checkpoint of its own.
    const isWhole = (await this.#shared?.tenure.claim(cluster.clusterId)) ?? true;
    const [from, to] = [scope.of(previous), scope.of(cluster.clusterId)];
    await this.#checkpoints.load(scope, previous, from);
    await this.#checkpoints.load(scope, cluster.clusterId, to);
    const isNew = from.movedTo !== cluster.clusterId;
    if (isNew && this.#shared && !(await isSecured(tenure, previous, lock)))
      return this.#pollerOf(previous).lastKnown();
    if (isNew && this.#tellRebound(previous, cluster, from.late)) {
      to.movedTo = null;
      if (isWhole && !to.hasCheckpoint && from.hasCheckpoint) {
        to.restore(from.checkpoint, from.status);
        to.late = from.late;
      }
      from.restore(null, null);
      from.movedTo = cluster.clusterId;
      if (isWhole && to.hasCheckpoint) this.#checkpoints.write(scope, cluster.clusterId, to);
      this.#checkpoints.write(scope, previous, from);
      this.#replaceListed(scope, previous, cluster);
    }
    return this.#moved(previous, cluster.clusterId);
  }

  /** The list shows it: where another runtime polls the cluster, that one tells it. */
  async #reboundListed(rebound: Rebound<ListedCluster>): Promise<void> {
    const { previous, cluster } = rebound;
    if (this.#account.tenure.isOurs(previous)) {
      await this.#rebound(rebound);
      return;
    }
    const scope = await this.#scoped();
    const known = new ClusterMemory();
    await this.#checkpoints.load(scope, previous, known);
    if (known.movedTo === cluster.clusterId) await this.#movedElsewhere(previous, known.movedTo);
  }

  /** Another runtime has told it. */
  async #movedElsewhere(previous: string, movedTo: string): Promise<void> {
    const scope = await this.#scoped();
    const listed = this.clusterList.last?.get(movedTo);
    const before = scope.list.checkpoint?.known.find(({ clusterId }) => clusterId === previous);
    if (this.#account.tenure.isOurs(LIST_ITEM) && before)
      this.#replaceListed(scope, previous, listed ?? { ...before, clusterId: movedTo });
    if (this.#pollers.has(previous)) await this.#move(previous, movedTo);
  }

  /** False where nobody is there to hear it. */
  #tellRebound(previous: string, cluster: ListedCluster, late: boolean): boolean {
    const event = reboundEvent(previous, cluster, { at: isoTime(this.#options.clock.now()), late });
    const draft: EventDraft = { event };
    const singles = this.#pollers.get(previous)?.hearers.filter((one) => !(one instanceof AllClustersWatch)) ?? [];
    const farm = this.#list.deliver([event], singles);
    return singles.map((subscriber) => subscriber.deliver([draft])).some((delivered) => delivered) || farm;
  }

  #replaceListed(scope: ScopeMemory, previous: string, { clusterId, hostGuid, name }: ListedIdentity): void {
    const { checkpoint } = scope.list;
    if (!this.#account.tenure.isOurs(LIST_ITEM)) return;
    if (!checkpoint?.known.some((known) => known.clusterId === previous)) return;
    const others = checkpoint.known.filter((known) => known.clusterId !== previous && known.clusterId !== clusterId);
    scope.list.checkpoint = { ...checkpoint, known: [...others, { clusterId, hostGuid, name }] };
    scope.list.clusters = scope.list.clusters.map((cluster) =>
      cluster.clusterId === previous ? { ...cluster, clusterId, hostGuid, name } : cluster,
    );
    this.#checkpoints.writeList(scope);
  }

  /** Who asked for one id goes on with the other. */
  async #moved(clusterId: string, movedTo: string): Promise<PollResult> {
    return (await this.#move(clusterId, movedTo)).askNow();
  }

  async #move(clusterId: string, movedTo: string): Promise<Poller> {
    const next = this.#pollerOf(await this.#lastOf(clusterId, movedTo));
    const poller = this.#pollers.get(clusterId);
    for (const subscriber of poller?.subscribers ?? []) {
      poller?.remove(subscriber);
      if (isMovable(subscriber)) subscriber.moveTo(next, clusterId);
    }
    return next;
  }

  /** The end of the way from one id to the next; one that leads back is left where it began. */
  async #lastOf(clusterId: string, movedTo: string): Promise<string> {
    const scope = await this.#scoped();
    const passed = new Set([clusterId]);
    for (let id = movedTo; ;) {
      const memory = scope.of(id);
      await this.#checkpoints.load(scope, id, memory);
      if (memory.movedTo === null || passed.has(memory.movedTo)) {
        memory.movedTo = null;
        return id;
      }
      passed.add(id);
      id = memory.movedTo;
    }
  }

  /** All that is polled here by itself. */
  #polled(): string[] {
    const clusters = [...this.#pollers.values()].filter((poller) => poller.isPolled).map(({ clusterId }) => clusterId);
    return this.#list.isPolled ? [LIST, ...clusters] : clusters;
  }

  #watchesOf(clusterId: string | null): Watch[] {
    if (clusterId === null) return [...this.#watches];
    if (clusterId === LIST) return [...this.#watches].filter((watch) => watch instanceof AllClustersWatch);
    const subscribers: unknown[] = this.#pollers.get(clusterId)?.subscribers ?? [];
    return subscribers.filter((one) => one instanceof ClusterWatch || one instanceof AllClustersWatch);
  }

  #guard(callback: () => unknown): void {
    guard(callback, (error) => this.#fault(null, error))();
  }

  #fault(clusterId: string | null, thrown: unknown): void {
    this.#report({ kind: 'fault', clusterId, error: asPrintingError(thrown) });
  }

  #report(event: WatcherReport): void {
    guard(() => this.#options.report?.(event))();
  }
}

/** All of them are. */
type Movable = Subscriber & { moveTo(poller: Poller, previous: string): void };

const isMovable = (subscriber: Subscriber): subscriber is Movable => 'moveTo' in subscriber;
