import { eventsFor } from '../../events/milestones';
import type { EventDraft } from '../../events/print-event';
import type { PrintingError } from '../../service/errors';
import type { Clock } from '../../time/clock';
import type { Subscriber } from '../polling/account-context';
import { ChangeFilter } from './change-filter';
import type { Poller } from '../polling/poller';
import { PollFailures } from './poll-failures';
import { intervalOf, SLACK } from '../polling/poll-timing';
import type { PollResult, Round, Standby, Watch, WatchOptions, WatchState } from '../watch-types';

export interface WatchSurroundings {
  clock: Clock;
  /** Runs a callback of the watcher's user, whose failures must not stop the others. */
  guard: (callback: () => unknown) => void;
  closed: (watch: Watch) => void;
  /** Whether polls have a chance. */
  usable: () => boolean;
  /** A message has ended; `clusterIds`: which failed. */
  asked: (watch: Watch, error: PrintingError | null, clusterIds: readonly string[]) => void;
  /** The failure of several clusters in one sentence. */
  summary: (error: PrintingError, clusterIds: readonly string[]) => PrintingError;
  /** Why this runtime does not poll a cluster; null where it does. */
  standbyOf: (clusterId: string | null) => Standby | null;
}

/** So many intervals after a message with fresh figures, the next poll is late. */
const LATE = 1.5;

/** One node's view of one cluster. */
export class ClusterWatch implements Watch, Subscriber {
  readonly hears = true;
  readonly wants = 'cluster';
  readonly beside: unknown;
  readonly milestones: readonly number[];
  readonly interval: number;
  readonly audience: string;
  #paused: boolean;
  #closed = false;
  #poller: Poller;
  /** Polls that this watch asked for: their results go to who asked. */
  #asking = 0;
  #lastSuccess: number | null = null;
  /** When a message went out last, monotonic ms. */
  #sentAt = -Infinity;
  /** The last figures that went out were older than an interval. */
  #overdue = false;
  #disarm: () => void = () => undefined;
  #online: boolean | null = null;
  #standby = 'null';
  readonly #news: ChangeFilter | null;
  readonly #troubles: PollFailures;

  constructor(
    private readonly options: WatchOptions,
    poller: Poller,
    private readonly around: WatchSurroundings,
  ) {
    this.beside = options.beside;
    this.milestones = options.milestones;
    this.interval = intervalOf(options.interval);
    this.#paused = options.paused ?? false;
    this.#news = options.onlyChanges ? new ChangeFilter() : null;
    this.#troubles = new PollFailures(() => around.clock.now());
    this.#poller = poller;
    this.audience = audienceOf(options);
    this.#expect(LATE * this.interval);
  }

  get isAsking(): boolean {
    return this.#asking > 0;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** An answer to a message of this watch takes the place of its turn. */
  get keepsTurn(): boolean {
    return this.#asking === 0;
  }

  get state(): WatchState {
    return {
      paused: this.#paused,
      standby: this.around.standbyOf(this.#poller.clusterId),
      lastSuccess: this.#lastSuccess,
      trouble: this.#troubles.state,
      overdue: this.#overdue,
      clusters: { total: 1, online: this.#online === false ? 0 : 1 },
    };
  }

  async ask(deliver: (round: Round) => void): Promise<PrintingError | null> {
    this.#asking++;
    let error: PrintingError | null = null;
    try {
      const result = await this.#poller.ask();
      this.#note(result);
      if (result.status) this.#news?.sent(result.status);
      if (!this.#closed) deliver(roundOf(result));
      error = result.error;
      return error;
    } finally {
      this.#asking--;
      this.around.asked(this, error, error ? [this.#poller.clusterId] : []);
    }
  }

  trouble(error: PrintingError): void {
    if (!this.#closed) this.around.guard(() => this.options.onTrouble(error));
  }

  pause(): void {
    this.#paused = true;
    this.#disarm();
    this.#poller.pause();
  }

  resume(): void {
    if (!this.#paused || this.#closed) return;
    this.#paused = false;
    this.#poller.resume(this, this.#asking > 0);
    this.#expect(LATE * this.interval);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#disarm();
    this.#poller.remove(this);
    this.around.closed(this);
  }

  serve(result: PollResult, due: boolean): void {
    this.#note(result);
    if (due) this.pass(result);
  }

  pass(result: PollResult): void {
    if (this.#closed) return;
    // While polls fail, messages keep their interval: a poll in between only shows its failure.
    const isBetween = result.error !== null && this.#overdue && this.#isRecent;
    if (!isBetween) this.#sent(!result.error);
    if (this.#asking > 0) return;
    const isUnchanged = result.status && this.#news && !this.#news.isNews(result.status);
    if (isBetween || isUnchanged) result = { ...result, status: null };
    this.around.guard(() => this.options.onRound(roundOf(result)));
  }

  deliver(drafts: readonly EventDraft[]): boolean {
    const events = this.#closed ? [] : eventsFor(drafts, this.options.milestones);
    if (events.length === 0) return false;
    this.around.guard(() => this.options.onEvents(events));
    return true;
  }

  assigned(clusterId: string, isOurs: boolean): void {
    if (!isOurs) this.#troubles.forget(clusterId);
  }

  shifted(): void {
    const shown = JSON.stringify(this.state.standby);
    if (shown === this.#standby || this.#closed) return;
    this.#standby = shown;
    this.around.guard(() => this.options.onStandby?.());
  }

  /** The cluster goes on under another id. */
  moveTo(poller: Poller): void {
    this.#poller = poller;
    poller.add(this, { known: true });
  }

  get #isRecent(): boolean {
    return this.around.clock.monotonic() - this.#sentAt < (1 - SLACK) * this.interval;
  }

  /** A message goes out; the next one is due an interval later, and a fresh one may take a little longer. */
  #sent(isFresh: boolean): void {
    this.#sentAt = this.around.clock.monotonic();
    this.#overdue = !isFresh;
    this.#expect(isFresh ? LATE * this.interval : this.interval);
  }

  #expect(wait: number): void {
    this.#disarm();
    if (this.#closed || this.#paused) return;
    const { clock, guard } = this.around;
    this.#disarm = clock.after(wait, () => guard(() => void this.#remind()));
  }

  /** No poll has brought anything for an interval: the last known figures go out as stale. Never rejects. */
  async #remind(): Promise<void> {
    if (this.#isElsewhere()) return this.#expect(this.interval);
    const result = await this.#poller.recall();
    if (this.#closed || this.#paused || this.#isRecent) return;
    // Handed over meanwhile: the message is the other runtime's.
    if (this.#isElsewhere()) return this.#expect(this.interval);
    this.#sent(false);
    if (!result.status || (this.#news && !this.#news.isNews(result.status))) return;
    this.around.guard(() => this.options.onRound(roundOf(result)));
  }

  #isElsewhere(): boolean {
    return !this.#poller.isOurs;
  }

  #note({ clusterId, status, error }: PollResult): void {
    if (this.#closed) return;
    if (!error) {
      this.#lastSuccess = this.around.clock.now();
      this.#overdue = false;
    }
    this.#online = status?.online ?? this.#online;
    this.#troubles.note(clusterId, error);
  }
}

let audiences = 0;

export const audienceOf = ({ audience }: WatchOptions): string => audience ?? `watch ${++audiences}`;

const roundOf = (result: PollResult): Round => ({ results: [result], group: null, error: result.error });
