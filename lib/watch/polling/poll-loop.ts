import { pauseAfter } from '../../http/retry';
import { asPrintingError, type PrintingError } from '../../service/errors';
import { type Lock, LockLostError } from '../../state/membership';
import { isStillOwned } from '../checkpoints/checkpoint-store';
import { Departure } from './departure';
import { NO_PAUSE, type PollEnd, type Scheduled } from './scheduler';
import { FailedPolls } from './timing';
import type { PollingAccount, PollMoves, PollReports } from './types';

/** One poll under way. */
export interface Poll {
  /** Start, monotonic ms. */
  readonly start: number;
  /** Whether a user requested it; otherwise it was due. */
  readonly asked: boolean;
  /** Lock of what is polled, from the start of the poll; null: another runtime owns it. */
  readonly lock: Lock | null;
  readonly departure: Departure;
  /** Gives the poll's place to another one, before a long wait without a request of its own. */
  readonly leave: () => void;
  /** Whether this runtime may deliver the result. */
  isOurs: boolean;
}

/** Receives the result of a requested poll. */
export type Answer<Result> = (result: Result) => void;

interface PollRequest<Result> {
  resolve: Answer<Result>;
  reject: (thrown: unknown) => void;
}

/**
 * Polls of a cluster or of the list: requests, departure, failures, and the pause after a 429. A reader (`Poller`,
 * `ListPoller`) decides when a poll is due, reads, and distributes the result.
 */
export abstract class PollLoop<Result extends { readonly error: PrintingError | null }> implements Scheduled {
  protected readonly failures: FailedPolls;
  #isInFlight = false;
  readonly #requests: PollRequest<Result>[] = [];
  readonly #settledWaiters: (() => void)[] = [];

  /** @param clusterId the cluster, or `LIST` */
  constructor(
    readonly clusterId: string,
    protected readonly account: PollingAccount,
    protected readonly reports: PollReports,
    protected readonly moves: PollMoves,
  ) {
    this.failures = new FailedPolls(account.plan.random);
  }

  /** Interval of the regular polls, ms. */
  protected abstract get interval(): number;

  /** Time of the next poll, monotonic ms; Infinity: none. */
  protected abstract get due(): number;

  /** Reads, and delivers the events. Throws the errors of service calls. */
  protected abstract read(poll: Poll): Promise<Result>;

  /** Records when a request of a poll left, monotonic ms. */
  protected abstract recordDeparture(at: number): void;

  /** Result of a failed poll. */
  protected abstract failed(error: PrintingError): Result;

  /** Copies of the result for its receivers, `requests` among them. Never rejects. */
  protected copies(_result: Result, _poll: Poll, _requests: number): Promise<Result[]> {
    return Promise.resolve([]);
  }

  protected abstract distribute(result: Result, poll: Poll, answers: readonly Answer<Result>[], copies: Result[]): void;

  /** Whether a poll is still needed at its start. */
  protected isNeeded(_start: number, _asked: boolean): boolean {
    return true;
  }

  /** Whether nobody needs a poll any more when its request is about to leave. `lock`: as in `Poll`. */
  protected isObsolete(_lock: Lock | null): boolean {
    return false;
  }

  /** Called at the end of each poll. */
  protected ended(): void {
    // Nothing follows.
  }

  /** Whether this runtime makes the regular polls. If not, it polls on request only. */
  get isOurs(): boolean {
    return this.account.ownership.isOurs(this.clusterId);
  }

  protected get isRequested(): boolean {
    return this.#requests.length > 0;
  }

  /** Whether no poll is requested or in flight. */
  protected get isIdle(): boolean {
    return !this.#isInFlight && !this.isRequested;
  }

  /** Polls soon, or joins the poll in flight. Rejects only after a fault of the pack itself. */
  ask(): Promise<Result> {
    return this.#request(() => this.account.plan.scheduler.ask(this));
  }

  /** Polls at once, as part of another poll in flight. Rejects as `ask` does. */
  askNow(): Promise<Result> {
    return this.#request(() => void this.run(true, () => undefined));
  }

  /** Resolves when no poll is in flight. */
  settled(): Promise<void> {
    return this.#isInFlight ? new Promise((resolve) => this.#settledWaiters.push(resolve)) : Promise.resolve();
  }

  /** Updates the time of the next poll in the scheduler. */
  replan(): void {
    const { plan, signal } = this.account;
    if (!this.#isInFlight && !signal.aborted) plan.scheduler.plan(this, this.due);
  }

  /** Makes one poll; `leave` as in `Scheduled`. Never rejects. */
  async run(asked: boolean, leave: () => void): Promise<PollEnd> {
    const { clusterId, account, reports } = this;
    const { clock, ownership, plan, signal } = account;
    if (this.#isInFlight) return NO_PAUSE;
    plan.scheduler.remove(this);
    const start = clock.monotonic();
    if (!this.isNeeded(start, asked)) {
      this.replan();
      return NO_PAUSE;
    }
    this.#isInFlight = true;
    const lock = this.isOurs ? ownership.lockOf(clusterId) : null;
    const departure = new Departure(
      () => this.isObsolete(lock),
      () => this.recordDeparture(clock.monotonic()),
    );
    const poll: Poll = { start, asked, lock, departure, leave, isOurs: lock !== null };
    /** Null: the poll was dropped before its request left, or made no result. */
    let result: Result | null;
    try {
      result = await this.read(poll);
      if (!signal.aborted) reports.polled(clusterId, start, null);
      this.failures.recordSuccess();
    } catch (thrown) {
      const isDropped = thrown instanceof LockLostError && !isStillOwned(ownership, clusterId, lock);
      result = isDropped ? null : this.#recordFailure(thrown, poll);
    }
    const copies = result && !signal.aborted ? await this.copies(result, poll, this.#requests.length) : [];
    this.#isInFlight = false;
    poll.isOurs &&= isStillOwned(ownership, clusterId, lock);
    if (result) this.#distribute(result, poll, copies);
    else if (this.isRequested) plan.scheduler.ask(this);
    for (const resolve of this.#settledWaiters.splice(0)) resolve();
    this.replan();
    this.ended();
    const pauseFor = pauseAfter(result?.error ?? null);
    return pauseFor > 0 ? { pauseFor } : NO_PAUSE;
  }

  #request(start: () => void): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#requests.push({ resolve, reject });
      if (!this.#isInFlight) start();
    });
  }

  #recordFailure(thrown: unknown, { start, departure }: Poll): Result | null {
    const error = asPrintingError(thrown);
    const failure = { start, error, lacksToken: departure.lacksToken(error) };
    if (!this.account.signal.aborted) this.reports.polled(this.clusterId, start, failure);
    this.failures.record(failure, this.interval);
    try {
      return this.failed(error);
    } catch (odd) {
      this.#reject(odd, this.#requests.splice(0));
      return null;
    }
  }

  #distribute(result: Result, poll: Poll, copies: Result[]): void {
    const requests = this.#requests.splice(0);
    const answers = requests.map(({ resolve }) => resolve);
    try {
      if (!this.account.signal.aborted) this.distribute(result, poll, answers, copies);
      else for (const answer of answers) answer(result);
    } catch (thrown) {
      this.#reject(thrown, requests);
    }
  }

  /** Reports a fault of the pack itself. The requests that it leaves without a result must not wait for one. */
  #reject(thrown: unknown, requests: readonly PollRequest<Result>[]): void {
    this.reports.fault(null, thrown);
    for (const { reject } of requests) reject(thrown);
  }
}
