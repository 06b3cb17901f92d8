import { setMaxListeners } from 'node:events';
import type { ApiClient } from '../account/api-client';
import type { EventDraft } from '../events/print-event';
import type { ClusterStatus } from '../service/cluster';
import { pauseAfter } from '../http/retry';
import { asPrintingError, PrintingError } from '../service/errors';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { Membership } from '../state/membership';
import type { CurrentScope, Scope, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { settledWithin } from '../time/concurrency';
import { guard } from '../time/guard';
import { phrase, type Sentence } from '../words/sentence';
import { CheckpointStore, SOLE_OWNER } from './checkpoints/checkpoint-store';
import { type ScopeMemory, WatchMemory } from './checkpoints/memory';
import { ClusterList } from './polling/cluster-list';
import { type HoldListener, KeepPolling } from './polling/poller';
import { Pollers } from './polling/pollers';
import { PollPlan, Scheduler } from './polling/scheduler';
import { intervalOf, SHORTEST } from './polling/timing';
import { LIST, type PollingAccount, type PollReports } from './polling/types';
import type { ReplicaCoordinator } from './replication/coordinator';
import { NO_PEERS, type Peers, type Sharing } from './replication/peers';
import { type JobEnd, type JobEndOptions, JobEndWaiter } from './views/job-end-waiter';
import { Outages, type WatcherReport } from './views/outages';
import { NodeWatch, type Watch, type WatchContext, type WatchOptions } from './views/watch';

/** Longest wait for checkpoint writes before closing hands the polls to other runtimes, ms. */
const HANDOVER_WITHIN = 4_000;

/**
 * Facade for watching one account. All nodes that watch a cluster share one request per poll. Events are derived once,
 * from a checkpoint that survives restarts (reference 3.1, 3.3, 6; ADR 15).
 */
export class Watcher {
  /** Cached list of the account's clusters. */
  readonly clusterList: ClusterList;
  readonly runtimes: Peers;
  readonly #options: WatcherOptions;
  readonly #account: PollingAccount;
  readonly #reports: PollReports;
  readonly #pollers: Pollers;
  readonly #scheduler: Scheduler;
  readonly #checkpoints: CheckpointStore;
  readonly #memory: WatchMemory;
  readonly #outages: Outages;
  readonly #context: WatchContext;
  readonly #watches = new Set<NodeWatch>();
  readonly #jobEndWaiters = new Set<JobEndWaiter>();
  readonly #listeners = new Set<ObservationListener>();
  readonly #closing = new AbortController();
  readonly #unsubscribeSignIn: () => void;
  /** Coordination with other runtimes; null where there are none. */
  readonly #coordinator: ReplicaCoordinator | null;
  #scope: ScopeMemory | null = null;

  constructor(options: WatcherOptions) {
    this.#options = options;
    const { service, store, clock, signIn } = options;
    const { signal } = this.#closing;
    // Every poll in flight adds a listener.
    setMaxListeners(0, signal);
    this.#memory = options.memory ?? new WatchMemory();
    const topic = JSON.stringify(options.sharing?.topic ?? null);
    this.#memory.beginService(topic);
    this.#coordinator =
      store.join && options.sharing ? this.#createCoordinator(store.join.bind(store), options.sharing) : null;
    this.runtimes = this.#coordinator?.peers ?? NO_PEERS;
    const ownership = this.#coordinator?.ownership ?? SOLE_OWNER;
    this.#checkpoints = new CheckpointStore(store, clock, ownership, (thrown) => this.#reportFault(null, thrown));
    this.clusterList = new ClusterList(
      service,
      clock,
      signal,
      () => this.#coordinator?.ownership.isListElsewhere ?? false,
      {
        failed: (error) => this.#scheduler.pause(pauseAfter(error)),
        received: (list) => {
          for (const poller of this.#pollers.values()) if (list.has(poller.clusterId)) poller.listedAgain();
        },
      },
    );
    this.#scheduler = new Scheduler({
      clock,
      memory: this.#memory,
      usable: () => signIn.usable,
      onJump: () => {
        for (const poller of this.#pollers.values()) poller.spread();
      },
      fault: (thrown) => this.#reportFault(null, thrown),
      onTurn: options.meter && ((lag) => options.meter?.turnStarted(lag)),
    });
    this.#account = {
      ...{ service, clock, signal, ownership },
      list: this.clusterList,
      plan: new PollPlan(this.#scheduler, this.#memory, clock, options.random ?? Math.random),
      checkpoints: this.#checkpoints,
      scoped: () => this.#scoped(),
      share: (...shown) => this.#coordinator?.observations.share(...shown),
    };
    this.#reports = {
      polled: (clusterId, start, failure) => {
        this.#outages.polled(clusterId, start, failure?.error ?? null);
        if (clusterId !== LIST && !failure?.lacksToken) this.#coordinator?.reach.recordPoll(failure?.error ?? null);
      },
      ownerChanged: (clusterId) => this.#outages.ownerChanged(clusterId),
      observed: (clusterId, status, requestedAt) => {
        for (const listener of this.#listeners) this.#guard(() => listener(clusterId, status, requestedAt));
      },
      derived: (clusterId, drafts) => this.#guard(() => options.meter?.derived(clusterId, drafts)),
      fault: (clusterId, thrown) => this.#reportFault(clusterId, thrown),
      unused: (clusterId) => this.#releasePoller(clusterId),
    };
    this.#pollers = new Pollers(this.#account, this.#reports);
    const isPolled = (clusterId: string): boolean =>
      (clusterId === LIST ? this.#pollers.list : this.#pollers.get(clusterId))?.isPolled ?? false;
    this.#outages = new Outages({
      ...{ store, clock, signIn, signal, scope: options.scope },
      memory: this.#memory.outages(topic),
      nameOf: (clusterId) =>
        this.clusterList.last?.get(clusterId)?.name ?? this.#pollers.get(clusterId)?.lastKnown().status?.name,
      polledIds: () =>
        [...this.#pollers.values()].filter((poller) => poller.isPolled).map(({ clusterId }) => clusterId),
      isPolled,
      watches: this.#watches,
      report: (event) => this.#report(event),
      fault: (thrown) => this.#reportFault(null, thrown),
    });
    this.#context = {
      ...{ clock, signIn, memory: this.#memory, pollers: this.#pollers },
      ...{ watches: this.#watches, outages: this.#outages },
      standbyOf: (clusterId) => this.#coordinator?.standbyOf(clusterId) ?? null,
      guard: (callback) => this.#guard(callback),
    };
    this.#unsubscribeSignIn = signIn.onChange(() => this.#guard(() => this.#signInChanged()));
  }

  /** Membership among the runtimes that share the account; null where there are no others. */
  get membership(): Membership | null {
    return this.#coordinator?.membership ?? null;
  }

  /** Whether this runtime does not reach the service, as far as its polls and probes show, while others may. */
  get isCutOff(): boolean {
    return this.#coordinator?.reach.isLost ?? false;
  }

  /** Watches one cluster, or all of them. */
  watch(options: WatchOptions): Watch {
    this.#closing.signal.throwIfAborted();
    const watch = new NodeWatch(options, this.#context);
    this.#outages.opened(watch);
    return watch;
  }

  /**
   * Waits for the end of a print, using the shared polls. Resolves at once where the end is known. Rejects with the
   * signal's reason, or when the watcher closes.
   */
  follow(clusterId: string, clusterJobId: string, options: JobEndOptions = {}): Promise<JobEnd> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason as Error);
    const context = { account: this.#account, interval: this.jobEndInterval, reports: this.#reports };
    const waiter = new JobEndWaiter(this.#pollers.of(clusterId), clusterJobId, context, options);
    this.#jobEndWaiters.add(waiter);
    const forget = () => this.#jobEndWaiters.delete(waiter);
    waiter.ended.then(forget, forget);
    return waiter.ended;
  }

  /**
   * Keeps a cluster polled without a watch, for observation listeners; `listener` receives what these polls find without a
   * status. Returns a function that stops it.
   */
  hold(clusterId: string, listener: HoldListener | null = null): () => void {
    if (this.#closing.signal.aborted) return () => undefined;
    const keepPolling = new KeepPolling(this.#pollers.of(clusterId), this.jobEndInterval, { listener });
    return () => keepPolling.end();
  }

  /**
   * Leaves a mark in the checkpoint of a cluster that a plate gate of these machines was written (print queue, rule 3). It
   * is written once.
   */
  markGate(scope: Scope, clusterId: string, machines: readonly string[]): void {
    const under = this.#memory.scope(scope);
    if (under.markGate(clusterId, machines)) this.#guard(() => this.#checkpoints.writeMarks(under, clusterId));
  }

  /** Whether some checkpoint that was loaded has the mark of a machine, which may have moved to another cluster since. */
  isGateMarked(scope: Scope, machine: string): boolean {
    return this.#memory.scope(scope).isGateMarked(machine);
  }

  /** Calls `listener` after each status read, whichever watch caused the poll. Returns a function that removes it. */
  onObservation(listener: ObservationListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The clusters that this runtime polls. `isStale`: the last poll failed, or the account is signed out. */
  *polled(): Generator<{ clusterId: string; isStale: boolean }, void> {
    const { usable } = this.#options.signIn;
    for (const { clusterId, isPolled, isOurs, failing } of this.#pollers.values())
      if (isPolled && isOurs) yield { clusterId, isStale: failing || !usable };
  }

  /** Whether this runtime polls a cluster. */
  polls(clusterId: string): boolean {
    const poller = this.#pollers.get(clusterId);
    return poller !== undefined && poller.isPolled && poller.isOurs;
  }

  /** Ends all timers, calls and waits. Resolves when the last checkpoint is written. Never rejects. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const reason = new PrintingError(
      'NOT_CONFIGURED',
      phrase`The account was closed in the meantime: deploy it and try again.`,
    );
    this.#closing.abort(reason);
    this.#unsubscribeSignIn();
    this.#outages.close();
    this.#scheduler.close();
    for (const watch of this.#watches) watch.close();
    this.#jobEndWaiters.forEach((waiter) => waiter.cancel(reason));
    this.#listeners.clear();
    if (this.#scope)
      for (const [clusterId, memory] of this.#scope.clusters)
        if (memory.needsWriting) this.#checkpoints.write(this.#scope, clusterId, memory);
    const written = this.#checkpoints.close();
    if (!this.#coordinator) return written;
    // Other runtimes take over soon, even while figures are still being written.
    await settledWithin(this.#options.clock, HANDOVER_WITHIN, written);
    await this.#coordinator.leave();
  }

  /** Loads the coordinator only where runtimes share the store. */
  #createCoordinator(join: NonNullable<StateStore['join']>, sharing: Sharing): ReplicaCoordinator {
    const { ReplicaCoordinator } = require('./replication/coordinator') as typeof import('./replication/coordinator');
    const { service, store, clock, signIn } = this.#options;
    return new ReplicaCoordinator(join, {
      ...{ sharing, service, store, clock, signIn, signal: this.#closing.signal },
      scoped: () => this.#scoped(),
      pollers: () => this.#pollers,
      polledAt: this.#memory.polledAt,
      checkpoints: () => this.#checkpoints,
      awaitedInterval: this.jobEndInterval,
      standbyChanged: () => this.#watches.forEach((watch) => watch.checkStandby()),
      fault: (thrown) => this.#reportFault(null, thrown),
    });
  }

  get jobEndInterval(): number {
    return intervalOf(this.#options.followInterval ?? 60);
  }

  /** Resumes polls after the sign-in has changed. */
  #signInChanged(): void {
    this.#outages.signInChanged();
    if (this.#options.signIn.usable) {
      this.#pollers.list.wake();
      for (const poller of this.#pollers.values()) poller.wake();
    }
    this.#scheduler.wake();
    this.#coordinator?.changed();
  }

  async #scoped(): Promise<ScopeMemory> {
    const scope = this.#memory.scope(await this.#options.scope());
    if (this.#scope && this.#scope !== scope) {
      if (this.#coordinator) scope.invalidate();
      this.clusterList.forget();
      this.#pollers.list.wake({ anew: true });
    }
    this.#scope = scope;
    return scope;
  }

  #releasePoller(clusterId: string): void {
    this.#pollers.release(clusterId);
    const memory = this.#scope?.clusters.get(clusterId);
    if (memory?.loaded && memory.isEmpty)
      this.#memory.forget(clusterId, { now: this.#options.clock.monotonic(), keepFor: SHORTEST });
  }

  #guard(callback: () => unknown): void {
    guard(callback, (error) => this.#reportFault(null, error))();
  }

  #reportFault(clusterId: string | null, thrown: unknown): void {
    const error = asPrintingError(thrown);
    // Without a sign-in nobody knows whose state to read, which the polls say.
    if (error.code !== 'NOT_SIGNED_IN') this.#report({ kind: 'fault', clusterId, error });
  }

  #report(event: WatcherReport): void {
    guard(() => this.#options.report?.(event))();
  }
}

/** `requestedAt`: when the status was requested, monotonic, ms. */
export type ObservationListener = (clusterId: string, status: ClusterStatus, requestedAt: number) => void;

/** Receives the figures of the polls. */
export interface WatchMeter {
  /** Called before each poll that was due, with its delay, ms. */
  turnStarted(lag: number): void;
  /** Called with the changes of each observation that belongs to this runtime, before the observation listeners. */
  derived(clusterId: string, drafts: readonly EventDraft[]): void;
}

interface WatcherOptions {
  service: ApiClient;
  store: StateStore;
  clock: Clock;
  signIn: SignInWatch & { info?(): { error: Sentence | null } };
  /** Scope that the checkpoints belong to at present. */
  scope: CurrentScope;
  /** Set where several runtimes share the store. */
  sharing?: Sharing | undefined;
  /** State that survives deploys. Default: no state survives. */
  memory?: WatchMemory | undefined;
  random?: () => number;
  /** Writes to the log: each outage once when it begins and once when it ends, and internal faults. */
  report?: (event: WatcherReport) => void;
  /** Seconds between polls of a cluster without a watch while the end of a print is awaited. Default 60. */
  followInterval?: number;
  meter?: WatchMeter | undefined;
}
