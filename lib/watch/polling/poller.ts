import type { Ended } from '../../events/checkpoint';
import type { ClusterStatus } from '../../service/cluster';
import { PrintingError, withIds } from '../../service/errors';
import type { Lock } from '../../state/membership';
import { isStillOwned } from '../checkpoints/checkpoint-store';
import type { JobFigures } from '../checkpoints/figures';
import { Observer } from './observer';
import { type Answer, type Poll, PollLoop } from './poll-loop';
import { Subscriptions } from './subscriptions';
import { joinTurns, Predictions, SHORTEST, turnFrom } from './timing';
import type {
  EventSubscriber,
  PollingAccount,
  PollMoves,
  PollReports,
  PollResult,
  SharedStatus,
  Subscriber,
} from './types';

/** Intervals without an update from the owner after which a waiting runtime polls by itself. */
const SILENCE = 3;

/** Poller of one cluster: polls it at the turns of its subscribers and near the predicted ends of its prints. */
export class Poller extends PollLoop<PollResult> {
  readonly #subscriptions: Subscriptions;
  readonly #observer: Observer;
  #predictions: Predictions | null = null;
  /** Time of the last known figures, monotonic ms. */
  #readAt = -Infinity;
  /** Time of the last update from the owner, or of the start of waiting for one, monotonic ms. */
  #lastUpdateAt = -Infinity;
  /** Mark of the last contents that the owner has shared; null: none are known. */
  #mark: string | null = null;

  constructor(clusterId: string, account: PollingAccount, reports: PollReports, moves: PollMoves) {
    super(clusterId, account, reports, moves);
    this.#subscriptions = new Subscriptions(clusterId, account.plan, reports);
    this.#observer = new Observer(clusterId, account, this.#subscriptions, reports);
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
    return this.failures.isFailing;
  }

  /** Since when the service does not know the cluster, as in `FailedPolls`; null: it may know it. */
  get missingSince(): number | null {
    return this.failures.missingSince;
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
    if (!this.isOurs && !this.isWaitedFor) this.#lastUpdateAt = now;
    if (this.isOurs) this.#subscriptions.add(subscriber, now, { known, by });
    else this.#subscriptions.addWaiting(subscriber, known);
    if (subscriber.events) this.#observer.markWatched();
    if (this.isOurs && subscriber.events) this.#observer.begin();
    this.replan();
  }

  remove(subscriber: Subscriber): void {
    if (!this.#subscriptions.remove(subscriber)) return;
    if (subscriber.events && !this.#subscriptions.some(({ events }) => events !== null))
      this.#observer.markUnwatched(subscriber.interval);
    this.account.ownership.changed();
    if (this.#isUnused) this.reports.unused(this.clusterId);
    else this.replan();
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
    // The last observation of the previous owner stays: if the owner stored nothing, the events begin with it.
    this.#reset();
    this.#subscriptions.restart(now, polledAt, soon);
    this.#subscriptions.notifyAssigned(true);
    this.replan();
  }

  /** Stops the regular polls: another runtime makes them. */
  stopRegularPolls(): void {
    this.#reset();
    this.#observer.reset();
    this.#observer.release();
    this.#lastUpdateAt = this.account.clock.monotonic();
    this.#subscriptions.stop();
    this.#subscriptions.notifyAssigned(false);
    this.replan();
  }

  /** Passes an observation by the owner to the subscribers. */
  async receiveUpdate({ mark, age, ...shown }: SharedStatus): Promise<void> {
    const { account, clusterId } = this;
    const memory = (await account.scoped()).of(clusterId);
    if (this.isOurs || account.signal.aborted) return;
    this.#observer.receive(memory, shown);
    this.#mark = mark;
    this.#show(shown.status, age);
  }

  /**
   * The same for a poll by the owner that has shown nothing new but `figures` of the jobs. Returns false if this runtime
   * knows other contents than those of the mark.
   */
  receiveSame(mark: string, age: number, figures: readonly JobFigures[]): boolean {
    if (this.isOurs || this.account.signal.aborted) return true;
    const status = this.#mark === mark ? this.#observer.receiveSame(figures) : null;
    if (status) this.#show(status, age);
    return status !== null;
  }

  /** Shows a status that the owner has read. */
  #show(status: ClusterStatus, age: number): void {
    const { account, clusterId } = this;
    this.#readAt = this.#lastUpdateAt = account.clock.monotonic();
    this.failures.recordSuccess();
    this.reports.observed(clusterId, status, this.#readAt - age);
    this.#subscriptions.show({ clusterId, status, raw: null, error: null });
    this.replan();
  }

  /** Call after a subscriber has resumed: it is its turn, unless it has requested a poll. */
  resume(subscriber: Subscriber, asking: boolean): void {
    this.account.ownership.changed();
    if (!this.isOurs) return;
    this.#subscriptions.resume(subscriber, this.account.clock.monotonic(), asking || !this.isIdle);
    this.failures.retryAt = 0;
    this.replan();
  }

  /** Resumes polls after a sign-in. */
  wake(): void {
    const { isFailing } = this.failures;
    this.failures.recordSuccess();
    if (!this.isOurs) return;
    this.#subscriptions.wake(this.account.clock.monotonic(), isFailing);
    this.replan();
  }

  /** Polls a missing cluster soon. Call when the list shows it again. */
  listedAgain(): void {
    if (this.missingSince === null) return;
    this.wake();
    this.replan();
  }

  /** Spreads overdue turns by phase after a jump of the clock. */
  spread(): void {
    const now = this.account.clock.monotonic();
    const { interval, phase } = this.#subscriptions;
    this.#subscriptions.spread(now);
    if (this.failures.retryAt < now) this.failures.retryAt = turnFrom(now, interval, phase);
    this.replan();
  }

  /** Known end of a job; null where it has not ended. */
  endOf(jobId: string): Ended | null {
    return this.#observer.endOf(jobId);
  }

  /** Machines of the cluster that have named the end of a print (reference 3.3). */
  get namingEnds(): readonly string[] {
    return this.#observer.namingEnds;
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

  /** Last known figures, also of an earlier deploy; stale where they are older than `maxAge`, ms. Never rejects. */
  async known(maxAge: number): Promise<PollResult> {
    const { status, ...result } = await this.recall();
    const age = this.account.clock.now() - Date.parse(this.#observer.status?.receivedAt ?? '');
    const isStale = this.failing || this.#observer.status?.stale === true || !(Math.abs(age) <= maxAge);
    return { ...result, status: status && { ...status, stale: isStale } };
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

  protected get interval(): number {
    return this.#subscriptions.interval;
  }

  protected get due(): number {
    return Math.min(this.#nextPoll, this.#subscriptions.nextKept);
  }

  /** From turns, predicted ends, updates by other runtimes, and the backoff; monotonic ms. Infinity: none. */
  get #nextPoll(): number {
    const { interval, nextTurn } = this.#subscriptions;
    if (nextTurn === null || !(this.isOurs || this.isWaitedFor)) return Infinity;
    const last = this.account.plan.lastPollOf(this.clusterId);
    if (this.failing) return Math.max(this.failures.retryAt, last + SHORTEST);
    if (!this.isOurs) return Math.max(this.#lastUpdateAt + SILENCE * interval, last + interval);
    return Math.max(last + SHORTEST, joinTurns(nextTurn, this.#predictions?.next(last) ?? Infinity, last, interval));
  }

  /** Delivers the results that were kept for this turn: they may suffice. */
  protected override isNeeded(start: number, asked: boolean): boolean {
    if (this.#subscriptions.deliverKept(start) && !asked && this.#nextPoll > start) return false;
    if (!asked && !this.#subscriptions.isDue(start, asked)) this.#predictions?.countExtraPoll(start);
    return true;
  }

  /** Whether another runtime has become the owner, and no request or wait here needs the poll. */
  protected override isObsolete(lock: Lock | null): boolean {
    const isLost = lock !== null && !isStillOwned(this.account.ownership, this.clusterId, lock);
    return isLost && !this.isRequested && !this.isWaitedFor;
  }

  protected recordDeparture(at: number): void {
    this.account.plan.setLastPoll(this.clusterId, at);
  }

  protected async read(poll: Poll): Promise<PollResult> {
    const { account, clusterId, reports } = this;
    const observer = this.#observer;
    const scope = await account.scoped();
    const memory = await observer.load(scope);
    account.signal.throwIfAborted();
    if (memory?.movedTo) {
      const result = await this.moves.redirect(clusterId, memory.movedTo);
      // A cluster that is known to have moved is polled under its new id only.
      this.recordDeparture(poll.start);
      return result;
    }
    const answer = await observer.read(poll).catch((thrown: unknown) => this.#ifInDoubt(thrown));
    account.signal.throwIfAborted();
    if (answer === null) return this.lastKnown(-1);
    if ('reboundTo' in answer) return this.moves.rebind({ previous: clusterId, cluster: answer.reboundTo });
    const { seen, raw } = answer;
    const { status } = seen;
    poll.isOurs = isStillOwned(account.ownership, clusterId, poll.lock);
    if (memory && (poll.isOurs || this.isWaitedFor))
      poll.isOurs = await observer.process(seen, memory, scope, poll.isOurs ? poll.lock : null);
    else scope.of(clusterId).setStatus(status);
    if (raw !== null) {
      this.#readAt = account.clock.monotonic();
      (this.#predictions ??= new Predictions()).update(status.jobs, this.#readAt);
      reports.observed(clusterId, status, poll.start);
      if (poll.isOurs && account.ownership.isAwaited(clusterId))
        account.share(scope, clusterId, { checkpoint: observer.checkpointOf(memory), status }, poll.start);
    }
    return { clusterId, status, raw, error: null };
  }

  /**
   * Returns null for a cluster that was not found while the list leaves open whether it was removed: its removal is no
   * outage. Rethrows everything else, also for subscribers to this cluster alone.
   */
  #ifInDoubt(thrown: unknown): null {
    const isNotFound = thrown instanceof PrintingError && thrown.code === 'NOT_FOUND';
    const isForAll = !this.failing && !this.#subscriptions.some(({ wants }) => wants !== 'all');
    if (isNotFound && isForAll && this.moves.isInDoubt(this.clusterId)) return null;
    throw thrown;
  }

  protected failed(error: PrintingError): PollResult {
    return { ...this.lastKnown(), error: withIds(error, { clusterId: this.clusterId }) };
  }

  protected override copies(result: PollResult, poll: Poll, requests: number): Promise<PollResult[]> {
    return this.#subscriptions.copies(result, poll, requests, this.account.clock);
  }

  protected distribute(
    result: PollResult,
    poll: Poll,
    answers: readonly Answer<PollResult>[],
    copies: PollResult[],
  ): void {
    this.#subscriptions.distribute(result, poll, answers, copies);
  }

  /** Reports a poller without subscribers and requests. */
  protected override ended(): void {
    if (this.#isUnused) this.reports.unused(this.clusterId);
  }

  get #isUnused(): boolean {
    return this.#subscriptions.isEmpty && this.isIdle;
  }

  /** Drops state that became stale while another runtime polled. */
  #reset(): void {
    this.#predictions = this.#mark = null;
    this.failures.reset();
    this.reports.ownerChanged(this.clusterId);
  }
}

/** Receives what the polls of a cluster find that show no status of it. */
export interface HoldListener {
  /** The service does not know the cluster. `since`: as in `FailedPolls`; Infinity: the cluster has another id. */
  missing(since: number): void;
  /** The status was not found, but the list has the cluster; `status`: the last known one, with `online` of the list. */
  listed(status: ClusterStatus): void;
}

/** Subscriber that only keeps a cluster polled, also under a new id. `forOthers`: other runtimes wait for its polls. */
export class KeepPolling implements Subscriber {
  readonly events = null;
  readonly wants;
  readonly paused = false;
  readonly #listener: HoldListener | null;

  constructor(
    private poller: Poller,
    readonly interval: number,
    { forOthers = false, listener = null }: { forOthers?: boolean; listener?: HoldListener | null } = {},
  ) {
    this.wants = forOthers ? null : ('wait' as const);
    this.#listener = listener;
    poller.add(this);
  }

  /** The statuses reach observation listeners. */
  onPoll({ status, raw, error }: PollResult): void {
    const { missingSince } = this.poller;
    if (missingSince !== null) this.#listener?.missing(missingSince);
    else if (error === null && raw === null && status?.stale) this.#listener?.listed(status);
  }

  moveTo(poller: Poller): void {
    this.poller = poller;
    poller.add(this, { known: true });
    this.#listener?.missing(Infinity);
  }

  end(): void {
    this.poller.remove(this);
  }
}
