import { eventsFor } from '../../events/milestones';
import type { EventDraft } from '../../events/print-event';
import type { PrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import type { Subscriber } from '../polling/subscriber';
import { ChangeFilter } from './change-filter';
import type { Poller } from '../polling/poller';
import { PollFailures } from './poll-failures';
import { intervalOf, SLACK } from '../polling/poll-timing';
import type { PollResult } from '../polling/poll-result';
import type { Standby } from '../replication/sharing';
import type { Round, Watch, WatchOptions, WatchState } from './watch';

/** Services that the watcher provides to its watches. */
export interface WatchContext {
  clock: Clock;
  /** Runs a user's callback and isolates its failures. */
  guard: (callback: () => unknown) => void;
  closed: (watch: Watch) => void;
  /** Whether the account is signed in. */
  usable: () => boolean;
  /** Reports the end of a request; `clusterIds`: the failed clusters. */
  requestEnded: (watch: Watch, error: PrintingError | null, clusterIds: readonly string[]) => void;
  /** Combines the failure of several clusters in one sentence. */
  summary: (error: PrintingError, clusterIds: readonly string[]) => PrintingError;
  /** Reason for not polling a cluster; null where this runtime polls. */
  standbyOf: (clusterId: string | null) => Standby | null;
}

/** Number of intervals after a message with fresh figures from which the next poll is late. */
const LATE = 1.5;

/** One node's view of one cluster. */
export class ClusterWatch implements Watch, Subscriber {
  readonly receivesEvents = true;
  readonly wants = 'cluster';
  readonly beside: unknown;
  readonly milestones: readonly number[];
  readonly interval: number;
  readonly audience: string;
  #paused: boolean;
  #closed = false;
  #poller: Poller;
  /** Number of requests in flight; their callers receive the results. */
  #requests = 0;
  #lastSuccess: number | null = null;
  /** Time of the last message, monotonic ms. */
  #sentAt = -Infinity;
  /** Whether the last sent figures were older than an interval. */
  #overdue = false;
  #disarm: () => void = () => undefined;
  #online: boolean | null = null;
  #shownStandby = 'null';
  readonly #changeFilter: ChangeFilter | null;
  readonly #failures: PollFailures;

  constructor(
    private readonly options: WatchOptions,
    poller: Poller,
    private readonly context: WatchContext,
  ) {
    this.beside = options.beside;
    this.milestones = options.milestones;
    this.interval = intervalOf(options.interval);
    this.#paused = options.paused ?? false;
    this.#changeFilter = options.onlyChanges ? new ChangeFilter() : null;
    this.#failures = new PollFailures(() => context.clock.now());
    this.#poller = poller;
    this.audience = audienceOf(options);
    this.#armReminder(LATE * this.interval);
  }

  get isAsking(): boolean {
    return this.#requests > 0;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** The answer to this watch's own request replaces its turn. */
  get keepsTurn(): boolean {
    return this.#requests === 0;
  }

  get state(): WatchState {
    return {
      paused: this.#paused,
      standby: this.context.standbyOf(this.#poller.clusterId),
      lastSuccess: this.#lastSuccess,
      trouble: this.#failures.state,
      overdue: this.#overdue,
      clusters: { total: 1, online: this.#online === false ? 0 : 1 },
    };
  }

  async ask(deliver: (round: Round) => void): Promise<PrintingError | null> {
    this.#requests++;
    let error: PrintingError | null = null;
    try {
      const result = await this.#poller.ask();
      this.#recordResult(result);
      if (result.status) this.#changeFilter?.recordSent(result.status);
      if (!this.#closed) deliver(roundOf(result));
      error = result.error;
      return error;
    } finally {
      this.#requests--;
      this.context.requestEnded(this, error, error ? [this.#poller.clusterId] : []);
    }
  }

  notify(error: PrintingError): void {
    if (!this.#closed) this.context.guard(() => this.options.onTrouble(error));
  }

  pause(): void {
    this.#paused = true;
    this.#disarm();
    this.#poller.pause();
  }

  resume(): void {
    if (!this.#paused || this.#closed) return;
    this.#paused = false;
    this.#poller.resume(this, this.#requests > 0);
    this.#armReminder(LATE * this.interval);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#disarm();
    this.#poller.remove(this);
    this.context.closed(this);
  }

  onPoll(result: PollResult, due: boolean): void {
    this.#recordResult(result);
    if (due) this.onTurn(result);
  }

  onTurn(result: PollResult): void {
    if (this.#closed) return;
    // While polls fail, stale messages keep their interval: a poll in between only shows its failure.
    const isBetween = result.error !== null && this.#overdue && this.#isRecent;
    if (!isBetween) this.#recordSent(!result.error);
    if (this.#requests > 0) return;
    const isUnchanged = result.status && this.#changeFilter && !this.#changeFilter.isChange(result.status);
    if (isBetween || isUnchanged) result = { ...result, status: null };
    this.context.guard(() => this.options.onRound(roundOf(result)));
  }

  deliver(drafts: readonly EventDraft[]): boolean {
    const events = this.#closed ? [] : eventsFor(drafts, this.options.milestones);
    if (events.length === 0) return false;
    this.context.guard(() => this.options.onEvents(events));
    return true;
  }

  assigned(clusterId: string, isOurs: boolean): void {
    if (!isOurs) this.#failures.forget(clusterId);
  }

  checkStandby(): void {
    const shown = JSON.stringify(this.state.standby);
    if (shown === this.#shownStandby || this.#closed) return;
    this.#shownStandby = shown;
    this.context.guard(() => this.options.onStandby?.());
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
    if (this.#closed || this.#paused) return;
    const { clock, guard } = this.context;
    this.#disarm = clock.after(wait, () => guard(() => void this.#sendReminder()));
  }

  /** Sends the last known figures as stale after an interval without a result. Never rejects. */
  async #sendReminder(): Promise<void> {
    if (this.#isElsewhere()) return this.#armReminder(this.interval);
    const result = await this.#poller.recall();
    if (this.#closed || this.#paused || this.#isRecent) return;
    // The printer was handed over meanwhile: the new owner sends the message.
    if (this.#isElsewhere()) return this.#armReminder(this.interval);
    this.#recordSent(false);
    if (!result.status || (this.#changeFilter && !this.#changeFilter.isChange(result.status))) return;
    this.context.guard(() => this.options.onRound(roundOf(result)));
  }

  #isElsewhere(): boolean {
    return !this.#poller.isOurs;
  }

  #recordResult({ clusterId, status, error }: PollResult): void {
    if (this.#closed) return;
    if (!error) {
      this.#lastSuccess = this.context.clock.now();
      this.#overdue = false;
    }
    this.#online = status?.online ?? this.#online;
    this.#failures.record(clusterId, error);
  }
}

let audiences = 0;

export const audienceOf = ({ audience }: WatchOptions): string => audience ?? `watch ${++audiences}`;

const roundOf = (result: PollResult): Round => ({ results: [result], group: null, error: result.error });
