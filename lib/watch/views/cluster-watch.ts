import type { PrintingError } from '../../service/errors';
import type { PollResult, Subscriber } from '../polling/types';
import {
  NodeWatch,
  PollFailures,
  type Round,
  type Watch,
  type WatchContext,
  type WatchOptions,
  type WatchState,
} from './watch';
import type { Poller } from '../polling/poller';
import { SLACK } from '../polling/timing';
import type { Standby } from '../replication/peers';

/** Number of intervals after a message with fresh figures from which the next poll is late. */
const LATE = 1.5;

/** One node's view of one cluster. */
export class ClusterWatch extends NodeWatch implements Watch, Subscriber {
  readonly wants = 'cluster';
  #poller: Poller;
  #lastSuccess: number | null = null;
  /** Time of the last message, monotonic ms. */
  #sentAt = -Infinity;
  /** Whether the last sent figures were older than an interval. */
  #overdue = false;
  #disarm: () => void = () => undefined;
  #online: boolean | null = null;
  readonly #failures: PollFailures;

  constructor(options: WatchOptions, poller: Poller, context: WatchContext) {
    super(options, context);
    this.#failures = new PollFailures(() => context.clock.now());
    this.#poller = poller;
    this.#armReminder(LATE * this.interval);
  }

  /** The answer to this watch's own request replaces its turn. */
  get keepsTurn(): boolean {
    return this.requests === 0;
  }

  get state(): WatchState {
    return {
      paused: this.isPaused,
      standby: this.standby,
      lastSuccess: this.#lastSuccess,
      trouble: this.#failures.state,
      overdue: this.#overdue,
      clusters: { total: 1, online: this.#online === false ? 0 : 1 },
    };
  }

  protected get standby(): Standby | null {
    return this.context.standbyOf(this.#poller.clusterId);
  }

  async ask(deliver: (round: Round) => void): Promise<PrintingError | null> {
    this.requests++;
    let error: PrintingError | null = null;
    try {
      const result = await this.#poller.ask();
      this.#recordResult(result);
      if (result.status) this.changeFilter?.recordSent(result.status);
      if (!this.isClosed) deliver(roundOf(result));
      error = result.error;
      return error;
    } finally {
      this.requests--;
      this.context.requestEnded(this, error, error ? [this.#poller.clusterId] : []);
    }
  }

  pause(): void {
    this.isPaused = true;
    this.#disarm();
    this.#poller.pause();
  }

  resume(): void {
    if (!this.isPaused || this.isClosed) return;
    this.isPaused = false;
    this.#poller.resume(this, this.requests > 0);
    this.#armReminder(LATE * this.interval);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#disarm();
    this.#poller.remove(this);
    this.context.closed(this);
  }

  onPoll(result: PollResult, due: boolean): void {
    this.#recordResult(result);
    if (due) this.onTurn(result);
  }

  onTurn(result: PollResult): void {
    if (this.isClosed) return;
    // While polls fail, stale messages keep their interval: a poll in between only shows its failure.
    const isBetween = result.error !== null && this.#overdue && this.#isRecent;
    if (!isBetween) this.#recordSent(!result.error);
    if (this.requests > 0) return;
    const isUnchanged = result.status && this.changeFilter && !this.changeFilter.isChange(result.status);
    if (isBetween || isUnchanged) result = { ...result, status: null };
    this.context.guard(() => this.options.onRound(roundOf(result)));
  }

  assigned(clusterId: string, isOurs: boolean): void {
    if (!isOurs) this.#failures.forget(clusterId);
  }

  /** Moves to the cluster's new id. */
  moveTo(poller: Poller): void {
    this.#poller = poller;
    poller.add(this, { known: true });
  }

  get #isRecent(): boolean {
    return this.context.clock.monotonic() - this.#sentAt < (1 - SLACK) * this.interval;
  }

  /** Records a message and arms the reminder: one interval later, or a little more after fresh figures. */
  #recordSent(isFresh: boolean): void {
    this.#sentAt = this.context.clock.monotonic();
    this.#overdue = !isFresh;
    this.#armReminder(isFresh ? LATE * this.interval : this.interval);
  }

  #armReminder(wait: number): void {
    this.#disarm();
    if (this.isClosed || this.isPaused) return;
    const { clock, guard } = this.context;
    this.#disarm = clock.after(wait, () => guard(() => void this.#sendReminder()));
  }

  /** Sends the last known figures as stale after an interval without a result. Never rejects. */
  async #sendReminder(): Promise<void> {
    if (this.#isElsewhere()) return this.#armReminder(this.interval);
    const result = await this.#poller.recall();
    if (this.isClosed || this.isPaused || this.#isRecent) return;
    // The printer was handed over meanwhile: the new owner sends the message.
    if (this.#isElsewhere()) return this.#armReminder(this.interval);
    this.#recordSent(false);
    if (!result.status || (this.changeFilter && !this.changeFilter.isChange(result.status))) return;
    this.context.guard(() => this.options.onRound(roundOf(result)));
  }

  #isElsewhere(): boolean {
    return !this.#poller.isOurs;
  }

  #recordResult({ clusterId, status, error }: PollResult): void {
    if (this.isClosed) return;
    if (!error) {
      this.#lastSuccess = this.context.clock.now();
      this.#overdue = false;
    }
    this.#online = status?.online ?? this.#online;
    this.#failures.record(clusterId, error);
  }
}

const roundOf = (result: PollResult): Round => ({ results: [result], group: null, error: result.error });
