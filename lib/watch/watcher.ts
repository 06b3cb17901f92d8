import type { Cluster } from '../service/cluster';
import type { ClusterStatus } from '../service/cluster-status';
import { asPrintingError, PrintingError } from '../service/errors';
import type { AccountContext } from './account-context';
import { ClusterList } from './cluster-list';
import { ClusterPoll } from './cluster-poll';
import type { Happening, PrintEvent } from './events';
import { Follow } from './follow';
import { Hold } from './hold';
import { intervalOf } from './next-poll';
import { RoundPoll } from './round-poll';
import { OneWatch } from './watch';
import type { Followed, FollowOptions, Watch, WatcherOptions, WatcherReport, WatchOptions } from './watch-types';

export type * from './watch-types';

export type ObservationListener = (clusterId: string, status: ClusterStatus) => void;

/**
 * All watching of one account: however many nodes look at a cluster, one request per poll serves them, and its events
 * are drawn once, from a position that outlives restarts (reference 3.1, 3.3, 6).
 */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly #context: AccountContext;
  readonly #rounds: RoundPoll;
  readonly #polls = new Map<string, ClusterPoll>();
  readonly #follows = new Set<Follow>();
  readonly #listeners = new Set<ObservationListener>();
  readonly #closing = new AbortController();
  readonly #endSignIn: () => void;

  constructor(options: WatcherOptions) {
    this.#options = options;
    const { service, store, clock, signIn, accountId } = options;
    const { signal } = this.#closing;
    this.#context = {
      service,
      store,
      clock,
      accountId,
      list: new ClusterList(service, clock, signal),
      signal,
      random: options.random ?? Math.random,
      usable: () => signIn.state === 'signed-in' || signIn.state === 'unchecked',
      outage: (clusterId, error) =>
        this.#report(error ? { kind: 'outage', clusterId, error } : { kind: 'recovered', clusterId }),
      fault: (clusterId, thrown) => this.#report({ kind: 'fault', clusterId, error: asPrintingError(thrown) }),
      pollOf: (clusterId) => this.#pollOf(clusterId),
      happened: (poll, happenings) => this.#happened(poll, happenings),
      observed: (clusterId, status) => this.#observed(clusterId, status),
      rebound: (previous: string, cluster: Cluster, event: PrintEvent) =>
        this.#rounds.rebound(previous, cluster, event),
    };
    this.#rounds = new RoundPoll(this.#context);
    let usable = this.#context.usable();
    this.#endSignIn = signIn.onChange(() => {
      const before = usable;
      usable = this.#context.usable();
      if (usable !== before) this.#chains().forEach((chain) => chain.wake());
    });
  }

  /** Watches a cluster, or all; polls at once. */
  watch(options: WatchOptions): Watch {
    this.#closing.signal.throwIfAborted();
    const chain = options.clusterId === null ? this.#rounds.chain : this.#pollOf(options.clusterId).chain;
    const watch = new OneWatch(options, {
      clock: this.#options.clock,
      chain,
      guard: (callback) => this.#guard(callback),
      closed: () => this.#left(),
      signal: this.#closing.signal,
    });
    chain.add(watch);
    return watch;
  }

  /**
   * Waits for a print's end, on the polls that are made anyway. Rejects with the signal's reason, or when the watching
   * ends. An end that was told long ago resolves at once.
   */
  follow(clusterId: string, clusterJobId: string, options: FollowOptions = {}): Promise<Followed> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason as Error);
    const follow: Follow = new Follow(
      {
        ...options,
        poll: this.#pollOf(clusterId),
        clusterJobId,
        interval: intervalOf(this.#options.followInterval ?? 60),
        closed: () => {
          queueMicrotask(() => this.#follows.delete(follow));
          this.#left();
        },
      },
      this.#context,
    );
    this.#follows.add(follow);
    return follow.ended;
  }

  /** Keeps a cluster polled though nobody watches it; the returned function ends that. */
  hold(clusterId: string): () => void {
    if (this.#closing.signal.aborted) return () => undefined;
    const hold = new Hold(this.#pollOf(clusterId), intervalOf(this.#options.followInterval ?? 60));
    return () => {
      hold.end();
      this.#left();
    };
  }

  /** Calls `listener` after each status that was read, whoever wanted it; the returned function ends that. */
  onObservation(listener: ObservationListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends everything: timers, calls, follows. Resolves when the last position is written; never rejects. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const reason = new PrintingError('NOT_CONFIGURED', 'The account was closed meanwhile: deploy it again and repeat.');
    this.#closing.abort(reason);
    this.#endSignIn();
    this.#chains().forEach((chain) => chain.close());
    this.#follows.forEach((follow) => follow.cancel(reason));
    this.#listeners.clear();
    await Promise.all([this.#rounds, ...this.#polls.values()].map((poll) => poll.settled()));
  }

  #pollOf(clusterId: string): ClusterPoll {
    const poll = this.#polls.get(clusterId) ?? new ClusterPoll(clusterId, this.#context);
    this.#polls.set(clusterId, poll);
    return poll;
  }

  #chains() {
    return [this.#rounds.chain, ...[...this.#polls.values()].map(({ chain }) => chain)];
  }

  #happened(poll: ClusterPoll, happenings: readonly Happening[]): boolean {
    const riders = [...poll.chain.subscribers, ...this.#rounds.chain.subscribers];
    return riders.map((rider) => rider.tell(happenings)).some((told) => told);
  }

  #observed(clusterId: string, status: ClusterStatus): void {
    for (const listener of this.#listeners) this.#guard(() => listener(clusterId, status));
  }

  /** Somebody left: what nobody watches any more will be caught up with later. */
  #left(): void {
    if (this.#rounds.chain.subscribers.length > 0) return;
    this.#rounds.rest();
    for (const poll of this.#polls.values()) if (poll.chain.subscribers.length === 0) poll.rest();
  }

  #guard(callback: () => void): void {
    try {
      callback();
    } catch (thrown) {
      this.#context.fault(null, thrown);
    }
  }

  #report(event: WatcherReport): void {
    try {
      this.#options.report?.(event);
    } catch {
      // A log that fails has nowhere to say so.
    }
  }
}
