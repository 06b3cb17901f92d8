import type { Checkpoint, Ended } from '../../events/checkpoint';
import type { ClusterStatus } from '../../service/cluster';
import { asPrintingError, withIds } from '../../service/errors';
import type { PrintJob } from '../../service/print-job';
import { type Lock, LockLostError } from '../../state/membership';
import { isStillOwned } from '../checkpoints/checkpoint-store';
import { Observer, readStatus } from './observer';
import { Departure, PollRequests } from './requests';
import type { PollPlan, Scheduled } from './scheduler';
import { type Poll, Subscriptions } from './subscriptions';
import { type FailedPoll, FailedPolls, joinTurns, Predictions, SHORTEST, turnFrom } from './timing';
import type { EventSubscriber, PollingAccount, PollReports, PollResult, Subscriber } from './types';

/** Intervals without an update from the owner after which a waiting runtime polls by itself. */
const SILENCE = 3;

/** Time of the next poll of one cluster, from turns, predicted ends, updates by other runtimes and backoff. */
export class NextPoll {
  readonly #failed: FailedPolls;
  /** Time of the last update from the owner, or of the start of waiting for one, monotonic ms. */
  #lastUpdateAt = -Infinity;
  #predictions: Predictions | null = null;

  constructor(
    private readonly clusterId: string,
    private readonly plan: PollPlan,
    private readonly subscriptions: Subscriptions,
  ) {
    this.#failed = new FailedPolls(plan.random);
  }

  /** Whether the last poll failed. */
  get isFailing(): boolean {
    return this.#failed.isFailing;
  }

  /** Next poll of a cluster that this runtime owns, monotonic ms; Infinity: none. */
  get asOwner(): number {
    const { interval, nextTurn } = this.subscriptions;
    if (nextTurn === null) return Infinity;
    const last = this.plan.lastPollOf(this.clusterId);
    if (this.isFailing) return this.#retry(last);
    return Math.max(last + SHORTEST, joinTurns(nextTurn, this.#predictions?.next(last) ?? Infinity, last, interval));
  }

  /** Next poll of a cluster whose owner stays silent, monotonic ms; Infinity: none. */
  get asWaiting(): number {
    const { interval, nextTurn } = this.subscriptions;
    if (nextTurn === null) return Infinity;
    const last = this.plan.lastPollOf(this.clusterId);
    if (this.isFailing) return this.#retry(last);
    return Math.max(this.#lastUpdateAt + SILENCE * interval, last + interval);
  }

  /** Records an update from the owner, or the start of waiting for one. */
  recordUpdate(now: number): void {
    this.#lastUpdateAt = now;
  }

  /** Updates the predicted ends. */
  predict(jobs: readonly PrintJob[], now: number): void {
    (this.#predictions ??= new Predictions()).update(jobs, now);
  }

  /** Counts an extra poll at `now`. */
  countExtraPoll(now: number): void {
    this.#predictions?.countExtraPoll(now);
  }

  recordSuccess(): void {
    this.#failed.recordSuccess();
  }

  /** Records a failure. A late token doesn't lengthen the backoff. */
  recordFailure(poll: FailedPoll): void {
    this.#failed.record(poll, this.subscriptions.interval);
  }

  /** Ends the backoff. */
  retryNow(): void {
    this.#failed.retryAt = 0;
  }

  /** Moves an overdue retry to the next turn. */
  spread(now: number): void {
    const { interval } = this.subscriptions;
    if (this.#failed.retryAt < now) this.#failed.retryAt = turnFrom(now, interval, this.subscriptions.phase);
  }

  /** Drops state that became stale while another runtime polled. */
  reset(): void {
    this.#predictions = null;
    this.#failed.reset();
  }

  #retry(last: number): number {
    return Math.max(this.#failed.retryAt, last + SHORTEST);
  }
}

/** A cluster to poll. */
interface ClusterPoll {
  clusterId: string;
  account: PollingAccount;
  reports: PollReports;
  observer: Observer;
  /** Whether a subscriber waits for polls by any runtime. */
  isWaitedFor: () => boolean;
  /** Called with each status that was read. */
  onRead: (status: ClusterStatus) => void;
}

/**
 * Requests the status of a cluster once and processes the answer. `lock` null: another runtime owns the cluster.
 * `isOurs`: this runtime may deliver the result. Throws the errors of service calls.
 */
export async function pollCluster(
  { clusterId, account, reports, observer, isWaitedFor, onRead }: ClusterPoll,
  lock: Lock | null,
  departure: Departure,
): Promise<[result: PollResult, isOurs: boolean]> {
  const scope = await account.scoped();
  const memory = await observer.load(scope);
  account.signal.throwIfAborted();
  const isOurs = () => isStillOwned(account.ownership, clusterId, lock);
  if (memory?.movedTo) return [await reports.moves.redirect(clusterId, memory.movedTo), isOurs()];
  const answer = await readStatus(account, clusterId, { known: () => observer.status, lock: departure });
  account.signal.throwIfAborted();
  if ('reboundTo' in answer) {
    const { reboundTo } = answer;
    if (!isOurs()) return [await reports.moves.askNow(reboundTo.clusterId), false];
    return [await reports.moves.rebind({ previous: clusterId, cluster: reboundTo }), isOurs()];
  }
  const { seen, raw } = answer;
  const { status } = seen;
  let isDelivered = isOurs();
  if (memory && (isDelivered || isWaitedFor()))
    isDelivered = await observer.process(seen, memory, scope, isDelivered ? lock : null);
  else scope.of(clusterId).setStatus(status);
  if (raw !== null) {
    onRead(status);
    reports.observed(clusterId, status);
    if (isDelivered && account.ownership.isAwaited(clusterId))
      account.checkpoints.publish(scope, clusterId, { checkpoint: observer.checkpointOf(memory), figures: status });
  }
  return [{ clusterId, status, raw, error: null }, isDelivered];
}

/** Pause after a 429 without Retry-After, ms. */
const SLOW_DOWN = 30_000;

/** Poller of one cluster: plans and makes its polls. */
export class Poller implements Scheduled {
  readonly #subscriptions: Subscriptions;
  readonly #observer: Observer;
  readonly #requests = new PollRequests<PollResult>();
  readonly #next: NextPoll;
  readonly #poll: ClusterPoll;
  /** Time of the last known figures, monotonic ms. */
  #readAt = -Infinity;

  constructor(
    readonly clusterId: string,
    private readonly account: PollingAccount,
    private readonly reports: PollReports,
  ) {
    this.#subscriptions = new Subscriptions(clusterId, account.plan, reports);
    this.#next = new NextPoll(clusterId, account.plan, this.#subscriptions);
    this.#observer = new Observer(clusterId, account, this.#subscriptions, reports);
    this.#poll = {
      ...{ clusterId, account, reports },
      observer: this.#observer,
      isWaitedFor: () => this.isWaitedFor,
      onRead: ({ jobs }) => {
        this.#readAt = account.clock.monotonic();
        this.#next.predict(jobs, this.#readAt);
      },
    };
  }

  get subscribers(): Subscriber[] {
    return this.#subscriptions.all;
  }

  /** Subscribers that receive events. */
  get eventSubscribers(): EventSubscriber[] {
    return this.#subscriptions.forEvents;
  }

  /** Whether the last poll failed. */
  get failing(): boolean {
    return this.#next.isFailing;
  }

  /** Whether this runtime polls the cluster regularly. If not, it polls on request only. */
  get isOurs(): boolean {
    return this.account.ownership.isOurs(this.clusterId);
  }

  /** Whether a subscriber watches this cluster alone. */
  get isWatched(): boolean {
    return this.#subscriptions.some(({ wants, paused }) => wants === 'cluster' && !paused);
  }

  /** Whether it is polled regularly, not only on request. */
  get isPolled(): boolean {
    return (this.isOurs || this.isWaitedFor) && this.#subscriptions.some(({ paused }) => !paused);
  }

  /** Whether a subscriber waits for polls by any runtime. */
  get isWaitedFor(): boolean {
    return this.#subscriptions.some(({ wants }) => wants === 'wait');
  }

  /** `known`: it was subscribed before and keeps its turn. `by`: latest time for its first poll, if possible. */
  add(subscriber: Subscriber, { known = false, by = Infinity } = {}): void {
    const { clock, ownership, plan } = this.account;
    const now = clock.monotonic();
    // Assigned even where it is not needed: phases follow the order of the list.
    plan.phaseOf(this.clusterId);
    ownership.changed();
    if (!this.isOurs && !this.isWaitedFor) this.#next.recordUpdate(now);
    if (this.isOurs) this.#subscriptions.add(subscriber, now, { known, by });
    else this.#subscriptions.addWaiting(subscriber, known);
    this.replan();
  }

  remove(subscriber: Subscriber): void {
    if (!this.#subscriptions.remove(subscriber)) return;
    if (subscriber.events && !this.#subscriptions.some(({ events }) => events !== null)) this.#observer.markUnwatched();
    this.account.ownership.changed();
    this.replan();
    this.#releaseIfUnused();
  }

  /** Call after a subscriber has paused. */
  pause(): void {
    this.account.ownership.changed();
    this.replan();
  }

  /**
   * Starts the regular polls here. `polledAt`: start of the last poll by any runtime (monotonic, ms); null: unknown.
   * `soon`: span over which overdue polls are spread, ms; null: there was no poll yet.
   */
  startRegularPolls(polledAt: number | null, soon: number | null): void {
    const now = this.account.clock.monotonic();
    this.#reset();
    this.#subscriptions.restart(now, polledAt, soon);
    this.#subscriptions.notifyAssigned(true);
    this.replan();
  }

  /** Stops the regular polls: another runtime makes them. */
  stopRegularPolls(): void {
    this.#reset();
    this.#observer.release();
    this.#next.recordUpdate(this.account.clock.monotonic());
    this.#subscriptions.stop();
    this.#subscriptions.notifyAssigned(false);
    this.replan();
  }

  /** Passes an observation by the owner to the subscribers. */
  async receiveUpdate(checkpoint: Checkpoint | null, status: ClusterStatus): Promise<void> {
    const { account, clusterId } = this;
    const memory = (await account.scoped()).of(clusterId);
    if (this.isOurs || account.signal.aborted) return;
    this.#observer.receive(memory, checkpoint, status);
    this.#readAt = account.clock.monotonic();
    this.#next.recordUpdate(this.#readAt);
    this.reports.observed(clusterId, status);
    this.#subscriptions.show({ clusterId, status, raw: null, error: null });
    this.replan();
  }

  /** Resolves when no poll is in flight. */
  settled(): Promise<void> {
    return this.#requests.settled();
  }

  /** Polls soon, or joins the poll in flight. Never rejects. */
  ask(): Promise<PollResult> {
    return this.#requests.add(() => this.account.plan.scheduler.ask(this));
  }

  /** Polls at once, as part of another poll in flight. Never rejects. */
  askNow(): Promise<PollResult> {
    return this.#requests.add(() => void this.run(true));
  }

  /** Call after a subscriber has resumed: it is its turn, unless it has requested a poll. */
  resume(subscriber: Subscriber, asking: boolean): void {
    this.account.ownership.changed();
    if (!this.isOurs) return;
    this.#subscriptions.resume(subscriber, this.account.clock.monotonic(), asking || !this.#requests.isIdle);
    this.#next.retryNow();
    this.replan();
  }

  /** Resumes polls after a sign-in. */
  wake(): void {
    const { isFailing } = this.#next;
    this.#next.recordSuccess();
    if (!this.isOurs) return;
    this.#subscriptions.wake(this.account.clock.monotonic(), isFailing);
    this.replan();
  }

  /** Spreads overdue turns by phase after a jump of the clock. */
  spread(): void {
    const now = this.account.clock.monotonic();
    this.#subscriptions.spread(now);
    this.#next.spread(now);
    this.replan();
  }

  /** Updates the time of the next poll in the scheduler. */
  replan(): void {
    const { plan, signal } = this.account;
    if (this.#requests.isInFlight || signal.aborted) return;
    plan.scheduler.plan(this, Math.min(this.#nextPoll(), this.#subscriptions.nextKept));
  }

  /** Known end of a job; null where it has not ended. */
  endOf(jobId: string): Ended | null {
    return this.#observer.endOf(jobId);
  }

  /** Whether a job was seen and has no known end. */
  isOpen(jobId: string): boolean {
    return this.#observer.isOpen(jobId);
  }

  /** Last known figures; stale where the last poll failed or they are older than `maxAge`, ms. */
  lastKnown(maxAge = Infinity): PollResult {
    const { clusterId } = this;
    const { status } = this.#observer;
    const isStale = this.failing || this.account.clock.monotonic() - this.#readAt > maxAge;
    return { clusterId, status: status && isStale ? { ...status, stale: true } : status, raw: null, error: null };
  }

  /** Last known figures as stale, from the store where nothing was read since. Never rejects. */
  async recall(): Promise<PollResult> {
    if (!this.#observer.status) await this.#observer.load();
    return this.lastKnown(-1);
  }

  /** Loads the checkpoint. Returns false where it can't be read; no events can be derived then. */
  async load(): Promise<boolean> {
    if (!this.isOurs && !this.isWaitedFor) this.#observer.invalidate();
    return (await this.#observer.load()) !== null;
  }

  /** Makes one poll. Never rejects. */
  async run(asked: boolean): Promise<number> {
    const { account, clusterId, reports } = this;
    const { ownership, plan, signal } = account;
    if (this.#requests.isInFlight) return 0;
    plan.scheduler.remove(this);
    const start = account.clock.monotonic();
    if (this.#subscriptions.deliverKept(start) && !asked && this.#nextPoll() > start) {
      this.replan();
      return 0;
    }
    if (!asked && !this.#subscriptions.isDue(start, asked)) this.#next.countExtraPoll(start);
    this.#requests.isInFlight = true;
    const lock = this.isOurs ? ownership.lockOf(clusterId) : null;
    const departure = new Departure(
      () => this.#isObsolete(lock),
      () => plan.setLastPoll(clusterId, account.clock.monotonic()),
    );
    let isOurs: boolean;
    /** Null: the poll was dropped before its request left. */
    let result: PollResult | null;
    try {
      [result, isOurs] = await pollCluster(this.#poll, lock, departure);
      if (!signal.aborted) reports.polled(clusterId, start, null);
      // A cluster that is known to have moved is polled under its new id only.
      if (plan.lastPollOf(clusterId) < start) plan.setLastPoll(clusterId, start);
      this.#next.recordSuccess();
    } catch (thrown) {
      isOurs = isStillOwned(ownership, clusterId, lock);
      result = thrown instanceof LockLostError && !isOurs ? null : this.#failed(thrown, start, departure);
    }
    this.#requests.isInFlight = false;
    if (result) this.#distribute(result, { start, asked, isOurs });
    else if (!this.#requests.isIdle) plan.scheduler.ask(this);
    this.#requests.resolveSettled();
    this.replan();
    this.#releaseIfUnused();
    return result?.error?.code === 'RATE_LIMITED' ? (result.error.retryAfter ?? SLOW_DOWN) : 0;
  }

  #failed(thrown: unknown, start: number, departure: Departure): PollResult {
    const { clusterId } = this;
    const error = withIds(asPrintingError(thrown), { clusterId });
    const failure = { start, error, lacksToken: departure.lacksToken(error) };
    if (!this.account.signal.aborted) this.reports.polled(clusterId, start, failure);
    this.#next.recordFailure(failure);
    return { ...this.lastKnown(), error };
  }

  #distribute(result: PollResult, poll: Poll): void {
    const requests = this.#requests.take();
    if (!this.account.signal.aborted) this.#subscriptions.distribute(result, poll, requests);
    else for (const answer of requests) answer(result);
  }

  /** Whether another runtime has become the owner, and no request or wait here needs the poll. */
  #isObsolete(lock: Lock | null): boolean {
    const isLost = lock !== null && !isStillOwned(this.account.ownership, this.clusterId, lock);
    return isLost && !this.#requests.isRequested && !this.isWaitedFor;
  }

  #nextPoll(): number {
    return this.isOurs ? this.#next.asOwner : this.isWaitedFor ? this.#next.asWaiting : Infinity;
  }

  /** Drops state that became stale while another runtime polled. */
  #reset(): void {
    this.#observer.reset();
    this.#next.reset();
    this.reports.ownerChanged(this.clusterId);
  }

  #releaseIfUnused(): void {
    if (this.#subscriptions.isEmpty && this.#requests.isIdle) this.reports.unused(this.clusterId);
  }
}

/** Subscriber that only keeps a cluster polled, also under a new id. `forOthers`: other runtimes wait for its polls. */
export class KeepPolling implements Subscriber {
  readonly events = null;
  readonly wants;
  readonly paused = false;

  constructor(
    private poller: Poller,
    readonly interval: number,
    { forOthers = false } = {},
  ) {
    this.wants = forOthers ? null : ('wait' as const);
    poller.add(this);
  }

  onPoll(): void {
    // The results reach observation listeners.
  }

  moveTo(poller: Poller): void {
    this.poller = poller;
    poller.add(this, { known: true });
  }

  end(): void {
    this.poller.remove(this);
  }
}
